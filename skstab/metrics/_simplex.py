"""Optimal transport between many pairs of small vectors of masses at once: the network simplex, in arrays.

Each problem is max Σ gain_ij x_ij with row sums `supply`, column sums `demand` and x ≥ 0. A basis is a tree of all
rows and columns: every node but the root hangs on another one by an edge with a flow. Potentials u, v make
u_i + v_j = gain_ij on the edges of the tree; an edge outside it with gain_ij > u_i + v_j improves the plan. It enters,
the flow moves along the circle that it closes, and the edge that is emptied first leaves. All problems take their
steps together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skstab._typing import BoolArray, FloatArray, IntArray

_TOLERANCE = 1e-11  # of a gain: plans are optimal up to this share of the mass
_PERTURBATION = 1e-12  # added to all masses, so that no two sums of them are equal


class Plan(NamedTuple):
    """The best plan of each problem: its gain, and a row, a column and a flow for each edge of its tree."""

    gain: FloatArray
    row: IntArray
    column: IntArray
    flow: FloatArray


def best_plans(gain: FloatArray, supply: FloatArray, demand: FloatArray) -> Plan:
    """Solve problems of shape (n_problems, n_rows, n_columns), whose masses sum to 1; unused rows have no mass."""
    n_problems, n_rows, n_columns = gain.shape
    n_nodes = n_rows + n_columns
    potential = np.empty((n_problems, n_nodes))
    parent = np.empty((n_problems, n_nodes), dtype=np.intp)
    flow = np.empty((n_problems, n_nodes))
    trees = _greedy(gain, *_perturbed(supply, demand))
    left = np.arange(n_problems)
    while left.size:
        rise, entering = trees.best_entering()
        improving = rise > _TOLERANCE
        done = ~improving
        if done.mean() > 0.25 or not improving.any():
            potential[left[done]] = trees.potential[done]
            parent[left[done]], flow[left[done]] = trees.parent[done], trees.flow[done]
            left, trees = left[improving], trees.take(improving)
            rise, entering = rise[improving], entering[improving]
            improving = np.ones(left.size, dtype=bool)
        trees.enter(np.flatnonzero(improving), rise[improving], entering[improving])
    masses = np.concatenate([supply, demand], axis=1)
    # The dual value of the masses as they are: what was added to them does not count.
    value = np.einsum("ij,ij->i", masses, potential)
    return Plan(value, *_edges(parent, n_rows), np.maximum(flow, 0.0))


def _perturbed(supply: FloatArray, demand: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add a little to each mass, and make both sides add up to the same."""
    a, b = (
        masses + _PERTURBATION * (1 + np.arange(masses.shape[1]) * step % 1)
        for masses, step in ((supply, 0.6180339887), (demand, 0.4142135623))
    )
    return a, b * (a.sum(axis=1) / b.sum(axis=1))[:, None]


def _edges(parent: IntArray, n_rows: int) -> tuple[IntArray, IntArray]:
    """Row and column of the edge above each node; the root has none, and gets row and column 0."""
    node = np.broadcast_to(np.arange(parent.shape[1]), parent.shape)
    known = parent >= 0
    row = np.where(known, np.minimum(node, parent), 0)
    return row, np.where(known, np.maximum(node, parent) - n_rows, 0)


class _Trees:
    """A tree for each problem, whose nodes are its rows, then its columns."""

    def __init__(
        self,
        gain: FloatArray,
        parent: IntArray,
        flow: FloatArray,
        below: BoolArray,
        potential: FloatArray,
    ) -> None:
        self.gain = gain
        self.parent = parent  # −1 for the root
        self.flow = flow  # on the edge above each node
        self.below = below  # [x, y]: whether y is x, or hangs on x
        self.potential = potential
        self.is_row = np.arange(parent.shape[1]) < gain.shape[1]

    def take(self, which: Any) -> _Trees:
        """Return the trees of some of the problems."""
        return _Trees(
            self.gain[which],
            self.parent[which],
            self.flow[which],
            self.below[which],
            self.potential[which],
        )

    def best_entering(self) -> tuple[FloatArray, IntArray]:
        """By how much the best edge outside the tree improves each plan, per mass, and its number."""
        n_problems, n_rows, _ = self.gain.shape
        rise = self.gain - self.potential[:, :n_rows, None]
        rise -= self.potential[:, None, n_rows:]
        rise = rise.reshape(n_problems, -1)
        edge = rise.argmax(axis=1)
        return rise[np.arange(n_problems), edge], edge

    def enter(self, problem: IntArray, rise: FloatArray, edge: IntArray) -> None:
        """Let an edge enter the tree of each of these problems, and the first one that it empties leave."""
        if not problem.size:
            return
        each = np.arange(problem.size)
        n_rows, n_columns = self.gain.shape[1:]
        row, column = edge // n_columns, n_rows + edge % n_columns
        over_row, over_column = (self.below[problem, :, node] for node in (row, column))
        beside_row, beside_column = over_row & ~over_column, over_column & ~over_row

        # Along the circle the flow falls on every other edge, starting beside the one that enters.
        falling = np.where(self.is_row, beside_row, beside_column)
        rising = np.where(self.is_row, beside_column, beside_row)
        available = np.where(falling, self.flow[problem], np.inf)
        leaving = available.argmin(axis=1)
        amount = available[each, leaving]
        flow = self.flow[problem] + amount[:, None] * (rising.astype(np.int8) - falling)
        self.flow[problem] = flow

        # The part of the tree below the edge that leaves is hung up at the edge that enters.
        at_row = beside_row[each, leaving]
        inner, outer = np.where(at_row, row, column), np.where(at_row, column, row)
        over_inner = np.where(at_row[:, None], over_row, over_column)
        over_outer = np.where(at_row[:, None], over_column, over_row)
        moved = self.below[problem, leaving]
        self._turn(problem, over_inner & moved, leaving, moved, flow)
        self.parent[problem, inner], self.flow[problem, inner] = outer, amount
        self.below[problem, inner] = moved

        was_over = over_inner & ~moved
        which, node = np.nonzero(was_over & ~over_outer)
        self.below[problem[which], node] &= ~moved[which]
        which, node = np.nonzero(over_outer & ~was_over)
        self.below[problem[which], node] |= moved[which]

        like_inner = self.is_row == (inner < n_rows)[:, None]
        shift = np.where(like_inner, rise[:, None], -rise[:, None])
        self.potential[problem] += np.where(moved, shift, 0.0)

    def _turn(
        self,
        problem: IntArray,
        path: BoolArray,
        top: IntArray,
        moved: BoolArray,
        flow: FloatArray,
    ) -> None:
        """Turn the edges of a path, so that its upper end hangs on its lower one."""
        path[np.arange(problem.size), top] = False
        which, node = np.nonzero(path)
        upper = self.parent[problem[which], node]
        below_upper = moved[which] & ~self.below[problem[which], node]
        self.below[problem[which], upper] = below_upper
        self.parent[problem[which], upper] = node
        self.flow[problem[which], upper] = flow[which, node]


def _greedy(gain: FloatArray, supply: FloatArray, demand: FloatArray) -> _Trees:
    """Start from the plan that takes the largest gain first: each step uses up one row or one column.

    What is used up hangs on the other end of the edge, which is used up later or is the root.
    """
    n_problems, n_rows, n_columns = gain.shape
    n_nodes, each = n_rows + n_columns, np.arange(n_problems)
    left = np.concatenate([supply, demand], axis=1)
    open_rows, open_columns = (np.full(n_problems, n) for n in (n_rows, n_columns))
    parent = np.full((n_problems, n_nodes), -1)
    flow = np.zeros((n_problems, n_nodes))
    below = np.repeat(np.eye(n_nodes, dtype=bool)[None], n_problems, axis=0)
    used_up = np.empty((n_nodes - 1, n_problems), dtype=np.intp)
    possible = gain.copy()
    for step in range(n_nodes - 1):
        edge = possible.reshape(n_problems, -1).argmax(axis=1)
        row, column = edge // n_columns, n_rows + edge % n_columns
        smaller_row = (left[each, row] <= left[each, column]) & (open_rows > 1)
        takes_row = smaller_row | (open_columns == 1)
        node, other = np.where(takes_row, row, column), np.where(takes_row, column, row)
        amount = left[each, node]
        left[each, other] = np.maximum(left[each, other] - amount, 0.0)
        parent[each, node], flow[each, node], used_up[step] = other, amount, node
        below[each, other] |= below[each, node]
        possible[each[takes_row], row[takes_row]] = -np.inf
        possible[each[~takes_row], :, column[~takes_row] - n_rows] = -np.inf
        open_rows -= takes_row
        open_columns -= ~takes_row

    potential = np.zeros((n_problems, n_nodes))
    for node in used_up[::-1]:
        other = parent[each, node]
        row, column = np.minimum(node, other), np.maximum(node, other) - n_rows
        potential[each, node] = gain[each, row, column] - potential[each, other]
    return _Trees(gain, parent, flow, below, potential)
