"""Error control of stability selection: threshold, features per subsample and the errors they allow.

Notation: p features, B pairs of complementary subsamples, q features selected in a subsample, θ = q/p, π the threshold
and PFER the expected number of wrongly selected features. "S&S" is Shah & Samworth (2013).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache, partial
from math import ceil, floor, inf, log10, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skstab._checks import is_choice, is_int, is_number

__all__ = ["StabilityBounds", "per_family_errors", "stability_selection_bounds"]

Floats = NDArray[np.float64]

ASSUMPTIONS = ("none", "unimodal", "r-concave")
_OTHER_ASSUMPTION = "use another assumption, as no q of at least 1 has a bound here"
_MOST_PAIRS = 10**7  # for which all thresholds are tried


class StabilityBounds(NamedTuple):
    """Settings of stability selection that belong together.

    Parameters
    ----------
    q : int or float
        Number of features selected in a subsample.
    threshold : float
        Share of the subsamples that must select a feature.
    pfer : float
        Bound on the expected number of wrongly selected features.

    Examples
    --------
    >>> from skstab.feature_selection import StabilityBounds
    >>> StabilityBounds(q=28, threshold=0.9, pfer=0.34).threshold
    0.9
    """

    q: float
    threshold: float
    pfer: float


def stability_selection_bounds(
    n_features: int,
    *,
    q: float | None = None,
    threshold: float | None = None,
    pfer: float | None = None,
    n_pairs: int = 50,
    assumption: str = "unimodal",
) -> StabilityBounds:
    """Threshold, features per subsample and error bound of stability selection: two give the third.

    Parameters
    ----------
    n_features : int
        Number of features to choose from.
    q : int or float, default=None
        Number of features selected in a subsample: the most that there may be, or the mean. None computes the largest
        integer whose bound is at most `pfer`.
    threshold : float, default=None
        Share of the subsamples that must select a feature, from 0.5 to 1, or from `1 / (2 * n_pairs)` on for
        "r-concave". None computes the smallest one from 0.5 on whose bound is at most `pfer`: a multiple of
        `1 / (2 * n_pairs)`, or any number for `assumption="none"`.
    pfer : float, default=None
        The per-family error rate: the expected number of wrongly selected features. None computes its bound.
    n_pairs : int, default=50
        Number of pairs of complementary subsamples. `assumption="none"` does not depend on it.
    assumption : {"none", "unimodal", "r-concave"}, default="unimodal"
        What is assumed of the distribution of a wrong feature's selection frequency: nothing (Meinshausen & Bühlmann,
        any halves of the rows), one mode, or r-concavity (both for complementary pairs). More assumptions give lower
        bounds.

    Returns
    -------
    bounds : StabilityBounds
        With attributes `q`, `threshold` and `pfer`. The last is the bound that the first two have, which is at most the
        `pfer` asked for.

    See Also
    --------
    StabilitySelection : The selector with these bounds.

    Notes
    -----
    The conventions are those of `stabsel_parameters` in the R package stabs 0.6-4: a bound that equals the `pfer` asked
    for is too high for "unimodal" and low enough otherwise. Where stabs returns settings that miss the `pfer`, this
    function raises an error that names the nearest settings that keep to it. Its r-concave bounds are maxima to 1e-10;
    those of stabs end their search early and are lower by up to about `n_features * 5e-6`.

    All bounds assume that the selector is not worse than guessing and selects the wrong features in an exchangeable
    way. Without that they still hold for the number of selected features that a subsample selects with a probability of
    at most `q / n_features`.

    References
    ----------
    N. Meinshausen and P. Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72 (2010),
    417-473.

    R. D. Shah and R. J. Samworth, "Variable selection with error control: another look at stability selection",
    Journal of the Royal Statistical Society B 75 (2013), 55-80.

    Examples
    --------
    >>> from skstab.feature_selection import stability_selection_bounds
    >>> stability_selection_bounds(1000, q=28, threshold=0.9, assumption="none").pfer
    0.98
    >>> stability_selection_bounds(1000, q=28, threshold=0.9).pfer
    0.338...
    >>> stability_selection_bounds(1000, threshold=0.9, pfer=1).q
    48
    >>> stability_selection_bounds(1000, q=28, pfer=1).threshold
    0.71
    """
    _check(n_features, q, threshold, pfer, n_pairs, assumption)
    setting = Setting(n_features, n_pairs, assumption)
    q, threshold = _completed(setting, q, threshold, pfer)
    errors = setting.errors(q, threshold)
    if errors == inf:
        raise ValueError(_why_no_bound(setting, q, threshold))
    return StabilityBounds(q, float(threshold), errors)


def _completed(
    setting: Setting, q: Any, threshold: Any, pfer: Any
) -> tuple[float, float]:
    """Return q and the threshold, of which the one that is None follows from `pfer`."""
    if q is None:
        q = setting.largest_q(threshold, pfer)
        if q == 0:
            raise ValueError(_why_no_q(setting, threshold, pfer))
    if threshold is None:
        threshold = setting.smallest_threshold(q, pfer)
        if threshold == inf:
            raise ValueError(_why_no_threshold(setting, q, pfer))
    return q, threshold


def per_family_errors(
    n_features: int, *, q: float, threshold: float, n_pairs: int, assumption: str
) -> float:
    """Bound on the expected number of wrongly selected features, infinite where none is known."""
    share = q / n_features
    if assumption == "none":
        return q**2 / n_features / (2 * threshold - 1) if threshold > 0.5 else inf
    if assumption == "unimodal":
        constant = _unimodal_constant(share, threshold, n_pairs)
        return q**2 / n_features / constant if constant > 0 else inf
    return n_features * _r_concave_tail(share, threshold, n_pairs)


# -- two directions of search ------------------------------------------------------------------------------------------


def _keeps_to(errors: float, pfer: float, assumption: str) -> bool:
    """Whether a bound is low enough; ties are decided as stabs does, by < for "unimodal" and by ≤ otherwise."""
    return errors < pfer if assumption == "unimodal" else errors <= pfer


def _largest_q(
    n_features: int, threshold: float, pfer: float, n_pairs: int, assumption: str
) -> int:
    """Largest number of features in a subsample that keeps to `pfer`, 0 where none does; the bound grows with it."""
    bound = partial(
        per_family_errors,
        n_features,
        threshold=threshold,
        n_pairs=n_pairs,
        assumption=assumption,
    )
    if assumption == "none":
        q = int(min(sqrt(pfer * (2 * threshold - 1) * n_features), n_features))
    else:
        # At a tie stabs rounds a numerical root down, which mostly lies just below it.
        limit = pfer * (1 - 1e-10) if assumption == "unimodal" else pfer
        q = bisect_left(
            range(1, n_features + 1),
            True,
            key=lambda q: not _keeps_to(bound(q=q), limit, assumption),
        )
    return q


def _smallest_threshold(
    n_features: int, q: float, pfer: float, n_pairs: int, assumption: str
) -> float:
    """Smallest threshold that keeps to `pfer`, infinite where none does; the bound falls with it."""
    bound = partial(
        per_family_errors, n_features, q=q, n_pairs=n_pairs, assumption=assumption
    )
    if assumption == "none":
        threshold = (q**2 / (pfer * n_features) + 1) / 2
    else:
        # Theorem 2 of S&S starts at 1/2 + 1/B.
        first = 2 if assumption == "unimodal" else 0
        grid = 0.5 + np.arange(first, n_pairs + 1) / (2 * n_pairs)
        place = bisect_left(
            grid, True, key=lambda t: _keeps_to(bound(threshold=t), pfer, assumption)
        )
        threshold = grid[place] if place < len(grid) else inf
    return float(threshold) if threshold <= 1 else inf


# -- the bounds --------------------------------------------------------------------------------------------------------


def _unimodal_constant(share: float, threshold: float, n_pairs: int) -> float:
    """1 / C(π, B) of S&S theorem 2, at most 0 where the theorem says nothing."""
    step = 1 / (2 * n_pairs)
    if threshold > 0.75:
        return (1 + 1 / n_pairs) / (4 * (1 - threshold + step))
    if threshold < 0.5 + min(share**2, step + 0.75 * share**2):
        return 0.0
    # At π = 1/2 + 1/(2B), below the theorem's range, this still is the constant that needs no assumption.
    return 2 * (2 * threshold - 1 - step)


def _r_concave_tail(share: float, threshold: float, n_pairs: int) -> float:
    """Probability that a wrong feature reaches the threshold, S&S equation 8."""
    if ceil(4 * n_pairs * share) > 2 * n_pairs - 2:
        return inf
    # The frequencies are multiples of 1/(2B): ten digits separate them from rounding errors.
    reached = ceil(float(f"{threshold * 2 * n_pairs:.10g}"))
    both = largest_tail(share**2, reached - n_pairs, n_pairs, -1 / 2)
    either = largest_tail(share, reached, 2 * n_pairs, -1 / 4)
    return min(1.0, both, either)


@lru_cache(maxsize=1024)
def largest_tail(mean: float, reached: int, size: int, r: float) -> float:
    """Largest P(X ≥ reached/size) of an r-concave X on {0, 1/size, …, 1} with this mean: D of S&S, to 1e-12.

    Extreme distributions have mass ∝ (a + i)^(1/r) on i = 0…k and what the mean then requires on k + 1. For each k, a
    lies between the values at which k and k + 1 alone have the mean.
    """
    # Below twice the mean no bound better than 1 is known.
    least = ceil(2 * mean * size) + 1
    if reached < least:
        return 1.0
    first = max(least, reached - 1)
    if first >= size:
        first = size - 1
    last = np.arange(first, size + 1)
    ends = np.full(last.shape, 30.0)
    edges = _bisect(
        lambda log_a: _excess_of_mean(log_a, last, mean * size, 1 / r), -ends, ends
    )
    k = last[:-1]
    log_a = _bisect(
        lambda log_a: -_slope_of_tail(log_a, k, reached, 1 / r), edges[1:], edges[:-1]
    )
    return float(_tail(log_a, k, reached, mean * size, 1 / r).max())


def _bisect(
    increasing: Callable[[Floats], Floats], low: Floats, high: Floats
) -> Floats:
    """Where increasing functions, one for each entry, pass zero; an end where they do not."""
    for _ in range(64):
        middle = (low + high) / 2
        above = increasing(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


def _masses(
    log_a: Floats, k: NDArray[Any], power: float
) -> tuple[Floats, Floats, Floats]:
    """Points i, a + i, and unnormalised masses on 0…k, relative to that of 0, one row for each k."""
    i = np.arange(k.max() + 1.0)
    a = np.exp(log_a)[:, None]
    return i, a + i, np.where(i <= k[:, None], (1 + i / a) ** power, 0.0)


def _excess_of_mean(
    log_a: Floats, k: NDArray[Any], mean: float, power: float
) -> Floats:
    i, _, mass = _masses(log_a, k, power)
    return np.asarray(mass @ i / mass.sum(axis=1) - mean)


def _tail(
    log_a: Floats, k: NDArray[Any], reached: int, mean: float, power: float
) -> Floats:
    """P(X ≥ reached), with the mass at k + 1 such that the mean is right."""
    i, _, mass = _masses(log_a, k, power)
    below, moment = (
        mass[:, :reached].sum(axis=1),
        ((k[:, None] + 1 - i) * mass).sum(axis=1),
    )
    return np.asarray(1 - (k + 1 - mean) * below / moment)


def _slope_of_tail(
    log_a: Floats, k: NDArray[Any], reached: int, power: float
) -> Floats:
    """Sign of the derivative of the tail by a."""
    i, shifted, mass = _masses(log_a, k, power)
    weight = (k[:, None] + 1 - i) * mass
    # Of (a + i)^s the logarithmic derivative is s / (a + i), and s < 0.
    below = (mass / shifted)[:, :reached].sum(axis=1) / mass[:, :reached].sum(axis=1)
    return np.asarray(below - (weight / shifted).sum(axis=1) / weight.sum(axis=1))


# -- checks ------------------------------------------------------------------------------------------------------------


def _check(
    n_features: Any, q: Any, threshold: Any, pfer: Any, n_pairs: Any, assumption: Any
) -> None:
    missing = [
        name
        for name, value in (("q", q), ("threshold", threshold), ("pfer", pfer))
        if value is None
    ]
    if len(missing) != 1:
        raise ValueError(
            f"two of q, threshold and pfer must be given, but {len(missing)} of them are None"
        )
    is_concave = is_choice(assumption, "r-concave")
    expected = (
        (
            "assumption",
            assumption,
            f"one of {', '.join(map(repr, ASSUMPTIONS))}",
            is_choice(assumption, *ASSUMPTIONS),
        ),
        (
            "n_features",
            n_features,
            "an int of at least 1, and below 2**63",
            is_int(n_features, 1, 2**63 - 1),
        ),
        (
            "n_pairs",
            n_pairs,
            f"an int of at least {1 + is_concave} and of at most 10**7",
            is_int(n_pairs, 1 + is_concave, _MOST_PAIRS),
        ),
        (
            "q",
            q,
            "a number above 0 and at most n_features",
            q is None or _is_part_of(q, n_features),
        ),
        ("pfer", pfer, "a positive number", pfer is None or is_number(pfer, above=0)),
        (
            "threshold",
            threshold,
            *_expected_threshold(threshold, n_pairs, is_concave=is_concave),
        ),
    )
    for name, value, what, holds in expected:
        if not holds:
            raise ValueError(f"{name} must be {what}, got {value!r}")


def _expected_threshold(
    threshold: Any, n_pairs: Any, *, is_concave: bool
) -> tuple[str, bool]:
    """What a threshold must be, and whether it is: r-concave bounds hold from the smallest frequency above 0 on."""
    if is_concave and _is_whole(n_pairs, 1):
        least = 1 / (2 * n_pairs)
        what = f"a number from 1 / (2 * n_pairs) = {least:g} to 1"
    else:
        least, what = (
            0.5,
            "a number from 0.5 to 1 (lower ones only with assumption='r-concave')",
        )
    return what, threshold is None or is_number(threshold, least=least, most=1)


def _is_whole(value: Any, least: int) -> bool:
    return is_int(value, least)


def _is_part_of(q: Any, n_features: Any) -> bool:
    return is_int(n_features) and is_number(q, above=0, most=n_features)


# -- what is possible instead ------------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """What the user does not trade: features, pairs and the assumption."""

    n_features: int
    n_pairs: int
    assumption: str

    def errors(self, q: float, threshold: float) -> float:
        return per_family_errors(
            self.n_features,
            q=q,
            threshold=threshold,
            n_pairs=self.n_pairs,
            assumption=self.assumption,
        )

    def largest_q(self, threshold: float, pfer: float) -> int:
        return _largest_q(
            self.n_features, threshold, pfer, self.n_pairs, self.assumption
        )

    def smallest_threshold(self, q: float, pfer: float) -> float:
        return _smallest_threshold(
            self.n_features, q, pfer, self.n_pairs, self.assumption
        )


def _why_no_q(setting: Setting, threshold: float, pfer: float) -> str:
    errors, higher = setting.errors(1, threshold), setting.smallest_threshold(1, pfer)
    possible = [
        _setting("pfer", _rounded_up(errors)),
        _setting("threshold", _ten_thousandths(higher)),
    ]
    both = [
        _setting("threshold", 1),
        _setting("pfer", _rounded_up(setting.errors(1, 1.0))),
    ]
    return (
        f"pfer={pfer!r} at threshold={threshold!r} is impossible with n_features={setting.n_features}: even q=1 has "
        f"{_in_words(errors)} under {setting.assumption!r}; raise pfer or threshold{_nearest(possible, both)}"
    )


def _why_no_threshold(setting: Setting, q: float, pfer: float) -> str:
    errors, smaller, most = (
        setting.errors(q, 1.0),
        setting.largest_q(1.0, pfer),
        _most_r_concave(setting),
    )
    possible = [_setting("q", smaller or inf), _setting("pfer", _rounded_up(errors))]
    both = (
        [_setting("q", most), _setting("pfer", _rounded_up(setting.errors(most, 1.0)))]
        if most
        else []
    )
    return (
        f"q={q!r} with pfer={pfer!r} is impossible with n_features={setting.n_features}: even threshold=1 has "
        f"{_in_words(errors)} under {setting.assumption!r}; lower q or raise pfer{_nearest(possible, both)}"
    )


def _most_r_concave(setting: Setting) -> int:
    """The largest q that r-concave bounds are known for."""
    return int((2 * setting.n_pairs - 2) * setting.n_features / (4 * setting.n_pairs))


def _why_no_bound(setting: Setting, q: float, threshold: float) -> str:
    what = (
        f"no bound is known for q={q!r}, threshold={threshold!r}, n_features={setting.n_features} and "
        f"n_pairs={setting.n_pairs} under {setting.assumption!r}"
    )
    if setting.assumption == "r-concave":
        most = _most_r_concave(setting)
        return f"{what}: " + (
            f"lower q to at most {most}" if most else _OTHER_ASSUMPTION
        )
    if setting.assumption == "none":
        return f"{what}: raise threshold above 0.5"
    largest = float(np.finfo(float).max)
    higher, smaller = (
        setting.smallest_threshold(q, largest),
        setting.largest_q(threshold, largest),
    )
    possible = [
        _setting("threshold", _ten_thousandths(higher)),
        _setting("q", smaller or inf),
    ]
    return f"{what}: raise threshold or lower q{_nearest(possible)}"


def _in_words(errors: float) -> str:
    return "no bound" if errors == inf else f"a bound of {errors:.3g} expected errors"


def _rounded_up(value: float) -> float:
    """The next number of three digits above, which a bound that must be smaller keeps to as well."""
    if value in (0, inf):
        return value
    digits = 2 - floor(log10(value))
    # A value that is a number of three digits up to rounding errors is not below it.
    return round(
        (floor(value * 10.0**digits * (1 + 1e-9)) + 1) / 10.0**digits, max(digits, 0)
    )


def _ten_thousandths(threshold: float) -> float:
    """A threshold with four digits, which is not lower."""
    return threshold if threshold == inf else ceil(threshold * 1e4 - 1e-6) / 1e4


def _setting(name: str, value: float) -> str | None:
    return None if value == inf else f"{name}={value:g}"


def _nearest(possible: list[str | None], both: list[str | None] | None = None) -> str:
    """What is possible by changing one setting, or else by changing two."""
    alone = [setting for setting in possible if setting is not None]
    together = [setting for setting in both or [] if setting is not None]
    if not alone and len(together) == 2:
        alone = [" with ".join(together)]
    return (
        f"; nearest possible: {' or '.join(alone)}"
        if alone
        else f"; {_OTHER_ASSUMPTION}"
    )
