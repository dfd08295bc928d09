"""A quadruped on four feet, from its description to forces: standing, pushed, on a slope, at both levels."""

import numpy as np
import pytest
from bridge_models import LEGS, MASS, brakes, feet, push, quadruped, stance

from contactlab import ConstraintSolver
from contactlab.constraint_solver import PositionDrive, problem_data_from
from contactlab.multibody import point_jacobian

G = 9.81
WEIGHT = MASS * G
SOLVER = ConstraintSolver()


@pytest.fixture(scope="module")
def model():
    return quadruped()


@pytest.fixture(scope="module")
def q(model):
    return stance(model)


def solved(problem):
    """Solutions of both levels."""
    step = SOLVER.solve_discretized_problem(problem.velocity, problem.h)
    return SOLVER.solve_constraint_problem(problem.acceleration), step


def total(problem, solution) -> np.ndarray:
    return sum(contact.force for contact in problem.contact_forces(solution))


def check_cone(problem, solution, mu: float) -> None:
    for contact in problem.contact_forces(solution):
        assert contact.normal_force >= -1e-9
        assert np.linalg.norm(contact.friction) <= mu * contact.normal_force + 1e-8


def test_standing_on_brakes_balances_forces_and_moments(model, q) -> None:
    """With locked joints it is a rigid body: forces and moments of the feet about the centre of mass balance it."""
    from contactlab.multibody import center_of_mass

    problem = problem_data_from(model, q, np.zeros(model.nv), contacts=feet(), drives=brakes(model), h=1e-3)
    com = center_of_mass(model, q)
    for solution in solved(problem):
        load = problem.forces_on("world", solution, about=com)
        np.testing.assert_allclose(load.force, [0, 0, -WEIGHT], atol=1e-7)
        np.testing.assert_allclose(load.moment, 0.0, atol=1e-7)
    accel, _ = solved(problem)
    assert problem.overloaded_joints(accel) == {}


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_push_slides_it_above_mu_times_weight_and_not_below(model, q, share) -> None:
    """From rest, a horizontal force accelerates it by what exceeds mu m g, and below that not at all."""
    mu = 0.5
    force = np.array([share * mu * WEIGHT, 0.0, 0.0])
    problem = problem_data_from(
        model,
        q,
        np.zeros(model.nv),
        contacts=feet(mu),
        drives=brakes(model),
        f_ext=push(model, q, force),
        h=1e-3,
    )
    expected = max(0.0, share - 1.0) * mu * G
    accel, step = solved(problem)
    for a, solution in ((accel.acceleration, accel), (step.v_plus / problem.h, step)):
        np.testing.assert_allclose(a[:3], [expected, 0, 0], atol=1e-7)
        np.testing.assert_allclose(a[3:], 0.0, atol=1e-7)
        np.testing.assert_allclose(total(problem, solution), [-min(share, 1.0) * mu * WEIGHT, 0, WEIGHT], atol=1e-6)
        check_cone(problem, solution, mu)


def moving_state(model, q):
    """A velocity of all joints with which the trunk moves and the feet stay where they are."""
    rng = np.random.default_rng(3)
    J = np.concatenate([point_jacobian(model, q, f"{leg}_foot", np.zeros(3)) for leg in LEGS])
    v = 0.5 * rng.standard_normal(model.nv)
    return v - np.linalg.lstsq(J, J @ v, rcond=None)[0]


def servos(model, q, v):
    return [
        PositionDrive(name, float(q[data.q][0]) + 0.02, 400.0, 8.0, float(v[data.v][0]))
        for name, data in model.joint_data.items()
        if data.v.stop > data.v.start
    ]


def test_both_levels_converge_to_each_other_at_first_order(model, q) -> None:
    """Moving on its feet, held by stiff servos, (v+ - v)/h and the forces converge to the instant's with order h."""
    v = moving_state(model, q)
    steps = np.array([1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5])
    errors = []
    for h in steps:
        problem = problem_data_from(model, q, v, contacts=feet(0.9), drives=servos(model, q, v), h=h, rows_at="end")
        accel, step = solved(problem)
        gap = (step.v_plus - v) / h - accel.acceleration
        lifted = total(problem, step) - total(problem, accel)
        errors.append((np.linalg.norm(gap), np.linalg.norm(lifted)))
    assert problem.sliding == ()
    assert min(c.normal_force for c in problem.contact_forces(accel)) > 1.0
    orders = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    np.testing.assert_allclose(orders, 1.0, atol=0.15)
    assert errors[-1][0] < 0.05 * np.linalg.norm(accel.acceleration)


def test_labels_name_what_rows_stand_for(model, q) -> None:
    """Every row is named, once, after a contact, an edge, a limit or a joint; forces are found by name."""
    near = q.copy()
    near[model.joint_data["fl_knee"].q] = -0.1
    problem = problem_data_from(model, near, np.zeros(model.nv), contacts=feet(), friction={"fr_knee": 1.0}, h=1e-3)
    table = problem.rows.velocity
    assert [row.label for row in table.N] == [f"{leg}: normal" for leg in LEGS]
    assert [row.label for row in table.F[:2]] == ["fl: edge 0", "fl: edge 1"]
    assert [row.label for row in table.L] == ["upper limit of fl_knee"]
    assert [row.label for row in table.B] == ["dry friction of fr_knee"]
    assert len(set(table.labels)) == len(table) == 4 + 8 + 1 + 1
    assert table["upper limit of fl_knee"].operator == "L"
    assert table["fr: edge 1"].index == 3
    np.testing.assert_array_equal(table["fr: edge 1"].direction, [0, 1, 0])
    assert sum(row.source == "fr" for row in table) == 3
    step = SOLVER.solve_discretized_problem(problem.velocity, problem.h)
    assert problem.row_force("rl: normal", step) == step.forces.fN[2]
    assert abs(problem.row_force("dry friction of fr_knee", step)) <= 1.0
    assert "upper limit of fl_knee" in str(table)
