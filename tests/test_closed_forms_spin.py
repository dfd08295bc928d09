"""Spinning bodies with a known answer: tops, the tippe top's invariant, the intermediate axis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipk
from simulation_scenes import G

from contactlab.contact import HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia
from contactlab.spatial.quaternion import to_matrix


def order(steps, errors):
    """Slope of the error over h in logarithms."""
    return np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0]


def jellett(recording, offset, radius, inertia):
    """L . r of every state: angular momentum about the mass centre, arm from there to the lowest point."""
    values = []
    for q, v in zip(recording.q, recording.v, strict=True):
        R = to_matrix(q[3:])
        arm = R @ (0.0, 0.0, offset) - (0.0, 0.0, radius)
        values.append((R @ (inertia * v[3:])) @ arm)
    return np.array(values)


def test_jelletts_quantity_of_a_tippe_top_is_kept():
    """While friction takes energy away, L . r changes only by what the step of order h misses."""
    radius, offset, inertia = 0.015, 0.003, np.array([5e-7, 5e-7, 5.2e-7])
    body = RigidInertia(0.006, inertia=np.diag(inertia))
    steps, drifts = (4e-4, 2e-4, 1e-4), []
    tilt = (math.cos(0.1), math.sin(0.1), 0.0, 0.0)
    for h in steps:
        builder = WorldBuilder()
        builder.add_half_space("table", HalfSpace(), Material(0.3))
        height = radius - offset * math.cos(0.2)
        top = Sphere(radius, (0.0, 0.0, offset))
        builder.add_free_body("top", body, top, Material(0.3), (0, 0, height, *tilt), (0, 0, 0, 0, 0, 180.0))
        recording = simulate(builder.build(), TimeStepping(h, edges=16, erp=0.2), 0.5)
        values = jellett(recording, offset, radius, inertia)
        drifts.append(np.abs(values - values[0]).max() / abs(values[0]))
        energy = recording.kinetic + recording.potential
        assert energy[-1] < 0.99 * energy[0]
        # No motion at this tilt with this L . r has less energy than the steady one: J^2 / (2 D) + m g z, D = r . I r.
        cos = np.array([to_matrix(q)[2, 2] for q in recording.q[:, 3:]])
        across, along = inertia[0] * radius**2 * (1 - cos**2), inertia[2] * (offset - radius * cos) ** 2
        least = values[0] ** 2 / (2 * (across + along)) + 0.006 * G * (radius - offset * cos)
        assert np.all(energy >= least * (1 - 3 * drifts[-1]))
    assert drifts[-1] < 1e-4
    assert order(steps, drifts) >= 0.8


def top(spin, *, tilt=0.0, precession=0.0):
    """A symmetric top on a ball joint in its tip: mass 0.5, mass centre 0.1 m along its axis."""
    model = ModelBuilder((0.0, 0.0, -G))
    inertia = RigidInertia(0.5, (0.0, 0.0, 0.1), inertia=np.diag([1e-3, 1e-3, 8e-4]))
    model.add_body("top", joint=joints.Spherical(), inertia=inertia)
    builder = WorldBuilder((0.0, 0.0, -G))
    # Tilted about x; the precession about the vertical, in body axes.
    q = (math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0)
    v = (0.0, precession * math.sin(tilt), spin)
    builder.add_model(model.build(), q, v)
    return builder.build()


MGL, I1, I3 = 0.5 * G * 0.1, 1e-3 + 0.5 * 0.1**2, 8e-4


def tilts(recording):
    """Angle of the axis to the vertical in every state."""
    return [math.acos(min(1.0, to_matrix(q)[2, 2])) for q in recording.q]


@pytest.mark.parametrize(("factor", "sleeps"), [(1.1, True), (0.9, False)])
def test_a_sleeping_top_wakes_below_its_least_spin(factor, sleeps):
    """Upright is stable where w3^2 > 4 m g l I1 / I3^2."""
    spin = factor * 2.0 * math.sqrt(MGL * I1) / I3
    recording = simulate(top(spin, tilt=1e-3), TimeStepping(2e-4), 1.5)
    assert (max(tilts(recording)) < 1e-2) is sleeps


def test_a_top_precesses_steadily():
    """I1 W^2 cos - I3 w3 W + m g l = 0: the tilt stays, the axis goes round at W, to first order in h."""
    tilt, spin = 0.5, 250.0
    slow = (I3 * spin - math.sqrt((I3 * spin) ** 2 - 4 * I1 * math.cos(tilt) * MGL)) / (2 * I1 * math.cos(tilt))
    steps, errors = (4e-4, 2e-4, 1e-4), []
    for h in steps:
        recording = simulate(top(spin, tilt=tilt, precession=slow), TimeStepping(h), 0.5)
        assert np.ptp(tilts(recording)) < 30.0 * h
        axes = np.array([to_matrix(q)[:, 2] for q in recording.q])
        turned = np.unwrap(np.arctan2(axes[:, 0], -axes[:, 1]))
        errors.append(np.polyfit(recording.time, turned, 1)[0] / slow - 1.0)
    assert abs(errors[-1]) < 20.0 * steps[-1]
    assert order(steps, errors) >= 0.8


INERTIAS = np.array([1.0, 2.0, 3.0])


def wing_nut(spin):
    """A body alone in space, at a rate in body axes."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    inertia = RigidInertia(1.0, inertia=np.diag(INERTIAS))
    # Points far apart, none of which meets anything.
    builder.add_free_body("nut", inertia, Sphere(0.1), Material(0.5), None, (0, 0, 0, *spin))
    return builder.build()


def test_a_hundred_flips_keep_energy_momentum_and_period():
    """The period is the elliptic integral's, to second order in h; the energy and |L| only round."""
    (a, b, c), spin = INERTIAS, np.array([0.05, 2.0, 0.0])
    L2, E = np.sum((INERTIAS * spin) ** 2), 0.5 * np.sum(INERTIAS * spin**2)
    assert 2 * E * b > L2
    # L^2 < 2 E I2: the formula of the other case with the outer axes exchanged.
    k2 = (c - b) * (L2 - 2 * E * a) / ((b - a) * (2 * E * c - L2))
    period = 4 * ellipk(k2) * math.sqrt(a * b * c / ((b - a) * (2 * E * c - L2)))
    steps, errors = (0.04, 0.02, 0.01), []
    for h in steps:
        flips = 100 if h == steps[0] else 10
        recording = simulate(wing_nut(spin), TimeStepping(h), (flips / 2 + 0.3) * period)
        w = recording.v[:, 4]
        before = np.flatnonzero(w[:-1] * w[1:] < 0)
        at = recording.time[before] + h * w[before] / (w[before] - w[before + 1])
        assert at.size >= flips
        errors.append(2 * (at[-1] - at[0]) / (at.size - 1) - period)
        size = np.linalg.norm(INERTIAS * recording.v[:, 3:], axis=1)
        assert np.abs(recording.kinetic / E - 1.0).max() < 1e-11
        assert np.abs(size / math.sqrt(L2) - 1.0).max() < 1e-11
    assert order(steps, errors) >= 1.8
    assert abs(errors[-1]) < 1e-3 * period
