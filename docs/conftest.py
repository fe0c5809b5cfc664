"""Which files of the documentation pytest leaves alone: what `make docs` configures and generates."""

collect_ignore = [
    "_build",
    "auto_examples",
    "architecture.py",
    "conf.py",
    "gallery.py",
    "generated",
]
