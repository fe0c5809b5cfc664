"""Random arguments for everything public: results, or errors that say which argument is wrong."""
