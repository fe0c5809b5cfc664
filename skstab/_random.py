"""Where randomness comes from: one entropy per call, one stream per task, seeds for the parts of an estimator.

An int `random_state` gives the same result for any number of jobs and any backend, because everything is derived from
the entropy of the call and the number of the task, before any task runs. None varies from call to call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from skstab._typing import RandomState

__all__ = [
    "Seed",
    "check_rng",
    "draw_entropy",
    "draw_seeds",
    "halves_seed",
    "random_parameters",
    "seeded",
    "stream",
    "with_seeds",
]


def check_rng(random_state: RandomState) -> np.random.RandomState:
    """Return the generator that a `random_state` stands for."""
    try:
        rng: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, an int in [0, 2**32 - 1] or a numpy.random.RandomState, got {random_state!r}"
        ) from error
    return rng


def draw_entropy(random_state: RandomState) -> list[int]:
    """Draw what all streams of one call start from."""
    entropy: list[int] = (
        check_rng(random_state).randint(2**32, size=4, dtype=np.uint32).tolist()
    )
    return entropy


def stream(entropy: Sequence[int] | int, *key: int) -> np.random.RandomState:
    """Return the random stream of one task, which the key identifies."""
    # RandomState and not Generator: its streams are frozen across releases of numpy (NEP 19).
    seed = np.random.SeedSequence(entropy, spawn_key=key)
    return np.random.RandomState(np.random.MT19937(seed))


def halves_seed(entropy: Sequence[int]) -> int:
    """Return the seed of the pairs of halves, which are the same in all that is asked with one seed."""
    sequence = np.random.SeedSequence(list(entropy), spawn_key=(3, 1))
    return int(sequence.generate_state(1)[0])


class Seed(NamedTuple):
    """What a `numpy.random.SeedSequence` is made of, which takes its time: it is made where something is drawn."""

    entropy: Any
    spawn_key: tuple[int, ...]


def seeded(
    estimator: Any, names: Sequence[str], seed: Seed | np.random.SeedSequence
) -> Any:
    """Clone an estimator and seed its parameters of those names."""
    return with_seeds(
        estimator, dict(zip(names, draw_seeds(seed, len(names)), strict=True))
    )


def draw_seeds(seed: Seed | np.random.SeedSequence, n_seeds: int) -> list[int]:
    """Draw seeds; more of them do not change the first ones."""
    if not n_seeds:
        return []
    # RandomState takes seeds below 2**32; scikit-learn's validation wants plain ints.
    sequence = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    seeds: list[int] = sequence.generate_state(n_seeds).tolist()
    return seeds


def with_seeds(estimator: Any, seeds: Mapping[str, int]) -> Any:
    """Clone an estimator and set its parameters of those names."""
    copy = clone(estimator)
    for name, value in seeds.items():
        *path, parameter = name.split("__")
        reduce(_part, path, copy).set_params(**{parameter: value})
    return copy


def _part(estimator: Any, name: str) -> Any:
    # A pipeline is quickly asked for one step, but at length for all its parameters.
    return (
        estimator.named_steps[name]
        if isinstance(estimator, Pipeline)
        else estimator.get_params()[name]
    )


def random_parameters(estimator: Any, *, everywhere: bool) -> tuple[str, ...]:
    """Names of the parameters that seed an estimator or its parts, in a fixed order: those not set, or all."""
    params = estimator.get_params(deep=True)
    names = [
        name
        for name in params
        if name == "random_state" or name.endswith("__random_state")
    ]
    return tuple(sorted(name for name in names if everywhere or params[name] is None))
