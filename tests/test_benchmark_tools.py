"""What the benchmarks stand on: children that are ended at their limit, and tables that are written as they grow."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import limited
import pytest
from limited import told

FOLDER = Path(limited.__file__).parent
HEAD = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); from limited import allow, tell\n"


@pytest.fixture
def script(tmp_path):
    """A script from its text."""

    def written(text: str) -> Path:
        path = tmp_path / "child.py"
        path.write_text(HEAD + text)
        return path

    return written


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the system")
def test_a_child_that_works_too_long_leaves_what_it_told(script):
    """The limit is one of the processor: nothing of the child's own has to look at a clock."""
    stuck = script("tell(row=1); print('said'); allow(1.0); tell(row=2)\nwhile True: pass")
    found = list(told(stuck, [], 60.0))
    assert found == [{"row": 1}, {"row": 2}, {"died": "stopped at its limit of the processor's seconds"}]


def test_how_a_child_ends_is_told(script):
    """By itself, with an error, killed after a time."""
    assert list(told(script("tell(a=sys.argv[1])"), ["x"], 60.0)) == [{"a": "x"}]
    assert list(told(script("raise ValueError('no such scene')"), [], 60.0)) == [{"died": "ValueError: no such scene"}]
    asleep = list(told(script("import time; time.sleep(60)"), [], 0.5))
    assert asleep[0]["died"].startswith("died of SIGKILL")


def run(script: str, *arguments: str) -> None:
    """Run a benchmark as one does."""
    subprocess.run([sys.executable, str(FOLDER / script), *arguments], check=True, capture_output=True)


def table(path: Path) -> list[dict[str, str]]:
    """The rows that a benchmark wrote."""
    with path.open(newline="") as file:
        assert file.readline().startswith("# ")
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_islands_are_solved_anew_from_their_files(tmp_path):
    """Of two small piles, by the cone and by the pyramid; peers that are not here are named."""
    run("islands.py", "--solver", "ContactStrategies", "Lemke", "--out", str(tmp_path / "islands"))
    rows = table(tmp_path / "islands.csv")
    assert len(rows) > 12
    assert {(row["solver"], row["friction"]) for row in rows} == {
        ("ContactStrategies", "cone"),
        ("Lemke", "pyramid"),
    }
    assert all(row["solved"] == "1" and float(row["residual"]) < 1e-8 for row in rows)
    assert "tolerance 1e-08" in (tmp_path / "islands.md").read_text()


@pytest.mark.slow
def test_a_scene_that_is_ended_leaves_its_rows(tmp_path):
    """Whatever was measured before the limit, and the reason for what was not."""
    run("simulation.py", "--scene", "stack of 10", "--rounds", "1", "--limit", "2", "--out", str(tmp_path / "speed"))
    rows = table(tmp_path / "speed.csv")
    assert {"contactlab, 8 edges", "contactlab, 4 edges"} <= {row["engine"] for row in rows}
    assert all(row["failure"] or float(row["steps_per_s"]) > 0.0 for row in rows)


@pytest.mark.slow
def test_piles_and_walls_are_rows(tmp_path):
    """A small one of each, solved."""
    scenes = ("20 boxes", "arch of 15", "30 dominoes")
    run("piles.py", "--scene", *scenes, "--limit", "20", "--out", str(tmp_path / "piles"))
    rows = table(tmp_path / "piles.csv")
    assert tuple(row["scene"] for row in rows) == scenes
    for row in rows:
        assert row["steps"] == row["of"]
        assert not row["note"]
        assert float(row["worst"]) < 1e-9
    run("walls.py", "--wall", "2x2", "--limit", "5", "--out", str(tmp_path / "walls"))
    rows = table(tmp_path / "walls.csv")
    assert rows[0]["solver"] == "EqualCompliance"
    assert rows[0]["status"] == "SOLVED"
