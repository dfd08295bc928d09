"""Races in a folder that has one: the same trial is known again."""

from pathlib import Path

import numpy as np
import pytest

import lcp
from contactlab.cli import main
from contactlab.lab import RaceError
from contactlab.lab.racing import race
from contactlab.simulation import TimeStepping, simulate
from tests.simulation_scenes import cube_at_rest

PROBLEMS = [("easy_1", lcp.LCP(np.eye(2), [-1.0, 2.0])), ("easy_2", lcp.LCP(2.0 * np.eye(2), [-1.0, 2.0]))]


def test_whole_seconds_are_one_limit(tmp_path: Path) -> None:
    """5 s and 5.0 s run nothing twice; the table has only the solvers named now."""
    both = race(PROBLEMS, "Lemke,Murty", time_limit=5, out=tmp_path, jobs=2, curves=1)
    assert both.computed == 4
    assert both.skipped == ()
    again = race(PROBLEMS, "Lemke", time_limit=5.0, out=tmp_path, jobs=2, curves=1)
    assert again.computed == 0
    assert [row.solver for row in again.rows] == ["Lemke", "Lemke"]


@pytest.mark.slow
def test_how_many_steps_of_a_run_race(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """20 of its steps by default, or as many as requested; the run's name is the family."""
    folder = tmp_path / "runs"
    folder.mkdir()
    simulate(cube_at_rest(), TimeStepping(1e-3), 0.03, path=folder / "bricks_a.npz")
    assert len(race(folder, "Lemke", jobs=1, curves=0).rows) == 20
    report = race(folder, "Lemke", jobs=1, curves=0, most_steps=30)
    assert len(report.rows) == 30
    assert {row.family for row in report.rows} == {"bricks"}
    with pytest.raises(RaceError, match="most_steps"):
        race(folder, "Lemke", most_steps=0)
    assert main(["race", str(folder), "--solvers", "Lemke", "--workers", "1", "--curves", "0", "--max-steps", "3"]) == 0
    assert "3 trials" in capsys.readouterr().out
