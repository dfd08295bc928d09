"""Distance of the forces of a step from the equal-compliance forces (`docs/theory/load_sharing.md`).

The forces selected are found again by the step's own kernels, from no forces and, where the branch is lost that way,
from those that the step began with. `contactlab.verification.equal_compliance_check` asks the same of a record by
another method.
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.certificate import Choice
from contactlab.formulation.discretized import DiscretizedLCP, form_discretized_lcp, recover_forces
from contactlab.formulation.strategy_solver import StrategySolver, solve_cones_with_strategies, solve_with_strategies
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintForces, ConstraintVelProblemData, VelocityBlocks

# Least eigenvalue of W, of the largest, at which it is regular; singular value at which rows of joints are dependent.
REGULAR, DEPENDENT = 1e-9, 1e-10
# Of the largest rate that a load makes: an unloaded contact that is faster is open. Of a bound: a force is at it.
CLOSED, WITHIN = 1e-8, 1e-9


def distance_from_selected(
    data: ConstraintVelProblemData,
    h: float,
    forces: ConstraintForces,
    *,
    z0: FloatArray | None = None,
    friction: str | None = None,
    tolerance: float = 1e-9,
) -> float:
    """Return the largest difference of contact forces from those selected, of the largest force.

    Parameters
    ----------
    data, h, forces
        Problem of a step of h [s] with its friction directions, and forces that solve it.
    z0
        (n,) Start of the step's solve.
    friction, tolerance
        As of `ConstraintSolver`: without the one, the law of the data.

    Returns
    -------
    float
        0 if no other forces cause the same velocities, infinite if no forces were selected.
    """
    blocks = data.blocks()
    formed = form_discretized_lcp(data, h)
    if _unique(formed, blocks, forces):
        return 0.0
    for start in (None,) if z0 is None else (None, z0):
        selected = _equal_compliance_forces(formed, start, data.friction if friction is None else friction, tolerance)
        if selected is not None:
            size = np.abs(_along_axes(blocks, forces)).max()
            off = float(np.abs(_along_axes(blocks, selected) - _along_axes(blocks, forces)).max())
            return off / float(size) if size > 0.0 else (math.inf if off > 0.0 else 0.0)
    return math.inf


def _equal_compliance_forces(
    formed: DiscretizedLCP, z0: FloatArray | None, friction: str, tolerance: float
) -> ConstraintForces | None:
    """Return the forces selected, None if they are not found."""
    if friction == "cone":
        found = solve_cones_with_strategies(formed, z0, tolerance)
        z, by = (None, None) if found is None else (found[0].vector(found[1].r, found[1].u), found[1].solver)
    else:
        answer = solve_with_strategies(formed, z0, tolerance, True)
        z, by = (None, None) if answer is None else (answer.z.copy(), answer.solver)
    if z is None or not isinstance(by, StrategySolver) or by.choice is not Choice.SELECTED:
        return None
    packed, _ = recover_forces(formed.h, formed.rows, formed.data.blocks(), z)
    return ConstraintForces.from_packed(formed.data, packed)


def _along_axes(blocks: VelocityBlocks, forces: ConstraintForces) -> FloatArray:
    """Return normal forces, and friction of each cone along two axes, of that along r directions at angles pi j / r."""
    cones = np.repeat(np.arange(blocks.ncone), blocks.r)
    place = np.arange(blocks.nr) - np.repeat(np.cumsum(blocks.r) - blocks.r, blocks.r)
    angle = np.pi * place / blocks.r[cones]
    axes = [np.bincount(cones, forces.fF * along(angle), blocks.ncone) for along in (np.cos, np.sin)]
    return np.concatenate((forces.fN, *axes))


def _unique(formed: DiscretizedLCP, blocks: VelocityBlocks, forces: ConstraintForces) -> bool:
    """Return whether no other forces of the contacts that act make the same velocities."""
    nc, nr, nl = blocks.nc, blocks.nr, blocks.nl
    rows = formed.rows.problem(formed.h, blocks)
    W = formed.h * (rows.J @ rows.Y.T) + np.diag(rows.gamma)
    f = np.concatenate((forces.fN, forces.fF, forces.fL, forces.fB))
    rates = rows.J[:nc] @ rows.v_free + rows.k[:nc] + W[:nc] @ f
    loads = np.diagonal(W)[:nc] * forces.fN
    act = (forces.fN > 0.0) | (rates <= CLOSED * (loads + np.abs(rates)).max(initial=0.0))
    first = nc + np.cumsum(blocks.r) - blocks.r
    tangents = [
        first[c] + j
        for c in np.flatnonzero(act[blocks.cone_contacts] & (blocks.mu > 0.0) & (blocks.r > 0))
        for j in {0, int(blocks.r[c]) // 2}
    ]
    own = np.concatenate((np.flatnonzero(act), np.array(tangents, dtype=np.int64)))
    slack = WITHIN * (1.0 + np.abs(forces.fB))
    held = (forces.fL > WITHIN * (1.0 + np.abs(forces.fL))) if nl else np.zeros(0, dtype=bool)
    held = np.concatenate((held, (forces.fB > blocks.lo + slack) & (forces.fB < blocks.hi - slack)))
    joints = nc + nr + np.flatnonzero(held)
    if not own.size:
        return True
    A, C = W[np.ix_(own, own)], W[np.ix_(own, joints)]
    if joints.size:
        A = A - C @ np.linalg.pinv(W[np.ix_(joints, joints)], rcond=DEPENDENT, hermitian=True) @ C.T
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(A), np.finfo(float).tiny))
    values = np.linalg.eigvalsh(unit[:, None] * A * unit)
    return bool(values[0] > REGULAR * values[-1])
