"""The figures of the paper: what benchmarks/RESULTS.md reports, and the README's example.

python paper/figures.py    # writes coverage.png and example.png next to this file, in a few seconds
"""

import re
from io import BytesIO
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import (
    ParetoRefit,
    SelectionFrequencyDisplay,
    StabilitySearchCV,
    assess_selector,
)

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "RESULTS.md"
METHODS = {"jackknife": "o", "asymptotic": "s", "conformal": "^", "bootstrap": "v"}

# -- what was measured -------------------------------------------------------------------------------------------------


def tables_below(heading):
    """Return the table below each heading of this text in RESULTS.md; each has a row per line and columns of texts."""
    parts = re.split(r"^#+ ", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = [part for part in parts if part.startswith(f"{heading}\n")]
    if not found:
        raise ValueError(f"RESULTS.md has no heading {heading!r}")
    return pd.concat([_table(part) for part in found], ignore_index=True)


def _table(text):
    header, _, *rows = [
        _cells(line) for line in text.splitlines() if line.startswith("|")
    ]
    return pd.DataFrame(rows, columns=header)


def _cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def draw_resampling_error(ax, stability="0.5"):
    """Coverage of the four intervals about the resampling error, by the number of runs."""
    table = tables_below("Coverage (mean width) at 90%")
    table = table[table["stability"] == stability]
    for method, marker in METHODS.items():
        coverage = table[method].str.split().str[0].astype(float)
        ax.plot(
            table["M"].astype(int), coverage, marker=marker, markersize=4, label=method
        )
    ax.axhline(0.9, color="0.5", linewidth=1, linestyle="--")
    ax.set(
        xscale="log",
        xlabel="runs",
        ylabel="coverage",
        ylim=(0, 1.03),
        title="True stability of the runs",
    )
    ax.set_xticks([5, 10, 30, 100], labels=["5", "10", "30", "100"])
    ax.minorticks_off()
    ax.legend(loc="lower right")


def draw_other_data(ax):
    """Coverage about other data sets of the same size, of two intervals, over populations and selectors."""
    tables = [
        tables_below(part)
        for part in ("On kinds that the constants were set on", "Held out")
    ]
    for table, filled in zip(tables, (False, True), strict=True):
        for column, colour in (
            ("jackknife: coverage", "C0"),
            ("full size: coverage", "C4"),
        ):
            coverage = np.sort(table[column].astype(float))
            share = (np.arange(len(coverage)) + 0.5) / len(coverage)
            label = f"{column.partition(':')[0]}, {'held out' if filled else 'as calibrated'}"
            face = colour if filled else "none"
            ax.plot(
                share,
                coverage,
                "o",
                color=colour,
                markerfacecolor=face,
                markersize=5,
                label=label,
            )
    ax.axhline(0.9, color="0.5", linewidth=1, linestyle="--")
    ax.set(
        xlabel="share of populations and selectors",
        ylim=(0, 1.03),
        title="True stability over other data",
    )
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0.76))


# -- the README's example ----------------------------------------------------------------------------------------------


def draw_example(axes):
    """One panel per question: whether other data would agree, which features, at what cost."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    lasso = make_pipeline(
        StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1)
    )
    assessment = assess_selector(lasso, X, y, random_state=0)
    assessment.plot(ax=axes[0])
    SelectionFrequencyDisplay.from_estimator(assessment.runs).plot(axes[1], top_k=12)
    search = StabilitySearchCV(
        lasso,
        {"logisticregression__C": np.logspace(-2, 1, 7)},
        scoring="accuracy",
        refit=ParetoRefit("accuracy", "nogueira", strategy="tolerance", tolerance=0.01),
        random_state=0,
    )
    search.fit(X, y).plot(ax=axes[2])
    titles = (
        "Anything there? Would other data agree?",
        "Which features?",
        "At what cost?",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, pad=44, loc="left", fontweight="bold")  # above the legends


def save_small(figure, path):
    """Save with few colours, rare ones included: half of the bytes."""
    buffer = BytesIO()
    figure.savefig(buffer, dpi=110)
    Image.open(buffer).convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE).save(
        path, optimize=True
    )


def main():
    """Draw and save both figures."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    draw_resampling_error(axes[0])
    draw_other_data(axes[1])
    figure.savefig(HERE / "coverage.png", dpi=150)
    figure, axes = plt.subplots(
        1, 3, figsize=(13, 4), width_ratios=(1, 1.1, 1), layout="constrained"
    )
    draw_example(axes)
    save_small(figure, HERE / "example.png")


if __name__ == "__main__":
    main()
