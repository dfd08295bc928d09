"""Random extreme worlds end soon, certified or with a typed error that gives advice."""

import abusive_worlds
import numpy as np
import pytest

from contactlab.constraint_solver import strategy_solver
from contactlab.simulation import (
    Box,
    HalfSpace,
    ImplausibleWarning,
    Material,
    RigidInertia,
    SimulationError,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.stepping import driver
from contactlab.simulation.stepping.island_view import IslandView

pytestmark = pytest.mark.filterwarnings(f"ignore::{ImplausibleWarning.__module__}.ImplausibleWarning")
# Of many kinds of abuse, and where mistakes were.
SEEDS = (7, 8, 12, 13, 18, 36, 46, 55, 63, 65, 78, 80, 1017, 1076, 1104, 1226, 2122)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_ends_certified_or_with_an_error(seed):
    """The record is verified, and looked at by other means; nothing of it is NaN."""
    case = abusive_worlds.case_of(seed)
    found = abusive_worlds.tried(case)
    assert found.outcome in ("certified", "typed error"), found.note
    assert found.steps == case.steps or "SimulationError" in found.note


def test_a_doubtful_record_is_found_out():
    """The look by other means is one: impulses taken away, or enlarged, are seen."""
    case = abusive_worlds.case_of(12)
    recording = simulate(case.world, case.stepper, steps=5)
    assert not abusive_worlds.doubts(recording)
    recording.contacts.impulse.flags.writeable = True
    recording.contacts.impulse[:] *= 1.01
    assert "momentum" in abusive_worlds.doubts(recording)


@pytest.fixture
def asked(monkeypatch):
    """Return the list of calls of solvers outside the loop; the wait for the one inside ends at once."""
    calls = []
    solve = IslandView.solve

    def counted(view):
        calls.append(view.number)
        return solve(view)

    monkeypatch.setattr(IslandView, "solve", counted)
    monkeypatch.setattr(driver, "MAX_SECONDS", -1.0)
    return calls


def pivoted() -> World:
    """Boxes that fall on one another and resist turning: without attempts they are pivoted for longer than a moment."""
    rng, builder, material = np.random.default_rng(1), WorldBuilder(), Material(0.5, torsional=0.02, rolling=0.01)
    builder.add_half_space("floor", HalfSpace(), material)
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    for i in range(6):
        angle, place = 0.5 * rng.uniform(0.0, 0.7), (*(0.02 * rng.standard_normal(2)), 0.1 + 0.2 * i)
        q, v = (*place, np.cos(angle), 0, 0, np.sin(angle)), (*rng.normal(size=2), -3, 0, 0, 5 * rng.normal())
        builder.add_free_body(f"box {i}", inertia, Box.cube(0.1), material, q=q, v=v)
    return builder.build()


def test_pivoting_that_takes_too_long_goes_to_other_solvers(asked):
    """The solvers succeed, and the record is as good."""
    recording = simulate(pivoted(), TimeStepping(2e-3, strategies=()), steps=1)
    assert len(asked) == 1
    assert verify(recording).holds


def test_a_step_without_an_answer_in_time_says_what_to_do(asked, monkeypatch):
    """Default solvers that are given no time; with an adaptive stepper, too, there is one try."""
    monkeypatch.setattr(strategy_solver, "MAX_SECONDS", 1e-9)
    for adaptive in (False, True):
        asked.clear()
        with pytest.raises(SimulationError, match=r"has its own limits. A smaller h") as failure:
            simulate(pivoted(), TimeStepping(2e-3, adaptive=adaptive, strategies=()), steps=3)
        assert failure.value.result.status.name == "ITERATION_LIMIT"
        assert len(asked) == 1
