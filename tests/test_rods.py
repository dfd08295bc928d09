"""Rods between points of bodies: the double pendulum of two masses, without joints, and what records keep of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from joint_scenes import FAST, G

from contactlab.constraints import DistanceConstraint, forward_dynamics_constraints
from contactlab.contact import Material, Sphere
from contactlab.simulation import Recording, SimulationConfigError, TimeStepping, World, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia

L1, L2, M1, M2 = 1.0, 0.7, 2.0, 1.0
ORIGIN = (0.0, 0.0, 0.0)


def accelerations(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Lagrange's equations of point masses on rods at the angles a from hanging down, in the plane x, z."""
    s, c = np.sin(a[0] - a[1]), np.cos(a[0] - a[1])
    M = np.array([[(M1 + M2) * L1 * L1, M2 * L1 * L2 * c], [M2 * L1 * L2 * c, M2 * L2 * L2]])
    force = np.array([-M2 * L1 * L2 * s * w[1] ** 2, M2 * L1 * L2 * s * w[0] ** 2])
    return np.linalg.solve(M, force - G * np.array([(M1 + M2) * L1 * np.sin(a[0]), M2 * L2 * np.sin(a[1])]))


def places(a: np.ndarray, w: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, velocities and accelerations of both masses, (6,) each."""
    x, u, b = np.zeros(3), np.zeros(3), np.zeros(3)
    found = []
    for length, angle, speed, change in zip((L1, L2), a, w, rate, strict=True):
        out, along = np.array([np.sin(angle), 0, -np.cos(angle)]), np.array([np.cos(angle), 0, np.sin(angle)])
        x, u, b = x + length * out, u + length * speed * along, b + length * (change * along - speed**2 * out)
        found.append((x, u, b))
    x, u, b = (np.concatenate(part) for part in zip(*found, strict=True))
    return x, u, b


def double_pendulum(a: np.ndarray, w: np.ndarray, *, coil: bool = False) -> World:
    """Balls on rods at their centres, which nothing turns."""
    x, u, _ = places(a, w, np.zeros(2))
    builder = WorldBuilder((0.0, 0.0, -G), **FAST)
    for i, (name, mass) in enumerate((("one", M1), ("two", M2))):
        at = slice(3 * i, 3 * i + 3)
        inertia = RigidInertia.solid_sphere(mass, 0.1)
        builder.add_free_body(name, inertia, Sphere(0.1), Material(0.5), (*x[at], 1, 0, 0, 0), (*u[at], 0, 0, 0))
    builder.add_loop(DistanceConstraint("world", ORIGIN, "one", ORIGIN, L1, name="upper"))
    builder.add_loop(DistanceConstraint("one", ORIGIN, "two", ORIGIN, L2, name="lower"), erp=0.1)
    if coil:
        builder.add_spring("coil", "world", (0.3, 0.2, 0.1), "two", (0, 0.05, 0.1), 0.5, 200.0, 3.0)
    return builder.build()


def test_rods_accelerate_balls_as_lagrange_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        a, w = rng.uniform(-3, 3, 2), rng.uniform(-4, 4, 2)
        world = double_pendulum(a, w)
        motion = forward_dynamics_constraints(world.model, world.initial_q, world.initial_v, np.zeros(12), world.loops)
        _, _, expected = places(a, w, accelerations(a, w))
        np.testing.assert_allclose(motion.a.reshape(2, 6)[:, :3].ravel(), expected, atol=1e-11)


def test_a_double_pendulum_of_rods_converges_with_order_h(tmp_path: Path) -> None:
    """Against Lagrange's equations; the record is verified, and read back with its rods."""
    a, w = np.array([0.9, -0.4]), np.array([0.5, 2.0])
    world, errors = double_pendulum(a, w), []
    n = 2000
    for _ in range(n):  # the classical method of order 4, over 0.5 s
        h = 0.5 / n
        k1 = accelerations(a, w)
        k2 = accelerations(a + h / 2 * w, w + h / 2 * k1)
        k3 = accelerations(a + h / 2 * w + h * h / 4 * k1, w + h / 2 * k2)
        k4 = accelerations(a + h * w + h * h / 2 * k2, w + h * k3)
        a, w = a + h * w + h * h / 6 * (k1 + k2 + k3), w + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    for steps in (200, 400):
        recording = simulate(world, TimeStepping(0.5 / steps, erp=0.1), steps=steps)
        errors.append(np.abs(recording.q[-1].reshape(2, 7)[:, :3].ravel() - places(a, w, w)[0]).max())
    assert errors[0] < 0.02
    assert errors[1] < 0.6 * errors[0]
    assert verify(recording).holds
    assert np.abs(recording.joint_rows.error).max() < 1e-3
    recording.save(tmp_path / "run.npz")
    upper, lower = Recording.open(tmp_path / "run.npz").world.joint_actions.loops
    assert (upper.constraint.name, upper.constraint.length, upper.erp) == ("upper", L1, None)
    assert isinstance(lower.constraint, DistanceConstraint)
    assert (lower.constraint.body_a, lower.constraint.body_b, lower.erp) == ("one", "two", 0.1)


def test_rods_that_cannot_be_are_refused() -> None:
    builder = WorldBuilder()
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
    with pytest.raises(SimulationConfigError, match="no body is called 'bal'"):
        builder.add_loop(DistanceConstraint("world", ORIGIN, "bal", ORIGIN, 1.0))
    with pytest.raises(SimulationConfigError, match="Baumgarte term.*give erp instead"):
        builder.add_loop(DistanceConstraint("world", ORIGIN, "ball", ORIGIN, 1.0, 0.1))
