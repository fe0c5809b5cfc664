"""Whose instability? The same resamples through several pipelines, and what is due to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from html import escape
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import stdtrit
from sklearn.base import clone, is_classifier

from skstab._checks import (
    check_int,
    check_level,
    check_run_settings,
    check_support_from,
)
from skstab._displays import draw
from skstab._engine.make import one_study
from skstab._random import draw_entropy, random_parameters, stream
from skstab._typing import (
    CVLike,
    Display,
    Estimator,
    FloatArray,
    MatrixLike,
    RandomState,
    ScoringLike,
)
from skstab.model_selection._compare import named_estimators
from skstab.model_selection._resampling import splits_of, splitter_for
from skstab.model_selection._stability_cv import StabilityCV
from skstab.model_selection._validation import read_data
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Multiverse", "multiverse"]

_SOURCES = ("data", "choices", "interaction", "seed")


class _Distances(NamedTuple):
    """Sums of ½|z − z'|² over ordered pairs of runs, by what the two runs share."""

    same_cell: float  # resample and pipeline
    same_choice: float  # the pipeline alone
    same_resample: float  # the resample alone
    neither: float
    size: float  # features selected by all runs together
    n_resamples: int
    n_choices: int
    n_seeds: int
    n_features: int

    @property
    def null(self) -> float:
        """Distance of two selections at random: k̄(1 − k̄/d)."""
        k = self.size / (self.n_resamples * self.n_choices * self.n_seeds)
        return k * (1 - k / self.n_features)

    def means(self) -> dict[str, float]:
        """Mean distance of two runs by what differs between them, over the null distance."""
        r, a, s = self.n_resamples, self.n_choices, self.n_seeds
        sums = {
            "seed": (self.same_cell, r * a * s * (s - 1)),
            "data": (self.same_choice, r * (r - 1) * a * s**2),
            "choices": (self.same_resample, r * a * (a - 1) * s**2),
            "both": (self.neither, r * (r - 1) * a * (a - 1) * s**2),
        }
        null = self.null or 1.0  # where there is nothing to choose, all runs are equal
        return {
            name: total / n_pairs / null if n_pairs else np.nan
            for name, (total, n_pairs) in sums.items()
        }

    def parts(self) -> FloatArray:
        """Parts of 1 − Φ of two runs on another resample by another pipeline: the variance components."""
        mean = self.means()
        seed = mean["seed"] if self.n_seeds > 1 else 0.0
        data = mean["both"] - mean["choices"]
        choices = mean["both"] - mean["data"]
        both = mean["both"] - data - choices - seed
        return np.array([data, choices, both, mean["seed"]])


@dataclass(frozen=True, repr=False, eq=False)
class Multiverse:
    """The runs of several pipelines on the same resamples; made by :func:`multiverse`.

    Parameters
    ----------
    runs : dict of list of Runs
        By the name of each pipeline, its runs with each seed. Only the resamples on which all of them succeeded count.
    confidence_level : float, default=0.95
        Level of the intervals.

    Examples
    --------
    Runs that are there already, of two analysts on the same four resamples:

    >>> from skstab.model_selection import Multiverse
    >>> from skstab.runs import Runs
    >>> ann = Runs.from_sets([["a", "b"], ["a", "b"], ["a", "c"], ["a", "b"]], features=["a", "b", "c", "d"])
    >>> bob = Runs.from_sets([["a", "d"], ["a", "d"], ["a", "d"], ["a", "d"]], features=["a", "b", "c", "d"])
    >>> found = Multiverse({"Ann": [ann], "Bob": [bob]})
    >>> found.shares()["part"].round(2)
    source
    data           0.00
    choices        0.75
    interaction    0.25
    seed            NaN
    Name: part, dtype: float64
    """

    runs: dict[Any, list[Runs]]
    _: KW_ONLY
    confidence_level: float = 0.95

    def __post_init__(self) -> None:
        _check_runs(self.runs)
        check_level(self.confidence_level)

    # -- tables --------------------------------------------------------------------------------------------------------

    @property
    def stability(self) -> float:
        """Stability Φ of two runs on another resample by another pipeline: what another analyst would have found."""
        return 1 - self._distances.means()["both"]

    def shares(self) -> pd.DataFrame:
        """Split the instability into what it is due to.

        Returns
        -------
        table : DataFrame
            For "data", "choices", their "interaction" and the "seed": the `part` of 1 − Φ, where Φ is the `stability`
            of two runs on another resample by another pipeline; the parts add up to it. `low` and `high` are the ends
            of its interval, about the resampling error. `share` is the part over the sum of all parts.
            `sum_of_squares` is the part of 1 − Φ of all runs taken together, by the sums of squares of the table of
            runs: they add up to it, too. With one seed the interaction holds that of the seed, which is NaN.
        """
        import pandas as pd

        parts = self._distances.parts()
        low, high = self._interval(lambda distances: distances.parts())
        total = 1 - self.stability
        return pd.DataFrame(
            {
                "part": parts,
                "low": low,
                "high": high,
                "share": parts / total if total > 0 else np.nan,
                "sum_of_squares": self._sums_of_squares(),
            },
            index=pd.Index(_SOURCES, name="source"),
        )

    def _sums_of_squares(self) -> FloatArray:
        found = self._distances
        r, a, s = found.n_resamples, found.n_choices, found.n_seeds
        n_runs = r * a * s
        # The distances within a set of m runs, over m, are its sum of squares.
        in_cell = found.same_cell / s
        in_choice = (found.same_cell + found.same_choice) / (r * s)
        in_resample = (found.same_cell + found.same_resample) / (a * s)
        total = (
            found.same_cell + found.same_choice + found.same_resample + found.neither
        ) / n_runs
        data, choices = total - in_resample, total - in_choice
        both = total - data - choices - in_cell
        seed = in_cell if s > 1 else np.nan
        sums = np.array([data, choices, both, seed])
        return sums / (n_runs - 1) / (found.null or 1.0)

    def pairs(self) -> pd.DataFrame:
        """Tabulate which choices disagree, those that disagree most first.

        Returns
        -------
        table : DataFrame
            One row per pair of pipelines `a` and `b`: the `part` of the instability that is due to their choice, with
            the ends `low` and `high` of its interval, about the resampling error: the mean over the pairs is the part
            of the choices in `shares`. `same_resample` is the stability of their runs on the same resample; `feature`
            is selected most differently often, in a share `frequency_a` and `frequency_b` of the runs.
        """
        import pandas as pd

        rows = [self._pair(a, b) for a, b in combinations(self.runs, 2)]
        table = pd.DataFrame(rows).sort_values("part", ascending=False, kind="stable")
        return table.reset_index(drop=True)

    def _pair(self, a: Any, b: Any) -> dict[str, Any]:
        places = [list(self.runs).index(name) for name in (a, b)]
        whole, *left_out = self._distances_of(places)
        null = (self._distances.null or 1.0) / (whole.null or 1.0)

        def part(distances: _Distances) -> Any:
            return distances.parts()[1] / null

        low, high = self._interval(part, [whole, *left_out])
        table, columns = self._table_and_columns
        first, second = (table[:, place].mean(axis=(0, 1)) for place in places)
        most = int(np.abs(first - second).argmax())
        return {
            "a": a,
            "b": b,
            "part": part(whole),
            "low": low,
            "high": high,
            "same_resample": 1 - whole.means()["choices"] / null,
            "feature": self._first.feature_names[columns[most]],
            "frequency_a": first[most],
            "frequency_b": second[most],
        }

    def frame(self) -> pd.DataFrame:
        """Tabulate the pipelines.

        Returns
        -------
        table : DataFrame
            One row per pipeline, indexed by its name: its own `stability` over the resamples with its 95% interval
            `stability_low`, `stability_high` about the resampling error (of its first seed), the mean stability of its
            runs and those of the others on the same resample, `with_others`, the mean number `n_features` of selected
            features, the mean `score` where there is one, and `n_failed` runs.
        """
        import pandas as pd

        pairs = self.pairs()
        rows = []
        for name, held in self.runs.items():
            interval = held[0].estimate()
            own = (pairs["a"] == name) | (pairs["b"] == name)
            scores = [values for runs in held for values in runs.scores.values()]
            of_one = len(held) == len(scores)
            rows.append(
                {
                    "stability": interval.estimate,
                    "stability_low": interval.low,
                    "stability_high": interval.high,
                    "with_others": pairs.loc[own, "same_resample"].mean(),
                    "n_features": np.mean(
                        [runs.tables.supports.sum() / len(runs) for runs in held]
                    ),
                    "score": np.nanmean(np.concatenate(scores)) if of_one else np.nan,
                    "n_failed": sum(runs.n_failed for runs in held),
                }
            )
        return pd.DataFrame(rows, index=pd.Index(list(self.runs), name="pipeline"))

    def plot(self, *, ax: Any = None, **options: Any) -> Display:
        """Draw what the instability is due to, and which choices disagree most.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Parameters of `from_multiverse` of :class:`skstab.inspection.MultiverseDisplay`.

        Returns
        -------
        display : MultiverseDisplay
            Drawn, with `ax_` and `figure_`.
        """
        return draw("multiverse", self, ax=ax, **options)

    # -- how -----------------------------------------------------------------------------------------------------------

    @property
    def _first(self) -> Runs:
        return next(iter(self.runs.values()))[0]

    @cached_property
    def _table_and_columns(self) -> tuple[Any, Any]:
        """Supports, resamples × pipelines × seeds × features, of those that any run selected; and which these are."""
        numbers = _shared_splits(self.runs)
        masks = [
            [_supports(runs, numbers) for runs in held] for held in self.runs.values()
        ]
        used = [mask.indices for held in masks for mask in held]
        columns = np.unique(np.concatenate([[0], *used]))
        by_choice = [
            np.stack([mask[:, columns].toarray() for mask in held], axis=1)
            for held in masks
        ]
        return np.stack(by_choice, axis=1), columns

    @cached_property
    def _distances_and_without(self) -> list[_Distances]:
        return self._distances_of(list(range(len(self.runs))))

    @property
    def _distances(self) -> _Distances:
        return self._distances_and_without[0]

    def _distances_of(self, places: list[int]) -> list[_Distances]:
        """Distances of some of the pipelines: on all resamples, then without each of them."""
        table = self._table_and_columns[0][:, places]
        (r, a, s), d = table.shape[:3], self._first.n_features
        sizes = table.sum(axis=3, dtype=np.float64).sum(axis=2)
        own = _summed_distances(table.sum(axis=2), sizes, s)
        of_any = _summed_distances(
            table.sum(axis=(1, 2))[:, None], sizes.sum(axis=1)[:, None], a * s
        )
        others = of_any - own  # of other pipelines
        size = sizes.sum() - np.append(0.0, sizes.sum(axis=1))
        of_own, of_others = _on_diagonal_and_off(own), _on_diagonal_and_off(others)
        sums = np.stack([*of_own, *of_others, size], axis=1)
        return [
            _Distances(cell, choice, resample, neither, size, r - (number > 0), a, s, d)
            for number, (cell, choice, resample, neither, size) in enumerate(
                sums.tolist()
            )
        ]

    def _interval(
        self, function: Any, distances: list[_Distances] | None = None
    ) -> tuple[Any, Any]:
        """Jackknife over the resamples, with all runs on each."""
        whole, *fewer = self._distances_and_without if distances is None else distances
        r = whole.n_resamples
        left_out = np.array([function(found) for found in fewer])
        spread = left_out - left_out.mean(axis=0)
        error = np.sqrt((r - 1) / r * (spread**2).sum(axis=0))
        half = stdtrit(r - 1, (1 + self.confidence_level) / 2) * error
        return function(whole) - half, function(whole) + half

    def _summary(self) -> str:
        shares = self.shares()["part"].dropna().sort_values(ascending=False)
        parts = " + ".join(f"{source} {part:.2f}" for source, part in shares.items())
        found = self._distances
        design = f"{found.n_choices} pipelines on {found.n_resamples} resamples"
        if found.n_seeds > 1:
            design = f"{design} with {found.n_seeds} seeds"
        return (
            f"{design}: stability of two runs on another resample by another pipeline {self.stability:.2f}; "
            f"1 − Φ = {1 - self.stability:.2f} = {parts}"
        )

    def __repr__(self) -> str:
        return f"Multiverse({self._summary()})"

    def _repr_html_(self) -> str:
        html: str = self.shares().to_html(float_format="{:.3f}".format)
        return f"<div><p><strong>{escape(self._summary())}</strong></p>{html}</div>"


@one_study()
def multiverse(
    pipelines: Mapping[str, Estimator] | Sequence[Estimator],
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    cv: CVLike = None,
    n_seeds: int = 1,
    scoring: ScoringLike = None,
    support_from: str = "used",
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    checkpoint: str | PathLike[str] | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> Multiverse:
    """Split the instability of a selection into that of the data, of the choices of the analyst, and of the seed.

    Each pipeline is one way to analyse the same data, which another analyst might have chosen: other scaling,
    imputation, filter or model. All run on the same resamples.

    Parameters
    ----------
    pipelines : dict or list of estimators
        At least two, by name, each of a kind that :class:`StabilityCV` wraps; those of a list are called by their
        class. Take all that could be defended, and none that could not: the answer is about these.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,), default=None
        The target.
    cv : int, cross-validation generator or iterable, default=None
        The resamples; None takes 50 bootstrap samples, stratified for classifiers.
    n_seeds : int, default=1
        How often each pipeline runs on each resample, each time with another seed in every `random_state` inside it.
        One run cannot distinguish the seed from the interaction.
    scoring : str, callable, list, tuple or dict, default=None
        How each run is scored, as for :class:`StabilityCV`; it is shown beside the stabilities only.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run, as for :class:`StabilityCV`.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows (patients) for the splitter.
    confidence_level : float, default=0.95
        Level of the intervals.
    checkpoint : str or path-like, default=None
        A file in which every finished run is stored, as in :class:`StabilityCV`.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the default resamples and of what is random in the pipelines.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Returns
    -------
    found : Multiverse
        With `shares()`, `pairs()`, `frame()`, `stability` and `plot()`.

    See Also
    --------
    compare_selectors : Which of several selectors to take, by stability and score.

    Notes
    -----
    With z the 0/1 vector of what a run selects and D the mean of ½‖z − z'‖² over pairs of runs, divided by that of
    random selections k̄(1 − k̄/d), 1 − D is Nogueira's stability Φ for these pairs. There are four kinds of pairs: runs
    that differ in the seed alone (D_s), in the resample (D_r), in the pipeline (D_c), and in both (D_rc). Then

    - data = D_rc − D_c, choices = D_rc − D_r, interaction = D_r + D_c − D_rc − D_s, seed = D_s,

    of which data are what a resample changes in all pipelines alike, and interaction what it changes in one and not in
    another: the instability of one pipeline alone is that of data, interaction and seed. They
    add up to D_rc = 1 − Φ between two runs that share neither resample nor pipeline. They are the components of
    variance of a crossed design, estimated without bias by its mean squares, and may fall below zero where there is
    nothing. Sums of squares split 1 − Φ of all runs together as well (`sum_of_squares`), but attribute a part of the
    interaction to data and choices: with two pipelines half of it to the data.

    Intervals are by the jackknife over resamples: they hold the pipelines fixed, and are about the resampling error of
    this data set. Data are resamples here; other data sets differ more (:func:`assess_selector`).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import BootstrapSplit, multiverse
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    >>> pipelines = {
    ...     "lasso": make_pipeline(StandardScaler(), lasso),
    ...     "F test": SelectKBest(k=10),
    ... }
    >>> found = multiverse(pipelines, X, y, cv=BootstrapSplit(10, random_state=0), random_state=0)
    >>> found.shares()[["part", "low", "high"]].round(2)
                 part   low  high
    source
    data         0.00  0.00  0.00
    choices      0.70  0.58  0.82
    interaction  0.12  0.08  0.17
    seed          NaN   NaN   NaN
    """
    named = named_estimators(pipelines, "pipelines")
    check_int(n_seeds, "n_seeds")
    check_support_from(support_from)
    check_level(confidence_level)
    settings = check_run_settings(
        checkpoint=checkpoint,
        max_seconds=max_seconds,
        max_memory=max_memory,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    classifiers = all(is_classifier(pipeline) for pipeline in named.values())
    data, target = read_data(X, y, needs_classes=classifiers)
    entropy = draw_entropy(random_state)
    splitter = splitter_for(
        cv,
        target,
        classifier=classifiers,
        grouped=groups is not None,
        entropy=entropy,
    )
    params = {} if groups is None else {"groups": groups}
    splits = splits_of(splitter, data, target, params)
    if len(splits) < 3:
        raise ValueError(
            f"cv must give at least 3 splits, for the interval over them; got {len(splits)}"
        )
    seeds = stream(entropy, 4).randint(2**31, size=n_seeds).tolist()
    found: dict[Any, list[Runs]] = {name: [] for name in named}
    for name, pipeline in named.items():
        varies = n_seeds > 1 and bool(random_parameters(pipeline, everywhere=True))
        for seed in seeds if varies else seeds[:1]:
            runs = StabilityCV(
                clone(pipeline),
                cv=splits,
                scoring=scoring,
                support_from=support_from,
                perturb="seed" if varies else None,
                random_state=seed,
                **settings,
            )
            try:
                found[name].append(runs.fit(data, target).runs_)
            except (TypeError, ValueError) as error:
                error.add_note(f"This is of pipelines[{name!r}].")
                raise
        if not varies:  # without anything random all seeds give the same
            found[name] *= n_seeds
    return Multiverse(found, confidence_level=confidence_level)


def _check_runs(runs: Any) -> None:
    if not isinstance(runs, Mapping) or len(runs) < 2:
        raise ValueError(
            f"runs must be a dict of at least 2 lists of Runs, got {runs!r}"
        )
    lists = list(runs.values())
    if not all(
        isinstance(held, list)
        and held
        and all(isinstance(part, Runs) for part in held)
        and len(held) == len(lists[0])
        for held in lists
    ):
        raise ValueError(
            "runs must be a dict of lists of Runs, as many for each pipeline"
        )
    names = lists[0][0].feature_names
    if any(
        not np.array_equal(part.feature_names, names) for held in lists for part in held
    ):
        raise ValueError("runs must be of the same features in the same order")
    n_shared = len(_shared_splits(runs))
    if n_shared < 3:
        raise ValueError(
            f"runs must share at least 3 resamples on which all succeeded, got {n_shared}"
        )


def _shared_splits(runs: Mapping[Any, list[Runs]]) -> Any:
    numbers = [part.split_numbers for held in runs.values() for part in held]
    shared = numbers[0]
    for others in numbers[1:]:
        shared = np.intersect1d(shared, others)
    return shared


def _supports(runs: Runs, numbers: Any) -> Any:
    """What each run on one of these splits selected, in the order of the splits."""
    kept = runs.take(np.isin(runs.split_numbers, numbers))
    return csr_array(kept.take(np.argsort(kept.split_numbers)).table_for("nogueira"))


def _summed_distances(counts: Any, sizes: Any, n_runs: int) -> FloatArray:
    """Sums of ½|z − z'|² = ½(k + k') − |z ∩ z'| over the pairs of runs of two resamples, `n_runs` in each cell."""
    flat = counts.reshape(len(counts), -1).astype(np.float64)
    shared = flat @ flat.T
    total = sizes.sum(axis=1)
    distances: FloatArray = n_runs * (total[:, None] + total[None, :]) / 2 - shared
    return distances


def _on_diagonal_and_off(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of a symmetric table on the diagonal and off it: of the whole, then without each row and its column."""
    diagonal = np.diagonal(table)
    off = table.sum(axis=1) - diagonal
    on_diagonal = diagonal.sum() - np.append(0.0, diagonal)
    return on_diagonal, off.sum() - 2 * np.append(0.0, off)
