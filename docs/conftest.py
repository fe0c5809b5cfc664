"""Which files of the documentation pytest leaves alone: what `make docs` configures and generates."""

collect_ignore = ["_build", "auto_examples", "conf.py", "gallery.py", "generated"]
