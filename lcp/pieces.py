"""The solutions that belong to one singular basis: a polyhedron, which may be empty, a point, or a continuum.

With x the unknowns of the basis, x = x0 + N s solves its equations for every s. The remaining conditions, y >= 0 in the
basis and w >= 0 outside, are c + G s >= 0. Along one direction they are an interval; in more dimensions one linear
program in homogeneous form finds a relative interior point and with it the dimension.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, check_range
from lcp.linear_program import linear_program

_ZERO = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A nonempty set of solutions of one basis: one of its points, and its dimension in (y, w)."""

    point: Vector
    dimension: int


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """Solutions x0 + N s of a singular basis and its sign conditions c + G s >= 0, each known to ``error``."""

    point: Vector
    directions: NDArray[np.float64]
    c: Vector
    G: NDArray[np.float64]
    error: Vector

    @property
    def visible(self) -> int:
        """Number of independent directions that any of the conditions feels."""
        return int(self.G.shape[1])

    def at(self, s: Vector) -> Vector:
        """The unknowns at s."""
        return self.point + self.directions @ s


def affine_set(
    K: NDArray[np.float64], k: Vector, m: int, active: NDArray[np.intp], rank_tolerance: float
) -> Affine | None:
    """The set of a basis of equilibrated data, None where it has no solution or a fixed condition is violated."""
    size = k.shape[0]
    block = K[np.ix_(active, active)]
    U, values, Vt = np.linalg.svd(block)
    rank = int((values > rank_tolerance * max(float(values[0]), np.finfo(np.float64).tiny)).sum()) if values.size else 0
    right = -k[active]
    inner = Vt[:rank].T @ ((U[:, :rank].T @ right) / values[:rank])
    gap = block @ inner - right
    sizes = np.abs(block) @ np.abs(inner) + np.abs(right)
    if (np.abs(gap) > 1e-8 * max(float(sizes.max(initial=0.0)), 0.0)).any():
        return None
    point = np.zeros(size)
    point[active] = inner
    directions = np.zeros((size, active.shape[0] - rank))
    directions[active] = Vt[rank:].T
    pairs = np.arange(m, size)
    inside = np.zeros(size, dtype=bool)
    inside[active] = True
    rows = K @ point + k
    c = np.where(inside[pairs], point[pairs], rows[pairs])
    moved = K @ directions
    G = np.where(inside[pairs, None], directions[pairs], moved[pairs])
    x_size = float(np.abs(point).max(initial=0.0))
    error = _ZERO * np.where(inside[pairs], x_size, np.abs(K[pairs]) @ np.abs(point) + np.abs(k[pairs]))
    # Directions that no condition feels (of free unknowns) are left out; the others are made orthonormal in G.
    _, strength, Wt = np.linalg.svd(G, full_matrices=False)
    felt = int((strength > 1e-9).sum())
    directions, G = directions @ Wt[:felt].T, G @ Wt[:felt].T
    G[np.abs(G) < 1e-11] = 0.0
    fixed = ~G.any(axis=1)
    if (c[fixed] < -error[fixed]).any():
        return None
    return Affine(point, directions, c, G, error)


def piece_of(affine: Affine) -> Piece | None:
    """The nonempty piece of an affine set, or None; a linear program decides where it has two or more directions."""
    if affine.visible == 0:
        return Piece(affine.point, 0)
    return _interval(affine) if affine.visible == 1 else _polyhedron(affine)


def _interval(affine: Affine) -> Piece | None:
    g, c = affine.G[:, 0], affine.c
    rising, falling = g > 0.0, g < 0.0
    # Each end with the rounding that its condition is known to.
    low = float(np.max(-c[rising] / g[rising], initial=-np.inf))
    high = float(np.min(-c[falling] / g[falling], initial=np.inf))
    slack = float(np.max(affine.error / np.where(g != 0.0, np.abs(g), 1.0), where=g != 0.0, initial=0.0))
    slack = max(slack, _ZERO * max(abs(low) if np.isfinite(low) else 0.0, abs(high) if np.isfinite(high) else 0.0))
    if high < low - slack:
        return None
    unit = float(np.abs(affine.point).max(initial=0.0))
    if np.isfinite(low) and np.isfinite(high):
        s = 0.5 * (low + high)
    elif np.isfinite(low):
        s = low + (unit or 1.0)
    else:
        s = high - (unit or 1.0) if np.isfinite(high) else 0.0
    return Piece(affine.at(np.array([s])), 1 if high > low + slack else 0)


def _polyhedron(affine: Affine) -> Piece | None:
    """Largest possible number of strict conditions: max sum t with c r + G s >= t, 0 <= t <= 1, r >= 1."""
    count, d = affine.G.shape
    unit = max(float(np.abs(affine.c).max(initial=0.0)), np.finfo(np.float64).tiny)
    c = np.where(np.abs(affine.c) <= affine.error, 0.0, affine.c) / unit
    # Not an empty piece: that would count as proof.
    check_range("a piece of the solution set", c, affine.G)
    program = linear_program(
        np.concatenate([np.zeros(d + 1), -np.ones(count)]),
        np.hstack([-c[:, None], -affine.G, np.eye(count)]),
        b_ub=np.zeros(count),
        bounds=[(1.0, None)] + [(None, None)] * d + [(0.0, 1.0)] * count,
    )
    if program is None:
        return None
    r, s, t = program.x[0], program.x[1 : d + 1], program.x[d + 1 :]
    point = affine.at(s / r * unit)
    tight = affine.G[t < 0.5]
    lost = int(np.linalg.matrix_rank(tight, tol=1e-9)) if tight.size else 0
    return Piece(point, d - lost)
