"""What a report says about how it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skstab._report.columns import MISSING
from skstab._report.comparing import Plan, kind_of_target, stratifies
from skstab._report.selectors import ABOUT
from skstab._report.words import plural
from skstab.metrics import get_measure

if TYPE_CHECKING:
    import pandas as pd

    from skstab._report.dataset import Dataset

OPTIMISM = (
    "Settings were chosen on the same resamples as the scores come from: like the best of any search, these scores are "
    "slightly optimistic. Evaluate the choice on new rows."
)
_SCORE_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R²",
    "roc_auc": "AUC",
    "roc_auc_ovr": "AUC (one class against the rest)",
    "concordance": "concordance",
}
_SCORE_MEANINGS = {
    "accuracy": "the share of rows whose class is predicted correctly",
    "balanced_accuracy": "the share of rows predicted correctly, averaged over the classes: 1 divided by the number of "
    "classes for a guess, 1 for perfect predictions",
    "r2": "the share of the variance of the target that is predicted: 0 for a guess, 1 for perfect predictions",
    "roc_auc": "how often a row of one class is ranked above one of the other: 0.5 for a guess, 1 if perfect",
    "concordance": "the share of pairs of rows of which the one with the earlier event has the higher risk: 0.5 for a "
    "guess, 1 for perfect predictions",
}
_CHOICE = (
    "; about as good as the best score are those within its standard error and that of the "
    "difference, or shown to lose less than 2% of what the best gains over a guess; of "
    "these the shortest list is taken that is not shown to be less stable on pairs of halves "
    "than the most stable; of each selector its best setting by this rule is compared"
)


def score_name(scoring: str) -> str:
    """The score in words."""
    return _SCORE_NAMES.get(scoring, scoring.removeprefix("neg_").replace("_", " "))


def score_meaning(scoring: str) -> str:
    """What the score is, in a sentence."""
    return _SCORE_MEANINGS.get(
        scoring,
        "more is better" if not scoring.startswith("neg_") else "less is better",
    )


def about_selectors(plan: Plan) -> dict[str, str]:
    """What each selector does."""
    return {
        name: ABOUT[name]
        for name in dict.fromkeys(candidate.family for candidate in plan.tried)
        if name in ABOUT
    }


def facts(
    plan: Plan, target: str, n_candidates: int, n_chosen: int, source: str
) -> dict[str, str]:
    """What was run, by heading."""
    data = plan.data
    choice = _CHOICE if n_chosen < n_candidates else ", all compared"
    groups = f", whole groups of {data.groups.name}" if data.groups is not None else ""
    within = (
        " within each class" if data.is_classification else " with events and without"
    )
    strata = f", drawn{within}" if stratifies(data) else ""
    measure = get_measure(plan.measure)
    stability = "agreement of the selected sets, corrected for chance (Nogueira, Sechidis and Brown 2018)"
    return {
        "Data": " ".join([f"{_sizes(data, source)}.", *data.left_out]),
        "Target": f"{target}, {kind_of_target(data)}",
        "Resamples": f"{plan.n_resamples} bootstrap samples (rows drawn with replacement{strata}{groups}), the same "
        "for all",
        "Score": f"{score_name(plan.scoring)} on the rows that each resample left out: {score_meaning(plan.scoring)}",
        "Settings": f"{n_candidates} in all{choice}",
        "Stability": f"{stability if measure.name == 'nogueira' else f'the measure {measure.name!r} of skstab'}; 95% "
        "intervals (jackknife) are about the finite number of resamples",
        "Seed": f"{plan.seed} (of all that is random; the same seed gives the same numbers)",
    }


def _sizes(data: Dataset, source: str) -> str:
    n_variables = len(set(data.variables.values()))
    about = f"{plural(len(data.X), 'row')}, {plural(n_variables, 'variable')}"
    if data.has_categories:
        about += f" ({plural(data.X.shape[1], 'column')} with the levels of categories)"
    if data.share_missing:
        about += f", {_percent(data.share_missing)} of the values missing"
    return f"{source}: {about}" if source else about


def _percent(share: float) -> str:
    return "less than 0.1%" if share < 0.001 else f"{share:.1%}"


def notes(plan: Plan, table: pd.DataFrame) -> list[str]:
    """Sentences about missing values, settings without a choice, and failed runs."""
    data, said = plan.data, []
    if data.has_missing:
        said.append(
            "Missing numbers were replaced by the median of their column, inside each resample, so that rows left out "
            "do not influence it."
        )
    if any(name.endswith(f"={MISSING}") for name in data.X.columns):
        said.append("A missing category is a separate level.")
    for number, what in ((0, "nothing"), (data.X.shape[1], "every feature")):
        said += [
            f"{name} selected {what}, which is not a choice."
            for name in table.index[table["n_features"] == number]
        ]
    failed = table["n_failed"][table["n_failed"] > 0]
    return [
        *said,
        *(
            f"{plural(int(number), 'run')} of {name} failed."
            for name, number in failed.items()
        ),
    ]
