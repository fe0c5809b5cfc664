"""Call everything public with many random arguments, and report what is neither a finite result nor a clear error.

python -m tests.fuzz [names] [--functions N] [--estimators N] [--seed N] [--store FILE]

One line per function or method. With a store, what was tried with the same numbers before is not tried again, so that
a long search can be stopped and continued; only trials without a complaint count.
"""

import argparse
import sys
import time
from collections import Counter
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np

from tests.fuzz.calls import arguments, parameters, public
from tests.fuzz.judgement import judged

VALID = 0.25  # of the calls should give a result


def search(callee, n_calls, seed):
    """Count the results and, by the begin of their text, the complaints, with the first call of each."""
    n_results, found, first = 0, Counter(), {}
    rng = np.random.default_rng([seed, crc32(callee.name.encode())])
    for _ in range(n_calls):
        drawn, spoiled = arguments(callee, rng)
        has_result, text = judged(callee, drawn, spoiled)
        n_results += has_result
        if text is not None:
            found[text[:60]] += 1
            first.setdefault(text[:60], f"{text[:150]} | {_described(drawn, spoiled)}")
    if n_results < VALID * n_calls:
        found[few := f"only {n_results} results"] += 1
        first[few] = few
    return n_results, found, first


def _described(drawn, spoiled):
    return {f"{name}!": drawn[name] for name in spoiled} | {
        n: v for n, v in drawn.items() if n not in spoiled
    }


def options_of(arguments_given=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these; all by default")
    parser.add_argument(
        "--functions", type=int, default=10_000, help="calls of each function"
    )
    parser.add_argument(
        "--estimators", type=int, default=2_000, help="fits of each estimator"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--store", type=Path, help="file of what was tried already")
    return parser.parse_args(arguments_given)


def n_calls_of(callee, options):
    if not parameters(callee):
        return 1
    return options.estimators if callee.use == "fit" else options.functions


def main():
    options = options_of()
    tried = (
        set(options.store.read_text().splitlines())
        if options.store and options.store.exists()
        else set()
    )
    n_wrong = 0
    for callee in public():
        n_calls = n_calls_of(callee, options)
        mark = f"{callee.name} {n_calls} {options.seed}"
        if (options.names and callee.name not in options.names) or mark in tried:
            continue
        n_wrong += (own := report(callee, n_calls, options.seed))
        if options.store and not own:
            with options.store.open("a") as store:
                store.write(f"{mark}\n")
    sys.exit(n_wrong > 0)


def report(callee, n_calls, seed):
    """Try one function, print what came of it, and return the number of complaints."""
    start = time.process_time()
    with (
        TemporaryDirectory() as folder,
        chdir(folder),
    ):  # a text is a good name for a checkpoint
        n_results, found, first = search(callee, n_calls, seed)
    seconds = time.process_time() - start
    n_wrong = sum(found.values())
    print(
        f"{callee.name}: {n_calls} calls, {n_results} results, {n_wrong} wrong, {seconds:.0f} s",
        flush=True,
    )
    for text in found:
        print(
            f"    {found[text]} times {' '.join(first[text].split())[:400]}", flush=True
        )
    return n_wrong


if __name__ == "__main__":
    main()
