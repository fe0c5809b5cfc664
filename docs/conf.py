"""Configuration of Sphinx."""

import sys
from pathlib import Path

from docutils import nodes

import skstab

sys.path.insert(0, str(Path(__file__).parent))  # for gallery and architecture
import architecture

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
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "literal"
nitpicky = False  # references of other packages are not resolved offline

# -- pages -------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "skstab"
html_static_path = ["_static"]
html_css_files = ["skstab.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_end": [],
}
# Pages that stand for themselves: the room of the sidebar goes to code.
ALONE = (
    "index",
    "tutorial",
    "reading",
    "auto_examples/*",
    "papers",
    "coming_from",
    "glossary",
    "contributing",
)
html_sidebars = {page: [] for page in ALONE}
# What a copy button copies: the lines after a prompt without it, or a block without prompts as it is.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def measure_rows():
    """The rows of a table in Markdown, out of `measure_table`, which therefore can't go stale."""
    marks = {True: "✓", False: "✗"}
    for name, row in skstab.measure_table().iterrows():
        flags = row.loc["fully_defined":]
        link = f"{{func}}`{name} <skstab.metrics.{name}_stability>`"
        yield f"| {' | '.join([link, row['kind'], *(marks.get(flag, '–') for flag in flags)])} |"


myst_enable_extensions = ["substitution"]
myst_heading_anchors = 3
myst_substitutions = {
    "measure_table": "\n".join(
        [
            "| measure | data | any sizes | monotone | bounded | maximum | corrected for chance | at any sizes |",
            "|---|---|---|---|---|---|---|---|",
            *measure_rows(),
        ]
    ),
    **{name: page() for name, page in architecture.PAGES.items()},
}

# -- docstrings --------------------------------------------------------------------------------------------------------

autosummary_generate = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# -- pictures ----------------------------------------------------------------------------------------------------------

plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = ["svg"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery.order",
    "reset_modules": ("matplotlib", "gallery.warnings_are_errors"),
    "reset_modules_order": "both",
    "doc_module": ("skstab",),
    "backreferences_dir": "generated/backreferences",
    "image_srcset": ["2x"],
    "notebook_extensions": set(),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "capture_repr": (),
}


def strip_code(app, doctree):  # noqa: ARG001
    """Drop the empty line that ends a doctest in Markdown."""
    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip()
        block[:] = [nodes.Text(block.rawsource)]


def setup(app):
    """Connect the hook."""
    app.connect("doctree-read", strip_code)
