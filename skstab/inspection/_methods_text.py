"""The paragraph for a paper: how a report was made, with its references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy
import sklearn

import skstab
from skstab.inspection._page_parts import plural
from skstab.metrics import get_measure

if TYPE_CHECKING:
    from skstab.inspection._stability_report import StabilityReport

_NOGUEIRA = """\
@article{nogueira2018stability,
  title = {On the stability of feature selection algorithms},
  author = {Nogueira, Sarah and Sechidis, Konstantinos and Brown, Gavin},
  journal = {Journal of Machine Learning Research},
  volume = {18},
  number = {174},
  pages = {1--54},
  year = {2018}
}"""
_PAIRS = """\
@article{shah2013variable,
  title = {Variable selection with error control: another look at stability selection},
  author = {Shah, Rajen D. and Samworth, Richard J.},
  journal = {Journal of the Royal Statistical Society: Series B},
  volume = {75},
  number = {1},
  pages = {55--80},
  year = {2013}
}"""
_DISCOVERIES = """\
@article{benjamini1995controlling,
  title = {Controlling the false discovery rate: a practical and powerful approach to multiple testing},
  author = {Benjamini, Yoav and Hochberg, Yosef},
  journal = {Journal of the Royal Statistical Society: Series B},
  volume = {57},
  number = {1},
  pages = {289--300},
  year = {1995}
}"""
_LIBRARY = """\
@article{pedregosa2011scikit,
  title = {Scikit-learn: machine learning in {Python}},
  author = {Pedregosa, Fabian and others},
  journal = {Journal of Machine Learning Research},
  volume = {12},
  pages = {2825--2830},
  year = {2011}
}"""


def methods_text(report: StabilityReport) -> str:
    """Say how a report was made, in a paragraph, and give its references as BibTeX."""
    sentences = [*_comparison(report), *_assessment(report), *_features(report)]
    sentences.append(_software(report))
    references = [_LIBRARY]
    if get_measure(report.comparison.measure).name == "nogueira":
        references.append(_NOGUEIRA)
    if report.assessment is not None:
        references.append(_PAIRS)
    if _has_decoys(report):
        references.append(_DISCOVERIES)
    return "\n\n".join([" ".join(sentences), *references])


def _comparison(report: StabilityReport) -> list[str]:
    n_resamples = len(next(iter(report.comparison.runs_by_name.values())))
    n_settings = plural(len(report.candidates), "setting")
    resamples = (report.facts or {}).get("Resamples", "").partition("(")[2]
    how = f" ({resamples.partition(')')[0]})" if resamples else ""
    measure = get_measure(report.comparison.measure).name
    stability = (
        "the measure of Nogueira, Sechidis and Brown (2018), which is corrected for chance"
        if measure == "nogueira"
        else f"the measure '{measure}' of skstab"
    )
    chosen = []
    if report.chosen is not None and report.chosen.selector is not None:
        chosen = [
            "It has the shortest list of those within one standard error of the best score, or shown "
            "to lose less than 2% of what the best gains over a guess, that are not shown to be less "
            "stable than the most stable of these."
        ]
    return [
        f"Features were selected by {report.first_selector}, chosen among {n_settings} that were fitted to the same "
        f"{n_resamples} bootstrap samples{how}.",
        *chosen,
        f"The score ({report.scoring}) is the mean over the rows that each sample left out; its error is that over "
        "data sets.",
        f"Stability is {stability}.",
    ]


def _assessment(report: StabilityReport) -> list[str]:
    found = report.assessment
    if found is None:
        return []
    n_pairs = len(found.halves) // 2
    said = [
        f"Agreement on other data was estimated from {n_pairs} pairs of disjoint halves of the rows "
        "(complementary pairs, Shah and Samworth 2013), which are independent samples of half the size; its 95% "
        "interval is about other data."
    ]
    n_permutations = len(found.chance.stabilities)
    if n_permutations:
        said.append(
            f"Whether there is any signal was judged against {plural(n_permutations, 'permutation')} of the target, "
            "with the whole procedure repeated for each."
        )
    return said


def _features(report: StabilityReport) -> list[str]:
    found = report.feature_report
    if found is None:
        return []
    said = [
        "A feature is reported where at least half of the samples selected it or a feature that stands for it "
        "(an absolute correlation of at least 0.9), by the member of such a cluster that was selected most often."
    ]
    if _has_decoys(report):
        said.append(
            "It must also be more important in halves of the rows than decoys, copies of the features with their rows "
            "in random order beside the real target (q at most 0.05; Benjamini and Hochberg 1995)."
        )
    return said


def _has_decoys(report: StabilityReport) -> bool:
    found = report.feature_report
    return found is not None and "decoy" in found.table


def _software(report: StabilityReport) -> str:
    seed = (report.facts or {}).get("Seed", "").partition(" ")[0]
    seeded = f" with the random seed {seed}" if seed else ""
    return (
        f"All computations used skstab {skstab.__version__}, scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__} and SciPy {scipy.__version__}{seeded}."
    )
