"""What may make a report misleading: leaks, copies, unequal classes, sizes, patients with several rows, batches."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.feature_selection import f_classif, f_regression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skstab._report.columns import (
    is_numeric,
    is_structured,
    levels_of,
    looks_like_codes,
    looks_like_subjects,
)
from skstab._report.survival import concordance_index
from skstab._report.words import listed, plural

if TYPE_CHECKING:
    import pandas as pd

    from skstab._report.dataset import Dataset
    from skstab._typing import FloatArray

_LEAK = 0.98  # balanced accuracy, or R²
_SLACK = 0.03  # that rows not seen may be predicted better than those seen, by chance
_TRIED = 50  # columns with the strongest relation to the target, of which each is tried alone
_COPY = 0.995  # correlation of near-copies
_MOST_PAIRWISE = 20_000
_BLOCK = 500
_PURE = 0.98
_UNEQUAL = 3.0
_SMALL_CLASS = 10
_FEW_EVENTS = 30
_FEW_GAPS = 5
_BATCH = re.compile(
    r"(?:.*[\W_])?(?:batch|plate|chip|array|lane|run|slide|site|cent(?:er|re)|hospital|lab|laboratory|scanner|machine|"
    r"instrument|operator|technician|reader|kit|lot|cohort|study|dataset)(?:[\W_]*(?:id|nr|no|number|name|code|\d+))?",
    re.IGNORECASE,
)
_PERSON = re.compile(
    "patient|subject|participant|donor|proband|individual|person|animal|mouse",
    re.IGNORECASE,
)
_MOST_BATCHES = 50
_LETTERS = re.compile(r"[^\W\d_]+")


def alerts_of(data: Dataset, *, target: str, n_resamples: int) -> list[str]:
    """Everything that a reader must know before a recommendation, in sentences."""
    in_text = copies_in_text(data)
    return [
        *(
            [f"Possible leak: the texts of {listed(in_text)} say what {target!r} is."]
            if in_text
            else []
        ),
        *leaks(data, target, besides=in_text),
        *telling_gaps(data),
        *copied_columns(data.X, data.variables),
        *copied_rows(data.X),
        *unequal_classes(data),
        *few_events(data),
        *sizes(data, n_resamples),
        *repeated_subjects(data),
        *batches(data, target),
    ]


# -- leaks -------------------------------------------------------------------------------------------------------------


def leaks(data: Dataset, target: str, *, besides: Sequence[str]) -> Iterator[str]:
    """Columns that alone predict the target almost perfectly, besides those known to."""
    X = _filled(data.X)
    strong = [
        position
        for position in _strongest(X, data)
        if _predicts_alone(X[:, [position]], data)
    ]
    found = dict.fromkeys(
        data.variables[data.X.columns[position]] for position in strong
    )
    names = [name for name in found if name not in besides]
    if names:
        alone = "alone predicts" if len(names) == 1 else "each alone predict"
        yield (
            f"Possible leak: {listed(names)} {alone} {target!r} almost perfectly. What is derived from the target, or "
            "known only after it, must be left out."
        )


def telling_gaps(data: Dataset) -> Iterator[str]:
    """Columns that are empty for one class, or for the rows without an event, and filled for the others."""
    if not (data.is_survival or data.is_classification):
        return
    classes = data.y["event"] if data.is_survival else data.y.to_numpy()
    names = []
    for name in data.table.columns.difference(data.apart, sort=False):
        empty = data.table[name].isna().to_numpy()
        if _FEW_GAPS <= empty.sum() <= len(empty) - _FEW_GAPS and _separates(
            empty, classes
        ):
            names.append(name)
    if names:
        what = "whether there was an event" if data.is_survival else "the class"
        yield (
            f"Possible leak: whether {listed(names)} {'is' if len(names) == 1 else 'are'} missing says {what}. What is "
            "filled in only after the target is known must be left out."
        )


def _separates(empty: Any, classes: Any) -> bool:
    """Whether some class is nearly always empty and nearly no other is, or the reverse."""
    for label in np.unique(classes):
        own = classes == label
        if abs(empty[own].mean() - empty[~own].mean()) >= 2 * _LEAK - 1:
            return True
    return False


def _filled(X: pd.DataFrame) -> FloatArray:
    """Values with the median of their column where they are missing."""
    return np.asarray(X.fillna(X.median()), dtype=float)


def _strongest(X: FloatArray, data: Dataset) -> Sequence[int]:
    """Columns whose ranks, or distances from the middle rank, are most related to the target."""
    ranks = stats.rankdata(X, axis=0)
    y = data.y if data.is_classification else stats.rankdata(data.response)
    relation = f_classif if data.is_classification else f_regression
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # the distances of a column of 0 and 1 may be constant
        strengths = [
            relation(values, y)[0]
            for values in (ranks, np.abs(ranks - ranks.mean(axis=0)))
        ]
    # A column without any variation within classes has an infinite F; distances that are all equal have none.
    strength = np.nan_to_num(np.fmax(*strengths), nan=np.inf, posinf=np.inf)
    return [int(position) for position in np.argsort(-strength, kind="stable")[:_TRIED]]


def _predicts_alone(x: FloatArray, data: Dataset) -> bool:
    """Whether a small tree on one column predicts rows that it has not seen; for survival, whether its order does."""
    if data.is_survival:
        return abs(2 * concordance_index(data.y, x[:, 0]) - 1) >= 2 * _LEAK - 1
    folds = 5
    if data.is_classification:
        folds = max(2, min(folds, int(data.y.value_counts().min())))
        tree: Any = DecisionTreeClassifier(
            max_leaf_nodes=2 * data.y.nunique(), random_state=0
        )
    else:
        tree = DecisionTreeRegressor(random_state=0)
    scoring = "balanced_accuracy" if data.is_classification else "r2"
    order = np.random.default_rng(0).permutation(len(x))
    y = np.asarray(data.target)[order]
    # Few leaves that do not even separate the rows that they have seen do not predict others.
    if (
        data.is_classification
        and balanced_accuracy_score(y, tree.fit(x[order], y).predict(x[order]))
        < _LEAK - _SLACK
    ):
        return False
    return bool(
        cross_val_score(tree, x[order], y, cv=folds, scoring=scoring).mean() >= _LEAK
    )


def copies_in_text(data: Dataset) -> list[str]:
    """Names of columns of texts, also such as are no features, whose words are the target, or go with it one to one."""
    if not data.is_classification:
        return []
    texts = _other_columns(data)
    texts = [
        name
        for name in texts
        if not is_numeric(data.table[name]) and data.table[name].notna().mean() > 0.5
    ]
    return [name for name in texts if says(levels_of(data.table[name]), data.y)]


def _other_columns(data: Dataset) -> list[str]:
    """Columns besides the target and the groups, also such as are no features, but none of binary data or lists."""
    return [
        name
        for name in data.table.columns
        if name not in data.apart and not is_structured(data.table[name])
    ]


def says(texts: pd.Series, y: pd.Series) -> bool:
    """Whether texts name the class of their row, or each text occurs several times and only with one class."""
    return _names_classes(texts, y) or _maps_to_classes(texts, y)


def _names_classes(texts: pd.Series, y: pd.Series) -> bool:
    classes = {
        label: label.lower()
        for label in y.unique()
        if _LETTERS.fullmatch(label) and len(label) > 1
    }
    if len(classes) < y.nunique():
        return False
    words = [set(_LETTERS.findall(text.lower())) for text in texts]
    others = set(classes.values())
    hits = [
        found & others == {classes[label]}
        for found, label in zip(words, y, strict=True)
    ]
    return float(np.mean(hits)) >= _PURE


def _maps_to_classes(texts: pd.Series, y: pd.Series) -> bool:
    import pandas as pd

    counts = pd.crosstab(texts.to_numpy(), y.to_numpy()).to_numpy()
    is_pure = counts.max(axis=1).sum() >= _PURE * len(y)
    covers_all = len(set(counts.argmax(axis=1))) == counts.shape[1]
    return bool(len(counts) <= len(y) / 3 and is_pure and covers_all)


# -- copies ------------------------------------------------------------------------------------------------------------


def copied_columns(X: pd.DataFrame, variables: dict[str, str]) -> Iterator[str]:
    """Columns that repeat others, exactly or nearly."""
    pairs = [
        (a, b)
        for a, b in near_copies(_filled(X))
        if variables[X.columns[a]] != variables[X.columns[b]]
    ]
    if pairs:
        shown = ", ".join(
            f"{X.columns[a]!r} and {X.columns[b]!r}" for a, b in pairs[:5]
        )
        more = f" and {len(pairs) - 5} more pairs" if len(pairs) > 5 else ""
        yield (
            f"Columns that say the same (correlation of at least {_COPY:g}): {shown}{more}. A selector takes one or "
            "the other by chance, which looks unstable; keep one of each."
        )


def near_copies(X: FloatArray) -> list[tuple[int, int]]:
    """Pairs of columns with a correlation of almost 1 or −1, in blocks of columns."""
    centred = (X - X.mean(axis=0)).astype(np.float32)
    norms = np.linalg.norm(centred, axis=0)
    known = np.flatnonzero(norms > 0)[:_MOST_PAIRWISE]
    Z = centred[:, known] / norms[known]
    pairs: list[tuple[int, int]] = []
    for start in range(0, len(known), _BLOCK):
        block = Z[:, start : start + _BLOCK].T @ Z[:, start:]
        first, second = np.nonzero(np.triu(np.abs(block, out=block) >= _COPY, k=1))
        pairs += zip(
            known[start + first].tolist(), known[start + second].tolist(), strict=True
        )
    return pairs


def copied_rows(X: pd.DataFrame) -> Iterator[str]:
    """Rows that repeat others; whole numbers and categories alone may coincide."""
    if not (X.nunique() > len(X) / 2).any():
        return
    number = int(X.duplicated().sum())
    if number:
        yield (
            f"{plural(number, 'row')} {'is a copy' if number == 1 else 'are copies'} of others in all features: a copy "
            "on both sides of a resample makes scores too good."
        )


# -- classes and sizes -------------------------------------------------------------------------------------------------


def unequal_classes(data: Dataset) -> Iterator[str]:
    """Classes of very different size, with the score of a constant guess, and classes of few rows."""
    if not data.is_classification:
        return
    counts = data.y.value_counts()
    share = counts.iloc[0] / counts.sum()
    if counts.iloc[0] >= _UNEQUAL * counts.iloc[-1]:
        yield (
            f"The classes are unequal: {share:.0%} of the rows are {counts.index[0]!r}. Always guessing this class has "
            f"an accuracy of {share:.2f}, and a balanced accuracy of {1 / len(counts):.2f}."
        )
    small = counts[counts < _SMALL_CLASS]
    if len(small):
        shown = ", ".join(
            f"{name!r} ({plural(int(number), 'row')})"
            for name, number in small[:5].items()
        )
        yield f"Few rows in a class: {shown}. What is found about it rests on these rows alone."


def few_events(data: Dataset) -> Iterator[str]:
    """Few observed events, which are what a model of survival learns from."""
    if not data.is_survival:
        return
    number = int(data.y["event"].sum())
    if number < _FEW_EVENTS:
        yield (
            f"There are few events ({number} of {len(data.y)} rows): what is found rests on these, however many rows "
            "there are."
        )


def sizes(data: Dataset, n_resamples: int) -> Iterator[str]:
    """More features than rows, or fewer rows than resamples."""
    n_rows, n_features = data.X.shape
    if n_features > n_rows:
        yield (
            f"There are more features ({n_features}) than rows ({n_rows}): many sets of features fit these rows "
            "equally well, and some predict by chance alone."
        )
    n_units, unit = (
        (n_rows, "row")
        if data.groups is None
        else (int(data.groups.nunique()), "group")
    )
    if n_units < n_resamples:
        yield (
            f"There are fewer {unit}s ({n_units}) than resamples ({n_resamples}): resamples share most of their rows, "
            "and their number does not make up for a small sample."
        )


# -- patients and batches ----------------------------------------------------------------------------------------------


def repeated_subjects(data: Dataset) -> Iterator[str]:
    """Identifiers that occur in several rows, which are then not independent."""
    if data.groups is not None:
        return
    found = [
        name
        for name in _other_columns(data)
        if looks_like_subjects(data.table[name]) or _is_code(data.table[name])
    ]
    # A sample or a record is one row of a patient, whatever its number repeats by.
    found.sort(key=lambda name: not _PERSON.search(str(name)))
    if found:
        number = int(data.table[found[0]].nunique())
        yield (
            f"Rows may not be independent: {listed(found)} looks like patients with several rows ({number} different "
            f"values). If so, add groups={found[0]!r}: otherwise the same patient is on both sides of a resample."
        )


def _is_code(column: pd.Series) -> bool:
    return not is_numeric(column) and looks_like_codes(column)


def batches(data: Dataset, target: str) -> Iterator[str]:
    """Columns that look like a batch, a site or an instrument, and whether they go with the target."""
    for name in _other_columns(data):
        column = data.table[name]
        if not _looks_like_batch(column):
            continue
        pvalue = _association(levels_of(column), data)
        relation = "is related to" if pvalue < 0.01 else "is not visibly related to"
        advice = (
            "features may separate batches instead"
            if pvalue < 0.01
            else "features may still differ by it"
        )
        yield f"{name!r} looks like a batch or a site, and {relation} {target!r} (p = {pvalue:.2g}): {advice}."


def _looks_like_batch(column: pd.Series) -> bool:
    return bool(
        _BATCH.fullmatch(str(column.name).strip())
    ) and 2 <= column.nunique() <= min(_MOST_BATCHES, len(column) / 3)


def _association(levels: pd.Series, data: Dataset) -> float:
    """P-value of a relation between a category and the target."""
    import pandas as pd

    if data.is_classification:
        return float(
            stats.chi2_contingency(
                pd.crosstab(levels.to_numpy(), data.y.to_numpy())
            ).pvalue
        )
    parts = [part.to_numpy() for _, part in data.response.groupby(levels)]
    return float(stats.kruskal(*parts).pvalue)
