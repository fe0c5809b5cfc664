"""Kalousis, Prados and Hilario (2007), Stability of feature selection algorithms, Knowledge and Information Systems 12.

    python benchmarks/papers/kalousis2007.py [--quick] [--out DIR] [--data DIR]

Table 2 (stability of weights, rankings and the ten best features), the rasters of figures 1 to 3, the profiles of
figures 4 to 6, the similarity of selectors and of their predictions, and the choice of section 5, on the two of the
paper's sets that are at hand: leukemia (golub) and colon (alon). It is nested as in the paper: tenfold cross-validation
within the training rows of each of ten outer folds. What the paper says of genomics and proteomics in general is then
tried on sets of other papers, in one outer fold. With --quick, colon alone and two outer folds, half a minute.
"""

from __future__ import annotations

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

from argparse import Namespace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from _tables import (
    Row,
    claim,
    compare,
    elapsed,
    figure,
    load,
    note,
    number,
    options,
    show,
    title,
)
from scipy.stats import chi2
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from skstab.feature_selection import (
    HybridRFE,
    discretised_chi2,
    information_gain,
    relieff,
    symmetrical_uncertainty,
)
from skstab.inspection import StabilityProfileDisplay, SupportRasterDisplay
from skstab.metrics import jaccard_stability, pearson_stability, spearman_stability
from skstab.model_selection import StabilityCV, compare_selectors

DATA = {"colon": "alon", "leukemia": "golub"}
# Sets of other papers, of the same two kinds: arcene's spectra are of ovarian and prostate cancer, as two of this one.
PROTEOMICS, GENOMICS = ("arcene",), ("gravier", "singh")
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)
UNIVARIATE = ["IG", "CHI", "SYM"]


# -- selectors ---------------------------------------------------------------------------------------------------------


def linear_svm() -> SVC:
    return SVC(kernel="linear", C=0.5)


def above_smallest(selector: SelectKBest) -> Any:
    """Scores of ReliefF without their sign: those below 0 are worse than 0, not equal to those above it."""
    return selector.scores_ - selector.scores_.min()


def squared_weights(pipe: Any) -> Any:
    return pipe[-1].coef_[0] ** 2


def svm_rfe(k: int = 1, **options: Any) -> HybridRFE:
    """Elimination by a linear SVM that drops a tenth of the remaining features."""
    return HybridRFE(k, loss="hinge", C=0.5, step=0.1, **options)


def late_dropped(X: Any, y: Any) -> Any:
    """Score features by how late that elimination drops them."""
    return X.shape[1] - np.argsort(svm_rfe().fit(X, y).elimination_order_)


RELIEF = partial(relieff, n_neighbors=10)
# Each with the function that reads its weights. Features are scaled to [0, 1] for the SVM, as Weka does.
RANKINGS = {
    "IG": (SelectKBest(information_gain, k="all"), "auto"),
    "CHI": (SelectKBest(discretised_chi2, k="all"), "auto"),
    "SYM": (SelectKBest(symmetrical_uncertainty, k="all"), "auto"),
    "RELIEF": (SelectKBest(RELIEF, k="all"), above_smallest),
    "SVMONE": (make_pipeline(MinMaxScaler(), linear_svm()), squared_weights),
    "SVMRFE": (
        make_pipeline(MinMaxScaler(), SelectKBest(late_dropped, k="all")),
        "auto",
    ),
}


def classifiers(k: int, *, univariate: Any = ("IG",)) -> dict[str, Any]:
    """The selectors of section 5, each before a linear SVM."""
    selectors = {
        **{name: SelectKBest(RANKINGS[name][0].score_func, k=k) for name in univariate},
        "RELIEF": SelectKBest(RELIEF, k=k),
        "SVMONE": SelectFromModel(linear_svm(), max_features=k, threshold=-np.inf),
        "SVMRFE": svm_rfe(k),
    }
    return {
        name: make_pipeline(MinMaxScaler(), selector, linear_svm())
        for name, selector in selectors.items()
    }


# -- nested runs -------------------------------------------------------------------------------------------------------


def nested_weights(X: Any, y: Any, n_outer: int) -> dict[str, list[Any]]:
    """Weights of all features, inner folds × features, for each selector and each of the first outer folds."""
    training = [train for train, _ in FOLDS.split(X, y)][:n_outer]
    return {
        name: [inner_weights(selector, getter, X[rows], y[rows]) for rows in training]
        for name, (selector, getter) in RANKINGS.items()
    }


def inner_weights(selector: Any, getter: Any, X: Any, y: Any) -> Any:
    runs = StabilityCV(
        selector, cv=FOLDS, measure="pearson", importance_getter=getter
    ).fit(X, y)
    return runs.importances_


def places(weights: Any) -> Any:
    """Place of each feature in each run, 0 for the largest weight; equals in random order."""
    rng = np.random.default_rng(0)
    return np.lexsort((rng.random(weights.shape), -weights), axis=1).argsort(axis=1)


def mean_over_folds(measure: Any, folds: list[Any]) -> float:
    return float(np.mean([measure(weights) for weights in folds]))


def top_stability(weights: Any, *, size: int = 10) -> float:
    return jaccard_stability(places(weights) < size)


# -- table 2 -----------------------------------------------------------------------------------------------------------

MEASURES = {
    "S_W": pearson_stability,
    "S_R": partial(spearman_stability, ties="random", random_state=0),
    "S_S": top_stability,
}
# "common" is how the paper reads S_S of sets of ten: as a number r of common features, S_S = r/(20 − r).
TABLE_2 = {
    "leukemia": {
        ("IG", "S_S"): 0.7392,
        ("SYM", "S_S"): 0.7897,
        ("SVMRFE", "S_S"): 0.2678,
        ("SYM", "common"): 8.82,
        ("SVMONE", "common"): 6.55,
        ("SVMRFE", "common"): 4.22,
        ("IG", "S_R"): 0.247,
        ("RELIEF", "S_R"): 0.8675,
        ("SVMONE", "S_R"): 0.754,
        ("SVMRFE", "S_R"): 0.754,
    },
    "colon": {
        ("IG", "S_W"): 0.7606,
        ("IG", "S_R"): 0.1138,
        ("IG", "S_S"): 0.4865,
        ("SVMONE", "common"): 5.19,
        ("SVMRFE", "common"): 3.86,
    },
}


def table_2(name: str, weights: dict[str, list[Any]]) -> pd.DataFrame:
    by_selector = {
        who: {
            label: mean_over_folds(measure, folds)
            for label, measure in MEASURES.items()
        }
        for who, folds in weights.items()
    }
    measured = pd.DataFrame(by_selector).T
    measured.loc["SVMRFE", "S_W"] = np.nan  # it ranks, and has no weights
    measured["common"] = 20 * measured["S_S"] / (1 + measured["S_S"])
    measured["counted"] = pd.Series(
        {who: mean_over_folds(common_features, folds) for who, folds in weights.items()}
    )
    stated = TABLE_2.get(name, {})
    rows = [
        number(f"{who} {label}", value, measured.loc[who, label])
        for (who, label), value in stated.items()
    ]
    text = (
        "the numbers that the text quotes"
        if stated
        else "a set of another paper, one outer fold"
    )
    compare(f"Table 2 on {name}: {text}", [*rows, *_claims_of_table_2(name, measured)])
    zeros = {
        selector: np.mean([(fold == 0).mean() for fold in folds])
        for selector, folds in weights.items()
    }
    note(
        f"All of table 2 on {name}, common features counted, and the share of weights that are 0 (table 3):\n"
    )
    show(
        measured.assign(zeros=pd.Series(zeros))
        .map("{:.2f}".format)
        .reset_index(names="selector")
    )
    return measured


def common_features(weights: Any) -> float:
    """Mean number of features that two runs have in common among their ten best."""
    best = (places(weights) < 10).astype(float)
    shared = best @ best.T
    return float(shared[np.triu_indices(len(best), 1)].mean())


def _claims_of_table_2(name: str, measured: pd.DataFrame) -> list[Row]:
    best = measured.idxmax()
    sharp = measured.loc[UNIVARIATE, "S_R"].max()
    expected = {"leukemia": UNIVARIATE, "colon": ["RELIEF"], "arcene": ["RELIEF"]}
    one, rfe = measured.loc["SVMONE", "S_S"], measured.loc["SVMRFE", "S_S"]
    text = f"{one:.2f} against {rfe:.2f}"
    holds, below = sharp < measured["S_R"].median() - 0.2, "far below the others"
    rows = [
        claim(
            "most stable ranking", "RELIEF", best["S_R"], holds=best["S_R"] == "RELIEF"
        ),
        claim("S_R of the univariate", below, f"{sharp:.2f}", holds=holds),
        _tie_within(
            0.05,
            one - rfe,
            claim(
                "SVMONE more stable than SVMRFE in S_S", "yes", text, holds=one > rfe
            ),
        ),
    ]
    if name in expected:
        who, text = expected[name], " or ".join(expected[name])
        lead = measured["S_S"].max() - measured.loc[who, "S_S"].max()
        row = claim(
            "most stable ten features", text, best["S_S"], holds=best["S_S"] in who
        )
        rows.append(row if lead == 0 else _tie_within(0.05, lead, row))
    return rows


def _tie_within(width: float, difference: float, row: Row) -> Row:
    """Differences that are smaller than those between outer folds are ties."""
    return row._replace(distance="tie") if abs(difference) < width else row


def genomics_on_average(tables: dict[str, pd.DataFrame]) -> None:
    """What section 4.2 says of the ten best features on average over the sets of genomics."""
    names = [name for name in tables if name not in PROTEOMICS]
    mean = (
        pd.concat([tables[name]["S_S"] for name in names], axis=1)
        .mean(axis=1)
        .sort_values(ascending=False)
    )
    text = ", ".join(f"{who} {value:.2f}" for who, value in mean.items())
    row = claim(
        f"mean S_S of {', '.join(names)}",
        "RELIEF is the best",
        text,
        holds=mean.index[0] == "RELIEF",
    )
    compare("Section 4.2: the ten best features in genomics, on average", [row])


# -- figures 1 to 3, and selectors against each other ------------------------------------------------------------------


def figures_1_to_3(opts: Namespace, name: str, weights: dict[str, list[Any]]) -> None:
    """What every inner fold selected: ten features, one band a selector."""
    supports = {
        selector: np.vstack([places(fold) < 10 for fold in folds])
        for selector, folds in weights.items()
    }
    with figure(opts, f"kalousis2007_raster_{name}", figsize=(9, 6)) as axes:
        SupportRasterDisplay.from_supports(supports).plot(axes)


def between_selectors(opts: Namespace, name: str, X: Any, y: Any) -> None:
    """How alike selectors are on the same folds: in the ten features they select, and in what their models predict."""
    # Each row is left out twice, so that the predictions of two models of one selector can be compared, too.
    cv = RepeatedStratifiedKFold(
        n_splits=5 if opts.quick else 10, n_repeats=2, random_state=0
    )
    found = compare_selectors(
        classifiers(10, univariate=UNIVARIATE), X, y, cv=cv, measure="jaccard"
    )
    overlap, agreement = found.overlap(), found.agreement()
    compare(
        f"Section 4.2 and 6 on {name}: selectors against each other",
        _claims_between(overlap, agreement),
    )
    for text, table in {
        "S_S between selectors on the same fold (diagonal: between folds)": overlap,
        "Common features of ten (diagonal: selected)": found.shared_features(),
        "Share of equal predictions for the rows left out": agreement,
    }.items():
        note(f"{text}, {name}:\n")
        show(table.map("{:.2f}".format).reset_index(names="selector"))


def _claims_between(overlap: pd.DataFrame, agreement: pd.DataFrame) -> list[Row]:
    alike = [overlap.loc[a, b] for a, b in combinations(UNIVARIATE, 2)]
    low, high = min(alike), max(alike)
    svms, other = (
        overlap.loc["SVMONE", "SVMRFE"],
        overlap.loc["SVMONE"].drop(["SVMONE", "SVMRFE"]).max(),
    )
    own, relief = (
        overlap.loc["RELIEF", "RELIEF"],
        overlap.loc["RELIEF"].drop("RELIEF").max(),
    )
    lesser = f"{svms:.2f}; SVMONE and others at most {other:.2f}"
    different = f"at most {relief:.2f}; its own folds {own:.2f}"
    sets, equal = (table.loc["SVMRFE", "SVMRFE"] for table in (overlap, agreement))
    predictions = f"S_S {sets:.2f} between folds, {equal:.0%} of the predictions equal"
    return [
        claim(
            "univariate methods",
            "select roughly the same",
            f"{low:.2f} to {high:.2f}",
            holds=low > 0.5,
        ),
        claim(
            "SVMONE and SVMRFE",
            "similar, to a lesser extent",
            lesser,
            holds=other < svms < low,
        ),
        claim(
            "RELIEF and others",
            "distinctively different",
            different,
            holds=relief < min(low, own),
        ),
        claim(
            "SVMRFE: different features",
            "may predict the same",
            predictions,
            holds=sets < 0.5 and equal > 0.9,
        ),
    ]


def as_users_call_them(opts: Namespace, name: str, X: Any, y: Any) -> None:
    """Elimination and selection by an SVM with the classes of scikit-learn."""
    selectors = {
        "SVMRFE, a tenth of the remaining": svm_rfe(10),
        "RFE(SVC(...), step=0.1)": RFE(linear_svm(), n_features_to_select=10, step=0.1),
        "SVMONE, SelectFromModel(SVC(...))": SelectFromModel(
            linear_svm(), max_features=10, threshold=-np.inf
        ),
    }
    training = [train for train, _ in FOLDS.split(X, y)][: 1 if opts.quick else 3]
    rows = []
    for label, selector in selectors.items():
        pipe = make_pipeline(MinMaxScaler(), selector)
        stabilities = [
            StabilityCV(pipe, cv=FOLDS, measure="jaccard")
            .fit(X[part], y[part])
            .stability_
            for part in training
        ]
        rows.append(Row(label, "–", f"{np.mean(stabilities):.2f}", ""))
    compare(
        f"S_S on {name} as a user of scikit-learn calls the SVMs, {len(training)} outer folds",
        rows,
    )


# -- figures 4 to 6 ----------------------------------------------------------------------------------------------------


def profile(folds: list[Any], sizes: list[int]) -> pd.DataFrame:
    """Mean over the outer folds, their smallest and largest value, and a selector that takes features at random."""
    ranked, shuffled = (
        [places(weights) for weights in folds],
        places(np.zeros(folds[0].shape)),
    )
    stabilities = [
        [jaccard_stability(fold < size) for fold in ranked] for size in sizes
    ]
    chance = [jaccard_stability(shuffled < size) for size in sizes]
    table = pd.DataFrame(stabilities, index=pd.Index(sizes, name="size"))
    return pd.DataFrame(
        {
            "stability": table.mean(axis=1),
            "low": table.min(axis=1),
            "high": table.max(axis=1),
            "random": chance,
        }
    )


def figures_4_to_6(opts: Namespace, name: str, weights: dict[str, list[Any]]) -> None:
    n_features = weights["IG"][0].shape[1]
    sizes = [
        int(size)
        for size in np.unique(
            np.geomspace(10, n_features - 1, 12 if opts.quick else 40).round()
        )
    ]
    profiles = {selector: profile(folds, sizes) for selector, folds in weights.items()}
    with figure(opts, f"kalousis2007_profile_{name}", figsize=(8, 4.5)) as axes:
        StabilityProfileDisplay.from_profile(profiles, measure="jaccard").plot(axes)
        axes.set_title(name)
    table = pd.DataFrame(
        {selector: found["stability"] for selector, found in profiles.items()}
    )
    compare(
        f"Figures 4 to 6 on {name}: profiles of S_S",
        _claims_of_profiles(table, profiles["IG"]["random"]),
    )
    note(f"S_S on {name} by the number of features:\n")
    shown = table.assign(random=profiles["IG"]["random"]).iloc[
        :: max(1, len(table) // 10)
    ]
    show(shown.map("{:.2f}".format).reset_index())


def _claims_of_profiles(table: pd.DataFrame, chance: pd.Series) -> list[Row]:
    half = table.index[table.index <= table.index[-1] / 2][-1]
    small, large = (
        table.index[table.index <= 50],
        table.index[table.index >= table.index[-1] / 4],
    )
    beyond = table.loc[half, "IG"] - chance[half]
    twins = np.ptp(table[UNIVARIATE].to_numpy(), axis=1).max()
    early = (table["SVMONE"] - table["SVMRFE"])[small].mean()
    late = (table["SVMONE"] - table["SVMRFE"])[large].abs().max()
    best, mean = table.mean().idxmax(), table.mean().max()
    lead = (
        table.loc[small, "IG"] - table.loc[small, ["SVMONE", "SVMRFE"]].max(axis=1)
    ).mean()
    peak = table["IG"].iloc[: len(table) * 3 // 4].idxmax()
    text = f"peak at {peak}, {table.loc[peak, 'IG']:.2f}; at {half} {beyond:+.2f} beyond random"
    return [
        claim(
            "univariate",
            "a peak, then a drop to the random selector",
            text,
            holds=beyond < 0.1,
        ),
        claim(
            "IG, CHI and SYM",
            "indistinguishable",
            f"at most {twins:.2f} apart",
            holds=twins < 0.1,
        ),
        claim(
            "IG above the SVMs up to 50 features",
            "slightly",
            f"{lead:+.2f}",
            holds=lead > 0,
        ),
        claim(
            "SVMONE above SVMRFE up to 50 features",
            "yes",
            f"{early:+.2f}",
            holds=early > 0,
        ),
        claim(
            "SVMONE and SVMRFE from d/4 on",
            "converged",
            f"at most {late:.2f} apart",
            holds=late < 0.05,
        ),
        claim(
            "best profile overall",
            "RELIEF",
            f"{best} (mean {mean:.2f})",
            holds=best == "RELIEF",
        ),
    ]


# -- section 5 ---------------------------------------------------------------------------------------------------------


def section_5(
    opts: Namespace, name: str, X: Any, y: Any, weights: dict[str, list[Any]]
) -> None:
    """The most stable of the selectors that do not err more often than another one."""
    sizes = (10,) if opts.quick else (10, 20, 30, 40, 50)
    table = pd.DataFrame([choice(size, X, y, weights) for size in sizes])
    compare(f"Section 5 on {name}: the choice", _claims_of_choice(name, table))
    note(
        "Points, error and nested S_S; the most stable of those with most points; what skstab recommends:\n"
    )
    show(table)


def choice(size: int, X: Any, y: Any, weights: dict[str, list[Any]]) -> dict[str, Any]:
    """Points, error and nested stability of each selector, and which one is chosen."""
    found = compare_selectors(classifiers(size), X, y, cv=FOLDS, measure="jaccard")
    wrong = pd.DataFrame(
        {
            who: np.nansum(runs.runs_.row_losses["score"], axis=0)
            for who, runs in found.runs.items()
        }
    )
    scores = 1 - wrong.mean()
    points = points_of(wrong.corr(mcnemar), scores)
    nested = {
        who: mean_over_folds(partial(top_stability, size=size), weights[who])
        for who in scores.index
    }
    cells = {
        who: f"{points[who]:.1f} {1 - scores[who]:.3f} {nested[who]:.2f}"
        for who in scores.index
    }
    chosen = max(points.index[points == points.max()], key=nested.get)
    return {
        "N": size,
        **cells,
        "chosen": chosen,
        "recommend()": found.recommend().selector,
    }


def mcnemar(a: Any, b: Any) -> float:
    """P-value of McNemar's test with its correction for continuity, as textbooks of the time have it."""
    only_a, only_b = np.sum(a > b), np.sum(b > a)
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / max(only_a + only_b, 1)
    return float(chi2.sf(statistic, 1))


def points_of(pvalues: pd.DataFrame, scores: pd.Series) -> pd.Series:
    """1 for each selector that is significantly worse, 1/2 for each that is not different."""
    different = pvalues < 0.05
    wins = different & (scores.to_numpy()[:, None] > scores.to_numpy()[None])
    return wins.sum(axis=1) + (~different).sum(axis=1) / 2 - 0.5


def _claims_of_choice(name: str, table: pd.DataFrame) -> list[Row]:
    cells = table.set_index("N").drop(columns=["chosen", "recommend()"])
    alike = bool(
        cells.apply(lambda column: column.str.startswith("1.5")).to_numpy().all()
    )
    chosen = ", ".join(table["chosen"])
    if name == "leukemia":
        first = table["chosen"].iloc[0]
        return [
            claim(
                "errors",
                "indistinguishable for every N",
                "1.5 points each" if alike else "some differ",
                holds=alike,
            ),
            claim("chosen at N = 10", "IG", first, holds=first == "IG"),
        ]
    early = table.loc[table["N"] <= 30, "chosen"]
    return [
        claim(
            "chosen at N = 10, 20, 30",
            "RELIEF",
            chosen,
            holds=bool((early == "RELIEF").all()),
        )
    ]


def main() -> None:
    opts = options(__doc__)
    title("kalousis2007")
    tables = {}
    for name, file in DATA.items():
        if (opts.quick and name == "leukemia") or (data := load(opts, file)) is None:
            continue
        weights = nested_weights(*data, 2 if opts.quick else 10)
        tables[name] = table_2(name, weights)
        figures_1_to_3(opts, name, weights)
        figures_4_to_6(opts, name, weights)
        between_selectors(opts, name, *data)
        as_users_call_them(opts, name, *data)
        section_5(opts, name, *data, weights)
    for name in () if opts.quick else (*PROTEOMICS, *GENOMICS):
        if (data := load(opts, name)) is not None:
            weights = nested_weights(*data, 1)
            tables[name] = table_2(name, weights)
            figures_4_to_6(opts, name, weights)
    if len(tables) > 1:
        genomics_on_average(tables)
    elapsed()


if __name__ == "__main__":
    main()
