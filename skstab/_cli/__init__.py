"""What the command line does; `skstab.__main__` dispatches to it."""
