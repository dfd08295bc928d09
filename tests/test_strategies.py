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
from lcp.contacts.strategies import STRATEGY_NAMES
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
