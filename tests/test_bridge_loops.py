"""Bilateral rows in problem data against constrained dynamics, and Delassus matrices of large models."""

import numpy as np
import pytest
from custom_constraints import Driven
from trees import random_tree

from contactlab import ConstraintSolver, EqualCompliance
from contactlab.constraint_solver import ContactPoint, Stabilisation, delassus, problem_data_from, softening
from contactlab.constraint_solver.kernels import discretized_lcp
from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    Transform,
    body_pose,
    factorize_mass_matrix,
    joints,
    mass_matrix,
    nonlinear_effects,
    point_position,
    random_configuration,
)
from contactlab.multibody.constraints import (
    ConstraintSet,
    ContactConstraint,
    DistanceConstraint,
    LoopConstraint,
    constraint_gamma,
    constraint_jacobian,
)

SOLVER = ConstraintSolver()


def case(seed: int, baumgarte: float | None = 0.2):
    """A random tree with a ball between two of its bodies, a point that keeps its height, and a rod."""
    model = random_tree(seed)
    rng = np.random.default_rng(seed)
    q, v, tau = random_configuration(model, rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    at = point_position(model, q, "b5", [0.1, 0.0, 0.2])
    pose = body_pose(model, q, "b1")
    X_p = Transform(p=pose.R.T @ (at - pose.p))
    X_s = Transform(p=(0.1, 0.0, 0.2))
    ball = [LoopConstraint("b1", "b5", X_p, X_s, np.eye(6)[3 + i], name="ball", baumgarte=baumgarte) for i in range(3)]
    height = ContactConstraint("b2", (0.1, 0.1, 0.0), (0, 0, 1), name="height")
    ends = [point_position(model, q, body, (0.1, 0.3, 0.2)) for body in ("b0", "b4")]
    length = float(np.linalg.norm(ends[1] - ends[0]))
    rod = DistanceConstraint("b0", (0.1, 0.3, 0.2), "b4", (0.1, 0.3, 0.2), length, baumgarte, name="rod")
    cs = ConstraintSet(model, [*ball, height, rod])
    return model, q, v, tau, cs


def dense_answer(model, q, v, tau, cs):
    """Acceleration and multipliers from the dense equations of motion with G a = gamma."""
    M, G = mass_matrix(model, q), constraint_jacobian(model, q, cs)
    n, m = M.shape[0], G.shape[0]
    K = np.block([[M, -G.T], [G, np.zeros((m, m))]])
    rhs = np.concatenate([tau - nonlinear_effects(model, q, v), constraint_gamma(model, q, v, cs)])
    x = np.linalg.solve(K, rhs)
    return x[:n], x[n:]


@pytest.mark.parametrize("seed", range(5))
def test_acceleration_level_is_constrained_forward_dynamics(seed) -> None:
    """With only bilateral rows kG = -gamma: motion and forces equal the constrained equations to 1e-9."""
    model, q, v, tau, cs = case(seed)
    problem = problem_data_from(model, q, v, tau, loops=cs)
    np.testing.assert_allclose(problem.acceleration.kG, -constraint_gamma(model, q, v, cs), atol=1e-12)
    solution = SOLVER.solve_constraint_problem(problem.acceleration)
    a, forces = dense_answer(model, q, v, tau, cs)
    np.testing.assert_allclose(solution.acceleration, a, rtol=1e-9, atol=1e-9 * np.abs(a).max())
    np.testing.assert_allclose(solution.forces.fG, forces, rtol=1e-9, atol=1e-9 * np.abs(forces).max())


def test_velocity_level_converges_to_acceleration_level() -> None:
    """From a velocity that meets the rows, one step with rows of its end has the acceleration of the instant."""
    model, q, v, tau, cs = case(3, baumgarte=None)
    G = constraint_jacobian(model, q, cs)
    v = v - np.linalg.pinv(G) @ (G @ v)
    for h in (1e-2, 1e-4):
        problem = problem_data_from(model, q, v, tau, loops=cs, h=h, rows_at="end")
        step = SOLVER.solve_discretized_problem(problem.velocity, h)
        accel = SOLVER.solve_constraint_problem(problem.acceleration)
        scale = np.abs(accel.acceleration).max()
        np.testing.assert_allclose((step.v_plus - v) / h, accel.acceleration, atol=1e-8 * scale)
        np.testing.assert_allclose(step.forces.fG, accel.forces.fG, rtol=1e-7)


def test_rows_of_the_end_leave_baumgarte_out() -> None:
    """The term of a step is the one of the rows' rotation: stabilisation of accelerations is not part of it."""
    model, q, v, tau, plain = case(3, baumgarte=None)
    pulled = plain.with_baumgarte("ball", 0.05)
    terms = [problem_data_from(model, q, v, tau, loops=cs, h=1e-3, rows_at="end").velocity.kG for cs in (plain, pulled)]
    np.testing.assert_allclose(terms[1], terms[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(terms[0], -1e-3 * constraint_gamma(model, q, v, plain), rtol=1e-9, atol=1e-12)


def test_velocity_level_pulls_positions_back_by_erp() -> None:
    """KG = erp phi/h for a loop that is open by phi; none without stabilisation."""
    model, q, v, tau, cs = case(3)
    from contactlab.multibody.constraints import constraint_position_error

    shifted = ConstraintSet(
        model,
        [
            LoopConstraint(c.predecessor, c.successor, c.X_p, Transform(p=(0.1, 0.0, 0.21)), c.axis, name="ball")
            for c in cs.constraints[:3]
        ],
    )
    phi = constraint_position_error(model, q, shifted)
    h = 1e-2
    plain = problem_data_from(model, q, v, tau, loops=shifted, h=h)
    np.testing.assert_array_equal(plain.velocity.kG, 0.0)
    held = problem_data_from(model, q, v, tau, loops=shifted, h=h, stabilisation={"loops": Stabilisation(erp=0.3)})
    np.testing.assert_allclose(held.velocity.kG, 0.3 * phi / h, rtol=1e-12)
    step = SOLVER.solve_discretized_problem(held.velocity, h)
    np.testing.assert_allclose(constraint_jacobian(model, q, shifted) @ step.v_plus, -0.3 * phi / h, atol=1e-9)


def test_loops_that_give_way_are_boxed_rows_without_bounds() -> None:
    """Stiffness and dissipation give f = -k (phi + h phi') - b phi' in the rows of a loop, named as before."""
    model, q, v, tau, cs = case(3, baumgarte=None)
    h, k, b = 1e-3, 2e4, 40.0
    how = {"loops": Stabilisation(stiffness=k, dissipation=b)}
    problem = problem_data_from(model, q, v, tau, loops=cs, h=h, stabilisation=how)
    assert problem.velocity.nb == 0
    assert [row.label for row in problem.rows.velocity.B] == list(cs.labels)
    np.testing.assert_allclose(problem.velocity.gammaB, float(softening(h, stiffness=k, dissipation=b).gamma))
    step = SOLVER.solve_discretized_problem(problem.velocity, h)
    rate = constraint_jacobian(model, q, cs) @ step.v_plus
    np.testing.assert_allclose(step.forces.fB, -(k * h + b) * rate, rtol=1e-7, atol=1e-7)
    assert problem.acceleration.nb == len(cs)  # rigid there


def test_time_varying_rows_bring_their_rate() -> None:
    """At velocity level kG is phi_t: the step ends at the prescribed speed at time t."""
    model, q, v, tau, _ = case(3)
    cs = ConstraintSet(model, [Driven()])
    problem = problem_data_from(model, q, v, tau, loops=cs, h=1e-3, t=0.5)
    np.testing.assert_allclose(problem.velocity.kG, -0.3 * np.cos(0.5), atol=1e-12)
    step = SOLVER.solve_discretized_problem(problem.velocity, 1e-3)
    np.testing.assert_allclose(cs.constraints[0].jacobian(model, q) @ step.v_plus, 0.3 * np.cos(0.5), atol=1e-9)


def test_rows_of_accelerations_alone_change_velocities_by_h_gamma() -> None:
    """A constraint without velocity level gives G v+ = G v + h gamma over a step, and no row in an impact."""
    model, q, v, tau, _ = case(3)
    driven = Driven()
    driven.level = "acceleration"
    cs = ConstraintSet(model, [driven])
    G, h, t = constraint_jacobian(model, q, cs), 1e-3, 0.9
    gamma = constraint_gamma(model, q, v, cs, t=t)
    assert abs(gamma[0]) > 0.1
    step = SOLVER.solve_discretized_problem(problem_data_from(model, q, v, tau, loops=cs, h=h, t=t).velocity, h)
    np.testing.assert_allclose(G @ step.v_plus, G @ v + h * gamma, atol=1e-9)
    impact = SOLVER.solve_impact_problem(problem_data_from(model, q, v, tau, loops=cs).velocity)
    np.testing.assert_allclose(impact.v_plus, v, atol=1e-9)


def test_forces_on_a_body_include_those_of_loops() -> None:
    """Forces and moments of a weld on predecessor and successor are opposite, at the point that they share."""
    model, q, v, tau, cs = case(4)
    ball = cs.constraints[0]
    weld = ConstraintSet(
        model, [LoopConstraint("b1", "b5", ball.X_p, ball.X_s, axis, name="weld") for axis in np.eye(6)]
    )
    problem = problem_data_from(model, q, v, tau, loops=weld)
    solution = SOLVER.solve_constraint_problem(problem.acceleration)
    at = point_position(model, q, "b5", [0.1, 0.0, 0.2])
    one, other = problem.forces_on("b5", solution, about=at), problem.forces_on("b1", solution, about=at)
    np.testing.assert_allclose(one.force, -other.force, atol=1e-8)
    np.testing.assert_allclose(one.moment, -other.moment, atol=1e-8)
    for found, rows in ((one.moment, solution.forces.fG[:3]), (one.force, solution.forces.fG[3:])):
        assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(rows))
        assert np.linalg.norm(found) > 0.01
    assert [row.label for row in problem.rows.acceleration.G] == list(weld.labels)


UP = (0.0, 0.0, 1.0)
G = 9.81


def pile(bodies: int, height: int = 10) -> tuple[Model, np.ndarray, list[ContactPoint]]:
    """Towers of unit boxes of 1 kg, four contacts under each box."""
    builder = ModelBuilder()
    for i in range(bodies):
        builder.add_body(f"b{i}", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(1.0, (0.5, 0.5, 0.5)))
    model = builder.build()
    q = np.zeros((bodies, 7))
    q[:, 3] = 1.0
    contacts = []
    for i in range(bodies):
        tower, level = divmod(i, height)
        q[i, :3] = 2.0 * (tower % 10), 2.0 * (tower // 10), 0.5 + level
        for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)):
            below = "world" if level == 0 else f"b{i - 1}"
            contacts.append(ContactPoint(f"b{i}", q[i, :3] + (x, y, -0.5), UP, body_a=below))
    return model, q.ravel(), contacts


@pytest.mark.parametrize("seed", range(4))
def test_delassus_of_random_trees_is_that_of_dense_inverses(seed) -> None:
    """W by the tree, applied and built, is J M^-1 J^T for rows with entries anywhere."""
    model = random_tree(seed, bodies=12)
    rng = np.random.default_rng(seed)
    q = random_configuration(model, rng)
    J = rng.standard_normal((9, model.nv)) * (rng.random((9, model.nv)) < 0.2)
    expected = J @ np.linalg.solve(mass_matrix(model, q), J.T)
    scale = np.abs(expected).max()
    W = delassus(model, q, J)
    np.testing.assert_allclose(W.matrix().toarray(), expected, atol=1e-11 * scale)
    np.testing.assert_array_equal(W.matrix().toarray(), W.matrix().toarray().T)
    f = rng.standard_normal((9, 3))
    np.testing.assert_allclose(W @ f, expected @ f, atol=1e-10 * scale)
    np.testing.assert_allclose(W.operator.matvec(f[:, 0]), expected @ f[:, 0], atol=1e-10 * scale)
    np.testing.assert_allclose(W.operator.rmatmat(f), expected @ f, atol=1e-10 * scale)
    assert W.shape == (9, 9)
    factor = factorize_mass_matrix(model, q)
    np.testing.assert_array_equal(delassus(model, factor, J).matrix().toarray(), W.matrix().toarray())


def test_branches_that_share_nothing_do_not_couple() -> None:
    """W of a pile holds the pairs of contacts that share a body, and no others."""
    model, q, contacts = pile(20, height=2)
    problem = problem_data_from(model, q, np.zeros(model.nv), contacts=contacts, h=1e-2)
    W = problem.delassus("N").matrix()
    # Per tower of two: four contacts on the ground and four between, and all eight involve the lower box.
    assert W.nnz <= 10 * 8 * 8
    towers = np.arange(80) // 8
    i, j = W.nonzero()
    assert (towers[i] == towers[j]).all()


def test_a_pile_with_friction_is_solved_without_a_dense_matrix(monkeypatch) -> None:
    """60 boxes, 240 contacts of equal compliance: each corner of a face carries a quarter of the load above."""
    model, q, contacts = pile(60)
    rubbing = [ContactPoint(c.body_b, c.point, c.normal, body_a=c.body_a, mu=0.5) for c in contacts]
    problem = problem_data_from(model, q, np.zeros(model.nv), contacts=rubbing, h=1e-2)
    np.testing.assert_array_equal(problem.velocity.tree_starts, np.arange(0, 361, 6))
    monkeypatch.setattr(discretized_lcp, "assemble_lcp", None)
    solution = ConstraintSolver(EqualCompliance()).solve_discretized_problem(problem.velocity, 1e-2)
    carried = solution.forces.fN.reshape(6, 10, 4)
    np.testing.assert_allclose(carried, np.tile(0.25 * G * np.arange(10, 0, -1)[:, None], (6, 1, 4)), rtol=1e-6)
    assert solution.certificate.holds(1e-9)
