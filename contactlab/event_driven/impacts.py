"""Impacts at events: the closed contacts as one impact problem, solved by a law of `contactlab.impact`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contactlab.event_driven.candidates import Candidate, Local, edges_in_tangents
from contactlab.impact import ImpactLaw, ImpactProblem, Newton
from contactlab.impact.impulse_path import Stopped
from contactlab.impact.single import single_impact
from contactlab.multibody import Kinematics, Model, mass_matrix
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData

# Speed of approach, relative to the slip, that stands for an infinitely small one: the impulse of a jam does not
# depend on it.
_TINY = 1e-13


def impact_problem(
    model: Model, kin: Kinematics, found: Sequence[Local], candidates: Sequence[Candidate], edges: int
) -> ConstraintVelProblemData:
    """State the impact problem of these contacts at the present velocity."""
    M = mass_matrix(model, kin)
    spread = edges_in_tangents(edges)
    assert kin.v is not None
    return ConstraintVelProblemData(
        M=M,
        Mv=M @ kin.v,
        N=np.array([local.N for local in found]),
        F=np.vstack([spread @ local.T for local in found]),
        mu=[candidate.mu for candidate in candidates],
        r=[edges // 2] * len(found),
    )


def law_of(given: ImpactLaw | None, candidates: Sequence[Candidate]) -> ImpactLaw:
    """Return the law of an impact of these contacts: Newton's where none is given, with their restitution."""
    law: ImpactLaw = Newton() if given is None else given
    return law.of_materials([candidate.restitution for candidate in candidates])


def capture(data: ConstraintVelProblemData) -> FloatArray:
    """Return the velocity (nv,) after an impact that closes every one of the contacts, none of them rebounding.

    The motion closest in the metric of M that moves no contact along its normal, nor tangentially where it slips no
    faster than friction takes from it while the approach is stopped. An impact with e = 0 does not do this: a block
    that rocks from corner to corner would go on, in ever shorter time.
    """
    blocks = data.blocks()
    u = blocks.J @ blocks.v_free
    approach = float(-u[: data.nc].min(initial=0.0))
    slip = np.abs(u[data.nc : data.nc + data.nr]).reshape(data.nc, -1).max(axis=1, initial=0.0)
    stops = (blocks.mu > 0.0) & (slip <= blocks.mu * approach)
    held = np.concatenate((np.ones(data.nc, dtype=bool), np.repeat(stops, blocks.r)))
    J, Y = blocks.J[: data.nc + data.nr][held], blocks.Y[: data.nc + data.nr][held]
    impulse = np.linalg.lstsq(J @ Y.T, J @ blocks.v_free, rcond=1e-12)[0]
    return np.asarray(blocks.v_free - impulse @ Y)


def stop_slip(data: ConstraintVelProblemData, contact: int) -> FloatArray | None:
    """Return the velocity after an impact without collision: the impulse of a contact that is jammed (Genot 1999).

    The normal velocity is 0 before and after; between, friction presses the bodies together until slip stops. None
    where no impulse does it.
    """
    problem = ImpactProblem(data, "an impact without collision")
    collision = problem.collisions[contact]
    u = collision.velocity(problem.v_minus)
    u[0] = -_TINY * float(np.linalg.norm(u[1:]))
    try:
        single = single_impact(collision, u, 0.0, "newton")
    except Stopped:
        return None
    return np.asarray(problem.v_minus + single.impulse @ collision.Y)
