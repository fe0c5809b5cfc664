"""What the rules of `StabilitySelection` find, true and false, beside what a user would take instead.

Twelve of 300 features matter, in 150 rows. One set of paths of 100 complementary halves for each data set serves all
rules that read paths; decoys need paths of their own. The other packages (ipss, knockpy, boruta) are run where they are
installed. Results are appended to a file, one line for each data set, so runs that are stopped or done apart add up.

    python benchmarks/stability_selection_quality.py found.jsonl --rules paths cv ipss
    python benchmarks/stability_selection_quality.py found.jsonl --rules
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import argparse
import importlib.util
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFECV
from sklearn.linear_model import (
    Lasso,
    LassoCV,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
)

from skstab.feature_selection import StabilitySelection, stability_selection_bounds
from skstab.feature_selection._bounds import per_family_errors
from skstab.feature_selection._calibration import (
    best_cell,
    calibration_scores,
    counts_between,
)
from skstab.feature_selection._clusters import cluster_walk, representatives
from skstab.feature_selection._decoys import select_against_decoys
from skstab.feature_selection._halves import shares_of, shares_together
from skstab.feature_selection._integrated import (
    Integral,
    correlation_of,
    expected_false_positives,
    exponent_of,
    q_values,
)
from skstab.feature_selection._paths import path_of, strongest_value
from skstab.feature_selection._walk import walk
from skstab.model_selection import ComplementaryPairsSplit

N, P, N_TRUE, N_PAIRS = 150, 300, 12, 50
TARGET, LEVEL = 1.0, 0.1
TRUE = np.arange(N_TRUE) * (P // N_TRUE)
ALL = np.arange(P)

# -- data --------------------------------------------------------------------------------------------------------------

SIGNALS = {
    "linear": {"low": 1.0, "high": 4.0},
    "logistic": {"low": 2.0, "high": 6.0},
    "curved": {"low": 4.0, "high": 20.0},
}
DESIGNS = [
    *product(
        ["linear", "logistic"], ["independent", "AR(0.7)", "blocks"], ["low", "high"]
    )
]
DESIGNS += [
    ("curved", "independent", "low"),
    ("curved", "independent", "high"),
    ("curved", "AR(0.7)", "high"),
]
DESIGNS += [
    ("curved", "AR(0.7)", "low"),
    ("curved", "blocks", "low"),
    ("curved", "blocks", "high"),
]


def correlation(features):
    places = np.abs(ALL[:, None] - ALL)
    return {
        "independent": np.eye(P),
        "AR(0.7)": 0.7**places,
        "blocks": np.where(places == 0, 1.0, 0.9 * (ALL[:, None] // 5 == ALL // 5)),
    }[features]


def make_data(model, features, signal, seed):
    rng = np.random.default_rng([seed, DESIGNS.index((model, features, signal))])
    X = rng.standard_normal((N, P)) @ np.linalg.cholesky(correlation(features)).T
    effects = rng.choice([-1, 1], N_TRUE) * rng.uniform(0.5, 1, N_TRUE)
    size = SIGNALS[model][signal]
    if model == "curved":
        shapes = [np.tanh, lambda x: np.sin(2 * x), lambda x: x**2 / 2, np.sign]
        f = sum(
            effect * shapes[i % 4](X[:, j])
            for i, (j, effect) in enumerate(zip(TRUE, effects, strict=True))
        )
    else:
        f = X[:, TRUE] @ effects
    f = (f - f.mean()) / f.std()
    if model == "logistic":
        return X, (rng.random(N) < 1 / (1 + np.exp(-size * f))).astype(int)
    return X, f + rng.standard_normal(N) / np.sqrt(size)


# -- rules that read the same paths ------------------------------------------------------------------------------------


# As ipss has them, and forests that try all features at each split, of which correlated ones compete there.
FEW_FEATURES, ALL_FEATURES = (
    {"max_features": 0.1},
    {"max_features": 1.0, "min_samples_leaf": 5},
)


class Halves:
    """The paths of the halves of one data set, to be read by any rule."""

    def __init__(self, model, X, y, seed, forest=FEW_FEATURES):
        started = time.process_time()
        self.X, self.model = X, model
        splits = [
            train
            for train, _ in ComplementaryPairsSplit(
                2 * N_PAIRS, random_state=seed
            ).split(X, y)
        ]
        if model == "curved":
            forests = [
                RandomForestRegressor(50, random_state=i, **forest)
                for i in range(len(splits))
            ]
            weights = [
                one.fit(X[rows], y[rows]).feature_importances_
                for one, rows in zip(forests, splits, strict=True)
            ]
            self.weights, self.penalties = (
                np.array(weights),
                np.max(weights) * np.geomspace(1, 0.001, 100),
            )
        else:
            self._follow(model, splits, y)
        self.order = np.arange(len(self.penalties))
        self.path, self.seconds = self.shares(None), time.process_time() - started

    def _follow(self, model, splits, y):
        if model == "linear":
            estimator, name = Lasso(), "alpha"
            values = strongest_value(estimator, self.X, y, {}) * np.geomspace(
                1, 0.01, 25
            )
        else:
            estimator, name = (
                LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0),
                "C",
            )
            # C counts rows: twice as large on halves.
            values = (
                2 * strongest_value(estimator, self.X, y, {}) * np.geomspace(1, 100, 25)
            )
        self.penalties = values if name == "alpha" else 1 / values
        self.steps = [
            list(path_of(estimator, name, values, self.X[rows], y[rows], {}))
            for rows in splits
        ]

    def shares(self, q, codes=ALL, *, clusters=False):
        """Share of the halves that select each feature, or cluster, where paths end at q of them."""
        if self.model == "curved":
            return self._shares_of_importances(q, codes)
        if codes is ALL:
            walks = [walk(iter(steps), q).supports for steps in self.steps]
            return shares_of(walks, P, self.order)
        walks = [cluster_walk(iter(steps), q, codes) for steps in self.steps]
        supports = [one.supports if clusters else features for one, features in walks]
        return shares_of(supports, codes.max() + 1 if clusters else P, self.order)

    def together(self, codes=ALL):
        """Share of the pairs of which both halves select each feature, or cluster."""
        if self.model == "curved":
            weights = self._largest(codes)
            both = np.minimum(weights[::2], weights[1::2])
            return np.stack(
                [(both > one).mean(axis=0) for one in self.penalties], axis=1
            )
        walks = [
            cluster_walk(iter(steps), None, codes)[0].supports for steps in self.steps
        ]
        return shares_together(walks, codes.max() + 1, self.order)

    def _shares_of_importances(self, q, codes):
        """The same of forests: of falling thresholds, the q most important features, or clusters, come first."""
        weights = self._largest(codes)
        first = np.argsort(np.argsort(-weights, axis=1), axis=1) < (
            P if q is None else q
        )
        return np.stack(
            [(first & (weights > one)).mean(axis=0) for one in self.penalties], axis=1
        )

    def _largest(self, codes):
        """A cluster, of neighbours, is in as soon as its most important feature is."""
        return np.maximum.reduceat(
            self.weights, np.unique(codes, return_index=True)[1], axis=1
        )


def by_bound(halves, assumption, codes=ALL):
    n_units = codes.max() + 1
    q = stability_selection_bounds(
        n_units, threshold=0.75, pfer=TARGET, assumption=assumption
    ).q
    path = halves.shares(q, codes, clusters=True)
    return path.max(axis=1) >= 0.75 - 1e-10


def efp_of(halves, m, path=None, codes=ALL):
    between = correlation_of(halves.X, codes)
    of_model = (
        {"delta": 1.25, "end": 0.05}
        if halves.model == "curved"
        else {"delta": exponent_of(between.mean)}
    )
    return expected_false_positives(
        halves.path if path is None else path,
        halves.together(codes),
        halves.penalties,
        Integral(m, **of_model),
        n_pairs=N_PAIRS,
        correlated=between.nearest > 0.25,
    )


def calibrated(halves, cap):
    counts = counts_between(2 * N_PAIRS, 0.6, 0.9)
    scores, sizes = (
        calibration_scores(halves.path, 2 * N_PAIRS, counts),
        halves.path.sum(axis=0),
    )
    errors = np.array(
        [
            [
                per_family_errors(
                    P, q=q, threshold=c / 100, n_pairs=N_PAIRS, assumption="unimodal"
                )
                for c in counts
            ]
            for q in sizes
        ]
    )
    row, column = best_cell(scores, errors <= cap)
    return halves.path[:, row] >= counts[column] / (2 * N_PAIRS) - 1e-10


OURS = {"linear": "efp=1, m=2", "logistic": "efp=1, m=2", "curved": "efp=1, m=3"}


def grouped(halves, m=None):
    """A rule on blocks of five; its representatives count as true where the block has a true feature."""
    codes = ALL // 5
    path = halves.shares(None, codes, clusters=True)
    chosen = (
        by_bound(halves, "unimodal", codes)
        if m is None
        else efp_of(halves, m, path, codes) <= TARGET
    )
    mask = representatives(chosen, codes, halves.path.mean(axis=1))
    hit = np.isin(codes, codes[TRUE]) & mask
    moved = mask & ~hit
    moved[TRUE[np.isin(codes[TRUE], codes[hit])]] = True
    return moved


PATH_RULES = {
    "bound: none": lambda halves: by_bound(halves, "none"),
    "bound: unimodal": lambda halves: by_bound(halves, "unimodal"),
    "bound: r-concave": lambda halves: by_bound(halves, "r-concave"),
    "efp=1, m=1": lambda halves: efp_of(halves, 1) <= TARGET,
    "efp=1, m=2": lambda halves: efp_of(halves, 2) <= TARGET,
    "efp=1, m=3": lambda halves: efp_of(halves, 3) <= TARGET,
    "fdr=0.1, m=2": lambda halves: q_values(efp_of(halves, 2)) <= LEVEL,
    "fdr=0.1, m=3": lambda halves: q_values(efp_of(halves, 3)) <= LEVEL,
    "calibrated": lambda halves: calibrated(halves, np.inf),
    "calibrated, pfer=1": lambda halves: calibrated(halves, TARGET),
}


def group_rules(model):
    return {
        "groups, unimodal": grouped,
        f"groups, {OURS[model]}": lambda halves: grouped(halves, int(OURS[model][-1])),
    }


def path_rules(design, X, y, seed):
    halves = Halves(design[0], X, y, seed)
    if seed == 0 and design[0] == "linear":
        check_against_the_class(halves, X, y)
    rules = PATH_RULES | (group_rules(design[0]) if design[1] == "blocks" else {})
    for name, rule in rules.items():
        started = time.process_time()
        yield name, rule(halves), halves.seconds + time.process_time() - started


def forest_rules(design, X, y, seed):
    """The rule for importances, of forests that try all features at each split."""
    halves, rules = (
        Halves(design[0], X, y, seed, ALL_FEATURES),
        {OURS["curved"]: PATH_RULES[OURS["curved"]]},
    )
    rules |= {
        name: rule
        for name, rule in group_rules(design[0]).items()
        if name.endswith(OURS["curved"])
    }
    for name, rule in rules.items():
        if design[1] == "blocks" or name in PATH_RULES:
            started = time.process_time()
            yield (
                f"{name}, all features tried",
                rule(halves),
                halves.seconds + time.process_time() - started,
            )


def check_against_the_class(halves, X, y):
    """The public class gives the same features."""
    splits = ComplementaryPairsSplit(2 * N_PAIRS, random_state=0)
    found = StabilitySelection(Lasso(), resampling=splits, efp=TARGET).fit(X, y)
    np.testing.assert_array_equal(found.get_support(), PATH_RULES["efp=1, m=2"](halves))
    bound = StabilitySelection(Lasso(), resampling=splits, pfer=TARGET).fit(X, y)
    np.testing.assert_array_equal(
        bound.get_support(), PATH_RULES["bound: unimodal"](halves)
    )


# -- rules with fits of their own --------------------------------------------------------------------------------------


def sparse_model(model):
    return (
        Lasso()
        if model == "linear"
        else LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
    )


def decoy_rules(design, X, y, seed):
    """Ten draws merged, and the first of them alone."""
    for kind in ("permuted", "knockoffs"):
        started = time.process_time()
        found = StabilitySelection(
            sparse_model(design[0]),
            decoys=kind,
            fdr=LEVEL,
            n_resamples=20,
            n_decoy_draws=10,
            random_state=seed,
        ).fit(X, y)
        seconds = time.process_time() - started
        for level, (name, scores) in product(
            (LEVEL, 2 * LEVEL),
            {"": found.decoy_scores_, ", one draw": found.decoy_scores_[:1]}.items(),
        ):
            yield (
                f"decoys: {kind}, fdr={level}{name}",
                select_against_decoys(scores, level),
                seconds,
            )


def cv_model(design, X, y, seed):
    if design[0] == "linear":
        return {
            "cross-validated L1": LassoCV(alphas=25, random_state=seed).fit(X, y).coef_
            != 0
        }
    model = LogisticRegressionCV(
        Cs=15,
        l1_ratios=(1,),
        solver="liblinear",
        scoring="neg_log_loss",
        random_state=seed,
        use_legacy_attributes=False,
    )
    return {"cross-validated L1": model.fit(X, y).coef_.ravel() != 0}


def rfecv(design, X, y, seed):  # noqa: ARG001  nothing is random
    model = LogisticRegression(max_iter=1000) if design[0] == "logistic" else Ridge()
    return {"RFECV": RFECV(model, step=0.1).fit(X, y).support_}


def ipss_rules(design, X, y, seed):
    from ipss import ipss

    np.random.seed(seed)  # noqa: NPY002  it draws from the global state
    found = ipss(X, y, selector="rf" if design[0] == "curved" else "l1")
    efp, levels = (
        np.array([found[name][j] for j in ALL]) for name in ("efp_scores", "q_values")
    )
    return {"ipss, target_fp=1": efp <= TARGET, "ipss, target_fdr=0.1": levels <= LEVEL}


def knockpy_rule(design, X, y, seed):  # noqa: ARG001  it looks at y itself
    from knockpy import KnockoffFilter

    np.random.seed(seed)  # noqa: NPY002  it draws from the global state
    found = KnockoffFilter(ksampler="gaussian", fstat="lasso").forward(
        X=X, y=y, fdr=LEVEL, shrinkage="ledoitwolf"
    )
    return {"knockpy, fdr=0.1": found == 1}


def boruta_rule(design, X, y, seed):
    from boruta import BorutaPy

    forest = (
        RandomForestClassifier if design[0] == "logistic" else RandomForestRegressor
    )(max_depth=5)
    return {
        "boruta": BorutaPy(forest, n_estimators=100, max_iter=50, random_state=seed)
        .fit(X, y)
        .support_
    }


PEERS = {
    "cv": cv_model,
    "rfecv": rfecv,
    "ipss": ipss_rules,
    "knockpy": knockpy_rule,
    "boruta": boruta_rule,
}
LINEAR_ONLY = ("cv", "rfecv", "knockpy", "decoys")


def peer_rules(kind):
    def rules(*data):
        started = time.process_time()
        found = PEERS[kind](*data)
        for rule, mask in found.items():
            yield rule, mask, time.process_time() - started

    return rules


# -- runs that add up --------------------------------------------------------------------------------------------------

# What is run on each data set, and on how many of them unless told otherwise.
N_SETS = dict.fromkeys(
    ["paths", "forests", "decoys", "ipss", "cv", "rfecv", "knockpy", "boruta"], 50
)


def count(mask, features):
    is_true = np.isin(ALL, TRUE)
    near = np.abs(correlation(features)[:, TRUE]).max(axis=1) >= 0.5
    return (
        int(mask[is_true].sum()),
        int(mask[~is_true].sum()),
        int((mask & near & ~is_true).sum()),
    )


def run(design, seed, kind):
    """What the rules of a kind find in one data set: true, false, near, CPU seconds."""
    X, y = make_data(*design, seed)
    rules = {"paths": path_rules, "forests": forest_rules, "decoys": decoy_rules}.get(
        kind
    ) or peer_rules(kind)
    return {
        name: (*count(mask, design[1]), round(seconds, 2))
        for name, mask, seconds in rules(design, X, y, seed)
    }


def is_possible(kind, design):
    installed = (
        kind not in ("ipss", "knockpy", "boruta")
        or importlib.util.find_spec(kind) is not None
    )
    return installed and kind not in (
        LINEAR_ONLY if design[0] == "curved" else ("forests",)
    )


def read(path):
    return [json.loads(line) for line in path.open()] if path.exists() else []


def collect(path, kinds, words, seeds):
    """Append a line for each data set and kind of rule that the file does not have yet."""
    done = {(tuple(line["design"]), line["seed"], line["kind"]) for line in read(path)}
    # Seed by seed, so that a run that is stopped has seen all designs equally often.
    for seed, design, kind in product(range(*seeds), DESIGNS, kinds):
        skipped = (
            not set(words) <= set(design)
            or (design, seed, kind) in done
            or not is_possible(kind, design)
        )
        if skipped or seed >= seeds[0] + N_SETS[kind]:
            continue
        line = {
            "design": design,
            "seed": seed,
            "kind": kind,
            "found": run(design, seed, kind),
        }
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")


# -- tables ------------------------------------------------------------------------------------------------------------

COUNTS = ["true", "false", "near", "seconds"]
PEER_NAMES = ("cross-validated L1", "RFECV", "ipss", "knockpy", "boruta")


def frame(lines):
    """One row for each rule and data set."""
    rows = [
        (*line["design"], line["seed"], rule, *found)
        for line in lines
        for rule, found in line["found"].items()
    ]
    table = pd.DataFrame(
        rows, columns=["model", "features", "signal", "seed", "rule", *COUNTS]
    )
    table["design"] = table["features"] + ", " + table["signal"]
    size = table["true"] + table["false"]
    return table.assign(share=table["false"] / np.maximum(size, 1), empty=size == 0)


def with_error(values):
    """Mean and standard error."""
    return f"{np.mean(values):.1f}±{np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"


def cell(part):
    return f"{with_error(part['true'])} / {with_error(part['false'])} ({part['share'].mean():.2f})"


def level_cell(part):
    error = part["share"].std() / np.sqrt(len(part))
    return f"{part['share'].mean():.2f}±{error:.2f}, none {part['empty'].mean():.0%}"


def grid(table, text):
    """Rules × designs, as Markdown."""
    designs, rules = (list(dict.fromkeys(table[name])) for name in ("design", "rule"))
    lines = [["rule", "sets", "s", *designs], ["---"] * (3 + len(designs))]
    for rule in rules:
        of_rule = table[table["rule"] == rule]
        parts = [of_rule[of_rule["design"] == design] for design in designs]
        sets = sorted({len(part) for part in parts if len(part)})
        head = [
            rule,
            "–".join(map(str, sets[:: max(len(sets) - 1, 1)])),
            f"{of_rule['seconds'].median():.1f}",
        ]
        lines.append([*head, *(text(part) if len(part) > 1 else "–" for part in parts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def beside_peers(table, ours):
    """Rows of peers with what a rule of ours has on the same data sets."""
    peers = table[table["rule"].str.startswith(PEER_NAMES)]
    return table[table["rule"] == ours].merge(
        peers, on=["design", "seed"], suffixes=("_ours", "")
    )


def paired_cell(part):
    """Share of the peer's true ones that we find, and how many true and false ones we have more."""
    true, false = (part[f"{name}_ours"] - part[name] for name in ("true", "false"))
    ratio = (
        f"{part['true_ours'].sum() / part['true'].sum():.2f}: "
        if part["true"].any()
        else ""
    )
    more = [
        f"{one.mean():+.1f}±{one.std() / np.sqrt(len(one)):.1f}"
        for one in (true, false)
    ]
    return f"{ratio}{' / '.join(more)}{verdict(-true, false)}"


def verdict(missed, false):
    """Whether a peer is better in both beyond two standard errors, or in one and no worse in the mean of the other."""
    beyond = [one.mean() > 2 * one.std() / np.sqrt(len(one)) for one in (missed, false)]
    if all(beyond):
        return " **dominated**"
    return " *behind*" if any(beyond) and min(missed.mean(), false.mean()) >= 0 else ""


def report(lines):
    table, parts = frame(lines), []
    for model, of_model in table.groupby("model", sort=False):
        levels = of_model[of_model["rule"].str.contains("fdr")]
        parts += [
            f"## {model}",
            grid(of_model, cell),
            "Share of false ones, and how often nothing is selected:",
        ]
        parts += [grid(levels, level_cell)]
        for ours in dict.fromkeys(
            rule for rule in of_model["rule"] if rule.startswith(OURS[model])
        ):
            parts += [f"`{ours}` beside peers on the same data sets:"]
            parts += [grid(beside_peers(of_model, ours), paired_cell)]
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "lines",
        type=Path,
        help="file that the results are appended to; what it has is not run again",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        nargs=2,
        default=[0, 50],
        help="of the data sets: the first, and the end",
    )
    parser.add_argument(
        "--rules",
        nargs="*",
        choices=list(N_SETS),
        default=list(N_SETS),
        help="none: only the tables",
    )
    parser.add_argument(
        "--designs",
        nargs="*",
        default=[],
        help="words that a design must have, such as linear high",
    )
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect(options.lines, options.rules, options.designs, options.seeds)
    print(report(read(options.lines)))


if __name__ == "__main__":
    main()
