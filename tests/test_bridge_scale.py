"""Thousands of velocities and rows: what is built, how fast, in how much memory, and that it is right."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from trees import random_tree

import lcp
from contactlab import ConstraintSolver, EqualCompliance
from contactlab.formulation import ContactPoint, JointLimit, delassus, problem_data_from
from contactlab.formulation.kernels import discretized_lcp
from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    Transform,
    factorize_mass_matrix,
    joints,
    mass_matrix,
    random_configuration,
)

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


def chain(links: int) -> Model:
    """Links of unit length and mass that hang from one another, turning about x and y in turn."""
    builder = ModelBuilder()
    inertia = RigidInertia.solid_box(1.0, (0.05, 0.05, 0.5)).moved(Transform(p=(0, 0, -0.5)))
    for i in range(links):
        builder.add_body(
            f"b{i}",
            parent="world" if i == 0 else f"b{i - 1}",
            joint=joints.Revolute([0, 1, 0] if i % 2 else [1, 0, 0]),
            placement=Transform(p=(0, 0, -1.0 if i else 0.0)),
            inertia=inertia,
        )
    return builder.build()


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
    E, inverse = W.half_factor()
    np.testing.assert_allclose((E * inverse) @ E.T.toarray(), expected, atol=1e-11 * scale)
    assert W.shape == (9, 9)
    factor = factorize_mass_matrix(model, q)
    np.testing.assert_array_equal(delassus(model, factor, J).matrix().toarray(), W.matrix().toarray())


def test_branches_that_share_nothing_do_not_couple() -> None:
    """W of a pile holds the pairs of contacts that share a body, and no others."""
    model, q, contacts = pile(20, height=2)
    problem = problem_data_from(model, q, np.zeros(model.nv), contacts=contacts, h=1e-2)
    W = problem.delassus("N").matrix()
    # Per tower of two: four contacts on the ground and four between, all of which share the lower box.
    assert W.nnz <= 10 * 8 * 8
    towers = np.arange(80) // 8
    i, j = W.nonzero()
    assert (towers[i] == towers[j]).all()


@pytest.mark.slow
def test_a_frictionless_pile_of_a_thousand_boxes_is_stated_and_solved() -> None:
    """6000 velocities, 4000 contacts: under 5 s and 200 MB in all, and each tower's contacts carry its weights."""
    model, q, contacts = pile(1000)
    small = pile(20)
    for size in (small, (model, q, contacts), (model, q, contacts)):  # the first two compile what the last one needs
        tracemalloc.start()
        clock = time.process_time()
        h = 1e-2
        problem = problem_data_from(size[0], size[1], np.zeros(size[0].nv), contacts=size[2], h=h)
        data = problem.velocity
        W = problem.delassus("N").matrix()
        result = lcp.solve(lcp.LCP(h * W, data.N @ data.solve_inertia(data.Mv) + data.kN))
        spent, memory = time.process_time() - clock, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (data.nv, data.nc) == (6000, 4000)
    assert spent < 5.0
    assert memory < 200e6  # one dense M would take 288 MB, one dense W 128 MB
    assert W.nnz < 20 * 4000
    assert result.solved
    carried = result.z.reshape(100, 10, 4).sum(axis=2)
    np.testing.assert_allclose(carried, np.tile(G * np.arange(10, 0, -1), (100, 1)), rtol=1e-7)
    v_plus = data.solve_inertia(data.Mv + h * (data.N.T @ result.z))
    np.testing.assert_allclose(v_plus, 0.0, atol=1e-9)


def test_a_pile_with_friction_is_solved_without_a_dense_matrix(monkeypatch) -> None:
    """200 boxes, 800 contacts that give way alike: each corner of a face carries a quarter of what is above."""
    model, q, contacts = pile(200)
    rubbing = [ContactPoint(c.body_b, c.point, c.normal, body_a=c.body_a, mu=0.5) for c in contacts]
    problem = problem_data_from(model, q, np.zeros(model.nv), contacts=rubbing, h=1e-2)
    np.testing.assert_array_equal(problem.velocity.tree_starts, np.arange(0, 1201, 6))
    monkeypatch.setattr(discretized_lcp, "assemble_lcp", None)
    solution = ConstraintSolver(EqualCompliance()).solve_discretized_problem(problem.velocity, 1e-2)
    carried = solution.forces.fN.reshape(20, 10, 4)
    np.testing.assert_allclose(carried, np.tile(0.25 * G * np.arange(10, 0, -1)[:, None], (20, 1, 4)), rtol=1e-6)
    assert solution.certificate.holds(1e-9)


def test_the_rows_of_a_thousand_bodies_cost_their_branches_only() -> None:
    """Both levels of the pile with friction: 6 or 12 entries per row, the cost linear in the number of bodies."""
    model, q, contacts = pile(1000)
    rubbing = [ContactPoint(c.body_b, c.point, c.normal, body_a=c.body_a, mu=0.5) for c in contacts]
    problem_data_from(*pile(20)[:2], np.zeros(120), contacts=pile(20)[2], h=1e-2).velocity  # noqa: B018  # compiles
    clock = time.process_time()
    problem = problem_data_from(model, q, np.zeros(model.nv), contacts=rubbing, h=1e-2)
    velocity, acceleration = problem.velocity, problem.acceleration
    assert time.process_time() - clock < 5.0
    assert velocity.N.nnz + velocity.F.nnz <= 12 * (4000 + 8000)
    assert acceleration.F.shape == (8000, 6000)
    assert len(problem.rows.velocity.labels) == 12000


def test_a_chain_of_a_thousand_links_is_stated_and_its_delassus_matrix_built() -> None:
    """1000 velocities on one branch, limits and contacts along it: under 5 s, W as the operator applies it."""
    model = chain(1000)
    rng = np.random.default_rng(0)
    q, v = 0.05 * rng.standard_normal(1000), 0.1 * rng.standard_normal(1000)
    limits = [JointLimit(f"b{i}", -0.05, 0.05) for i in range(1000)]
    contacts = [ContactPoint(f"b{i}", (0, 0, -1), UP, frame="body") for i in range(0, 1000, 10)]
    delassus(model, q, np.zeros((1, 1000)))  # compiles
    clock = time.process_time()
    problem = problem_data_from(model, q, v, contacts=contacts, limits=limits, h=1e-3)
    W = {name: problem.delassus(name).matrix() for name in ("N", "L")}
    assert time.process_time() - clock < 5.0
    assert W["N"].shape == (100, 100)
    assert W["L"].shape[0] > 300
    for name, matrix in W.items():
        f = rng.standard_normal(matrix.shape[0])
        expected = problem.delassus(name) @ f
        np.testing.assert_allclose(matrix @ f, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
