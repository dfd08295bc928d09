"""Torsional and rolling friction as boxed rows: closed forms of stops, bounds, energy, readings."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab import ConstraintSolver
from contactlab.formulation import BridgeError, ContactPoint, problem_data_from
from contactlab.multibody import Model, ModelBuilder, RigidInertia, integrate, joints, kinetic_energy, point_position

G, MASS, R = 9.81, 2.0, 0.1
INERTIA = 0.4 * MASS * R * R
SOLVER = ConstraintSolver()
UP = (0.0, 0.0, 1.0)


def ball() -> Model:
    builder = ModelBuilder()
    builder.add_body("ball", joint=joints.FloatingBase(), inertia=RigidInertia(MASS, inertia=INERTIA * np.eye(3)))
    return builder.build()


def touching(**friction: float) -> list[ContactPoint]:
    """The ball on the plane z = 0."""
    point = ContactPoint(
        "ball", (0, 0, 0), UP, frame="body", point_a=(0, 0, 0), radius=R, mu=0.5, name="floor", **friction
    )
    return [point]


def run(v0, seconds: float, h: float, **friction: float):
    """Times, origins, velocities, moments and loads of a ball on the plane, loads from the step before."""
    model, contacts = ball(), touching(**friction)
    q, v = np.array([0, 0, R, 1.0, 0, 0, 0]), np.array(v0, dtype=float)
    load, rows = MASS * G, []
    for _ in range(round(seconds / h)):
        problem = problem_data_from(model, q, v, contacts=contacts, h=h, loads={"floor": load}, edges=16)
        solution = SOLVER.solve_discretized_problem(problem.velocity, h)
        (force,) = problem.contact_forces(solution)
        before = kinetic_energy(model, q, v)
        v = solution.v_plus
        q = integrate(model, q, v, h)
        rows.append((q[:3].copy(), v.copy(), force.moment, load, kinetic_energy(model, q, v) - before))
        load = force.normal_force
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def test_a_spinning_ball_stops_when_the_moment_has_taken_its_spin():
    """I dw/dt = -rho m g: w falls by that to rounding, and stays 0 from t = I w0 / (rho m g)."""
    rho, w0, h = 2e-3, 5.0, 1e-2
    x, v, moment, _, energy = run((0, 0, 0, 0, 0, w0), 1.2, h, torsional=rho)
    time = h * np.arange(1, len(v) + 1)
    wanted = np.maximum(w0 - rho * MASS * G / INERTIA * time, 0.0)
    assert INERTIA * w0 / (rho * MASS * G) < 1.1
    np.testing.assert_allclose(v[:, 5], wanted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(v[:, :5], 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(x[-1], (0, 0, R), rtol=0, atol=1e-9)
    assert np.all(np.abs(moment[:, 2]) <= rho * MASS * G + 1e-9)
    assert moment[0, 2] == pytest.approx(-rho * MASS * G, rel=1e-9)
    assert np.all(np.abs(moment[-5:]) < 1e-9)
    assert np.all(energy <= 1e-12)


@pytest.mark.parametrize("heading", [pytest.param(0.0, marks=pytest.mark.slow), 0.7])
def test_a_rolling_ball_stops_where_rolling_friction_says(heading):
    """(I + m R^2) dw/dt = -rho m g: it rolls 7 R v0^2 / (10 rho g), in any direction, to first order in h."""
    rho, speed = 1e-3, 0.3
    c, s = np.cos(heading), np.sin(heading)
    start = (speed * c, speed * s, 0, -speed * s / R, speed * c / R, 0)
    distance = 0.7 * R * speed**2 / (rho * G)
    errors = []
    for h in (4e-2, 2e-2):
        x, v, moment, _, energy = run(start, 4.8, h, rolling=rho)
        errors.append(abs(np.hypot(*x[-1, :2]) - distance))
        np.testing.assert_allclose(v[-1], 0.0, rtol=0, atol=1e-9)
        np.testing.assert_allclose(x[-1, :2] / np.hypot(*x[-1, :2]), (c, s), rtol=0, atol=1e-6)
        assert np.all(np.linalg.norm(moment, axis=1) <= np.sqrt(2.0) * rho * MASS * G + 1e-9)
        assert np.all(energy <= 1e-12)
    # x sums the velocities at the ends of steps: v0 h / 2 short.
    assert errors[0] < 0.6 * speed * 4e-2
    assert errors[1] < 0.6 * errors[0]


def test_without_load_nothing_holds():
    """A bound of 0 is no row; both kinds together are three."""
    model, q, v = ball(), [0, 0, R, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]
    free = problem_data_from(model, q, v, contacts=touching(torsional=1e-3), h=1e-3, loads={"floor": 0.0})
    assert len(free.rows.velocity.B) == 0
    contacts = touching(torsional=1e-3, rolling=2e-3)
    both = problem_data_from(model, q, v, contacts=contacts, h=1e-3, loads={"floor": 10.0})
    kinds = [row.kind for row in both.rows.velocity.B]
    assert kinds == ["torsional friction", "rolling friction", "rolling friction"]
    assert both.rows.velocity["floor: torsional friction"].bounds == (-0.01, 0.01)
    np.testing.assert_allclose(both.velocity.blocks().hi, [0.01, 0.02, 0.02])
    impact = problem_data_from(model, q, v, contacts=contacts, loads={"floor": 10.0})
    assert len(impact.rows.velocity.B) == 0
    high = problem_data_from(model, [0, 0, 2 * R, 1, 0, 0, 0], v, contacts=contacts, h=1e-3, loads={"floor": 10.0})
    assert len(high.rows.velocity.B) == 0


def test_moments_bear_on_both_bodies():
    """A ball spinning on a ball: equal and opposite moments about the normal; rows are relative angular velocities."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    inertia = RigidInertia(MASS, inertia=INERTIA * np.eye(3))
    for name in ("under", "over"):
        builder.add_body(name, joint=joints.FloatingBase(), inertia=inertia)
    model = builder.build()
    q = np.array([0, 0, 0, 1.0, 0, 0, 0, 0, 0, 2 * R, 1.0, 0, 0, 0])
    v = np.array([0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0, 4.0])
    contact = ContactPoint("over", (0, 0, R), UP, body_a="under", torsional=0.01, mu=0.3, name="pair")
    problem = problem_data_from(model, q, v, contacts=[contact], h=1e-3, loads={"pair": 5.0})
    row = problem.velocity.B[[0]] @ v
    assert row[0] == pytest.approx(3.0)
    solution = SOLVER.solve_discretized_problem(problem.velocity, 1e-3)
    (force,) = problem.contact_forces(solution)
    np.testing.assert_allclose(force.moment, (0, 0, -0.05), atol=1e-12)
    for body, sign in (("over", -1.0), ("under", 1.0)):
        about = point_position(model, q, body, (0, 0, 0))
        np.testing.assert_allclose(
            problem.forces_on(body, solution, about=about).moment, (0, 0, sign * 0.05), atol=1e-12
        )
    # Together they keep their angular momentum.
    assert solution.v_plus[5] + solution.v_plus[11] == pytest.approx(5.0)


def test_what_is_missing_or_unknown_is_named():
    """Loads without, of nobody, negative; the other level."""
    model, q, v = ball(), [0, 0, R, 1, 0, 0, 0], np.zeros(6)
    for message, call in (
        ("normal force", lambda: problem_data_from(model, q, v, contacts=touching(rolling=1e-3), h=1e-3)),
        (
            "no contact is called 'flor'",
            lambda: problem_data_from(model, q, v, contacts=touching(), h=1e-3, loads={"flor": 1.0}),
        ),
        ("loads", lambda: problem_data_from(model, q, v, contacts=touching(), h=1e-3, loads={"floor": -1.0})),
        ("mapping", lambda: problem_data_from(model, q, v, contacts=touching(), h=1e-3, loads=[1.0])),
        ("torsional", lambda: touching(torsional=-1.0)),
    ):
        with pytest.raises(BridgeError, match=message):
            call()
    problem = problem_data_from(model, q, v, contacts=touching(rolling=1e-3), h=1e-3, loads={"floor": 1.0})
    with pytest.raises(BridgeError, match="velocity level"):
        _ = problem.acceleration
