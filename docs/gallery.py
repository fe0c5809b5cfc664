"""Settings of the gallery of examples for sphinx-gallery."""

import warnings
from contextlib import ExitStack

ORDER = [
    "plot_is_my_selection_stable.py",
    "plot_how_many_resamples.py",
    "plot_accuracy_and_stability.py",
    "plot_which_selector.py",
    "plot_did_my_choices_decide_it.py",
    "plot_are_the_risks_stable.py",
    "plot_do_several_methods_agree.py",
    "plot_do_two_hospitals_select_differently.py",
    "plot_correlated_features.py",
    "plot_which_gene_stands_for_which.py",
    "plot_table_for_the_paper.py",
    "plot_is_the_top_ten_the_top_ten.py",
    "plot_hybrid_rfe.py",
    "plot_stability_selection.py",
    "plot_pipeline_with_groups.py",
    "plot_gene_lists.py",
    "plot_survival.py",
    "plot_own_measure.py",
]
order = ORDER.index

_filters = ExitStack()


def warnings_are_errors(gallery_conf, fname, when):  # noqa: ARG001
    """Make a warning in an example fail the build, and leave the warnings of Sphinx as they are."""
    _filters.close()
    if when == "before":
        _filters.enter_context(warnings.catch_warnings(action="error"))
