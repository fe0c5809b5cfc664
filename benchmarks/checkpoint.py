"""What a checkpoint costs: the same fit of 50 runs of 20 ms with and without one, in the same run.

The runs do nothing but wait until 20 ms are over, so that only what is around them differs. Every fit with a checkpoint
makes a new file: the cost includes making it, the digest of the data and one transaction for each run. The time of a
fit that finds all its runs is given too.

    python benchmarks/checkpoint.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin

from skstab.model_selection import BootstrapSplit, StabilityCV

N_RUNS, N_ROWS, N_FEATURES, N_SELECTED, SECONDS, N_REPEATS = 50, 300, 3000, 50, 0.02, 9


class Waiting(SelectorMixin, BaseEstimator):
    """Select the features with the largest means, and take 20 ms for it."""

    def fit(self, X, _y=None):
        """Compute the means, then wait."""
        end = time.perf_counter() + SECONDS
        self.n_features_in_ = X.shape[1]
        self.scores_ = X.mean(axis=0)
        while time.perf_counter() < end:
            pass
        return self

    def _get_support_mask(self):
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[np.argsort(self.scores_)[-N_SELECTED:]] = True
        return mask


def seconds_of(path, X, splits):
    start = time.perf_counter()
    StabilityCV(Waiting(), cv=splits, checkpoint=path).fit(X)
    return time.perf_counter() - start


def main():
    X = np.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES))
    splits = list(BootstrapSplit(N_RUNS, random_state=0).split(X))
    with tempfile.TemporaryDirectory() as folder:
        names = (Path(folder, str(number)) for number in itertools.count())
        times = []
        for path in itertools.islice(names, N_REPEATS):
            times.append([seconds_of(where, X, splits) for where in (None, path, path)])
        size = path.stat().st_size
    without, new, found = np.min(times, axis=0)
    cost = new / without - 1
    print(
        f"{N_RUNS} runs of {1000 * SECONDS:.0f} ms, X of {N_ROWS} x {N_FEATURES}, shortest of {N_REPEATS} fits each"
    )
    print(
        f"without a checkpoint {without:.3f} s, with a new one {new:.3f} s, all runs found {found:.3f} s"
    )
    verdict = "ok" if cost <= 0.02 else "MISSED"
    print(
        f"cost {100 * cost:+.2f}% (limit 2%) {verdict}; {size / N_RUNS:.0f} bytes per run"
    )


if __name__ == "__main__":
    main()
