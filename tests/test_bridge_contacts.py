"""Contacts of a model as rows: equal to hand-built ones, right in their bias and in their friction moments."""

import numpy as np
import pytest
from refusals import assert_messages
from trees import random_tree

from contactlab import ConstraintSolver
from contactlab.collision import edge_directions
from contactlab.constraint_solver import (
    BridgeError,
    ContactPoint,
    Stabilisation,
    Thresholds,
    problem_data_from,
    softening,
)
from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    body_pose,
    integrate,
    joints,
    mass_matrix,
    nonlinear_effects,
    point_bias_acceleration,
    point_in_body,
    point_jacobian,
    point_position,
    point_velocity,
    random_configuration,
)
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

SOLVER = ConstraintSolver()
UP = (0.0, 0.0, 1.0)


def free_box(mass: float = 2.0, half: float = 0.1) -> Model:
    builder = ModelBuilder()
    builder.add_body("box", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(mass, (half, half, half)))
    return builder.build()


def state(model: Model, seed: int = 1):
    rng = np.random.default_rng(seed)
    return random_configuration(model, rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)


def unit(vector) -> np.ndarray:
    return np.asarray(vector) / np.linalg.norm(vector)


def two_contacts(model: Model, q, **options) -> list[ContactPoint]:
    """One between two bodies of a tree and one with the world, at points given in the world and in a body."""
    x = point_position(model, q, "b5", [0.1, 0.2, -0.1])
    return [
        ContactPoint("b5", x, unit([1, 2, 2]), body_a="b2", mu_sliding=0.4, mu_non_sliding=0.6, surface="fixed"),
        ContactPoint("b3", [0.0, 0.1, 0.2], unit([0, 1, -1]), frame="body", mu=0.3, name="ground", **options),
    ]


def test_acceleration_level_equals_data_built_by_hand() -> None:
    """N, Q, kN, mu and tau equal the values from point Jacobians, bias accelerations and the equations of motion."""
    model = random_tree(7)
    q, v, tau = state(model)
    contacts = two_contacts(model, q)
    v = v - np.linalg.pinv(normals := by_hand(model, q, contacts)[0]) @ (normals @ v)  # neither opens nor closes
    N, J = by_hand(model, q, contacts)
    slip = [j @ v for j in J]
    Q = np.array([unit(s) @ j for s, j in zip(slip, J, strict=True)])
    bias = [
        point_bias_acceleration(model, q, v, "b5", [0.1, 0.2, -0.1])
        - point_bias_acceleration(model, q, v, "b2", point_in_body(model, q, "b2", contacts[0].point)),
        point_bias_acceleration(model, q, v, "b3", [0.0, 0.1, 0.2]),
    ]
    expected = ConstraintAccelProblemData(
        tau=tau - nonlinear_effects(model, q, v),
        N=N,
        Q=Q,
        kN=[c.normal @ b for c, b in zip(contacts, bias, strict=True)],
        mu_sliding=[0.4, 0.3],
        sliding_contacts=[0, 1],
        M=mass_matrix(model, q),
    )
    same_blocks(problem_data_from(model, q, v, tau, contacts=contacts).acceleration, expected)


def by_hand(model: Model, q, contacts) -> tuple[np.ndarray, list[np.ndarray]]:
    """Normal rows and relative point Jacobians of `two_contacts`."""
    first = point_jacobian(model, q, "b5", [0.1, 0.2, -0.1])
    first = first - point_jacobian(model, q, "b2", point_in_body(model, q, "b2", contacts[0].point))
    J = [first, point_jacobian(model, q, "b3", [0.0, 0.1, 0.2])]
    return np.array([c.normal @ j for c, j in zip(contacts, J, strict=True)]), J


def same_blocks(met, expected) -> None:
    for name, a, b in zip(met.blocks()._fields, met.blocks(), expected.blocks(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * max(1.0, np.abs(b).max(initial=0)), err_msg=name)


def test_non_sliding_contacts_have_the_edges_of_the_pyramid() -> None:
    """At rest F holds k/2 edges per contact, kF their bias, r their numbers; a frictionless contact has none."""
    model = random_tree(7)
    q, _, tau = state(model)
    contacts = [*two_contacts(model, q), ContactPoint("b0", [0, 0, 0], UP, frame="body")]
    data = problem_data_from(model, q, np.zeros(model.nv), tau, contacts=contacts, edges=8).acceleration
    _, J = by_hand(model, q, contacts[:2])
    F = np.concatenate([edge_directions(c.normal, 8) @ j for c, j in zip(contacts[:2], J, strict=True)])
    np.testing.assert_array_equal(data.r, [4, 4, 0])
    np.testing.assert_allclose(data.F.toarray(), F, atol=1e-12)
    np.testing.assert_allclose(data.mu_non_sliding, [0.6, 0.3, 0.0])
    np.testing.assert_allclose(data.kF, 0.0)


def test_velocity_level_equals_data_built_by_hand() -> None:
    """Mv = M v + h (tau - bias), one coefficient by the sliding decision, kN = gap/h, rows as at acceleration level."""
    model, h = random_tree(7), 1e-3
    q, v, tau = state(model)
    contacts = two_contacts(model, q, gap=0.02)
    N, J = by_hand(model, q, contacts)
    M = mass_matrix(model, q)
    expected = ConstraintVelProblemData(
        Mv=M @ v + h * (tau - nonlinear_effects(model, q, v)),
        N=N,
        F=np.concatenate([edge_directions(c.normal, 6) @ j for c, j in zip(contacts, J, strict=True)]),
        mu=[0.4, 0.3],
        r=[3, 3],
        kN=[0.0, 0.02 / h],
        M=M,
    )
    same_blocks(problem_data_from(model, q, v, tau, contacts=contacts, h=h, edges=6).velocity, expected)


def test_impact_problem_has_momentum_closed_contacts_and_restitution() -> None:
    """It has no h: Mv = M v, only closed contacts, kN = e N v for approaches faster than restitution_threshold."""
    model = free_box()
    q = np.array([0, 0, 0.1, 1, 0, 0, 0.0])
    v = np.array([2.0, 0, -1.0, 0, 0, 0])
    contacts = [
        ContactPoint("box", (0, 0, 0), UP, mu=0.1, restitution=0.5, name="low"),
        ContactPoint("box", (0, 0, 0.2), UP, gap=0.2, name="high"),
        ContactPoint("box", (0, 0, 0), UP, stiffness=1e5, name="soft"),
    ]
    problem = problem_data_from(model, q, v, contacts=contacts)
    np.testing.assert_allclose(problem.velocity.Mv, mass_matrix(model, q) @ v, atol=1e-12)
    np.testing.assert_allclose(problem.velocity.kN, [-0.5])
    assert problem.impacts == ("low", "soft")
    impact = SOLVER.solve_impact_problem(problem.velocity)
    np.testing.assert_allclose(impact.v_plus[2], 0.5)
    impulses = problem.contact_forces(impact)
    np.testing.assert_allclose([c.normal_force for c in impulses], [2.0 * 1.5, 0, 0])
    np.testing.assert_allclose(impulses[0].force_on("world"), [0.3, 0, -3.0], atol=1e-12)


def test_forces_between_two_bodies_are_opposite_and_move_both() -> None:
    """A box on a box on the ground: wrenches on the three are opposite in pairs and carry the weights."""
    builder = ModelBuilder()
    for name in ("low", "high"):
        builder.add_body(name, joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(2.0, (0.1, 0.1, 0.1)))
    model = builder.build()
    q = np.array([0, 0, 0.1, 1, 0, 0, 0, 0.02, 0, 0.3, 1, 0, 0, 0.0])
    corners = [(x, y) for x in (-0.08, 0.1) for y in (-0.1, 0.1)]
    contacts = [ContactPoint("low", (x, y, 0), UP, mu=0.5) for x, y in corners]
    contacts += [ContactPoint("high", (x, y, 0.2), UP, body_a="low", mu=0.5) for x, y in corners]
    problem = problem_data_from(model, q, np.zeros(12), contacts=contacts, h=1e-3)
    for solution in (
        SOLVER.solve_constraint_problem(problem.acceleration),
        SOLVER.solve_discretized_problem(problem.velocity, 1e-3),
    ):
        high, world = problem.forces_on("high", solution), problem.forces_on("world", solution, about=(0, 0, 0))
        low = problem.forces_on("low", solution, about=high.point)
        np.testing.assert_allclose(high.force, [0, 0, 2 * 9.81], atol=1e-8)
        np.testing.assert_allclose(high.moment, 0, atol=1e-8)
        np.testing.assert_allclose(world.force, [0, 0, -4 * 9.81], atol=1e-8)
        np.testing.assert_allclose(low.force, [0, 0, 2 * 9.81], atol=1e-8)
        total = problem.forces_on("low", solution, about=(0, 0, 0)).moment + world.moment
        total += problem.forces_on("high", solution, about=(0, 0, 0)).moment
        np.testing.assert_allclose(total, 0, atol=1e-8)


@pytest.mark.parametrize(("surface", "radius"), [("a", 0.0), ("b", 0.0), ("fixed", 0.0), ("a", 0.3), ("fixed", 0.3)])
def test_bias_is_the_rate_of_the_row_along_a_motion(surface, radius) -> None:
    """KN and kF are the time derivatives, at a = 0, of the velocity of the touching points along turning directions.

    A ball of B touches at its centre less the radius times the normal, wherever the ball goes.
    """
    model = random_tree(11)
    q, v, _ = state(model, 4)
    normal, centre = unit([1, -2, 1]), [0.1, 0.0, 0.2]
    x0 = point_position(model, q, "b4", centre)
    contact = ContactPoint("b4", x0, normal, body_a="b1", mu=0.5, radius=radius, surface=surface)
    data = problem_data_from(model, q, v, contacts=[contact], thresholds=Thresholds(rest=1e6, slip=1e6)).acceleration
    turning = {"a": "b1", "b": "b4", "fixed": "world"}[surface]
    R0 = body_pose(model, q, turning).R
    a_point = point_in_body(model, q, "b1", x0 - radius * normal)

    def rate(t: float, direction: np.ndarray) -> float:
        at = integrate(model, q, v, t)
        turn = body_pose(model, at, turning).R @ R0.T
        x = point_position(model, at, "b4", centre) - radius * turn @ normal
        if surface == "b":  # the point that touches stays a point of the body that is not flat
            x = point_position(model, at, "b1", a_point)
        on_a = point_in_body(model, at, "b1", x) if surface == "a" else a_point
        speed_b = point_velocity(model, at, v, "b4", point_in_body(model, at, "b4", x))
        return float(turn @ direction @ (speed_b - point_velocity(model, at, v, "b1", on_a)))

    for k, direction in zip([data.kN[0], *data.kF], [normal, *edge_directions(normal, 4)], strict=True):
        step = 1e-5
        assert k == pytest.approx((rate(step, direction) - rate(-step, direction)) / (2 * step), rel=1e-6, abs=1e-6)


def test_what_bears_on_a_is_right_opposite_the_point_of_b() -> None:
    """Rows of a contact that is open by a gap have A's point across the gap, wherever on A's plane `point_a` lies."""
    model = random_tree(7)
    q, v, _ = state(model)
    x, n, gap = point_position(model, q, "b5", [0.1, 0.2, -0.1]), unit([1, 2, 2]), 0.05
    across = x - gap * n
    for point_a in (across, across + 3.0 * unit([2, -1, 0])):
        contact = ContactPoint("b5", x, n, body_a="b2", point_a=point_a, mu=0.5)
        data = problem_data_from(model, q, v, contacts=[contact], h=1e-2).velocity
        J = point_jacobian(model, q, "b5", [0.1, 0.2, -0.1])
        J = J - point_jacobian(model, q, "b2", point_in_body(model, q, "b2", across))
        np.testing.assert_allclose(data.N.toarray(), [n @ J], atol=1e-12)
        np.testing.assert_allclose(data.F.toarray(), edge_directions(n, 4) @ J, atol=1e-12)
        np.testing.assert_allclose(data.kN, gap / 1e-2)


def test_stabilisation_of_contacts_is_none_an_erp_or_a_spring() -> None:
    """By default a penetration remains; erp phi/h pushes out; stiffness and dissipation give gamma and their erp."""
    model, h, depth = free_box(), 0.01, 1e-3
    q = np.array([0, 0, 0.1 - depth, 1, 0, 0, 0.0])

    def data(contact=None, how=None):
        contact = contact or ContactPoint("box", (0, 0, -depth), UP, gap=-depth)
        given = None if how is None else {"contacts": how}
        return problem_data_from(model, q, np.zeros(6), contacts=[contact], h=h, stabilisation=given)

    assert data().velocity.kN == [0.0]
    np.testing.assert_allclose(data(how=Stabilisation(erp=0.2)).velocity.kN, -0.2 * depth / h)
    soft = softening(h, stiffness=1e4, dissipation=50.0)
    own = ContactPoint("box", (0, 0, -depth), UP, gap=-depth, stiffness=1e4, dissipation=50.0)
    for found in (data(own), data(how=Stabilisation(stiffness=1e4, dissipation=50.0))):
        np.testing.assert_allclose(found.velocity.gammaN, soft.gamma)
        np.testing.assert_allclose(found.velocity.kN, soft.rate(h, -depth))
    np.testing.assert_allclose(data(how=Stabilisation(baumgarte=(3.0, 5.0))).acceleration.kN, -25.0 * depth, rtol=1e-12)
    np.testing.assert_allclose(data(how=Stabilisation(baumgarte=0.1)).acceleration.kN, -100.0 * depth)


MASS, R = 2.0, 0.1
INERTIA = 0.4 * MASS * R * R


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


def test_without_load_nothing_holds():
    """A bound of 0 gives no row; both kinds together give three."""
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
    """Missing loads, loads of unknown contacts, negative loads, and the other level raise."""
    model, q, v = ball(), [0, 0, R, 1, 0, 0, 0], np.zeros(6)
    assert_messages(
        BridgeError,
        ("normal force", lambda: problem_data_from(model, q, v, contacts=touching(rolling=1e-3), h=1e-3)),
        (
            "no contact is called 'flor'",
            lambda: problem_data_from(model, q, v, contacts=touching(), h=1e-3, loads={"flor": 1.0}),
        ),
        ("loads", lambda: problem_data_from(model, q, v, contacts=touching(), h=1e-3, loads={"floor": -1.0})),
        ("mapping", lambda: problem_data_from(model, q, v, contacts=touching(), h=1e-3, loads=[1.0])),
        ("torsional", lambda: touching(torsional=-1.0)),
    )
    problem = problem_data_from(model, q, v, contacts=touching(rolling=1e-3), h=1e-3, loads={"floor": 1.0})
    with pytest.raises(BridgeError, match="velocity level"):
        _ = problem.acceleration
