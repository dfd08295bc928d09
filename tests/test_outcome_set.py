"""All orders and interleavings of contacts that close at once: closed forms, invariants, and laws inside."""

import numpy as np
import pytest
import simulation_scenes as scenes
from impact_cases import cradle, random_impact, rocking_block, rod
from refusals import assert_fields
from scipy.optimize import nnls

from contactlab import impact
from contactlab.event_driven import EventDriven, EventKind
from contactlab.impact import ImpactError, Newton, Poisson, Stronge, outcome_set
from contactlab.simulation import Box, RigidInertia, TimeStepping, simulate
from problem_data import ConstraintVelProblemData


def flat_rod(inertia: float, v=(0.0, -1.0, 0.0), mu: float = 0.0, height: float = 1.0) -> ConstraintVelProblemData:
    """A body of unit mass on two points at +-1, its centre ``height`` above them, that comes down flat."""
    M = np.diag([1.0, 1.0, inertia])
    rows = {"F": [[1, 0, height]] * 2, "mu": [mu] * 2, "r": [1, 1]} if mu else {}
    return ConstraintVelProblemData(M=M, Mv=M @ v, N=[[0, 1, -1], [0, 1, 1]], **rows)


def hull_distance(found, v) -> float:
    """Distance |v - p|_M of v from the closest point p of the convex hull of the members, by |v_minus|_M."""
    root = np.linalg.cholesky(found.M).T
    size = np.linalg.norm(root @ found.v_minus)
    points, heavy = found.v_plus @ root.T, 1e6 * size
    # Weights with sum one, enforced by a heavy row; then normalised.
    weights, _ = nnls(np.vstack((points.T, np.full(len(points), heavy))), np.append(root @ v, heavy))
    return float(np.linalg.norm(points.T @ weights / weights.sum() - root @ v) / size)


@pytest.mark.parametrize("inertia", [1.5, 4.0, 20.0])
def test_two_points_that_lift_each_other_leave_two_segments(inertia):
    """Inelastic, W12 > 0: one end stays down, the other lifts by anything up to (W12 / W11) (1 - W12 / W11).

    The last one pressed ends at rest; the other was at rest before, and is lifted by what remains: most where it was
    pressed alone, nothing where both came to rest together.
    """
    found = outcome_set(flat_rod(inertia), samples=60)
    ratio = (1.0 - 1.0 / inertia) / (1.0 + 1.0 / inertia)
    u = found.v_plus @ np.array([[0.0, 1.0, -1.0], [0.0, 1.0, 1.0]]).T
    assert found.complete
    assert found.orders == 2
    assert np.abs(u.min(axis=1)).max() < 1e-7
    assert u.max(axis=0) == pytest.approx([ratio * (1.0 - ratio)] * 2, abs=1e-9)
    assert u.max(axis=1).min() < 0.05 * ratio * (1.0 - ratio)
    assert found.dimension == 2
    # The hull of two segments at a right angle in (u1, u2); its measure is in the norm of M.
    area = 0.5 * (ratio * (1.0 - ratio)) ** 2 * np.sqrt(np.linalg.det(np.linalg.inv([[1, -1], [1, 1]])) ** 2 * inertia)
    assert found.measure == pytest.approx(area, rel=1e-2)
    for law in (Newton(0.0), Stronge(0.0), Stronge(0.0, "sequential"), Poisson(0.0)):
        assert found.distance(law.solve(flat_rod(inertia)).v_plus) < 2e-3


def test_three_balls_may_end_anywhere_on_an_arc():
    """Elastic: momentum and energy leave a circle, no approach an arc of it from (0, 0, 1) to (-1/3, 2/3, 2/3)."""
    found = outcome_set(cradle(3), 1.0, samples=80)
    v = found.v_plus
    np.testing.assert_allclose(v.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose((v * v).sum(axis=1), 1.0, atol=1e-6)
    assert np.diff(v, axis=1).min() > -1e-6
    assert found.distance([0.0, 0.0, 1.0]) < 1e-9
    assert found.distance([-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]) < 5e-3
    # Members lie along the whole arc, no gap wider than a fifth of it.
    centre, x = np.full(3, 1.0 / 3.0), np.array([0.0, 0.0, 1.0]) - 1.0 / 3.0
    angle = np.sort(np.arccos(np.clip((v - centre) @ x / (x @ x), -1.0, 1.0)))
    assert angle[-1] == pytest.approx(np.pi / 3.0, abs=0.01)
    assert np.diff(angle).max() < np.pi / 15.0
    for law in (Newton(1.0), Newton(1.0, "sequential"), Stronge(1.0), Stronge(1.0, exponent=1.0)):
        assert found.distance(law.solve(cradle(3)).v_plus) < 0.02


def test_a_rocking_block_has_one_outcome():
    """Slender: Housner's, for the corner it leaves is lifted. Squat: at rest."""
    slender, squat = (outcome_set(rocking_block(*size), samples=20) for size in ((1.0, 2.0), (2.0, 1.0)))
    assert slender.dimension == squat.dimension == 0
    assert slender.v_plus[0][2] == pytest.approx(-(1.0 - 1.5 / 5.0), abs=1e-9)
    assert np.abs(squat.v_plus).max() < 1e-6
    assert slender.distance(Newton(0.0, "sequential").solve(rocking_block(1.0, 2.0)).v_plus) < 1e-9


def test_one_contact_has_one_outcome_under_each_law():
    """Nothing to order: the course of the law itself."""
    for law, ending in ((Newton, "newton"), (Poisson, "poisson"), (Stronge, "stronge")):
        found = outcome_set(rod(0.5, 2.0), 0.8, law=ending, samples=10)
        wanted = law(0.8, "sequential").solve(rod(0.5, 2.0)).v_plus
        assert found.dimension == 0
        assert max(np.abs(v - wanted).max() for v in found.v_plus) < 1e-9


def box(half, v=(0.0, 0.0, -1.0, 0.0, 0.0, 0.0)) -> ConstraintVelProblemData:
    """A smooth box of unit mass that comes down on its four lower corners."""
    x, y, z = half
    corners = [[a * x, b * y, -z] for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    M = np.diag([1.0, 1.0, 1.0, (y * y + z * z) / 3.0, (x * x + z * z) / 3.0, (x * x + y * y) / 3.0])
    return ConstraintVelProblemData(
        M=M, Mv=M @ v, N=[[0.0, 0.0, 1.0, *np.cross(one, [0.0, 0.0, 1.0])] for one in corners]
    )


@pytest.mark.parametrize("half", [(1.0, 1.0, 0.3), (0.3, 0.3, 2.0), (1.0, 0.5, 0.2)])
def test_a_box_on_four_corners_ends_where_small_pushes_take_it(half):
    """Inelastic, against a plain walk of the inclusion: one hundredth at a time at any corner that approaches."""
    data, rng = box(half), np.random.default_rng(2)
    found = outcome_set(data, max_orders=100)
    M, N = np.asarray(data.M), np.asarray(data.N)
    Y = np.linalg.solve(M, N.T).T
    W = np.einsum("ij,ij->i", N, Y)
    for _ in range(25):
        v, weight = np.linalg.solve(M, data.Mv), rng.dirichlet(np.full(4, 0.4)) + 1e-6
        while ((u := N @ v) < -1e-7).any():
            i = rng.choice(4, p=(share := np.where(u < -1e-7, weight, 0.0)) / share.sum())
            v = v + min(-u[i] / W[i], 0.01 / np.sqrt(W[i])) * Y[i]
        assert hull_distance(found, v) < 0.005
    for law in (Newton(0.0), Poisson(0.0), Stronge(0.0), Newton(0.0, "sequential"), Stronge(0.0, "sequential")):
        assert found.distance(law.solve(data).v_plus) < 0.005
    assert (found.v_plus @ N.T).min() > -1e-6


def test_members_of_random_impacts_separate_and_gain_no_energy():
    """Three contacts with friction, in the plane: every member, and the law one after the other is one of them."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        data, e = random_impact(rng, 3, 1), float(rng.uniform(0.0, 1.0))
        found = outcome_set(data, e, samples=5, max_orders=40)
        size = np.abs(data.N @ np.linalg.solve(data.M, data.Mv)).max()
        assert (found.v_plus @ np.asarray(data.N).T).min() > -1e-6 * size
        assert found.energy_ratios.max() <= 1.0 + 1e-9
        law = Stronge(e, "sequential").solve(data)
        if law.solved and found.complete:
            assert found.distance(law.v_plus) < 1e-6
        low, high = found.extremes(np.eye(6)[0])
        assert (low[0], high[0]) == (found.lowest[0], found.highest[0])


def falling_cube(height: float):
    half = (0.05, 0.05, 0.05)
    inertia = RigidInertia.solid_box(1.0, half)
    return scenes.one_body(Box(half), inertia, mu=0.5, q=(0, 0, 0.05 + height, 1, 0, 0, 0), restitution=0.5)


def test_sets_of_events_of_recorded_steps_and_of_comparisons():
    """A cube that falls flat onto four corners: the symmetric outcome is inside, and so is the one that tumbles."""
    recording = EventDriven(impact=Stronge()).run(falling_cube(0.1), 0.2)
    event = recording.of_kind(EventKind.IMPACT)[0]
    smooth = ConstraintVelProblemData(M=event.problem.M, Mv=event.problem.Mv, N=event.problem.N)
    found = outcome_set(smooth, 0.5, samples=10, max_orders=40)
    assert found.distance(Stronge(0.5).solve(smooth).v_plus) < 0.01
    assert found.distance(Stronge(0.5, "sequential").solve(smooth).v_plus) < 1e-6
    assert found.spread > 0.1
    stepped = simulate(falling_cube(1e-4), TimeStepping(0.01), steps=1)
    problem = stepped.problem(0)
    closed = np.flatnonzero(stepped.contacts_at(0).gap < 1e-3)
    assert outcome_set(problem, 0.0, contacts=closed, samples=1, max_orders=5).v_plus.shape[1] == 6
    table = impact.compare(flat_rod(4.0), restitution=0.0, samples=10)
    assert table.outcomes_of_orders.dimension == 2
    assert "orders and interleavings" in str(table)


def test_bad_arguments_are_refused():
    """The error names the argument; a sequence that cannot end is reported."""
    assert_fields(
        ImpactError,
        ("restitution", lambda: outcome_set(cradle(3), 1.5)),
        ("contacts", lambda: outcome_set(cradle(3), contacts=[2])),
        ("data", lambda: outcome_set(flat_rod(1.0 / 3.0), max_collisions=2, samples=2)),
        ("v", lambda: outcome_set(cradle(3), samples=2).distance([0.0])),
        ("restitution", lambda: impact.compare(cradle(3), [Newton(0.0)], samples=3)),
    )


@pytest.mark.parametrize("data", [flat_rod(1.0 / 3.0), flat_rod(1.0 / 3.0, (1.0, -1.0, 0.0), 0.3, 0.1)])
def test_two_points_that_press_each_other_down_come_to_rest(data):
    """W12 < 0, a uniform rod: in any order both ends stay down; with friction it loses the necessary energy."""
    found = outcome_set(data, samples=30)
    assert np.abs(found.v_plus[:, 1:]).max() < 1e-6
    for law in (Newton(0.0), Stronge(0.0), Stronge(0.0, "sequential")):
        assert found.distance(law.solve(data).v_plus) < 1e-4
