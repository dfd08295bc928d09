"""Problem data of the rod at each level."""

from __future__ import annotations

import numpy as np

from contactlab.constraint_solver import softening
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

from .rod import EPS, LEFT, RIGHT, FloatArray, Rod, State

NORMAL = np.array([0.0, 1.0])
TANGENT = np.array([1.0, 0.0])
#: slip below which an end does not slide [m/s]
AT_REST = 100.0 * EPS


def _rows(rod: Rod, state: State, ends: list[int], direction: FloatArray) -> FloatArray:
    return np.array([rod.row(state, end, direction) for end in ends]).reshape(len(ends), 3)


def acceleration_data(
    rod: Rod, state: State, force: FloatArray | None = None, ends: list[int] | None = None
) -> ConstraintAccelProblemData:
    """Return the rigid contact problem at one instant; ends that slip have kinetic, others static friction.

    ``force`` (3,) acts at the centre of mass beside gravity [N, N, N m].
    """
    touching = rod.touching(state) if ends is None else ends
    slip = np.array([rod.end_velocity(state, end)[0] for end in touching])
    sliding = np.flatnonzero(np.abs(slip) >= AT_REST)
    resting = np.flatnonzero(np.abs(slip) < AT_REST)
    moving_ends, resting_ends = [touching[i] for i in sliding], [touching[i] for i in resting]
    return ConstraintAccelProblemData(
        M=rod.M,
        tau=rod.gravity + (np.zeros(3) if force is None else force),
        N=_rows(rod, state, touching, NORMAL),
        kN=[rod.row_rate_times_v(state, end, NORMAL) for end in touching],
        Q=np.sign(slip[sliding])[:, None] * _rows(rod, state, moving_ends, TANGENT),
        mu_sliding=np.full(len(sliding), rod.mu_coulomb),
        sliding_contacts=sliding,
        non_sliding_contacts=resting,
        F=_rows(rod, state, resting_ends, TANGENT),
        kF=[rod.row_rate_times_v(state, end, TANGENT) for end in resting_ends],
        mu_non_sliding=np.full(len(resting), rod.mu_static),
        r=np.ones(len(resting)),
    )


def impact_data(rod: Rod, state: State, ends: list[int] | None = None) -> ConstraintVelProblemData:
    """Return the inelastic impact problem of the touching ends."""
    touching = rod.touching(state) if ends is None else ends
    return ConstraintVelProblemData(
        M=rod.M,
        Mv=rod.M @ state.v,
        N=_rows(rod, state, touching, NORMAL),
        F=_rows(rod, state, touching, TANGENT),
        mu=np.full(len(touching), rod.mu_coulomb),
        r=np.ones(len(touching)),
    )


def step_data(rod: Rod, state: State, h: float, force: FloatArray | None = None) -> ConstraintVelProblemData:
    """Return the problem of compliant contact over a step h; both ends are in it, also if they do not touch.

    Stiffness and damping become gamma = 1/(h k + b) [s/kg] and erp = h k/(h k + b) in a problem whose unknowns are
    forces, so that a resting rod sinks in by its weight over its stiffness at any h. The slack of the cone is not
    softened: its gamma would have another unit (kg/s).
    """
    ends = [LEFT, RIGHT]
    soft = softening(h, stiffness=rod.stiffness, dissipation=rod.damping)
    load = rod.gravity + (np.zeros(3) if force is None else force)
    heights = np.array([rod.end_position(state, end)[1] for end in ends])
    return ConstraintVelProblemData(
        M=rod.M,
        Mv=rod.M @ state.v + h * load,
        N=_rows(rod, state, ends, NORMAL),
        kN=soft.rate(h, heights),
        gammaN=np.full(2, soft.gamma),
        F=_rows(rod, state, ends, TANGENT),
        gammaF=np.full(2, soft.gamma),
        mu=np.full(2, rod.mu_coulomb),
        r=np.ones(2),
    )
