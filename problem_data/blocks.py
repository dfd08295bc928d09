"""The dense block layout of a velocity-level problem: plain numpy, ready for compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from problem_data.operators import dense
from problem_data.validation import FloatArray, IntArray, check_finite

if TYPE_CHECKING:
    from problem_data.velocity import ConstraintVelProblemData


class VelocityBlocks(NamedTuple):
    """All operators of a velocity-level problem evaluated once, rows stacked in the order [N; F; L; G].

    Every array is C-contiguous, float64 or int64. With m = nc + nr + nl + nb rows, the Delassus matrix
    is W = J Y^T.

    The arrays carry the writable flag, because a compiled kernel takes a read-only array for another type and
    is compiled again; they are shared by all users of one problem and must not be written to.
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
    #: (nc,) spanning directions per contact
    r: IntArray
    #: (nc,) friction coefficients
    mu: FloatArray
    #: (m, nv) Jacobian rows, [N; F; L; G]
    J: FloatArray
    #: (m, nv), row i is M^-1 applied to row i of J
    Y: FloatArray
    #: (m,) [kN; kF; kL; kG], in the unit of each row's velocity
    k: FloatArray
    #: (m,) [gammaN; gammaF; gammaL; zeros for the bilateral rows]
    gamma: FloatArray
    #: (nc,) softening of the friction slack rows
    gammaE: FloatArray
    #: (nv,) generalised momentum before the impulses
    Mv: FloatArray
    #: (nv,) M^-1 Mv, the velocity without constraint forces
    v_free: FloatArray


def evaluate_blocks(data: ConstraintVelProblemData) -> VelocityBlocks:
    """Evaluate the operators of a problem into new arrays.

    Raises
    ------
    ProblemDataError
        An operator or the inertia solve gives a value that is not finite; the entry is named.
    """
    jacobians = []
    for field, linear_map in (("N", data.N), ("F", data.F), ("L", data.L), ("G", data.G)):
        rows = dense(linear_map)
        check_finite(field, rows)
        jacobians.append(rows)
    J = np.ascontiguousarray(np.concatenate(jacobians))
    Y = np.array(data.solve_inertia(J.T).T, dtype=np.float64, order="C")
    v_free = np.array(data.solve_inertia(data.Mv), dtype=np.float64, order="C")
    check_finite("solve_inertia", Y)
    check_finite("solve_inertia", v_free)
    return VelocityBlocks(
        nv=data.nv,
        nc=data.nc,
        nr=data.nr,
        nl=data.nl,
        nb=data.nb,
        r=data.r.copy(),
        mu=data.mu.copy(),
        J=J,
        Y=Y,
        k=np.concatenate((data.kN, data.kF, data.kL, data.kG)),
        gamma=np.concatenate((data.gammaN, data.gammaF, data.gammaL, np.zeros(data.nb))),
        gammaE=data.gammaE.copy(),
        Mv=data.Mv.copy(),
        v_free=v_free,
    )
