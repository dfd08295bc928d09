"""Common parts of problem data of both levels: rows N, F, L, G with terms k, inertia and blocks; constraint forces.

The dense blocks are plain numpy, ready for compiled code. Their arrays carry the writable flag, because a compiled
kernel takes a read-only array for another type and is compiled again; they are shared by all users of one problem and
must not be written to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from problem_data.inertia import CholeskyInertia, SolveInertia
from problem_data.operators import LinearMap, Operator, as_linear_map, dense
from problem_data.validation import (
    FloatArray,
    IntArray,
    ProblemDataError,
    check_finite,
    float_array,
    length,
    read_only,
)

_UNKNOWN: FloatArray = np.zeros(0)


class VelocityBlocks(NamedTuple):
    """All operators of a velocity-level problem evaluated once, rows stacked in the order [N; F; L; G; B].

    Every array is C-contiguous, float64 or int64. With m = nc + nr + nl + nb + nbox rows, the Delassus matrix
    is W = J Y^T. The arrays are not to be written to, although they are flagged writable.
    """

    nv: int  #: number of generalised velocities
    nc: int  #: number of contacts
    nr: int  #: number of friction rows, the sum of r
    nl: int  #: number of unilateral rows besides contacts (limits)
    nb: int  #: number of bilateral rows
    r: IntArray  #: (ncone,) spanning directions per friction cone
    mu: FloatArray  #: (ncone,) friction coefficients; lengths [m] for cones of moments
    #: (ncone,) the contact whose normal force bounds each cone: 0 .. nc - 1, then contacts of further cones
    cone_contacts: IntArray
    J: FloatArray  #: (m, nv) Jacobian rows, [N; F; L; G; B]
    Y: FloatArray  #: (m, nv), row i is M^-1 applied to row i of J
    k: FloatArray  #: (m,) [kN; kF; kL; kG; kB], in the unit of each row's velocity
    gamma: FloatArray  #: (m,) [gammaN; gammaF; gammaL; zeros for the bilateral rows; gammaB]
    gammaE: FloatArray  #: (ncone,) softening of the friction slack rows
    Mv: FloatArray  #: (nv,) generalised momentum before the impulses
    v_free: FloatArray  #: (nv,) M^-1 Mv, the velocity without constraint forces
    nbox: int  #: number of boxed rows
    lo: FloatArray  #: (nbox,) lower bounds of the forces of boxed rows, -inf for none
    hi: FloatArray  #: (nbox,) upper bounds, inf for none
    tree_starts: IntArray  #: (nt + 1,) first velocity of each tree, then nv: M couples none of one to any of another
    scaleG: FloatArray = (
        _UNKNOWN  #: (nb,) sizes of the terms of each bilateral row's entries; (0,) if they are not known
    )
    errorG: FloatArray = _UNKNOWN  #: (nb,) position errors of the bilateral rows; (0,) if they are not known

    @property
    def ncone(self) -> int:
        """Number of friction cones: one for each contact, and the further ones."""
        return self.mu.size


class AccelerationBlocks(NamedTuple):
    """All operators of an acceleration-level problem evaluated once, rows stacked in the order [N; F; L; G].

    Every array is C-contiguous, float64 or int64. With m = nc + nr + nl + nb rows, J Y^T is the Delassus matrix of the
    rows, and J YR^T maps normal forces, including the sliding friction that they cause, to row rates. Without sliding
    contacts R and YR equal the normal rows of J and Y bit for bit. The arrays are not to be written to, although they
    are flagged writable.
    """

    nv: int  #: number of generalised velocities
    nc: int  #: number of contacts, ns + nns
    ns: int  #: number of sliding contacts
    nns: int  #: number of non-sliding contacts
    nr: int  #: number of friction rows, all of non-sliding contacts: the sum of r
    nl: int  #: number of unilateral rows besides contacts (limits)
    nb: int  #: number of bilateral rows
    r: IntArray  #: (nns,) spanning directions per non-sliding contact
    mu_sliding: FloatArray  #: (ns,) kinetic friction coefficients
    mu_non_sliding: FloatArray  #: (nns,) static friction coefficients
    sliding: IntArray  #: (ns,) the sliding contacts, ascending
    non_sliding: IntArray  #: (nns,) the non-sliding contacts, ascending
    J: FloatArray  #: (m, nv) Jacobian rows, [N; F; L; G]
    Q: FloatArray  #: (ns, nv) Jacobian rows of the sliding directions
    R: FloatArray  #: (nc, nv) rows of N - mu_sliding Q; for non-sliding contacts they are rows of N
    Y: FloatArray  #: (m, nv), row i is M^-1 applied to row i of J
    YR: FloatArray  #: (nc, nv), row i is M^-1 applied to row i of R
    k: FloatArray  #: (m,) [kN; kF; kL; kG], in the unit of each row's acceleration
    tau: FloatArray  #: (nv,) external generalised forces
    a_free: FloatArray  #: (nv,) M^-1 tau, the acceleration without constraint forces
    scaleG: FloatArray = (
        _UNKNOWN  #: (nb,) sizes of the terms of each bilateral row's entries; (0,) if they are not known
    )
    errorG: FloatArray = _UNKNOWN  #: (nb,) position errors of the bilateral rows; (0,) if they are not known

    @property
    def nbox(self) -> int:
        """Number of boxed rows: none at this level."""
        return 0


Blocks = TypeVar("Blocks", VelocityBlocks, AccelerationBlocks)

# Object with one entry in a vector k or gamma.
_ROW = {"N": "contact", "F": "row of F", "L": "row of L", "G": "row of G", "B": "row of B"}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ConstrainedDynamics(ABC, Generic[Blocks]):
    """Fields, row counts and blocks that both levels have."""

    N: LinearMap
    F: LinearMap
    L: LinearMap
    G: LinearMap
    kN: FloatArray
    kF: FloatArray
    kL: FloatArray
    kG: FloatArray
    #: (nb,) sizes of the terms that entries of each row of G are made of, and position errors; None if not given
    scaleG: FloatArray | None
    errorG: FloatArray | None
    r: IntArray
    solve_inertia: SolveInertia
    #: the mass matrix, if it is known
    M: FloatArray | None
    _blocks: Blocks | None = field(init=False)

    def _fill(self, fields: Mapping[str, Any], solve_inertia: SolveInertia, blocks: Blocks | None) -> None:
        """Set the frozen fields at construction; arrays become read-only views of those given."""
        for name, value in fields.items():
            object.__setattr__(self, name, read_only(value) if isinstance(value, np.ndarray) else value)
        object.__setattr__(self, "solve_inertia", solve_inertia)
        object.__setattr__(self, "M", solve_inertia.M if isinstance(solve_inertia, CholeskyInertia) else None)
        object.__setattr__(self, "_blocks", blocks)

    @property
    def nc(self) -> int:
        """Number of contacts."""
        return self.kN.size

    @property
    def nr(self) -> int:
        """Number of friction rows, the sum of r."""
        return self.kF.size

    @property
    def nl(self) -> int:
        """Number of unilateral rows besides contacts."""
        return self.kL.size

    @property
    def nb(self) -> int:
        """Number of bilateral rows."""
        return self.kG.size

    @property
    def nbox(self) -> int:
        """Number of boxed rows; there are none at acceleration level."""
        return 0

    def blocks(self) -> Blocks:
        """Return the operators evaluated into dense arrays: computed once, then the same arrays at every call.

        Do not write to the arrays; `VelocityBlocks` explains why they are not read-only.
        """
        return self._evaluated

    @cached_property
    def _evaluated(self) -> Blocks:
        return self._evaluate() if self._blocks is None else self._blocks

    @abstractmethod
    def _evaluate(self) -> Blocks: ...


def common_blocks(
    data: ConstrainedDynamics[Any], counts: tuple[str, ...], vectors: tuple[str, ...], rows: str
) -> dict[str, Any]:
    """Evaluate the fields of blocks that both levels have, for the classes of ``rows``, "NFLG" or "NFLGB".

    Raises
    ------
    ProblemDataError
        An operator or the inertia solve gives a value that is not finite; the entry is named.
    """
    J = np.ascontiguousarray(np.concatenate([dense_rows(name, getattr(data, name)) for name in rows]))
    known = {"scaleG": data.scaleG, "errorG": data.errorG}
    return {
        **{name: getattr(data, name) for name in counts},
        **{name: getattr(data, name).copy() for name in vectors},
        **{name: np.zeros(0) if value is None else value.copy() for name, value in known.items()},
        "J": J,
        "Y": solve_rows(data.solve_inertia, J),
        "k": np.concatenate([getattr(data, f"k{name}") for name in rows]),
    }


def dense_rows(field: str, linear_map: LinearMap) -> FloatArray:
    """Return the rows of a map as an array; an entry that is not finite is named."""
    rows = dense(linear_map)
    check_finite(field, rows)
    return rows


def solve_rows(solve_inertia: SolveInertia, rows: FloatArray) -> FloatArray:
    """Return M^-1 applied to each row of ``rows``, or to one vector, as a new array of the same shape."""
    if rows.size == 0:
        return np.zeros(rows.shape)  # a user's function need not support zero columns
    solved = np.array(solve_inertia(rows.T).T, dtype=np.float64, order="C")
    check_finite("solve_inertia", solved)
    return solved


def map_of_any_rows(name: str, rows: Operator | None, k: ArrayLike | None, nv: int) -> LinearMap:
    """Return the map of a class of rows whose number follows from the map itself, or from the length of its k."""
    return as_linear_map(name, rows, nv=nv, rows=None, pair_rows=length(f"k{name}", k), why=f"k{name}")


def per_row(
    check: Callable[..., FloatArray],
    prefix: str,
    values: Mapping[str, ArrayLike | None],
    counts: Mapping[str, int],
) -> dict[str, FloatArray]:
    """Return terms kN, kF, ... or softening gammaN, ... as fields, by a check such as `vector`; zeros if missing."""
    return {
        prefix + name: check(prefix + name, value, counts[name], f"one entry per {_ROW[name]}")
        for name, value in values.items()
    }


def known_of_blocks(blocks: VelocityBlocks | AccelerationBlocks) -> dict[str, FloatArray | None]:
    """Return scales and position errors of the rows of G from blocks, as fields; None for arrays of length 0."""
    given = blocks.nb > 0 and len(blocks.scaleG) == blocks.nb
    errors = given and len(blocks.errorG) == blocks.nb
    return {"scaleG": blocks.scaleG if given else None, "errorG": blocks.errorG if errors else None}


def rows_of_blocks(J: FloatArray, k: FloatArray, counts: tuple[int, ...]) -> dict[str, FloatArray]:
    """Return the maps N, F, ... and terms kN, kF, ... that were stacked into J and k, so many rows each."""
    ends, names = np.cumsum(counts)[:-1], "NFLGB"[: len(counts)]
    maps = dict(zip(names, np.split(J, ends), strict=True))
    return maps | {f"k{name}": part for name, part in zip(names, np.split(k, ends), strict=True)}


@dataclass(frozen=True, init=False, eq=False)
class ConstraintForces:
    """Forces (or impulses) along the rows of the problem they belong to.

    Newtons or newton metres for a discretised or acceleration-level problem; newton seconds or newton metre seconds for
    an impact problem. The signs are not checked here; the certificate of a solution checks them. To numpy they are the
    vector `packed`: ``np.asarray(forces)`` is [fN | fF | fL | fG | fB].

    Parameters
    ----------
    fN : array_like, shape (nc,)
        Normal magnitudes, positive when pushing.
    fF : array_like, shape (nr,)
        Signed friction per spanning direction, contact by contact; at acceleration level of the non-sliding contacts
        only, because the friction of a sliding contact is mu_sliding fN.
    fL : array_like, shape (nl,)
        Unilateral rows besides contacts (limits).
    fG : array_like, shape (nb,)
        Bilateral rows, of any sign.
    fB : array_like, shape (nbox,)
        Boxed rows, between their bounds; none at acceleration level.
    """

    fN: FloatArray
    fF: FloatArray
    fL: FloatArray
    fG: FloatArray
    fB: FloatArray

    def __init__(
        self, fN: ArrayLike, fF: ArrayLike = (), fL: ArrayLike = (), fG: ArrayLike = (), fB: ArrayLike = ()
    ) -> None:
        for name, value in (("fN", fN), ("fF", fF), ("fL", fL), ("fG", fG), ("fB", fB)):
            object.__setattr__(self, name, read_only(float_array(name, value, (None,))))

    def packed(self) -> FloatArray:
        """One new vector [fN | fF | fL | fG | fB], shape (nc + nr + nl + nb + nbox,)."""
        return np.concatenate((self.fN, self.fF, self.fL, self.fG, self.fB))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the vector `packed`, for numpy; it is a copy, so that ``copy=False`` raises."""
        if copy is False:
            raise ValueError("ConstraintForces are five vectors: one array of them is a copy")
        return self.packed() if dtype is None else self.packed().astype(dtype)

    @classmethod
    def from_packed(cls, data: ConstrainedDynamics[Any], cf: ArrayLike) -> ConstraintForces:
        """Unpack a vector [fN | fF | fL | fG | fB] with the row counts of the problem data.

        Raises
        ------
        ProblemDataError
            The length is not nc + nr + nl + nb + nbox, or an entry is not finite.
        """
        counts = (data.nc, data.nr, data.nl, data.nb, data.nbox)
        packed = float_array("cf", cf, (None,))
        if packed.size != sum(counts):
            raise ProblemDataError(
                "cf",
                f"shape {packed.shape}, wanted ({sum(counts)},): "
                f"nc + nr + nl + nb + nbox = {' + '.join(map(str, counts))}",
            )
        return cls(*np.split(packed, np.cumsum(counts)[:-1]))
