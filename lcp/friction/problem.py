"""Coulomb friction with the exact (second-order) cone, in the space of the contacts."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, checked_square, checked_vector, first_true, read_only
from lcp.status import ProblemError

IntArray = NDArray[np.int64]

#: Components of a contact: only a normal, one tangent (planar), two tangents.
DIMENSIONS = (1, 2, 3)


def checked_dims(dim: int | Sequence[int] | NDArray[np.integer], nc: int) -> IntArray:
    """Return the components of each contact, (nc,)."""
    if isinstance(dim, numbers.Integral) and not isinstance(dim, bool):
        dims = np.full(nc, int(dim), dtype=np.int64)
    else:
        given = np.asarray(dim)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise ProblemError(f"dim must be 1, 2 or 3, or one such number per contact, got {dim!r}")
        if given.shape[0] != nc:
            raise ProblemError(f"dim has {given.shape[0]} entries for {nc} contacts (the length of mu)")
        dims = given.astype(np.int64)
    bad = np.flatnonzero(~np.isin(dims, DIMENSIONS))
    if bad.size or (nc == 0 and isinstance(dim, numbers.Integral) and dim not in DIMENSIONS):
        value = dims[bad[0]] if bad.size else dim
        raise ProblemError(f"dim must be 1, 2 or 3, got {value}" + (f" at contact {bad[0]}" if bad.size else ""))
    return dims


def checked_mu(mu: ArrayLike, dims: IntArray | None = None) -> Vector:
    """Return friction coefficients, finite and not negative; zero if a contact has no tangent."""
    vector = checked_vector("mu", mu)
    if (i := first_true(vector < 0.0)) is not None:
        raise ProblemError(f"mu[{i}] = {vector[i]} is negative")
    if dims is not None and (i := first_true((dims == 1) & (vector != 0.0))) is not None:
        raise ProblemError(f"mu[{i}] = {vector[i]}, but contact {i} has no tangent (dim 1): it must be 0")
    return vector


@dataclass(frozen=True, eq=False)
class DelassusFactor:
    """u = J (v_free + J' r) + bias, with velocities grouped by tree."""

    J: Any  # (m, n) sparse, by rows
    v_free: Vector  # (n,)
    bias: Vector  # (m,)
    starts: IntArray  # (nt + 1,) first velocity of each tree


@dataclass(frozen=True, init=False, eq=False, repr=False)
class FrictionProblem:
    """Find r and u = W r + q with K* containing u_hat, K containing r, and u_hat . r = 0.

    Per contact the components are (N, T1, T2), K = {|r_T| <= mu r_N} is Coulomb's cone, K* its dual, and u_hat = (u_N +
    mu |u_T|, u_T) the velocity with De Saxce's term. The conditions are equivalent to Coulomb's law: u_N >= 0, r_N >=
    0, one of them zero; |r_T| <= mu r_N; and if the contact slides, r_T = -mu r_N u_T / |u_T|.

    Parameters
    ----------
    W
        Matrix (m, m), dense or scipy.sparse. Copied. It need not be symmetric or of full rank.
    q
        Vector (m,). Copied.
    mu
        Friction coefficients (nc,), >= 0.
    dim
        Components of each contact: 3 (default), 2 in the plane, 1 without friction; or one number per contact.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an invalid entry; the text names it.

    References
    ----------
    V. Acary, M. Bremond, O. Huber, On solving contact problems with Coulomb friction: formulations and numerical
    comparisons, INRIA RR-9118 (2018), section 2.
    G. De Saxce, Z.-Q. Feng, The bipotential method, Mathematical and Computer Modelling 28 (1998).
    """

    W: Any
    q: Vector
    mu: Vector
    dims: IntArray
    # The same memory, writable: for kernels a read-only array has another type, and would be compiled again.
    _W: Any = field(repr=False)
    _q: Vector = field(repr=False)
    _mu: Vector = field(repr=False)
    _dims: IntArray = field(repr=False)
    # (nc, 3): index of each component in a vector (m + 1,), absent ones at m.
    _index: IntArray = field(repr=False)
    # (nc,): largest |entry| of each contact's diagonal block of W, the median of all if it is zero.
    _block_size: Vector = field(repr=False)
    # If W was computed from bodies, these.
    _factor: DelassusFactor | None = field(repr=False)

    def __init__(self, W: Any, q: ArrayLike, mu: ArrayLike, dim: int | Sequence[int] | IntArray = 3) -> None:
        matrix = checked_square("W", W)
        vector = checked_vector("q", q)
        coefficients = checked_vector("mu", mu)
        dims = checked_dims(dim, coefficients.shape[0])
        coefficients = checked_mu(coefficients, dims)
        m = int(dims.sum())
        if vector.shape[0] != m:
            raise ProblemError(
                f"q has length {vector.shape[0]}, wanted {m}: {_count_text(dims)} (mu has length {len(coefficients)})"
            )
        if matrix.shape[0] != m:
            raise ProblemError(f"W has shape {matrix.shape}, wanted ({m}, {m}), the length of q")
        for name, value in (("W", matrix), ("q", vector), ("mu", coefficients), ("dims", dims)):
            object.__setattr__(self, name, read_only(value))
            object.__setattr__(self, f"_{name}", value)
        object.__setattr__(self, "_index", padded_index(dims))
        object.__setattr__(self, "_block_size", _block_sizes(matrix, self._index))
        object.__setattr__(self, "_factor", None)

    def _with_factor(self, bodies: DelassusFactor) -> FrictionProblem:
        """Return the same problem with the bodies from which it was made; pickling drops them."""
        problem = object.__new__(FrictionProblem)
        for each in fields(self):
            object.__setattr__(problem, each.name, getattr(self, each.name))
        object.__setattr__(problem, "_factor", bodies)
        return problem

    @property
    def m(self) -> int:
        """Number of unknowns."""
        return int(self._q.shape[0])

    @property
    def nc(self) -> int:
        """Number of contacts."""
        return int(self._mu.shape[0])

    @property
    def sparse(self) -> bool:
        """True if W is stored sparse."""
        return not isinstance(self._W, np.ndarray)

    def contacts(self, x: Vector) -> Vector:
        """Return a vector (m,) as one row (N, T1, T2) per contact, (nc, 3); absent components are 0."""
        rows: Vector = np.append(x, 0.0)[self._index]
        return rows

    def flat(self, rows: Vector) -> Vector:
        """Return the vector (m,) of rows (nc, 3): the inverse of `contacts`."""
        x = np.zeros(self.m + 1)
        x[self._index] = rows
        return x[:-1]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._W, self._q, self._mu, self._dims)

    def __repr__(self) -> str:
        return f"FrictionProblem({_count_text(self._dims)}, {'sparse' if self.sparse else 'dense'})"


def padded_index(dims: IntArray) -> IntArray:
    """Return the index of each contact's three components in a vector of all; absent ones are after its end."""
    ends = np.cumsum(dims)
    places: IntArray = (ends - dims)[:, None] + np.arange(3)[None, :]
    places[np.arange(3)[None, :] >= dims[:, None]] = int(ends[-1]) if ends.size else 0
    return places


def _block_sizes(W: Any, index: IntArray) -> Vector:
    """Return the largest |entry| of each diagonal block; if it is zero the median of the others, 1 if all are zero."""
    present = index < W.shape[0]
    both = present[:, :, None] & present[:, None, :]
    entries = np.zeros(both.shape)
    contact, row, column = np.nonzero(both)
    entries[both] = np.abs(np.asarray(W[index[contact, row], index[contact, column]]).ravel())
    size = entries.max(axis=(1, 2), initial=0.0)
    known = size[size > 0.0]
    return np.where(size > 0.0, size, float(np.median(known)) if known.size else 1.0)


def _count_text(dims: IntArray) -> str:
    kinds = [f"{int((dims == d).sum())} of {d} component{'s' if d > 1 else ''}" for d in (3, 2, 1) if (dims == d).any()]
    return f"{dims.shape[0]} contacts" + (f", {', '.join(kinds)}" if kinds else "")
