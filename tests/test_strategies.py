"""The strategies for an island's forces: each alone, named in the record; piles hold mechanically, too."""

import numpy as np
import pytest
from test_friction_solvers import pile_of_bodies
from test_large_islands import H, bin_of

import lcp
from contactlab import ConstraintSolver, EqualCompliance, ForceChoice
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
    verify,
)
from lcp.contacts.kernels.contact_law import FrictionCone, mode_of
from lcp.contacts.kernels.pwl_path import facet
from lcp.contacts.strategies import RECORDED, STRATEGY_NAMES, strategies_of
from lcp.kernels import kernel
from problem_data import ConstraintVelProblemData


def pile(seed: int = 0) -> World:
    """A dozen boxes and balls dropped on one another."""
    builder, material = WorldBuilder(), Material(mu=0.5)
    builder.add_half_space("floor", HalfSpace(), material)
    rng = np.random.default_rng(seed)
    for i in range(12):
        place = (*(0.05 * rng.standard_normal(2)), 0.06 + 0.11 * i)
        if i % 2:
            inertia, shape = RigidInertia.solid_sphere(0.5, 0.05), Sphere(0.05)
        else:
            inertia, shape = RigidInertia.solid_box(0.6, (0.05, 0.05, 0.05)), Box.cube(0.05)
        builder.add_free_body(f"body {i}", inertia, shape, material, q=(*place, 1, 0, 0, 0))
    return builder.build()


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
def test_records_name_the_attempt_that_answered(friction: str) -> None:
    recording = simulate(pile(), TimeStepping(5e-3, friction=friction), steps=60)
    answered = recording.certificates.count_by_strategy()
    contacts = np.count_nonzero(recording.certificates.n_contacts)
    assert sum(answered.values()) == len(recording.certificates)
    assert answered["solver"] == len(recording.certificates) - contacts == 0
    assert verify(recording).holds


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
@pytest.mark.parametrize("alone", ["interior_point", "active_set"])
def test_one_attempt_answers_what_it_can_alone(alone: str, friction: str) -> None:
    """Disabled strategies are not used: the record names only enabled ones."""
    stepper = TimeStepping(5e-3, friction=friction, strategies=(alone, "interior_point"))
    recording = simulate(pile(), stepper, steps=40)
    answered = recording.certificates.count_by_strategy()
    assert {name for name, count in answered.items() if count} <= {alone, "interior_point"}
    assert verify(recording).holds
    assert answered[alone] > 0


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
def test_forces_not_selected_are_held_where_they_are_near(friction: str) -> None:
    """Without selection bodies at rest need no strategy except the reuse of forces."""
    stepper = TimeStepping(5e-3, friction=friction, strategies=("reuse", "interior_point"))
    table = simulate(pile(), stepper, steps=160).certificates
    late = table.rows((table.step >= 140) & (table.n_contacts > 1))
    assert late.count_by_strategy()["reuse"] >= 0.9 * len(late) > 0
    assert ForceChoice.OTHER_SOLUTION in late.choice
    assert table.count_by_strategy()["interior_point"] > 0
    assert np.median(late.systems) <= 4


def test_attempts_left_out_change_no_unique_motion() -> None:
    """A single ball's forces are unique, by any strategy."""
    builder, material = WorldBuilder(), Material(mu=0.4)
    builder.add_half_space("floor", HalfSpace(), material)
    inertia, q, v = RigidInertia.solid_sphere(0.5, 0.05), (0, 0, 0.06, 1, 0, 0, 0), (1, 0, 0, 0, 0, 3)
    builder.add_free_body("ball", inertia, Sphere(0.05), material, q=q, v=v)
    world = builder.build()
    every, some = (
        simulate(world, TimeStepping(5e-3, strategies=names), steps=80)
        for names in (STRATEGY_NAMES, STRATEGY_NAMES[2:])
    )
    np.testing.assert_allclose(every.v, some.v, atol=1e-11)


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(lcp.ProblemError, match="'lemke'.*reuse, active_set"):
        EqualCompliance(strategies=("lemke",))
    with pytest.raises(SimulationConfigError, match="strategies.*'lemke'"):
        TimeStepping(1e-3, strategies=("lemke",))


def test_attempts_of_old_records_are_strategies() -> None:
    old = ("held", "modes", "sweeps", "branch", "closer", "path", "shifts", "points")
    # Records of before know nothing of rest.
    assert strategies_of(old) == STRATEGY_NAMES[:-1]
    assert strategies_of(STRATEGY_NAMES) == STRATEGY_NAMES
    assert strategies_of(("shifts",)) == ("interior_point",)
    assert strategies_of(("points",)) == ("proximal_point",)
    assert strategies_of(()) == ()


def balls(seed: int) -> World:
    """Thirty balls above a bin, a little out of their grid."""
    builder, rough = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), rough)
    for name, normal in {"west": (1, 0, 0), "east": (-1, 0, 0), "south": (0, 1, 0), "north": (0, -1, 0)}.items():
        builder.add_half_space(name, HalfSpace(normal=normal, offset=-0.25), rough)
    rng, inertia = np.random.default_rng(seed), RigidInertia.solid_sphere(0.1, 0.05)
    for i in range(30):
        x, y, z = (i % 3 - 1) * 0.12, (i // 3 % 3 - 1) * 0.12, 0.1 + 0.12 * (i // 9)
        place = (x + rng.uniform(-0.005, 0.005), y + rng.uniform(-0.005, 0.005), z, 1, 0, 0, 0)
        builder.add_free_body(f"ball {i}", inertia, Sphere(0.05), rough, place)
    return builder.build()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_every_step_of_a_pile_holds_mechanically_too(seed: int) -> None:
    """Each condition holds to 1e-9 of its scale, the default of `verify`, even if selected forces reach only 2e-8."""
    recording = simulate(balls(seed), TimeStepping(0.005), 2.0)
    assert recording.worst_certificate().scaled < 1e-9
    assert recording.worst_certificate().mechanical < 1e-9
    assert verify(recording).holds
    # Counted from 1 in a record: islands that the attempts of most islands have left to the later ones.
    later = np.flatnonzero(recording.rows["island_attempt"] > RECORDED.index("active_set") + 1)
    assert later.size
    # The public path doubts them as the step does, and finds the same forces.
    for row in later:
        i, j = recording.rows["island_step"][row], recording.rows["island_index"][row]
        solution = TimeStepping(0.005).constraint_solver.solve_discretized_problem(
            recording.problem(i, j), recording.h[i], z0=recording.warm_start(i, j)
        )
        assert np.array_equal(solution.result.z, recording.z(i, j))
        assert np.array_equal(solution.v_plus, recording.v_plus(i, j))


ALONE = ("interior_point",)


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_every_kind_of_bounds_are_pairs(seed: int) -> None:
    """With limits, drives, bounds on one side and none, and a given force, v+ equals the result of pivoting."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((9, 9))
    data = ConstraintVelProblemData(
        M=A @ A.T + np.eye(9),
        Mv=rng.standard_normal(9),
        N=rng.standard_normal((2, 9)),
        F=rng.standard_normal((4, 9)),
        mu=[0.1, 0.2],
        r=[2, 2],
        L=rng.standard_normal((1, 9)),
        B=rng.standard_normal((5, 9)),
        lo=[-1.0, 0.5, -np.inf, 0.3, -np.inf],
        hi=[1.0, np.inf, -0.5, 0.3, np.inf],
        gammaB=rng.uniform(0.0, 0.1, 5),
    )
    found = ConstraintSolver(EqualCompliance(strategies=ALONE)).solve_discretized_problem(data, 0.1)
    pivoted = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(data, 0.1)
    assert found.choice is ForceChoice.OTHER_SOLUTION
    assert "interior_point" in found.result.attempts[-1].detail
    np.testing.assert_allclose(found.v_plus, pivoted.v_plus, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_exact_cones_of_piles(seed: int) -> None:
    problem = pile_of_bodies(8, seed)
    result = lcp.solve(problem, lcp.ContactStrategies(strategies=ALONE), tolerance=1e-9)
    assert result.attempts[0].status is lcp.Status.SOLVED


def test_it_begins_at_the_forces_given() -> None:
    """In piles whose loads have changed by a tenth the previous forces save systems."""
    solver = lcp.ContactStrategies(strategies=("active_set", *ALONE))
    spent = {"cold": 0, "warm": 0}
    for seed in range(12):
        problem = pile_of_bodies(8, seed)
        before = lcp.solve(problem, solver).r
        load = problem.f * np.random.default_rng(seed).uniform(0.9, 1.1, problem.f.size)
        other = lcp.GlobalFrictionProblem(problem.M, problem.H, load, problem.w, problem.mu)
        for name, start in (("cold", None), ("warm", before)):
            result = lcp.solve(other, solver, z0=start)
            assert result.attempts[0].status is lcp.Status.SOLVED
            spent[name] += result.iterations
    assert spent["warm"] < 0.9 * spent["cold"]


@kernel
def modes_and_facets(r, turns, mu, points, n, modes, worst, beyond):
    """Fill each point's mode, its largest n x, and the mode beyond its nearest facet."""
    across = r // 2
    polygon = FrictionCone(r, modes, across, 0.0, 1.0, turns, False, turns)
    for k in range(points.shape[0]):
        x = points[k]
        modes[k] = mode_of(polygon, mu, 0, x[0], x[1], x[2])
        worst[k] = -1e300
        nearest = 0
        i = 0
        while facet(polygon, mu, modes[k], i, n):
            size = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
            value = (n[0] * x[0] + n[1] * x[1] + n[2] * x[2]) / size
            if value > worst[k]:
                worst[k] = value
                nearest = i
            i += 1
        facet(polygon, mu, modes[k], nearest, n)
        size = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
        step = (n[0] * x[0] + n[1] * x[1] + n[2] * x[2]) / size
        past = 1e-9 / np.sqrt(size) - step
        beyond[k] = mode_of(polygon, mu, 0, x[0] + past * n[0], x[1] + past * n[1], x[2] + past * n[2])


@pytest.mark.parametrize("r", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.5])
def test_a_mode_is_where_its_inequalities_hold(r, mu):
    turns = np.zeros((2 * max(r, 1) + 1, 2))
    if r > 0:
        angles = np.pi * np.arange(2 * r + 1) / r
        turns[:] = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.random.default_rng(r).normal(size=(4000, 3))
    if r == 1:
        points[:, 2] = 0.0
    count = points.shape[0]
    modes, beyond = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    worst = np.zeros(count)
    modes_and_facets(r, turns, mu, points, np.zeros(3), modes, worst, beyond)
    assert (worst <= 1e-12).all()
    if r > 0 and mu > 0.0:
        assert set(modes) >= {0, 1, 2}
    # One step past the nearest inequality there is another mode: none is missing, and none is too strict.
    assert (beyond != modes).all()


@pytest.mark.parametrize(
    ("kind", "count", "edges", "seed"), [("boxes", 45, 4, 7), ("boxes", 30, 8, 8), ("spheres", 60, 4, 9)]
)
def test_impacts_of_many_are_selected(kind, count, edges, seed):
    """From free fall through the impacts, where modes of hundreds of contacts change in every step."""
    recording = simulate(bin_of(kind, count, 3, seed), TimeStepping(H, edges=edges), steps=150)
    large = recording.certificates.n_contacts > 60
    assert large.sum() > 10
    assert (recording.certificates.pivots[large] > 0).sum() <= 1
    report = verify(recording, every=50)
    assert report.holds, report
