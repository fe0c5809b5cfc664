"""Call everything public with many random arguments, and report what is neither a result nor a clear error.

python -m tests.fuzz [names] [--functions N] [--estimators N] [--seed N]
"""

import argparse
import sys
from collections import Counter
from contextlib import chdir
from tempfile import TemporaryDirectory

import numpy as np

from tests.fuzz.calls import UNNAMED, arguments, complaint, public


def search(callee, n_calls, seed):
    """Count the complaints about random calls, by the begin of their text, with the first call of each."""
    found, first = Counter(), {}
    rng = np.random.default_rng(seed)
    for _ in range(n_calls):
        drawn = arguments(callee, rng)
        text = complaint(callee, drawn)
        if text is not None:
            found[text[:60]] += 1
            first.setdefault(text[:60], f"{text[:150]} | {drawn}")
    return found, first


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these; all by default")
    parser.add_argument("--functions", type=int, default=10_000, help="calls of each function")
    parser.add_argument("--estimators", type=int, default=2_000, help="fits of each estimator")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--unnamed", action="store_true", help="show errors that do not name an argument, too")
    options = parser.parse_args()
    n_wrong = 0
    for callee in public():
        if options.names and callee.name not in options.names:
            continue
        n_calls = options.estimators if callee.use == "fit" else options.functions
        with TemporaryDirectory() as folder, chdir(folder):  # a text is a good name for a checkpoint
            found, first = search(callee, n_calls, options.seed)
        wrong = {text: count for text, count in found.items() if not text.startswith(UNNAMED)}
        n_wrong += sum(wrong.values())
        unnamed = sum(found.values()) - sum(wrong.values())
        print(
            f"{callee.name}: {n_calls} calls, {sum(wrong.values())} wrong, {unnamed} errors without a name", flush=True
        )
        for text in found if options.unnamed else wrong:
            print(f"    {found[text]} times {' '.join(first[text].split())[:400]}", flush=True)
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
