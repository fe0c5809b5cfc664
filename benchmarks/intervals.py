"""How often the four intervals contain the true stability, and how wide they are.

Runs are drawn as in nogueira2018, section 5, and lopez2024, section 4: d = 100 independent features, feature f selected
with probability p_f, so that the true stability is known. The probabilities are quantiles of three Beta distributions
with mean 0.3, which give stabilities of about 0.8, 0.5 and 0.3, the three cases of nogueira2018.

    python benchmarks/intervals.py            # the whole table, a quarter of an hour on two cores
    python benchmarks/intervals.py --quick    # a minute
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import sys
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats

from skstab.metrics import stability_interval, stability_score, stability_test

METHODS = ["jackknife", "asymptotic", "conformal", "bootstrap"]
N_RESAMPLES = 500

# nogueira2018, table 4: coverage in % of the asymptotic interval at M = 100 for nominal 99, 95 and 90 %
NOGUEIRA_TABLE_4 = {
    0.8: (98.5, 94.3, 89.0),
    0.5: (98.6, 93.8, 89.0),
    0.3: (98.6, 94.0, 89.3),
}
# lopez2024, table 1: mean width and deviation of the coverage at 90, 70, 50, 30 %; its probabilities are not given
_LOPEZ_TEXT = """
5 conformal 0.17 +0.02 0.11 +0.06 0.07 +0.08 0.04 +0.09
5 asymptotic 0.08 -0.25 0.05 -0.24 0.03 -0.17 0.02 -0.10
6 conformal 0.17 +0.05 0.11 +0.15 0.07 +0.16 0.04 +0.12
6 asymptotic 0.08 -0.16 0.05 -0.18 0.03 -0.15 0.02 -0.10
7 conformal 0.12 +0.01 0.08 +0.05 0.05 +0.05 0.03 +0.00
7 asymptotic 0.08 -0.15 0.05 -0.13 0.03 -0.12 0.02 -0.09
8 conformal 0.12 +0.02 0.08 +0.07 0.05 +0.07 0.03 +0.05
8 asymptotic 0.07 -0.15 0.05 -0.16 0.03 -0.12 0.02 -0.06
9 conformal 0.10 +0.01 0.06 +0.05 0.04 +0.04 0.02 +0.02
9 asymptotic 0.07 -0.09 0.04 -0.10 0.03 -0.06 0.02 -0.05
10 conformal 0.10 +0.02 0.06 +0.08 0.04 +0.06 0.02 +0.05
10 asymptotic 0.07 -0.09 0.04 -0.10 0.03 -0.07 0.02 -0.04
"""
LOPEZ_TABLE_1 = {
    (int(m), method): numbers
    for m, method, *numbers in (
        line.split() for line in _LOPEZ_TEXT.strip().splitlines()
    )
}


def probabilities(stability, n_features=100, mean=0.3):
    """Selection probabilities; those of Beta(a, b) have the stability 1 / (a + b + 1)."""
    total = 1 / stability - 1
    return stats.beta(mean * total, (1 - mean) * total).ppf(
        (np.arange(n_features) + 0.5) / n_features
    )


def true_stability(p):
    return 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))


def one_interval(p, m, method, level, seed):
    supports = np.random.default_rng([m, seed]).random((m, p.size)) < p
    found = stability_interval(
        supports,
        method=method,
        confidence_level=level,
        random_state=seed,
        n_resamples=N_RESAMPLES,
    )
    return found.low <= true_stability(p) <= found.high, found.high - found.low


def cell(stability, m, method, level, repeats):
    p = probabilities(stability)
    covered, width = np.mean(
        [one_interval(p, m, method, level, seed) for seed in range(repeats)], axis=0
    )
    return {
        "stability": stability,
        "M": m,
        "method": method,
        "level": level,
        "coverage": covered,
        "width": width,
    }


def cells(grid):
    return pd.DataFrame(
        Parallel(n_jobs=2)(delayed(cell)(*parameters) for parameters in grid)
    )


def show(frame):
    """Print a frame as a Markdown table."""
    flat = frame.reset_index()
    for row in [flat.columns, ["---"] * flat.shape[1], *flat.to_numpy()]:
        print("|", " | ".join(map(str, row)), "|")


def main_table(runs, repeats):
    def n(method, m):
        # The default gets more repeats; a resampled interval of many runs is slow.
        if method in ("jackknife", "asymptotic"):
            return 4 * repeats
        return repeats if m <= 10 else repeats // 2

    grid = [
        (stability, m, method, level, n(method, m))
        for stability in NOGUEIRA_TABLE_4
        for m in runs
        for method in METHODS
        for level in (0.90, 0.95)
    ]
    found = cells(sorted(grid, key=lambda row: -row[1]))
    for level in (0.90, 0.95):
        print(f"\n## Coverage (mean width) at {level:.0%}\n")
        rows = found[found["level"] == level].assign(
            text=lambda f: [
                f"{c:.3f} ({w:.2f})"
                for c, w in zip(f["coverage"], f["width"], strict=True)
            ]
        )
        show(
            rows.pivot_table(
                index=["stability", "M"],
                columns="method",
                values="text",
                aggfunc="first",
            )[METHODS]
        )
    default = found[(found["method"] == "jackknife") & (found["level"] == 0.90)][
        "coverage"
    ]
    print(
        f"\nThe default at 90% covers between {default.min():.3f} and {default.max():.3f} (wanted: 0.88 to 0.96)."
    )


def nogueira_table_4(repeats):
    print(
        "\n## nogueira2018, table 4: coverage of the asymptotic interval, M = 100 (published | measured)\n"
    )
    found = cells(
        (s, 100, "asymptotic", level, repeats)
        for s in NOGUEIRA_TABLE_4
        for level in (0.99, 0.95, 0.90)
    )
    measured = (
        found.pivot_table(index="stability", columns="level", values="coverage") * 100
    )
    for stability, published in NOGUEIRA_TABLE_4.items():
        pairs = [
            f"{a:.1f} | {measured.loc[stability, level]:.1f}"
            for a, level in zip(published, (0.99, 0.95, 0.90), strict=True)
        ]
        print(
            f"- stability {stability}: 99%: {pairs[0]}; 95%: {pairs[1]}; 90%: {pairs[2]}"
        )


def lopez_table_1(repeats):
    print(
        "\n## lopez2024, table 1: width and deviation from the level (published; measured at stability 0.8)\n"
    )
    levels, methods = (0.9, 0.7, 0.5, 0.3), ("conformal", "asymptotic", "jackknife")
    runs = sorted({m for m, _ in LOPEZ_TABLE_1})
    found = cells(
        (0.8, m, method, level, repeats)
        for m in runs
        for method in methods
        for level in levels
    )
    measured = {
        (m, method, level): f"{width:.2f} {coverage - level:+.2f}"
        for _, m, method, level, coverage, width in found.itertuples(index=False)
    }
    rows = []
    for m in runs:
        for method in methods:
            numbers = LOPEZ_TABLE_1.get((m, method), ["–", ""] * 4)
            published = [
                " ".join(numbers[2 * at : 2 * at + 2]).strip() for at in range(4)
            ]
            cells_of_row = {
                f"{lv:.0%}": f"{p}; {measured[m, method, lv]}"
                for p, lv in zip(published, levels, strict=True)
            }
            rows.append({"M": m, "method": method, **cells_of_row})
    show(pd.DataFrame(rows).set_index(["M", "method"]))


# -- where the jackknife is known to be too narrow ---------------------------------------------------------------------


def taking_turns(rng, m, shares, n_others=0, n_always=7, n_features=40):
    """Features always selected, one of several that take turns, and others selected now and then."""
    supports = np.zeros((m, n_features), dtype=bool)
    supports[:, :n_always] = True
    supports[np.arange(m), n_always + rng.choice(len(shares), size=m, p=shares)] = True
    supports[:, n_features - n_others :] = rng.random((m, n_others)) < 0.1
    return supports


TURNS = {
    "two features, half and half": {"shares": [0.5, 0.5]},
    "two features, 0.4 and 0.6": {"shares": [0.4, 0.6]},
    "two features, 0.3 and 0.7": {"shares": [0.3, 0.7]},
    "two features, 0.1 and 0.9": {"shares": [0.1, 0.9]},
    "three features in turn": {"shares": [1 / 3] * 3},
    "two features, and five others vary": {"shares": [0.5, 0.5], "n_others": 5},
}


def with_warnings(call):
    """What a call returns, and whether it warned of features that take turns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, any("take turns" in str(warning.message) for warning in caught)


def turns_cell(name, m, repeats):
    rng = np.random.default_rng(m)
    truth = stability_score(taking_turns(rng, 200_000, **TURNS[name]))
    rows = []
    for seed in range(repeats):
        supports = taking_turns(rng, m, **TURNS[name])
        tests = [
            stability_test_quietly(supports, truth, alternative) < 0.05
            for alternative in ("greater", "less")
        ]
        found, warned = with_warnings(
            lambda supports=supports: stability_interval(supports, confidence_level=0.9)
        )
        other = stability_interval(
            supports,
            method="conformal",
            confidence_level=0.9,
            random_state=seed,
            n_resamples=N_RESAMPLES,
        )
        rows.append(
            [
                warned,
                *(one.low - 1e-9 <= truth <= one.high + 1e-9 for one in (found, other)),
                *tests,
            ]
        )
    columns = ["warned", "jackknife", "conformal", "level, greater", "level, less"]
    return {"case": name, "M": m} | dict(
        zip(columns, np.mean(rows, axis=0).round(3).tolist(), strict=True)
    )


def stability_test_quietly(supports, truth, alternative):
    return with_warnings(
        lambda: stability_test(supports, truth, alternative=alternative).pvalue
    )[0]


def turns_table(repeats):
    print(
        "\n## Where few features take turns: share warned of, coverage at 90%, level of the test at 5%\n"
    )
    grid = [(name, m, repeats) for name in TURNS for m in (10, 30, 100)]
    show(
        pd.DataFrame(
            Parallel(n_jobs=2)(delayed(turns_cell)(*one) for one in grid)
        ).set_index(["case", "M"])
    )
    ordinary = [
        with_warnings(
            lambda p=p, m=m, seed=seed: stability_interval(
                np.random.default_rng(seed).random((m, p.size)) < p
            )
        )
        for p in map(probabilities, NOGUEIRA_TABLE_4)
        for m in (8, 10, 30, 100)
        for seed in range(repeats)
    ]
    print(
        f"\nOn the tables of the first section: {sum(warned for _, warned in ordinary)} of {len(ordinary)} warned."
    )


def main():
    quick = "--quick" in sys.argv
    repeats = 50 if quick else 500
    main_table([5, 10, 30] if quick else [5, 6, 7, 8, 9, 10, 30, 100], repeats)
    turns_table(repeats)
    nogueira_table_4(repeats if quick else 10_000)
    if not quick:
        lopez_table_1(repeats)


if __name__ == "__main__":
    main()
