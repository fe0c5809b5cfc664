"""Nogueira et al. (2018), section 6.2: the stability of stability selection."""

import numpy as np
import pandas as pd
from _tables import claim, compare, figure, load, note
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import (
    BootstrapSplit,
    StabilityComparisonDisplay,
    StabilityCV,
    StabilitySelection,
    compare_stability,
    stability_interval,
)

THRESHOLDS = (0.6, 0.9)
LEAST_ERROR = "lasso of the least error"


class OneStandardErrorLasso(LassoCV):
    """The lasso of the largest penalty whose cross-validated error is within one standard error of the least."""

    def fit(self, X, y):
        """Fit as `LassoCV` does, then once more with the larger penalty."""
        super().fit(X, y)
        error, spread = self.mse_path_.mean(axis=1), self.mse_path_.std(axis=1, ddof=1)
        best = error.argmin()
        close = error <= error[best] + spread[best] / np.sqrt(self.mse_path_.shape[1])
        self.coef_of_least_error_ = self.coef_
        self.alpha_ = self.alphas_[close].max()
        self.coef_ = Lasso(self.alpha_).fit(X, y).coef_
        return self


def bootstrap_runs(selector, X, y, n_runs):
    runs = StabilityCV(
        make_pipeline(StandardScaler(), selector),
        cv=BootstrapSplit(n_runs, random_state=0),
        return_estimators=True,
        n_jobs=2,
        random_state=0,
    )
    return runs.fit(X, y)


def supports_of_settings(X, y, n_runs, n_halves):
    """Supports of the lasso and of stability selection with six settings, on the same bootstrap samples."""
    # Rows of a bootstrap sample come in order, and some sets are sorted by class.
    folds = KFold(10, shuffle=True, random_state=0)
    lasso_runs = bootstrap_runs(
        OneStandardErrorLasso(cv=folds, eps=5e-3, alphas=30, tol=1e-3), X, y, n_runs
    )
    least_error = np.array(
        [pipe[-1].coef_of_least_error_ != 0 for pipe in lasso_runs.estimators_]
    )
    supports = {"lasso": lasso_runs.supports_, LEAST_ERROR: least_error}
    default = np.sqrt(0.8 * X.shape[1])
    for factor in (1, 1.5, 2):
        selection = StabilitySelection(
            Lasso(),
            q=int(factor * default),
            threshold=THRESHOLDS[0],
            resampling="subsample",
            n_resamples=n_halves,
            assumption="none",
        )
        fitted = bootstrap_runs(selection, X, y, n_runs).estimators_
        for threshold in THRESHOLDS:
            chosen = [
                pipe[-1].retarget(threshold=threshold).get_support() for pipe in fitted
            ]
            supports[f"π {threshold}, {factor} q_D"] = np.array(chosen)
    return supports


def compared_with_lasso(supports):
    """One row a setting: its stability, and p-values of the paper's test and of the paired jackknife."""
    reference = supports["lasso"]
    rows = []
    for name, runs in supports.items():
        interval = stability_interval(runs, method="asymptotic")
        paired = compare_stability(runs, reference, paired=True)
        rows.append(
            {
                "selector": name,
                "features": runs.sum() / runs.shape[0],
                "estimate": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "paper": compare_stability(runs, reference, method="asymptotic").pvalue,
                "paired": paired.pvalue,
                "difference": (paired.difference, paired.low, paired.high),
            }
        )
    return pd.DataFrame(rows)


def show_figure_12(name, table, n_runs, n_halves):
    lasso_row, other_row, settings = table.iloc[0], table.iloc[1], table.iloc[2:]
    rows = [
        _row_of_setting(row, row.estimate > lasso_row["estimate"])
        for row in settings.itertuples()
    ]
    compare(
        f"Figure 12, {name}: stability selection against the lasso (M = {n_runs}, {n_halves} halves)",
        rows,
    )
    note(
        f"The lasso: {lasso_row['estimate']:.2f} ({lasso_row['low']:.2f} to {lasso_row['high']:.2f}), "
        f"{lasso_row['features']:.1f} features; without the one-standard-error rule {other_row['estimate']:.2f} "
        f"({other_row['low']:.2f} to {other_row['high']:.2f}), {other_row['features']:.1f} features. "
        "A tick: the paper's test rejects equal stability at 5%; paired: our test does."
    )


def _row_of_setting(row, is_higher):
    """A setting against the lasso; a higher stability that neither test confirms is not clear."""
    ticks = [pvalue < 0.05 for pvalue in (row.paper, row.paired)]
    paper, paired = ("yes" if tick else "no" for tick in ticks)
    text = f"{row.estimate:.2f} ({row.low:.2f} to {row.high:.2f}), {row.features:.1f} features"
    found = claim(
        row.selector,
        "more stable than the lasso",
        f"{text}; tick {paper}, paired {paired}",
        holds=bool(is_higher),
    )
    return (
        found
        if any(ticks) or not is_higher
        else found._replace(distance="holds, not clear")
    )


def forest(table):
    """Stabilities with the paper's interval, and the paired differences from the lasso."""
    stabilities = table.assign(kind="stability", reference=None, pvalue=np.nan)
    differences = table.iloc[1:].assign(
        kind="difference", reference="lasso", pvalue=table["paired"]
    )
    differences[["estimate", "low", "high"]] = np.array(list(differences["difference"]))
    return StabilityComparisonDisplay(
        pd.concat([stabilities, differences]), measure="nogueira"
    )


def figure_12(opts, runs_of_set, n_halves):
    """Stability selection is more stable than the lasso."""
    for name, n_runs in runs_of_set.items():
        rows = load(opts, name)
        if rows is None:
            continue
        X, y = rows[0], (rows[1] == np.unique(rows[1])[1]).astype(float)
        table = compared_with_lasso(supports_of_settings(X, y, n_runs, n_halves))
        show_figure_12(name, table, n_runs, n_halves)
        with figure(opts, f"nogueira2018_figure_12_{name}", figsize=(7, 5)) as axes:
            forest(table).plot(axes).ax_.set_title(name)
