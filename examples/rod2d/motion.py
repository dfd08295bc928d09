"""Rigid accelerations, impacts and steps: each of the solver's three problems, for the rod."""

from __future__ import annotations

import math

import numpy as np

from contactlab import ConstraintSolver

from .problems import AT_REST, acceleration_data, impact_data, step_data
from .rod import EPS, FloatArray, Rod, State


def mode(rod: Rod, state: State) -> str:
    """Return the mode of the touching ends: "ballistic", or "sliding" / "sticking" with one or two contacts."""
    touching = rod.touching(state)
    if not touching:
        return "ballistic"
    slides = any(abs(rod.end_velocity(state, end)[0]) >= AT_REST for end in touching)
    return f"{'sliding' if slides else 'sticking'} with {'one contact' if len(touching) == 1 else 'two contacts'}"


def is_impacting(rod: Rod, state: State) -> bool:
    """Return True if the lower end is on the ground and moves into it (for a level rod: the centre)."""
    slope = math.sin(state.theta)
    if slope == 0.0:
        height, rise = state.y, state.vy
    else:
        end = -1 if slope > 0.0 else 1
        height, rise = rod.end_position(state, end)[1], rod.end_velocity(state, end)[1]
    return bool(height < 10.0 * EPS and rise < -10.0 * EPS)


def rigid_acceleration(
    rod: Rod, state: State, force: FloatArray | None = None, solver: ConstraintSolver | None = None
) -> FloatArray:
    """Return the acceleration (3,) with rigid contact; raise if no force makes the state consistent (Painleve)."""
    data = acceleration_data(rod, state, force)
    return (solver or ConstraintSolver()).solve_constraint_problem(data).acceleration


def after_impact(rod: Rod, state: State, solver: ConstraintSolver | None = None) -> State:
    """Return the state after an inelastic impact, or the same state if there is no impact."""
    if not is_impacting(rod, state):
        return state
    solution = (solver or ConstraintSolver()).solve_impact_problem(impact_data(rod, state))
    return state.with_velocity(np.asarray(solution.v_plus))


def step(
    rod: Rod, state: State, h: float, force: FloatArray | None = None, solver: ConstraintSolver | None = None
) -> State:
    """Make one semi-implicit step of compliant contact: v first, then q with the new v."""
    solution = (solver or ConstraintSolver()).solve_discretized_problem(step_data(rod, state, h, force), h)
    return state.moved(np.asarray(solution.v_plus), h)
