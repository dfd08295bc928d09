"""The dense block layouts of problem data: plain numpy, ready for compiled code.

The arrays carry the writable flag, because a compiled kernel takes a read-only array for another type and is compiled
again; they are shared by all users of one problem and must not be written to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from problem_data.operators import LinearMap, dense
from problem_data.sliding_friction import normal_minus_friction
from problem_data.validation import FloatArray, IntArray, check_finite

if TYPE_CHECKING:
    from problem_data.acceleration import ConstraintAccelProblemData
    from problem_data.inertia import SolveInertia
    from problem_data.velocity import ConstraintVelProblemData


class VelocityBlocks(NamedTuple):
    """All operators of a velocity-level problem evaluated once, rows stacked in the order [N; F; L; G; B].

    Every array is C-contiguous, float64 or int64. With m = nc + nr + nl + nb + nbox rows, the Delassus matrix
    is W = J Y^T. The arrays are not to be written to, although they are flagged writable.
    """

    #: number of generalised velocities
    nv: int
    #: number of contacts
    nc: int
    #: number of friction rows, the sum of r
    nr: int
    #: number of unilateral rows besides contacts (limits)
    nl: int
    #: number of bilateral rows
    nb: int
    #: (ncone,) spanning directions per friction cone
    r: IntArray
    #: (ncone,) friction coefficients; lengths [m] for cones of moments
    mu: FloatArray
    #: (ncone,) the contact on whose normal force each cone leans: 0 .. nc - 1, then those of further cones
    cone_contacts: IntArray
    #: (m, nv) Jacobian rows, [N; F; L; G; B]
    J: FloatArray
    #: (m, nv), row i is M^-1 applied to row i of J
    Y: FloatArray
    #: (m,) [kN; kF; kL; kG; kB], in the unit of each row's velocity
    k: FloatArray
    #: (m,) [gammaN; gammaF; gammaL; zeros for the bilateral rows; gammaB]
    gamma: FloatArray
    #: (ncone,) softening of the friction slack rows
    gammaE: FloatArray
    #: (nv,) generalised momentum before the impulses
    Mv: FloatArray
    #: (nv,) M^-1 Mv, the velocity without constraint forces
    v_free: FloatArray
    #: number of boxed rows
    nbox: int
    #: (nbox,) lower bounds of the forces of boxed rows, -inf for none
    lo: FloatArray
    #: (nbox,) upper bounds, inf for none
    hi: FloatArray

    @property
    def ncone(self) -> int:
        """Number of friction cones: one for each contact, and the further ones."""
        return self.mu.size


class AccelerationBlocks(NamedTuple):
    """All operators of an acceleration-level problem evaluated once, rows stacked in the order [N; F; L; G].

    Every array is C-contiguous, float64 or int64. With m = nc + nr + nl + nb rows, J Y^T is the Delassus matrix of the
    rows, and J YR^T what normal forces do to them together with the sliding friction they bring. Without sliding
    contacts R and YR equal the normal rows of J and Y bit for bit. The arrays are not to be written to, although they
    are flagged writable.
    """

    #: number of generalised velocities
    nv: int
    #: number of contacts, ns + nns
    nc: int
    #: number of sliding contacts
    ns: int
    #: number of non-sliding contacts
    nns: int
    #: number of friction rows, all of non-sliding contacts: the sum of r
    nr: int
    #: number of unilateral rows besides contacts (limits)
    nl: int
    #: number of bilateral rows
    nb: int
    #: (nns,) spanning directions per non-sliding contact
    r: IntArray
    #: (ns,) kinetic friction coefficients
    mu_sliding: FloatArray
    #: (nns,) static friction coefficients
    mu_non_sliding: FloatArray
    #: (ns,) the sliding contacts, ascending
    sliding: IntArray
    #: (nns,) the non-sliding contacts, ascending
    non_sliding: IntArray
    #: (m, nv) Jacobian rows, [N; F; L; G]
    J: FloatArray
    #: (ns, nv) Jacobian rows of the sliding directions
    Q: FloatArray
    #: (nc, nv) rows of N - mu_sliding Q; those of non-sliding contacts are those of N
    R: FloatArray
    #: (m, nv), row i is M^-1 applied to row i of J
    Y: FloatArray
    #: (nc, nv), row i is M^-1 applied to row i of R
    YR: FloatArray
    #: (m,) [kN; kF; kL; kG], in the unit of each row's acceleration
    k: FloatArray
    #: (nv,) external generalised forces
    tau: FloatArray
    #: (nv,) M^-1 tau, the acceleration without constraint forces
    a_free: FloatArray

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
        nv=data.nv,
        nc=data.nc,
        nr=data.nr,
        nl=data.nl,
        nb=data.nb,
        r=data.r.copy(),
        mu=data.mu.copy(),
        cone_contacts=data.cone_contacts.copy(),
        J=J,
        Y=_solved(data.solve_inertia, J),
        k=np.concatenate((data.kN, data.kF, data.kL, data.kG, data.kB)),
        gamma=np.concatenate((data.gammaN, data.gammaF, data.gammaL, np.zeros(data.nb), data.gammaB)),
        gammaE=data.gammaE.copy(),
        Mv=data.Mv.copy(),
        v_free=_solved(data.solve_inertia, data.Mv),
        nbox=data.nbox,
        lo=data.lo.copy(),
        hi=data.hi.copy(),
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
        nv=data.nv,
        nc=data.nc,
        ns=data.ns,
        nns=data.nns,
        nr=data.nr,
        nl=data.nl,
        nb=data.nb,
        r=data.r.copy(),
        mu_sliding=data.mu_sliding.copy(),
        mu_non_sliding=data.mu_non_sliding.copy(),
        sliding=sliding,
        non_sliding=data.non_sliding_contacts.copy(),
        J=J,
        Q=Q,
        R=R,
        Y=Y,
        YR=YR,
        k=np.concatenate((data.kN, data.kF, data.kL, data.kG)),
        tau=data.tau.copy(),
        a_free=_solved(data.solve_inertia, data.tau),
    )


def _jacobian(*maps: LinearMap) -> FloatArray:
    """Dense rows of the maps N, F, L, G and perhaps B, one below the other."""
    rows = [_rows(field, linear_map) for field, linear_map in zip("NFLGB", maps, strict=False)]
    return np.ascontiguousarray(np.concatenate(rows))


def _rows(field: str, linear_map: LinearMap) -> FloatArray:
    rows = dense(linear_map)
    check_finite(field, rows)
    return rows


def _solved(solve_inertia: SolveInertia, rows: FloatArray) -> FloatArray:
    """M^-1 applied to each row, or to one vector, in a new array."""
    if rows.size == 0:
        return np.zeros(rows.shape)  # a user's function need not know what to do with no columns
    solved = np.array(solve_inertia(rows.T).T, dtype=np.float64, order="C")
    check_finite("solve_inertia", solved)
    return solved
