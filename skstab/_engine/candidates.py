"""The candidates of a search by what they have in common: a step with the same settings is fitted once.

A candidate is a chain of steps (a pipeline), or one step. `families_of` puts the chains of all candidates together to a
tree: candidates that agree in their first steps share them, and settings of a step that differ only in parameters
that can be followed (`_together.py`) are one family.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline

from skstab._checks import naming
from skstab._engine.together import followed_parameters
from skstab._random import random_parameters, stream

__all__ = [
    "Candidate",
    "Family",
    "Sibling",
    "candidates_of",
    "families_of",
    "lone_candidate",
    "parts_of_grid",
    "settings_of",
]

Thing = TypeVar("Thing")


class Link(NamedTuple):
    """One step of a candidate; the step is the whole estimator where the name is empty."""

    name: str
    step: Any  # not fitted, its parameters set
    settings: dict[str, Hashable]  # parameters that the candidate sets in this step
    seeds: tuple[
        tuple[str, int], ...
    ]  # parameters to seed, with their places among all seeds of the candidate
    alone: bool = False  # whether the step may overwrite its input
    followed: tuple[str, ...] = ()  # names of the parameters that can be followed

    @property
    def kind(self) -> Hashable:
        """What a family has in common."""
        others = frozenset(
            (name, value)
            for name, value in self.settings.items()
            if name not in self.followed
        )
        return self.name, others, self.seeds, self.alone


class Candidate(NamedTuple):
    """One setting of the parameters: the estimator, not fitted, the names of its seeds, and its steps."""

    estimator: Any
    seeds: tuple[str, ...]
    chain: tuple[Link, ...]


class Sibling(NamedTuple):
    """Values of the parameters that a family follows, the candidates that have them, and the steps that come after."""

    followed: dict[str, Any]
    candidates: tuple[int, ...]
    after: tuple[Family, ...]


class Family(NamedTuple):
    """Settings of one step that differ only in parameters that can be followed."""

    name: str
    step: Any
    seeds: tuple[tuple[str, int], ...]
    alone: bool
    siblings: tuple[Sibling, ...]


# -- candidates as chains ----------------------------------------------------------------------------------------------


@naming("param_grid")
def settings_of(
    param_grid: Any, n_iter: int | None, entropy: Sequence[int]
) -> list[dict[str, Any]]:
    """The parameters of each candidate: the whole grid, or a sample."""
    if n_iter is not None:
        return list(
            ParameterSampler(param_grid, n_iter, random_state=stream(entropy, 3))
        )
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    if any(hasattr(values, "rvs") for grid in grids for values in grid.values()):
        raise ValueError(
            "n_iter must be an int where param_grid holds distributions, got None"
        )
    return list(ParameterGrid(param_grid))


def candidates_of(
    estimator: Any, settings: Iterable[Mapping[str, Any]], *, whole: bool
) -> list[Candidate]:
    """Set the parameters of each candidate; `whole` forbids to take pipelines apart."""
    return [_candidate(estimator, params, whole=whole) for params in settings]


def lone_candidate(estimator: Any, seeds: Sequence[str]) -> Candidate:
    """An estimator as the only candidate, which is fitted as a whole."""
    places = tuple((name, place) for place, name in enumerate(seeds))
    link = Link("", estimator, {}, places, alone=_may_overwrite(estimator))
    return Candidate(estimator, tuple(seeds), (link,))


def _candidate(estimator: Any, params: Mapping[str, Any], *, whole: bool) -> Candidate:
    copy = clone(estimator).set_params(**clone(dict(params), safe=False))
    seeds = random_parameters(copy, everywhere=False)
    places = {name: place for place, name in enumerate(seeds)}
    keys = {name: _key(value) for name, value in params.items()}
    alone = _may_overwrite(copy)
    if alone or whole or not _can_be_taken_apart(copy, keys):
        followed = () if alone else followed_parameters(copy)
        return Candidate(
            copy, seeds, (Link("", copy, keys, tuple(places.items()), alone, followed),)
        )
    return Candidate(
        copy, seeds, tuple(_link(name, step, keys, places) for name, step in copy.steps)
    )


def _key(value: Any) -> Hashable:
    """What is equal for equal values; objects of a grid are the same object in all its candidates."""
    if value is None or isinstance(
        value, str | bytes | bool | int | float | np.generic
    ):
        return type(value), value
    return id(value)


def _may_overwrite(estimator: Any) -> bool:
    """Whether a part of an estimator was allowed to overwrite its input, which others would then share."""
    params = estimator.get_params(deep=True)
    return any(
        value is False and name.rpartition("__")[2] in ("copy", "copy_X")
        for name, value in params.items()
    )


def _can_be_taken_apart(estimator: Any, keys: Mapping[str, Hashable]) -> bool:
    if (
        type(estimator) is not Pipeline
        or getattr(estimator, "transform_input", None) is not None
    ):
        return False
    names = {name for name, _ in estimator.steps}
    return all(name.partition("__")[0] in names for name in keys)


def _link(
    name: str, step: Any, keys: Mapping[str, Hashable], places: Mapping[str, int]
) -> Link:
    prefix = f"{name}__"
    own = {
        key.removeprefix(prefix): value
        for key, value in keys.items()
        if key == name or key.startswith(prefix)
    }
    seeds = tuple(
        (key.removeprefix(prefix), place)
        for key, place in places.items()
        if key.startswith(prefix)
    )
    return Link(name, step, own, seeds, followed=followed_parameters(step))


# -- the tree ----------------------------------------------------------------------------------------------------------


def families_of(
    chains: Mapping[int, Sequence[Link]], depth: int = 0
) -> tuple[Family, ...]:
    """Put chains together, each with the number of its candidate."""
    groups = _grouped(chains, lambda number: chains[number][depth].kind)
    return tuple(
        _family({number: chains[number] for number in numbers}, depth)
        for numbers in groups
    )


def _family(chains: Mapping[int, Sequence[Link]], depth: int) -> Family:
    first = next(iter(chains.values()))[depth]
    followed = {number: _followed(chain[depth]) for number, chain in chains.items()}
    groups = _grouped(
        chains, lambda number: tuple(map(_key, followed[number].values()))
    )
    siblings = tuple(
        Sibling(
            followed[numbers[0]],
            tuple(numbers),
            _after({n: chains[n] for n in numbers}, depth),
        )
        for numbers in groups
    )
    return Family(first.name, first.step, first.seeds, first.alone, siblings)


def _followed(link: Link) -> dict[str, Any]:
    """The values of the parameters that can be followed."""
    if not link.followed:
        return {}
    params = link.step.get_params()
    return {name: params[name] for name in link.followed}


def _after(chains: Mapping[int, Sequence[Link]], depth: int) -> tuple[Family, ...]:
    is_last = depth + 1 == len(next(iter(chains.values())))
    return () if is_last else families_of(chains, depth + 1)


def _grouped(
    things: Iterable[Thing], key: Callable[[Thing], Hashable]
) -> list[list[Thing]]:
    """Group things by a key, in the order in which the groups first occur."""
    groups: dict[Hashable, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return list(groups.values())


# -- parts for several jobs --------------------------------------------------------------------------------------------


def parts_of_grid(
    chains: Mapping[int, Sequence[Link]], n_parts: int
) -> list[tuple[int, ...]]:
    """Divide candidates into parts of about the same size; none cuts through what is fitted together."""
    pieces = [piece for family in families_of(chains) for piece in _pieces(family)]
    sizes = np.array([len(piece) for piece in pieces])
    # A piece belongs to the part in which its middle lies.
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    parts: dict[int, list[int]] = {}
    for piece, part in zip(
        pieces, (middles * n_parts).astype(int).tolist(), strict=True
    ):
        parts.setdefault(part, []).extend(piece)
    return [tuple(sorted(numbers)) for numbers in parts.values()]


def _pieces(family: Family) -> list[tuple[int, ...]]:
    if len(family.siblings) > 1:
        return [
            tuple(
                number for sibling in family.siblings for number in sibling.candidates
            )
        ]
    (only,) = family.siblings
    return [piece for later in only.after for piece in _pieces(later)] or [
        only.candidates
    ]
