"""Assess a selector: whether there is anything in the data, and whether other data would give the same features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import check_scoring

from skstab._checks import check_int, check_run_settings, check_support_from, naming
from skstab._engine.candidates import lone_candidate
from skstab._engine.job import Job, Part
from skstab._engine.make import in_order, make, one_study
from skstab._engine.outcomes import Run
from skstab._engine.row_scores import reads_probabilities, row_scores_of
from skstab._engine.work import RunPlan, collect, report_failures
from skstab._random import draw_entropy, halves_seed, random_parameters, seeded, stream
from skstab._typing import (
    CVLike,
    Estimator,
    FloatArray,
    MatrixLike,
    MeasureLike,
    RandomState,
    Scorer,
)
from skstab.metrics import Measure, full_size_interval, get_measure
from skstab.model_selection._assessment import (
    Chance,
    ScoreEstimate,
    SelectorAssessment,
    as_of_pairs,
    pvalue_above,
    selects_rarely,
)
from skstab.model_selection._decoy_evidence import evidence_or_none
from skstab.model_selection._permute import permuted_target
from skstab.model_selection._resampling import (
    classes_of,
    is_labelled,
    splits_of,
    splitter_for,
)
from skstab.model_selection._sample import check_lengths
from skstab.model_selection._score_tests import score_error
from skstab.model_selection._scoring import (
    AUC,
    check_no_measure,
    class_auc,
    own_score,
)
from skstab.model_selection._split import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    DisjointBlocksSplit,
)
from skstab.model_selection._validation import (
    check_estimator,
    read_data,
)
from skstab.runs import Reading, Runs, read_emptied, why_no_support

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["assess_selector", "halves_part", "plan_of", "ranked_plan"]

_PAIRS_PER_PERMUTATION = 2
_SHARES = (
    1 / 8,
    1 / 4,
)  # of the rows, in the blocks of the curve; its last point are the halves
_BLOCK_PAIRS = 8
_LEAST_BLOCK = 8  # rows: smaller blocks are left out of the curve
_WHOLE, _HALVES, _BLOCKS, _PERMUTED, _REFIT, _AGAIN, _DECOYS = range(
    7
)  # streams of randomness


@one_study()
def assess_selector(  # noqa: PLR0913  one for each setting, by name
    estimator: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    cv: CVLike = None,
    n_pairs: int = 16,
    n_permutations: int = 20,
    n_decoy_draws: int = 5,
    scoring: str | Scorer | None = None,
    measure: MeasureLike = "nogueira",
    importance_getter: str | Callable[..., Any] = "auto",
    support_from: str = "used",
    confidence_level: float = 0.95,
    groups: ArrayLike | None = None,
    checkpoint: str | PathLike[str] | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> SelectorAssessment:
    """Assess whether there is anything in the data, and whether other data would give the same features.

    Parameters
    ----------
    estimator : estimator
        A selector, a sparse model or a pipeline, of a kind that :class:`StabilityCV` wraps.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,)
        The target: classes, numbers, or anything else that the estimator takes.
    cv : int, cross-validation generator or iterable, default=None
        The resamples of the whole data set; None takes 50 bootstrap samples, stratified for a classifier.
    n_pairs : int, default=16
        Number of pairs of disjoint halves for `replication`, at least 3.
    n_permutations : int, default=20
        Number of permuted targets, at least 19, below which no p-value reaches 0.05.
    n_decoy_draws : int, default=5
        How many times copies of the features without information are drawn, with which single features are compared
        (see :func:`decoy_evidence`); 0 compares none.
    scoring : str or callable, default=None
        How runs are scored on the rows left out; None takes the `score` method of the estimator where it has one.
    measure : str, callable or Measure, default="nogueira"
        A measure that :func:`skstab.metrics.replication_stability` accepts.
    importance_getter : str or callable, default="auto"
        Where importances come from, as for :class:`StabilityCV`.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run, as for :class:`StabilityCV`.
    confidence_level : float, default=0.95
        Level of the intervals.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows (patients), which stay together in all resamples. Permuted targets are exchanged between groups
        and within them. What confounds groups that are not given can't be seen.
    checkpoint : str or path-like, default=None
        A file in which finished runs are stored as they arrive; repeating the same call makes only the missing ones.
        See :class:`StabilityCV`.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of all resamples, permutations and of what is random in the estimator. An int gives the same result for any
        `n_jobs`.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Returns
    -------
    assessment : SelectorAssessment
        With attributes `verdict` and `reason`, `agreement`, `replication`, `other_data`, `score`, `chance`, `decoys`,
        `curve`, `runs` and `halves`, and methods `frame()` and `plot()`.

    Notes
    -----
    By default 50 bootstraps, 32 halves, 80 halves with permuted targets, 32 blocks, 80 halves with decoys and 3 fits on
    all rows: 277 fits, most of them on half of the rows or less. Where most halves
    select nothing though bootstraps do (a penalty `C` counts rows, so that it is stronger on halves), their scores say
    nothing about signal: permuted targets are then scored on two bootstraps each, 40 fits more.

    The curve shows what was measured on an eighth, a quarter and a half of the rows. It is not continued to larger
    samples: such predictions were within a factor of 2 of the truth in 57% of simulated data sets, so that no sample
    size "for a stability of 0.8" is offered.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skstab.model_selection import assess_selector
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(80, 50)), rng.integers(2, size=80)  # nothing to find
    >>> model = make_pipeline(SelectKBest(k=5), LogisticRegression())
    >>> assess_selector(model, X, y, random_state=0).verdict
    'no signal'
    """
    chosen = _check(measure, n_pairs, n_permutations)
    check_estimator(estimator)
    check_int(n_decoy_draws, "n_decoy_draws", least=0)
    settings = check_run_settings(
        checkpoint=checkpoint,
        max_seconds=max_seconds,
        max_memory=max_memory,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    data, target = read_data(X, y, needs_classes=not is_regressor(estimator))
    _check_data(data, target, groups)
    n_rows, entropy = data.shape[0], draw_entropy(random_state)
    check_support_from(support_from)
    plan = plan_of(estimator, scoring, importance_getter, support_from, target)
    declared, ignores_target = _refit(plan, data, target, entropy, chosen)
    splitters = _splitters(
        estimator, data, target, cv=cv, groups=groups, entropy=entropy, n_pairs=n_pairs
    )
    splitters += _permutations(
        target, groups, entropy, n_permutations, stratify=splitters[1][0].stratify
    )
    about = f"assess_selector of {type(estimator).__name__}"
    parts = _parts(splitters, data, groups, entropy)
    ranked = ranked_plan(plan, target)
    # Two jobs: the first is one that other entries have with the same seed.
    (whole,) = _runs(plan, data, parts[:1], declared, about=about, **settings)
    halves, *rest = _runs(ranked, data, parts[1:], declared, about=about, **settings)
    blocks, permuted = (
        rest[: len(rest) - n_permutations],
        rest[len(rest) - n_permutations :],
    )
    chance = _chance(chosen, halves, permuted, ignores_target=ignores_target)
    if plan.scorer is not None and selects_rarely(halves) and not selects_rarely(whole):
        bootstraps = _bootstrapped(
            [(splitters[1][0], target), *splitters[-n_permutations:]], entropy
        )
        again = _parts(bootstraps, data, groups, [*entropy, _AGAIN])
        chance = _with_scores(
            chance, whole, _runs(ranked, data, again, declared, about=about, **settings)
        )
    return SelectorAssessment(
        measure=chosen,
        agreement=whole.interval(chosen, confidence_level=confidence_level),
        replication=halves.replication(chosen, confidence_level=confidence_level),
        other_data=full_size_interval(
            whole,
            halves,
            quarters=blocks[-1] if blocks else None,
            measure=chosen,
            confidence_level=confidence_level,
        ),
        score=_score(whole, plan, groups),
        chance=chance,
        curve=_curve(
            chosen,
            [*blocks, halves],
            [*_block_sizes(n_rows, groups), n_rows // 2],
            confidence_level,
        ),
        runs=whole,
        halves=halves,
        decoys=evidence_or_none(
            estimator,
            data,
            target,
            n_draws=n_decoy_draws,
            support_from=support_from,
            groups=groups,
            random_state=_seed(entropy, _DECOYS),
            **settings,
        ),
    )


# -- before the runs ---------------------------------------------------------------------------------------------------


def _check(measure: MeasureLike, n_pairs: int, n_permutations: int) -> Measure:
    chosen = get_measure(measure)
    if chosen.within_pairs is None:
        raise ValueError(
            f"measure must be defined for two runs, which {chosen.name!r} is not; use 'nogueira'"
        )
    check_int(n_pairs, "n_pairs", least=3)
    check_int(n_permutations, "n_permutations", least=19)
    return chosen


def _check_data(X: Any, y: Any, groups: Any) -> None:
    if y is None:
        raise ValueError(
            "y must be a target, since permuted targets show what chance reaches, got None"
        )
    check_lengths(X, y, groups)


def plan_of(
    estimator: Any, scoring: Any, importance_getter: Any, support_from: str, y: Any
) -> RunPlan:
    scorer = None
    if scoring is not None or hasattr(estimator, "score"):
        check_no_measure(scoring)
        with naming("scoring"):
            scorer = check_scoring(estimator, scoring=scoring)
    return RunPlan(
        estimator,
        scoring=scoring,
        scorer=scorer,
        score_names=(scoring if isinstance(scoring, str) else "score",),
        row_scores=row_scores_of(scoring, estimator),
        importance_getter=importance_getter,
        support_from=support_from,
        keep_probabilities=reads_probabilities(scoring),
        classes=classes_of(estimator, y),
    )


def ranked_plan(plan: RunPlan, y: Any) -> RunPlan:
    """The same with a score without a threshold beside the one that is shown, where a classifier has decision values.

    With classes of 1:9 a penalised model can predict the larger one for every row: accuracies do not see its signal.
    """
    estimator = plan.estimator
    has_values = any(
        hasattr(estimator, name) for name in ("predict_proba", "decision_function")
    )
    if (
        plan.scorer is None
        or not (is_classifier(estimator) and is_labelled(y) and has_values)
        or reads_probabilities(plan.scoring)
    ):
        return plan
    (name,) = plan.score_names
    own = plan.row_scores.get(name, own_score)
    scoring = {name: own if plan.scoring is None else plan.scoring, AUC: class_auc}
    scorer = check_scoring(estimator, scoring=scoring, raise_exc=False)
    return replace(plan, scoring=scoring, scorer=scorer, score_names=tuple(scoring))


def _refit(
    plan: RunPlan, X: Any, y: Any, entropy: list[int], measure: Measure
) -> tuple[dict[str, Any], bool]:
    """Fit on all rows, with the target and with two permuted ones, which a selector may ignore."""
    seed = np.random.SeedSequence(entropy, spawn_key=(_REFIT,))
    # Without regard to groups: within small ones a permutation may change little.
    targets = [
        y,
        *(
            permuted_target(y, None, stream(entropy, _REFIT, number))
            for number in range(2)
        ),
    ]
    names = random_parameters(plan.estimator, everywhere=False)
    fitted = [seeded(plan.estimator, names, seed) for _ in targets]
    first, *others = (
        _read_fit(plan, model, X, target)
        for model, target in zip(fitted, targets, strict=True)
    )
    first.warned()
    declared = {
        "n_features": X.shape[1],
        "feature_names": _names(X),
        "refit": first.used,
        "why_no_support": why_no_support(fitted[0]) if first.keeps_all else None,
        "estimator_name": type(plan.estimator).__name__,
    }
    # An error where the measure compares what such runs do not have.
    Runs.from_selections([first], **declared).table_for(measure)
    same = all(np.array_equal(first.used, other.used) for other in others)
    return declared, same and not first.keeps_all and bool(
        0 < first.used.sum() < X.shape[1]
    )


def _read_fit(plan: RunPlan, model: Any, X: Any, y: Any) -> Reading:
    """Fit a model and read it; a pipeline whose selector leaves nothing to be fitted has selected nothing."""
    try:
        with naming("estimator", "X", "y"):
            model.fit(X, y)
    except (TypeError, ValueError):
        emptied = read_emptied(model, X.shape[1], X)
        if emptied is None:
            raise
        return emptied
    return plan.read(model, X, y)


def _names(X: Any) -> list[str] | None:
    columns = getattr(X, "columns", None)
    return [str(name) for name in columns] if columns is not None else None


def _splitters(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any,
    groups: Any,
    entropy: list[int],
    n_pairs: int,
) -> list[tuple[Any, Any]]:
    """Splitters, each with its target: of the whole data set, of pairs of halves, of blocks of each size."""
    classifier = is_classifier(estimator)
    stratify = classifier and groups is None and is_labelled(y)
    whole = splitter_for(
        cv, y, classifier=classifier, grouped=groups is not None, entropy=entropy
    )
    halves = _halves_splitter(n_pairs, stratify=stratify, entropy=entropy)
    blocks = [
        DisjointBlocksSplit(
            [size],
            n_repeats=_BLOCK_PAIRS,
            stratify=stratify,
            random_state=_seed(entropy, _BLOCKS, number),
        )
        for number, size in enumerate(_block_sizes(X.shape[0], groups).values())
    ]
    return [(splitter, y) for splitter in (whole, halves, *blocks)]


def _halves_splitter(
    n_pairs: int, *, stratify: bool, entropy: list[int]
) -> ComplementaryPairsSplit:
    return ComplementaryPairsSplit(
        2 * n_pairs, stratify=stratify, random_state=halves_seed(entropy)
    )


def halves_part(
    X: Any,
    y: Any,
    n_pairs: int,
    *,
    classifier: bool,
    params: dict[str, Any],
    entropy: list[int],
) -> Part:
    """The pairs of halves of an assessment with this seed, for others that compare halves."""
    stratify = classifier and not params and is_labelled(y)
    splitter = _halves_splitter(n_pairs, stratify=stratify, entropy=entropy)
    return Part(y, splits_of(splitter, X, y, params), [*entropy, 1])


def _permutations(
    y: Any, groups: Any, entropy: list[int], n_permutations: int, *, stratify: bool
) -> list[tuple[Any, Any]]:
    """Splitters of pairs of halves, each with a permuted target."""
    seeds = [_seed(entropy, _PERMUTED, number) for number in range(n_permutations)]
    targets = [
        permuted_target(y, groups, stream(entropy, _PERMUTED, number))
        for number in range(n_permutations)
    ]
    n_splits = 2 * _PAIRS_PER_PERMUTATION
    splitters = [
        ComplementaryPairsSplit(n_splits, stratify=stratify, random_state=seed)
        for seed in seeds
    ]
    return list(zip(splitters, targets, strict=True))


def _bootstrapped(
    halves: Sequence[tuple[Any, Any]], entropy: list[int]
) -> list[tuple[Any, Any]]:
    """Splitters of bootstraps in place of those of halves, each with its target; the first is the true one."""
    return [
        (
            BootstrapSplit(
                2 if number else 8,
                stratify=of_halves.stratify,
                random_state=_seed(entropy, _AGAIN, number),
            ),
            target,
        )
        for number, (of_halves, target) in enumerate(halves)
    ]


def _parts(
    splitters: Sequence[tuple[Any, Any]], X: Any, groups: Any, entropy: list[int]
) -> list[Part]:
    params = {} if groups is None else {"groups": groups}
    return [
        # The first part is what StabilityCV makes with the same seed.
        Part(
            target,
            splits_of(splitter, X, target, params),
            [*entropy, number] if number else entropy,
        )
        for number, (splitter, target) in enumerate(splitters)
    ]


def _block_sizes(n_rows: int, groups: Any) -> dict[int, int]:
    """Rows of each size of blocks, and how many units (rows, or groups) these are."""
    n_units = n_rows if groups is None else len(np.unique(np.asarray(groups)))
    sizes = {
        n_rows * size // n_units: size
        for size in (int(n_units * share) for share in _SHARES)
    }
    return {rows: size for rows, size in sizes.items() if rows >= _LEAST_BLOCK}


def _seed(entropy: list[int], *key: int) -> int:
    return int(
        np.random.SeedSequence(entropy, spawn_key=(3, *key)).generate_state(1)[0]
    )


# -- the runs ----------------------------------------------------------------------------------------------------------


def _runs(
    plan: RunPlan,
    X: Any,
    parts: Sequence[Part],
    declared: dict[str, Any],
    **settings: Any,
) -> list[Runs]:
    made = _run(plan, X, parts, **settings)
    _check_scored(
        [
            run
            for runs in made
            for run in runs
            if run.fit_error is None and not run.emptied
        ]
    )
    collected = [
        collect(runs, plan, part.splits, n_rows=X.shape[0], **declared)
        for part, runs in zip(parts, made, strict=True)
    ]
    # An error of the part with the fewest runs that are left, or one warning about all.
    report_failures(
        [run for runs in made for run in runs],
        min(map(len, collected)),
        plan.error_score,
    )
    return collected


def _run(
    plan: RunPlan, X: Any, parts: Sequence[Part], **settings: Any
) -> list[list[Run]]:
    """Make all runs in one go, so that no worker waits, and give each part its own."""
    names = random_parameters(plan.estimator, everywhere=False)
    job = Job(plan, [lone_candidate(plan.estimator, names)], X, parts)
    made: list[list[Run]] = [[] for _ in parts]
    for place, run in in_order(job, make(job, **settings)):
        made[place.part].append(run[0])
    return made


def _check_scored(done: Sequence[Run]) -> None:
    if done and all(run.score_error is not None for run in done):
        raise ValueError(
            f"scoring failed in all runs, the first time with {done[0].score_error}"
        )


# -- what they say -----------------------------------------------------------------------------------------------------


def _score(whole: Runs, plan: RunPlan, groups: Any) -> ScoreEstimate | None:
    name = plan.score_names[0]
    if plan.scorer is None or np.isnan(whole.scores[name]).all():
        return None
    scores, losses = whole.scores[name], whole.row_losses.get(name)
    codes = (
        None
        if groups is None
        else np.unique(np.asarray(groups), return_inverse=True)[1]
    )
    return ScoreEstimate(
        plan.row_scores.get(name, name),
        float(np.nanmean(scores)),
        score_error(scores, losses, codes),
    )


def _chance(
    measure: Measure, halves: Runs, permuted: Sequence[Runs], *, ignores_target: bool
) -> Chance:
    """Compare pairs of halves with those of permuted targets, in stability and in score."""
    stabilities = [_stability_of_pairs(measure, runs) for runs in permuted]
    n_pairs = len(halves.in_pairs()) // 2
    observed = _stability_of_pairs(measure, halves).mean()
    # Nothing selected (0) agrees no more than a few features that are never the same (slightly below 0).
    stability_pvalue = pvalue_above(
        max(observed, 0.0), np.maximum(as_of_pairs(stabilities, n_pairs), 0.0)
    )
    chance = Chance(
        stabilities=np.array([values.mean() for values in stabilities]),
        scores=np.zeros(0),
        stability_pvalue=stability_pvalue,
        score_pvalue=np.nan,
        frequencies=Runs.concat(permuted).frequencies().to_numpy(),
        ignores_target=ignores_target,
    )
    pairs, of_permuted = halves.in_pairs(), [runs.in_pairs() for runs in permuted]
    for name in halves.scores:
        own = _score_of_pairs(pairs, name)
        others = [_score_of_pairs(runs, name) for runs in of_permuted]
        chance = _with_score(chance, name, own, others, n_pairs)
    return chance


def _with_scores(chance: Chance, whole: Runs, again: Sequence[Runs]) -> Chance:
    """Compare the scores of bootstraps with those of permuted targets, in place of those of halves."""
    observed, *permuted = again
    for name in observed.scores:
        own = _known((whole if name in whole.scores else observed).scores[name])
        others = [_known(runs.scores[name]) for runs in permuted]
        chance = _with_score(chance, name, own, others, len(own))
    return chance


def _with_score(
    chance: Chance,
    name: str,
    own: FloatArray,
    others: Sequence[FloatArray],
    n_means: int,
) -> Chance:
    """Add how a score compares with that of permuted targets."""
    pvalue = _score_pvalue(own, others, n_means)
    means = np.array([values.mean() for values in others])
    if name == AUC:
        return replace(chance, auc=float(own.mean()), aucs=means, auc_pvalue=pvalue)
    return replace(chance, scores=means, score_pvalue=pvalue)


def _score_pvalue(
    observed: FloatArray, permuted: Sequence[FloatArray], n_pairs: int
) -> float:
    """Compare scores; NaN where a permutation has none, since what it left to predict with was nothing."""
    if np.isnan(np.concatenate(permuted)).any():
        return np.nan
    return pvalue_above(observed.mean(), as_of_pairs(permuted, n_pairs))


def _stability_of_pairs(measure: Measure, runs: Runs) -> FloatArray:
    """Value of each pair; their mean is the stability. Nothing selected is no agreement, though trivially stable."""
    pairs = runs.in_pairs()
    if measure.within_pairs is None or not pairs.tables.supports.sum():
        return np.zeros(max(len(pairs) // 2, 1))
    _, values = measure.within_pairs(measure.check(pairs))
    return values


def _score_of_pairs(runs: Runs, name: str) -> FloatArray:
    return _known(runs.scores[name].reshape(-1, 2).mean(axis=1))


def _known(scores: FloatArray) -> FloatArray:
    return (
        scores[~np.isnan(scores)] if not np.isnan(scores).all() else np.full(1, np.nan)
    )


def _curve(
    measure: Measure, parts: Sequence[Runs], sizes: Sequence[int], level: float
) -> pd.DataFrame:
    import pandas as pd

    found = [runs.replication(measure, confidence_level=level) for runs in parts]
    # Without a standard error, halves or blocks had nothing to choose: their stability is 1 by convention only.
    known = [np.nan if np.isnan(it.standard_error) else it.estimate for it in found]
    rows = [
        {"stability": value, "low": it.low, "high": it.high}
        for value, it in zip(known, found, strict=True)
    ]
    return pd.DataFrame(rows, index=pd.Index(sizes, name="n_rows"))
