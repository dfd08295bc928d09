"""Sweeps of scenes: rows against single runs, errors before anything runs, the command."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweep_tasks
from scene_texts import CUBE, TUMBLING, write
from test_sweep import bits

from contactlab.cli import main
from contactlab.lab import SceneGrid, SweepError, sweep
from contactlab.lab.sweeps.grids import load_experiment
from contactlab.simulation import simulate
from contactlab.simulation.scene import SceneError, load_scene

GRID = {"material.rubber.mu": [0.2, 0.6], "body.cube.velocity.0": [1.0, 2.0]}


def test_rows_of_a_scene_are_those_of_single_runs(tmp_path: Path) -> None:
    """Final state, energies and certificates, at every point of the grid, in its order."""
    path = write(tmp_path)
    result = sweep(SceneGrid(path, GRID), jobs=1)
    assert not result.failures
    assert [(row["material.rubber.mu"], row["body.cube.velocity.0"]) for row in result.rows] == [
        (0.2, 1.0),
        (0.2, 2.0),
        (0.6, 1.0),
        (0.6, 2.0),
    ]
    scene = load_scene(path, {"material.rubber.mu": 0.6, "body.cube.velocity.0": 2.0})
    run, row = simulate(scene.world, scene.stepper, scene.duration), result.rows[3]
    assert row["q"] == run.q[-1].tolist()
    assert row["v"] == run.v[-1].tolist()
    assert (row["kinetic"], row["potential"]) == (run.kinetic[-1], run.potential[-1])
    assert row["energy_change"] == (run.kinetic + run.potential)[-1] - (run.kinetic + run.potential)[0]
    assert row["worst_scaled"] == run.worst_certificate().scaled < 1e-9
    assert (row["steps"], row["contacts"]) == (run.n_steps, len(run.contacts))
    # More friction, more energy lost: the rows do differ by their parameters.
    assert result.rows[2]["energy_change"] < result.rows[0]["energy_change"] < 0.0


@pytest.mark.slow
def test_seeds_draw_the_same_noise_everywhere(tmp_path: Path) -> None:
    """The noise depends on the seed only: at each point of the grid, in this process and in others."""
    path = write(tmp_path, CUBE.replace("duration = 0.1", "duration = 0.004"))
    arguments: dict[str, Any] = {"spread": {"body.cube.velocity": [0.1, 0.1, 0.0], "body.cube.mass": 0.01}}
    here = sweep(SceneGrid(path, {"stepper.h": [1e-3, 2e-3]}, seeds=range(3), **arguments), jobs=1)
    assert len(here) == 6
    speeds = np.array([row["v"][:2] for row in here.rows]).reshape(2, 3, 2)
    assert np.unique(speeds[0], axis=0).shape == (3, 2)
    drawn = [1.0, 0.0] + 0.1 * np.array([_noise(seed)[1:3] for seed in range(3)])
    # Above the ground, in free fall, the horizontal velocities stay what they were at the start.
    np.testing.assert_allclose(speeds[0], drawn, rtol=1e-12)
    np.testing.assert_allclose(speeds[1], drawn, rtol=1e-12)
    there = sweep(SceneGrid(path, {"stepper.h": [1e-3, 2e-3]}, seeds=range(3), **arguments), jobs=2)
    assert bits(here) == bits(there)


def _noise(seed: int) -> np.ndarray:
    """Mass first, then the velocity: in alphabetical order."""
    return np.random.default_rng(seed).standard_normal(4)


def test_a_builder_is_given_parameters_and_seed(tmp_path: Path) -> None:
    """A function in place of a file."""
    result = sweep(SceneGrid(sweep_tasks.thrown_cube, {"speed": [0.5, 1.0]}, seeds=[3]), jobs=1)
    assert not result.failures
    assert [row["v"][0] for row in result.rows] == [0.5 + 3, 1.0 + 3]
    assert [row["seed"] for row in result.rows] == [3, 3]


def test_a_failed_run_says_at_which_step(tmp_path: Path) -> None:
    """Its row is failed, without the name of a file that no other run would have."""
    path = write(tmp_path, TUMBLING)
    solver = {"name": "Lemke", "max_pivots": 1}
    grid = {"stepper.solver": ["Lemke", solver], "stepper.on_unsolved": ["raise"]}
    first, second = (sweep(SceneGrid(path, grid), jobs=1) for _ in range(2))
    assert [row["outcome"] for row in first.rows] == ["done", "failed"]
    assert "stopped at step" in first.rows[1]["error"]
    assert ".npz" not in first.rows[1]["error"]
    assert bits(first) == bits(second)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": {"body.cub.mass": [1.0]}}, "did you mean 'cube'"),
        ({"parameters": {"stepper.h": [1e-3, "slow"]}}, r"\[stepper\] 'h': must be a number"),
        ({"parameters": {"stepper.h": 1e-3}}, "'stepper.h' must be a list of values"),
        ({"seeds": [-1]}, "seeds must be whole numbers >= 0, got -1"),
        ({"spread": {"body.cube.mass": 0.1}}, "spread needs seeds"),
        ({"spread": {"body.cube.name": 0.1}, "seeds": [1]}, "is no number or vector: 'cube'"),
        ({"spread": {"body.cube.rpy": 0.1}, "seeds": [1]}, "the scene has no 'rpy' there"),
        ({"spread": {"body.cube.position": [0.1]}, "seeds": [1]}, "or one for each entry"),
        ({"spread": {"body.cube.mass": -0.1}, "seeds": [1]}, "must be a number >= 0"),
    ],
)
def test_errors_come_before_any_run(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    """They name the path or the key."""
    with pytest.raises((SceneError, SweepError), match=message):
        sweep(SceneGrid(write(tmp_path), **arguments))


EXPERIMENT = """\
[sweep]
scene = "scene.toml"
seeds = 2

[parameters]
stepper.h = [1e-3, 2e-3]
"material.rubber.mu" = [0.5]

[spread]
"body.cube.velocity" = 0.05
"""


def experiment(folder: Path, text: str = EXPERIMENT) -> Path:
    write(folder, CUBE.replace("duration = 0.1", "duration = 0.004"))
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows and table; the second time nothing is run; one process or two."""
    path, out = experiment(tmp_path), tmp_path / "out"
    assert main(["sweep", str(path), "--out", str(out), "--workers", "1"]) == 0
    assert "4 runs, 4 of them now: 4 done" in capsys.readouterr().out
    assert main(["sweep", str(path), "--out", str(out), "--workers", "2", "--time-limit", "60"]) == 0
    assert "4 runs, 0 of them now: 4 done" in capsys.readouterr().out
    with (out / "rows.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert [(row["stepper.h"], row["seed"]) for row in table] == [
        ("0.001", "0"),
        ("0.001", "1"),
        ("0.002", "0"),
        ("0.002", "1"),
    ]
    kept = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert [float(row["kinetic"]) for row in table] == [row["kinetic"] for row in kept]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sweep", "is not TOML"),
        ("[swep]\n", "line 1: experiment file 'swep': unknown section, did you mean 'sweep'?"),
        ("[parameters]\n", "experiment file 'sweep': is missing"),
        ("[sweep]\nseeds = 2\n", "'scene': is missing"),
        ("[sweep]\nscene = 'scene.toml'\nsedes = 2\n", "line 3: [sweep] 'sedes': unknown key, did you mean 'seeds'?"),
        ("[sweep]\nscene = '../scene.toml'\n", "line 2: [sweep] 'scene': '../scene.toml' lies outside"),
        ("[sweep]\nscene = 'nowhere.toml'\n", "line 2: [sweep] 'scene': there is no 'nowhere.toml'"),
        ("[sweep]\nscene = 'scene.toml'\nseeds = 0\n", "line 3: [sweep] 'seeds': must lie between"),
        ("[sweep]\nscene = 'scene.toml'\nseeds = [1, -2]\n", "line 3: [sweep] 'seeds': must be whole numbers >= 0"),
        ("[sweep]\nscene = 'scene.toml'\n[[solver]]\n", "experiment file 'solver': unknown section"),
        ("[sweep]\nscene = 'scene.toml'\n[parameters]\nstepper.h = 1.0\n", "line 4: [parameters.stepper] 'h': must be"),
        ("[sweep]\nscene = 'scene.toml'\n[parameters]\nstepper.hh = [1]\n", "[stepper] 'hh': unknown key"),
        ("[sweep]\nscene = 'scene.toml'\n[spread]\n'body.cube.mass' = 1\n", "'seeds': is missing"),
    ],
)
def test_errors_of_experiment_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    """One line with file, line and key; nothing is run."""
    path = experiment(tmp_path, text)
    assert main(["sweep", str(path), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "out").exists()


def test_paths_of_parameters_as_toml_writes_them(tmp_path: Path) -> None:
    """Dotted, quoted, as tables, and names with dots of their own."""
    text = "[sweep]\nscene = 'scene.toml'\n[parameters]\na.'b.c'.d = [1]\n'e.f' = [2]\n[parameters.g]\nh = [3]\n"
    found = load_experiment(experiment(tmp_path, text))
    assert dict(found.parameters) == {'a."b.c".d': [1], "e.f": [2], "g.h": [3]}
