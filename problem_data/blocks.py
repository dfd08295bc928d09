"""The dense block layouts of problem data: plain numpy, ready for compiled code.

The arrays carry the writable flag, because a compiled kernel takes a read-only array for another type and is compiled
again; they are shared by all users of one problem and must not be written to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from problem_data.operators import LinearMap, dense
from problem_data.validation import FloatArray, IntArray, check_finite

if TYPE_CHECKING:
    from problem_data.acceleration import ConstraintAccelProblemData
    from problem_data.inertia import SolveInertia
    from problem_data.velocity import ConstraintVelProblemData


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


def evaluate_blocks(data: ConstraintVelProblemData) -> VelocityBlocks:
    """Evaluate the operators of a velocity-level problem into new arrays.

    Raises
    ------
    ProblemDataError
        An operator or the inertia solve gives a value that is not finite; the entry is named.
    """
    J = _jacobian(data.N, data.F, data.L, data.G, data.B)
    return VelocityBlocks(
        **{count: getattr(data, count) for count in ("nv", "nc", "nr", "nl", "nb", "nbox")},
        **_copies(data, "r", "mu", "cone_contacts", "gammaE", "Mv", "lo", "hi", "tree_starts"),
        J=J,
        Y=_solved(data.solve_inertia, J),
        k=np.concatenate((data.kN, data.kF, data.kL, data.kG, data.kB)),
        gamma=np.concatenate((data.gammaN, data.gammaF, data.gammaL, np.zeros(data.nb), data.gammaB)),
        v_free=_solved(data.solve_inertia, data.Mv),
        **_known(data),
    )


def evaluate_acceleration_blocks(data: ConstraintAccelProblemData) -> AccelerationBlocks:
    """Evaluate the operators of an acceleration-level problem into new arrays.

    Raises
    ------
    ProblemDataError
        An operator or the inertia solve gives a value that is not finite; the entry is named.
    """
    J = _jacobian(data.N, data.F, data.L, data.G)
    Q = _rows("Q", data.Q)
    sliding = data.sliding_contacts.copy()
    with np.errstate(over="ignore"):
        R = normal_minus_friction(J[: data.nc], Q, data.mu_sliding, sliding)
    check_finite("N_minus_muQ_T.T", R)
    Y = _solved(data.solve_inertia, J)
    # Only the rows that differ are solved for: elsewhere YR has the bits of Y, so that a problem in which nothing
    # slides is exactly symmetric.
    YR = Y[: data.nc].copy()
    YR[sliding] = _solved(data.solve_inertia, R[sliding])
    return AccelerationBlocks(
        **{count: getattr(data, count) for count in ("nv", "nc", "ns", "nns", "nr", "nl", "nb")},
        **_copies(data, "r", "mu_sliding", "mu_non_sliding", "tau"),
        sliding=sliding,
        non_sliding=data.non_sliding_contacts.copy(),
        J=J,
        Q=Q,
        R=R,
        Y=Y,
        YR=YR,
        k=np.concatenate((data.kN, data.kF, data.kL, data.kG)),
        a_free=_solved(data.solve_inertia, data.tau),
        **_known(data),
    )


def normal_minus_friction(N: FloatArray, Q: FloatArray, mu: FloatArray, sliding: IntArray) -> FloatArray:
    """Return the rows of N - mu Q as a new dense array (nc, nv), from dense N (nc, nv) and Q (ns, nv).

    A contact that slides has the friction -mu fN along its sliding direction, so that its normal force acts along its
    row of (N - mu Q)^T. The rows of Q of the non-sliding contacts, which are not stored, are zero.
    """
    rows = np.array(N, order="C")
    rows[sliding] -= mu[:, np.newaxis] * Q
    return rows


def _copies(data: object, *names: str) -> dict[str, Any]:
    return {name: getattr(data, name).copy() for name in names}


def _known(data: ConstraintVelProblemData | ConstraintAccelProblemData) -> dict[str, Any]:
    return {
        name: np.zeros(0) if value is None else value.copy()
        for name, value in (("scaleG", data.scaleG), ("errorG", data.errorG))
    }


def _jacobian(*maps: LinearMap) -> FloatArray:
    """Return the dense rows of the maps N, F, L, G and perhaps B, one below the other."""
    rows = [_rows(field, linear_map) for field, linear_map in zip("NFLGB", maps, strict=False)]
    return np.ascontiguousarray(np.concatenate(rows))


def _rows(field: str, linear_map: LinearMap) -> FloatArray:
    rows = dense(linear_map)
    check_finite(field, rows)
    return rows


def _solved(solve_inertia: SolveInertia, rows: FloatArray) -> FloatArray:
    """Return M^-1 applied to each row of ``rows``, or to one vector, as a new array of the same shape."""
    if rows.size == 0:
        return np.zeros(rows.shape)  # a user's function need not support zero columns
    solved = np.array(solve_inertia(rows.T).T, dtype=np.float64, order="C")
    check_finite("solve_inertia", solved)
    return solved
