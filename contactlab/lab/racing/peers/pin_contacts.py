"""A friction problem in the form that pin's contact solvers take: tangents first, a cone per point contact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import lcp

__all__ = ["solve_by_pin"]


def solve_by_pin(solver: Any, settings: Any, result: Any, problem: lcp.FrictionProblem, name: str) -> lcp.FrictionClaim:
    """Order the rows as pin does, solve, order the forces back; anything but spatial contacts is UNSUITABLE."""
    import pinocchio

    if not (problem._dims == 3).all():
        return lcp.FrictionClaim(
            np.zeros(problem.m), lcp.Status.UNSUITABLE, 0, f"{name}: contacts of one or two components"
        )
    # Ours are (N, T1, T2).
    order: NDArray[np.int64] = (3 * np.arange(problem.nc)[:, None] + np.array([1, 2, 0])).ravel()
    W = problem._W.toarray() if problem.sparse else problem._W
    delassus = pinocchio.DelassusOperatorDense(np.asfortranarray(W[np.ix_(order, order)]))
    world = pinocchio.Model()
    models, data = pinocchio.StdVec_ConstraintModel(), pinocchio.StdVec_ConstraintData()
    here = pinocchio.SE3.Identity()
    for mu in problem._mu:
        contact = pinocchio.PointContactConstraintModel(world, 0, here, 0, here)
        contact.setFriction(float(mu))
        model = pinocchio.ConstraintModel(contact)
        models.append(model)
        data.append(model.createData())
    settings.stat_record = False
    said = bool(solver.solve(delassus, problem._q[order], models, data, settings, result))
    r = np.empty(problem.m)
    r[order] = np.asarray(result.retrieveConstraintImpulses()).ravel()
    status = lcp.Status.SOLVED if said else lcp.Status.ITERATION_LIMIT
    return lcp.FrictionClaim(r, status, int(result.iterations), f"{name}: {'converged' if said else 'not converged'}")
