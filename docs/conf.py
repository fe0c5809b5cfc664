"""Configuration of Sphinx."""

import skstab

project = "skstab"
author = "The skstab developers"
copyright = "2026, The skstab developers"  # noqa: A001
version = release = skstab.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "skstab"
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = ["svg"]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# References of other packages are not resolved offline.
nitpicky = False
