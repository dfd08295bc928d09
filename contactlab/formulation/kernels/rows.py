"""The rows of one step's problem, as every kernel of this folder takes them."""

from __future__ import annotations

from typing import NamedTuple

from contactlab.spatial.arrays import FloatArray, IntArray


class Rows(NamedTuple):
    """Rows [N; F; L; G; B] with their responses and terms; m rows in all, of which nbox are boxed.

    Who assembles or recovers takes them with the rows G eliminated (nb = 0), who certifies as they were posed. At
    acceleration level h is 1 and velocities are accelerations.
    """

    h: float  # step [s]
    nc: int  # contacts
    nr: int  # friction directions of all contacts
    nl: int  # limits
    nb: int  # bilateral rows
    r: IntArray  # (ncone,) directions of each friction cone: of the contacts' own, then of further ones
    mu: FloatArray  # (ncone,) friction coefficient, or length [m] of a cone of moments
    cone_contacts: IntArray  # (ncone,) the contact on whose normal force each cone leans
    J: FloatArray  # (>= m, nv) constraint rows
    Y: FloatArray  # (>= m, nv) row i is C J_i, C the inverse inertia
    k: FloatArray  # (>= m,) terms of the rows [m/s for contacts]
    gamma: FloatArray  # (>= m,) softening [s/kg for contacts]
    gammaE: FloatArray  # (ncone,) softening of the slack lambda
    lo: FloatArray  # (nbox,) bounds of the forces of boxed rows
    hi: FloatArray
    v_free: FloatArray  # (nv,) velocity after the step without the forces of these rows
    Mv: FloatArray  # (nv,) M v_free
    spans: IntArray  # columns of the rows, see `spans`; of length 0 for all
