"""The continuous model: each end that is below the ground is pushed out by a spring with dissipation and friction."""

from __future__ import annotations

import numpy as np

from .rod import LEFT, RIGHT, FloatArray, Rod, State


def _step5(t: float) -> float:
    """Return a smooth step from 0 to 1 with zero first and second derivatives at both ends."""
    return t**3 * (10.0 + t * (-15.0 + 6.0 * t))


def friction_coefficient(rod: Rod, speed: float) -> float:
    """Return mu over the slip speed: up to mu_static at the stiction speed, down to mu_coulomb at three times it."""
    s = abs(speed) / rod.stiction_speed
    if s >= 3.0:
        return rod.mu_coulomb
    if s >= 1.0:
        return rod.mu_static - (rod.mu_static - rod.mu_coulomb) * _step5((s - 1.0) / 2.0)
    return rod.mu_static * _step5(s)


def compliant_force(rod: Rod, state: State, ends: tuple[int, ...] = (LEFT, RIGHT)) -> FloatArray:
    """Return the contact force of the given ends at the centre of mass (3,): N, N, N m.

    An end at depth p has fN = max(k p (1 + d pdot), 0) (Hunt and Crossley 1975) and friction against its slip.
    """
    total = np.zeros(3)
    for end in ends:
        depth = -rod.end_position(state, end)[1]
        if depth <= 0.0:
            continue
        slip, rise = rod.end_velocity(state, end)
        elastic = rod.stiffness * depth
        normal = max(elastic - elastic * rod.dissipation * rise, 0.0)
        tangential = -friction_coefficient(rod, slip) * normal * (1.0 if slip >= 0.0 else -1.0)
        r = rod.arm(state, end)
        total += [tangential, normal, r[0] * normal - r[1] * tangential]
    return total


def compliant_acceleration(rod: Rod, state: State, force: FloatArray | None = None) -> FloatArray:
    """Return the acceleration (3,) under gravity, contact and a force (3,) at the centre of mass."""
    load = rod.gravity + compliant_force(rod, state) + (np.zeros(3) if force is None else force)
    return load / np.diag(rod.M)
