"""The force choice of records and solutions: selected, certified but not selected, or any."""

import json

import numpy as np
import pytest
import simulation_scenes as scenes
from test_large_islands import bin_of
from test_moments import rolling_world
from test_selection import grasp

import lcp
from contactlab import ConstraintSolver, EqualCompliance, ForceChoice
from contactlab.simulation import Material, Recording, TimeStepping, simulate, step
from problem_data import ConstraintVelProblemData


def check_public_path(recording: Recording, every: int = 1) -> None:
    """The same choice from the problem's own solution, beside the same bits."""
    solver, h = recording.stepper.constraint_solver, recording.stepper.h
    table = recording.certificates
    for n in range(0, len(table), every):
        i, j = int(table.step[n]), int(table.island[n])
        found = solver.solve_discretized_problem(recording.problem(i, j), h, z0=recording.warm_start(i, j))
        assert found.choice == table.choice[n]
        np.testing.assert_array_equal(found.v_plus, recording.v_plus(i, j))


@pytest.mark.parametrize(
    ("world", "stepper", "choice"),
    [
        (scenes.cube_at_rest(), TimeStepping(1e-3), ForceChoice.EQUAL_COMPLIANCE),
        (scenes.cube_at_rest(), TimeStepping(1e-3, friction="cone"), ForceChoice.EQUAL_COMPLIANCE),
        (grasp(1, 10.0), TimeStepping(2e-3), ForceChoice.EQUAL_COMPLIANCE),
        (scenes.cube_at_rest(), TimeStepping(1e-3, solver=lcp.Lemke()), ForceChoice.ANY),
        (scenes.cube_at_rest(), TimeStepping(1e-3, solver=scenes.Outside()), ForceChoice.ANY),
        (scenes.cube_at_rest(), TimeStepping(1e-3, friction="cone", solver=lcp.NSGS()), ForceChoice.ANY),
        (rolling_world(Material(0.8, rolling=0.01), (0.3, 0.0, 0.0)), TimeStepping(1e-3), ForceChoice.EQUAL_COMPLIANCE),
        (scenes.cube_at_rest(), TimeStepping(1e-3, strategies=()), ForceChoice.OTHER_SOLUTION),
    ],
    ids=["default", "cone", "joints", "Lemke", "outside", "cone solver", "rolling", "no attempts"],
)
def test_each_way_to_an_answer_has_its_word(world, stepper, choice):
    """In the record, in the step's own table, and of the problem solved in public."""
    recording = simulate(world, stepper, steps=6)
    assert np.all(recording.certificates.choice == choice)
    assert np.all(step(world, stepper, recording.state(5)).certificate.choice == choice)
    check_public_path(recording)
    counts = {one: recording.count_by_choice(one).sum() for one in ForceChoice}
    assert counts == {one: len(recording.certificates) * (one == choice) for one in ForceChoice}
    missed = recording.statistics.not_selected.sum()
    asked = missed + recording.statistics.selected.sum()
    assert asked == (0 if choice is ForceChoice.ANY else len(recording.certificates))
    assert (f"{missed} of {asked} islands not selected" in str(recording.statistics)) == (asked > 0)


def test_a_pile_tells_its_fall_backs():
    """Islands without the selected forces are marked."""
    recording = simulate(bin_of("boxes", 20, 3, 1), TimeStepping(2e-3), steps=100)
    table = recording.certificates
    missed = table.choice == ForceChoice.OTHER_SOLUTION
    assert 0 < missed.sum() < 0.2 * len(table)
    assert np.all(missed[table.pivots > 0])
    np.testing.assert_array_equal(recording.statistics.not_selected, np.bincount(table.step[missed], minlength=100))
    first = int(table.step[missed][0])
    check_public_path(recording.first(first + 1), every=7)
    i, j = first, int(table.island[missed][0])
    solver = recording.stepper.constraint_solver
    found = solver.solve_discretized_problem(recording.problem(i, j), 2e-3, z0=recording.warm_start(i, j))
    assert found.choice is ForceChoice.OTHER_SOLUTION


def test_public_problems_without_a_step():
    """A named solver, softness of friction, accelerations never."""
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[0.03, -0.1], N=[[0, 1]], F=[[1, 0]], mu=[0.5], r=[1])
    assert ConstraintSolver().solve_impact_problem(data).choice is ForceChoice.ANY
    assert ConstraintSolver(EqualCompliance()).solve_impact_problem(data).choice is ForceChoice.EQUAL_COMPLIANCE
    soft = ConstraintVelProblemData(
        M=np.eye(2), Mv=[0.03, -0.1], N=[[0, 1]], F=[[1, 0]], mu=[0.5], r=[1], gammaF=[1e-3]
    )
    assert (
        ConstraintSolver(EqualCompliance()).solve_discretized_problem(soft, 0.01).choice is ForceChoice.OTHER_SOLUTION
    )


def test_an_older_record_does_not_know(tmp_path):
    """Schema 6 has no such column: it opens, everything else as it is, and nothing is claimed."""
    recording = simulate(scenes.cube_at_rest(), TimeStepping(1e-3), steps=5)
    recording.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as members:
        arrays = {name: members[name] for name in members.files if name != "island_choice"}
    arrays["meta"] = np.array(json.dumps(json.loads(str(arrays["meta"])) | {"schema": 6}))
    np.savez(tmp_path / "old.npz", **arrays)
    opened = Recording.open(tmp_path / "old.npz")
    assert np.all(opened.certificates.choice == ForceChoice.UNKNOWN)
    assert opened.certificates.choice.size == recording.certificates.choice.size == 5
    np.testing.assert_array_equal(opened.v, recording.v)
    assert "not selected" not in str(opened.statistics)
