"""A rod on the ground: rigid accelerations, impacts, and steps with compliant ends.

The state is Painleve's: at 45 degrees, with its low end sliding to the left. The folder `rod2d` has the rod.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from contactlab import ConstraintSolveError, ConstraintSolver

sys.path.insert(0, str(Path(__file__).parent))
from rod2d import DEFAULT_STATE, Rod, acceleration_data, after_impact, compliant_force, rigid_acceleration, step

# %%
# Rigid contact at one instant. Up to friction 3 there is a force; above it a force would press the end into the ground.
for mu in (0.0, 1.0, 2.9):
    rod = Rod(mu_coulomb=mu, mu_static=mu)
    force = ConstraintSolver().solve_constraint_problem(acceleration_data(rod, DEFAULT_STATE)).forces.fN[0]
    print(f"mu = {mu:3.1f}: {force:7.2f} N, acceleration {np.round(rigid_acceleration(rod, DEFAULT_STATE), 3)}")
    assert np.isclose(force, 9.81 / (1.5 - 0.5 * mu))  # A fN = g with A = (1 + cos (cos - mu sin)) / m
rod = Rod(mu_coulomb=3.5, mu_static=3.5)
try:
    rigid_acceleration(rod, DEFAULT_STATE)
except ConstraintSolveError as error:
    print(f"mu = 3.5: {error.result.status.name}")
else:
    raise AssertionError("a paradox was expected")

# %%
# An impact is an impulse and always has a solution: the upright rod stops, the inclined one rotates about its end.
for theta in (np.pi / 2, np.pi / 4):
    falling = DEFAULT_STATE._replace(y=np.sin(theta), theta=theta, vx=0.0, vy=-1.0)
    after = after_impact(Rod(), falling)
    print(f"falling at {np.degrees(theta):.0f} degrees: velocity after {np.round(after.v, 3)}")
    assert np.allclose(Rod().end_velocity(after, -1), 0.0)

# %%
# Steps with compliant ends: dropped level, the rod comes to rest at a depth of its weight over the stiffness of both
# ends, for any step. The continuous model has the same depth.
for h in (1e-2, 1e-3):
    rod = Rod(stiffness=1e3, mu_coulomb=1.0, mu_static=1.0)
    state = DEFAULT_STATE._replace(y=0.05, theta=0.0, vx=0.0)
    while abs(state.vy) > 1e-12 or state.y > 0.0:
        state = step(rod, state, h)
    print(f"h = {h:g} s: at rest {1e3 * -state.y:.4f} mm deep")
    assert np.isclose(-state.y, 9.81 / 2e3)
    assert np.allclose(compliant_force(rod, state), [0.0, 9.81, 0.0])
