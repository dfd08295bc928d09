"""A block slides to rest: the simulation compared with its closed form, and its order of convergence.

Coulomb friction stops a block of speed v0 after the time v0 / (mu g) and the distance v0^2 / (2 mu g).
"""

from __future__ import annotations

import numpy as np

from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import TimeStepping, WorldBuilder, simulate

MU, SPEED, G = 0.3, 2.0, 9.81
HALF = (0.2, 0.2, 0.05)  # flat, so that friction does not tip it over

# %%
# The world has a table and a block thrown along x. The friction of the pair is the geometric mean of both surfaces.
builder = WorldBuilder(gravity=(0.0, 0.0, -G))
builder.add_half_space("table", HalfSpace((0.0, 0.0, 1.0), 0.0), Material(MU))
builder.add_free_body(
    "block",
    RigidInertia.solid_box(1.0, HALF),
    Box(HALF),
    Material(MU),
    q=(0.0, 0.0, HALF[2], 1.0, 0.0, 0.0, 0.0),
    v=(SPEED, 0.0, 0.0, 0.0, 0.0, 0.0),
)
world = builder.build()

# %%
# Halve the step three times: the error halves each time, because the method is of first order.
distance, stop_time = SPEED**2 / (2.0 * MU * G), SPEED / (MU * G)
print(f"closed form: stops after {stop_time:.4f} s and {distance:.4f} m")
errors = []
for h in (8e-3, 4e-3, 2e-3, 1e-3):
    recording = simulate(world, TimeStepping(h), duration=1.0)
    travelled = recording.q[-1, 0]
    errors.append(abs(travelled - distance))
    worst = recording.worst_certificate().scaled
    print(f"h = {h:.0e} s: {travelled:.5f} m, error {errors[-1]:.1e} m, worst scaled residual {worst:.0e}")
    assert errors[-1] <= SPEED * h
    assert worst <= 1e-9
    assert np.abs(recording.v[-1]).max() < 1e-9  # at rest: no creep
    stopped = recording.time[np.argmax(np.abs(recording.v[:, 0]) < 1e-9)]
    assert abs(stopped - stop_time) <= 1.01 * h
assert errors[-1] < 0.25 * errors[0]
