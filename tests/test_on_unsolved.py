"""Runs in which every strategy failed for an island: they continue with nearly right forces, and report it."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import simulation_scenes as scenes
from record_runs import same
from refusals import assert_fields

import lcp
from contactlab import ForceChoice
from contactlab.simulation import (
    Batch,
    ImplausibleWarning,
    RecordError,
    Recording,
    Simulation,
    SimulationConfigError,
    SimulationError,
    TimeStepping,
    rollout,
    simulate,
    verify,
)

pytestmark = pytest.mark.filterwarnings("ignore::contactlab.simulation.ImplausibleWarning")


class Off:
    """Lemke's method as a user's solver whose results have a relative error in some problems."""

    def __init__(self, share, problems=None):
        self.share, self.problems, self.asked = share, problems, 0

    def solve(self, problem, *, z0, tolerance, trace):
        claim = lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)
        off = self.share if self.problems is None or self.asked in self.problems else 0.0
        self.asked += 1
        return lcp.Claim(claim.z * (1.0 + off), lcp.Status.SOLVED, claim.iterations)


def stepper(share, problems=(5, 7), **options):
    return TimeStepping(1e-3, solver=Off(share, problems), warm_start=False, **options)


def run(share, problems=(5, 7), **options):
    return simulate(scenes.cube_at_rest(), stepper(share, problems, **options), steps=10)


def stops(share, **options):
    """Return the error of a run that stops at its sixth step."""
    with pytest.raises(SimulationError) as caught:
        run(share, **options)
    caught.value.problem_path.unlink()
    assert caught.value.step == caught.value.recording.n_steps == 5
    assert not len(caught.value.recording.uncertified)
    return str(caught.value)


@pytest.mark.parametrize("value", ["goon", "stop", None, True])
def test_other_values_are_refused_by_name(value):
    assert_fields(SimulationConfigError, ("on_unsolved", lambda: TimeStepping(1e-3, on_unsolved=value)))


@pytest.mark.nojit
@pytest.mark.parametrize("share", [1e-6, -1e-6, -9e-5])
def test_nearly_right_forces_are_taken_and_marked(share):
    """The run is whole, and its record says where it is not certified, and how far from it."""
    recording = run(share)
    table = recording.uncertified
    assert (recording.n_steps, len(table), table.steps.tolist()) == (10, 2, [5, 7])
    assert (table.island.tolist(), table.contacts.tolist()) == ([0, 0], [4, 4])
    assert np.all(table.residual > 1e-9)
    assert np.all((table.mechanical > 1e-9) & (table.mechanical <= 1e-4))
    marked = recording.certificates.choice == ForceChoice.UNCERTIFIED
    assert recording.certificates.step[marked].tolist() == [5, 7]
    assert recording.count_by_choice(ForceChoice.UNCERTIFIED).sum() == recording.statistics.uncertified.sum() == 2
    assert "2 of 10 islands not certified" in str(recording.statistics)
    assert "2 islands in 2 steps" in repr(table)
    assert "2 not certified" in recording._repr_html_()
    np.testing.assert_allclose(recording.v[:, :6], 0.0, atol=1e-6)


def test_raise_stops_as_ever():
    assert "best forces" not in stops(1e-6, on_unsolved="raise")


@pytest.mark.parametrize(
    ("share", "why"), [(1e-2, "a condition by 0.002 of its scale"), (np.nan, "a condition by inf")]
)
def test_forces_far_off_stop(share, why):
    assert why in stops(share)


def test_forces_that_make_energy_stop():
    """Too large by 1e-5, each law of contact holds to 1e-4; but they lift the cube off. Too small, they do not."""
    assert "make energy" in stops(1e-5)
    assert len(run(-1e-5).uncertified) == 2


def test_verification_names_the_steps_and_does_not_hold():
    recording = run(1e-6)
    report = verify(recording)
    assert report.uncertified == ((5, 0), (7, 0))
    assert not report.holds
    assert {failure.step for failure in report.failures} == {5, 7}
    assert report.unexplained_failures == 0
    # The motion is right for the forces there are.
    assert {failure.condition for failure in report.failures} <= {"solved", "lcp", "complementarity", "gap", "cone"}
    assert "not certified, as the record says: 2 islands, in steps 5, 7" in str(report)
    # Neither a coarse tolerance nor steps left out make it hold.
    assert verify(recording, tolerance=1e-3).failed == 0
    assert not verify(recording, tolerance=1e-3).holds
    assert verify(recording, every=9).failed == 0
    assert not verify(recording, every=9).holds
    assert verify(run(1e-6, ())).holds
    # Unmarked islands are found as well.
    rows = {**recording.rows, "island_choice": np.ones_like(recording.rows["island_choice"])}
    unmarked = verify(replace(recording, rows=rows))
    assert unmarked.failed == unmarked.unexplained_failures == report.failed


def test_runs_of_every_kind_warn_once():
    world = scenes.cube_at_rest()
    said = r"island 0 \(4 contacts\) was not solved in step [57], .*\(2 such islands, in 2 steps\)"
    with pytest.warns(ImplausibleWarning, match=said) as told:
        recording = run(1e-6)
    assert len(told) == 1
    assert "Material(stiffness=, dissipation=)" in str(told[0].message)
    (notice,) = recording.notices
    assert (notice.kind, notice.steps) == ("uncertified", 2)
    assert notice.worst == recording.uncertified.mechanical.max()
    simulation = Simulation(world, stepper(1e-6))
    with pytest.warns(ImplausibleWarning, match="in step 5") as told:
        simulation.step(n=10)
    assert len(told) == 1
    assert [notice.kind for notice in simulation.notices] == ["uncertified"]
    np.testing.assert_array_equal(simulation.q, recording.q[-1])
    # Of two runs on one thread the first meets the problems that are not solved.
    with pytest.warns(ImplausibleWarning, match="in step [57] of run 0, ") as told:
        found = rollout(world, stepper(1e-6), [world.initial_state()] * 2, steps=10, threads=1)
    assert len(told) == 1
    assert not found.failed.any()
    assert [notice.kind for notice in found.notices] == ["uncertified"]
    batch = Batch(world, stepper(1e-6), [world.initial_state()])
    with pytest.warns(ImplausibleWarning, match=r"in step [57] of run 0, .*\(2 such islands, in 2 steps\)") as told:
        batch.step(n=10)
    assert len(told) == 1
    assert [notice.kind for notice in batch.notices] == ["uncertified"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImplausibleWarning)
        assert not len(run(1e-6, ()).uncertified)


def test_on_disk_it_stands_and_is_gone_on_with(tmp_path):
    """Also a run that was stopped between; a run of the other kind is another run."""
    world, path, problems = scenes.cube_at_rest(), tmp_path / "run.npz", (2, 7)
    whole = run(1e-6, problems)
    own = stepper(1e-6, problems)
    simulate(world, own, steps=5, path=path)
    assert Recording.open(path).uncertified.steps.tolist() == [2]
    simulate(world, own, steps=10, path=path, resume=True)
    opened = Recording.open(path)
    assert same(opened, whole)
    np.testing.assert_array_equal(opened.uncertified.mechanical, whole.uncertified.mechanical)
    assert verify(opened).uncertified == ((2, 0), (7, 0))
    with pytest.raises(RecordError, match="on_unsolved"):
        simulate(world, stepper(1e-6, on_unsolved="raise"), steps=12, path=path, resume=True)


def test_a_record_of_before_stopped_and_can_be_gone_on_with(tmp_path):
    path, world = tmp_path / "old.npz", scenes.cube_at_rest()
    simulate(world, TimeStepping(1e-3), steps=5, path=path)
    with np.load(path) as members:
        arrays = dict(members)
    meta = json.loads(str(arrays["meta"])) | {"schema": 7}
    assert meta["stepper"].pop("on_unsolved") == "go on"
    np.savez(path, **{**arrays, "meta": np.array(json.dumps(meta))})
    opened = Recording.open(path)
    assert opened.stepper.on_unsolved == "raise"
    assert not len(opened.uncertified)
    assert verify(opened).holds
    recording = simulate(world, TimeStepping(1e-3), steps=8, path=path, resume=True)
    assert (recording.n_steps, recording.stepper.on_unsolved) == (8, "go on")


def test_an_adaptive_stepper_tries_smaller_steps_first():
    """If a strategy succeeds no island is marked; otherwise the last forces are used, and the next step restarts."""
    helped = run(1e-6, (5, 7), adaptive=True)
    assert not len(helped.uncertified)
    assert helped.h[5] == 0.5e-3
    last = run(1e-6, (5, 6, 9), adaptive=True, h_min=0.4e-3)
    assert last.uncertified.steps.tolist() == [5]
    assert last.h[5] == 0.5e-3
    assert last.h[6] > last.h[5] > last.h[8]
    with pytest.raises(SimulationError, match="h_min") as caught:
        run(1e-2, (5, 6), adaptive=True, h_min=0.5e-3)
    caught.value.problem_path.unlink()


@pytest.mark.parametrize("share", [-1e-6, 1e-2])
def test_with_exact_cones(share):
    """Friction problems, judged by their residual, continue by the same rule."""

    class Cones:
        def solve(self, problem, *, z0, tolerance, trace):
            claim = lcp.default_friction_solver().solve(problem, z0=z0, tolerance=tolerance, trace=trace)
            return replace(claim, r=claim.r * (1.0 + share))

    world, own = scenes.cube_at_rest(), TimeStepping(1e-3, friction="cone", solver=Cones(), warm_start=False)
    if share > 1e-4:
        with pytest.raises(SimulationError) as caught:
            simulate(world, own, steps=3)
        caught.value.problem_path.unlink()
        return
    recording = simulate(world, own, steps=3)
    assert recording.uncertified.steps.tolist() == [0, 1, 2]
    assert verify(recording).uncertified == ((0, 0), (1, 0), (2, 0))


def test_what_no_forces_mend_still_stops():
    """A velocity that is not finite stops the run."""
    with pytest.raises(SimulationError, match="no longer finite"):
        simulate(scenes.dropped_ball(1.0), TimeStepping(16.0), steps=1, tau=np.full(6, 1e200))
