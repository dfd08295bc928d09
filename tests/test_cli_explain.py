import numpy as np
import pytest
import simulation_scenes as scenes

import lcp
import problem_data
from contactlab.cli import main
from contactlab.simulation import SimulationError, TimeStepping, simulate
from contactlab.simulation.explanation import explain_failure


@pytest.fixture
def failed(tmp_path):
    """A run that stopped at its pivot limit, its record and its problem on disk."""
    path = tmp_path / "run.npz"
    with pytest.raises(SimulationError) as caught:
        simulate(scenes.tumble(), TimeStepping(2e-3, solver=lcp.Lemke(max_pivots=1)), steps=300, path=path)
    return caught.value


def test_the_problem_with_its_record(failed, tmp_path, capsys):
    """It prints step, time, contacts, sizes, the solver's text and advice; status 1, and no file is added."""
    before = sorted(tmp_path.rglob("*"))
    assert main(["explain", str(failed.problem_path)]) == 1
    printed = capsys.readouterr().out
    assert f"step {failed.step}, time {failed.time:.9g} s, h = 0.002 s" in printed
    assert "tried Lemke: ITERATION_LIMIT" in printed
    assert "contact: " in printed
    assert " on floor at (" in printed
    assert "advice: " in printed
    assert sorted(tmp_path.rglob("*")) == before
    explanation = explain_failure(failed.problem_path)
    assert len(explanation.contacts) == failed.problem.nc
    assert explanation.rank_normal <= failed.problem.nc


def test_a_problem_on_its_own(failed, tmp_path, capsys):
    """Without the record there is no time and no contact; the default solver solves the problem, status 0."""
    alone = tmp_path / "elsewhere" / "problem.npz"
    alone.parent.mkdir()
    alone.write_bytes(failed.problem_path.read_bytes())
    assert main(["explain", str(alone), "--h", "2e-3"]) == 0
    printed = capsys.readouterr().out
    assert "Solved now" in printed
    assert f"{failed.problem.nc} contacts" in printed


def test_a_run_that_did_not_fail(tmp_path, capsys):
    """A record whose next step is solved says so."""
    path = tmp_path / "run.npz"
    simulate(scenes.block(0.3, 1.0), TimeStepping(1e-3), steps=5, path=path)
    assert main(["explain", str(path)]) == 0
    assert "is solved" in capsys.readouterr().out


def test_files_that_are_neither(tmp_path, capsys):
    """One line and status 2, with the file's name; an acceleration problem is not a step."""
    junk, accelerations = tmp_path / "junk.npz", tmp_path / "a.npz"
    junk.write_bytes(b"PK nothing")
    empty = problem_data.ConstraintAccelProblemData(tau=np.zeros(1), M=np.eye(1))
    problem_data.save(accelerations, empty)
    for path in (junk, accelerations, tmp_path / "absent.npz"):
        assert main(["explain", str(path)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert path.name in lines[0]
