"""The command line: results on standard output, one-line errors, exit statuses that scripts can use."""

import dataclasses
import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simulation_scenes as scenes
from scene_texts import CUBE, TUMBLING, write

import lcp
import problem_data
from contactlab.cli import main
from contactlab.lab.datasets import save_cube_tosses
from contactlab.lab.studies import TossSettings, synthesize_tosses
from contactlab.lab.sweeps import Progress
from contactlab.simulation import Recording, SimulationError, TimeStepping, simulate, simulate_run
from contactlab.simulation.explanation import explain_failure


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tosses of our own making, mu = 0.2."""
    truth = TossSettings(mu=0.2, edges=8, substeps=3)
    return save_cube_tosses(tmp_path_factory.mktemp("data") / "tosses.npz", synthesize_tosses(2, truth, samples=60))


TRUTH = ["--mu", "0.2", "--edges", "8", "--substeps", "3"]


def test_toss_prints_the_table_and_writes_the_scores(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Table on standard output, the agreed keys in the JSON file, status 0."""
    out = tmp_path / "scores.json"
    assert main(["toss", str(data), "--json", str(out), *TRUTH]) == 0
    printed = capsys.readouterr().out
    assert "Drake" in printed
    assert "contactlab (mu 0.2, k 8, 3 sub-steps)" in printed
    scores = json.loads(out.read_text())
    assert scores["tosses"] == 2
    assert scores["failed"] == 0
    assert scores["position_percent"] < 1e-6
    assert scores["rotation_deg"] < 1e-6
    assert scores["worst_scaled_residual"] <= 1e-9
    expected = dataclasses.asdict(TossSettings(mu=0.2, edges=8, substeps=3))
    assert scores["settings"] == {**expected, "stiffness": None}  # infinite: JSON has no such number


def test_toss_by_model(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A named model, and one with a number changed."""
    for more, words in ((["--edges", "8", "--substeps", "3"], "(best, k 8, 3 sub-steps)"), (["--mu", "0.3"], "mu 0.3")):
        assert main(["toss", str(data), "--model", "best", "--friction", "pyramid", *more]) == 0
        assert words in capsys.readouterr().out


def test_failed_toss_gives_status_1(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is listed, counted in the JSON file and makes the exit status 1."""
    monkeypatch.setattr("contactlab.lab.studies.CERTIFIED", -1.0)
    out = tmp_path / "scores.json"
    assert main(["toss", str(data), "--json", str(out), *TRUTH]) == 1
    scores = json.loads(out.read_text())
    assert scores["failed"] == len(scores["failures"]) == 2
    assert scores["position_percent"] is None
    assert "failed: toss 1 (id 1)" in capsys.readouterr().out


def test_bad_file_is_one_line_and_status_2(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file, the array and the entry are named; no traceback."""
    with np.load(data) as arrays:
        content = dict(arrays)
    content["pos"][3, 2] = np.nan
    bad = tmp_path / "bad.npz"
    np.savez(bad, **content)
    truncated = tmp_path / "truncated.npz"
    truncated.write_bytes(data.read_bytes()[:1000])
    for path, words in ((bad, "pos[3, 2]"), (truncated, "truncated"), (tmp_path / "absent.npz", "no such file")):
        assert main(["toss", str(path)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert str(path) in lines[0]
        assert words in lines[0]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["toss"],
        ["toss", "x.npz", "--mu", "-0.1"],
        ["toss", "x.npz", "--mu", "nan"],
        ["toss", "x.npz", "--model", "magic"],
        ["toss", "x.npz", "--edges", "7"],
        ["toss", "x.npz", "--substeps", "0"],
        ["toss", "x.npz", "--workers", "0"],
        ["toss", "x.npz", "--json", "/nowhere/at/all.json"],
        ["demo", "--duration", "0"],
        ["demo", "--seed", "-1"],
        ["run"],
        ["run", "a.toml"],
        ["run", "a.toml", "--out", "a.npz", "--h", "0"],
        ["verify"],
        ["replay"],
    ],
)
def test_bad_argument_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments are refused before anything runs, with the usage."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_demo_writes_record_replay_and_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the current folder; energy and the worst certificate are printed; the record opens."""
    from contactlab.simulation import Recording

    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--duration", "0.7"]) == 0
    printed = capsys.readouterr().out
    assert "worst scaled residual" in printed
    assert (tmp_path / "contactlab_demo.png").read_bytes().startswith(b"\x89PNG")
    assert 100_000 < (tmp_path / "contactlab_demo.html").stat().st_size < 3_000_000
    recording = Recording.open(tmp_path / "contactlab_demo.npz")
    assert recording.time[-1] == pytest.approx(0.7)
    assert 0.0 < recording.worst_certificate().scaled <= 1e-9
    total = recording.kinetic + recording.potential
    assert total[-1] < total[0]


def test_demo_without_the_extra_says_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No viser, no matplotlib: the run and its record are there all the same."""
    for module in ("viser", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, module, None)
    assert main(["demo", "--duration", "0.05", "--out", str(tmp_path / "new" / "folder")]) == 0
    printed = capsys.readouterr().out
    assert printed.count("pip install '.[viz]'") == 2
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["contactlab_demo.npz"]


def test_warmup_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    """It ends well and says how long each part took; a part that there is not is refused with those that there are."""
    assert main(["warmup", "ground", "public"]) == 0
    printed = capsys.readouterr().out
    assert sorted(line.partition(":")[0] for line in printed.splitlines()[:-1]) == ["ground", "public"]
    assert "kernels ready" in printed
    with pytest.raises(SystemExit):
        main(["warmup", "joint"])
    assert "choose from ground, bodies, joints, robots, derivatives, public" in capsys.readouterr().err


def test_progress_without_a_terminal_is_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand updates give one line per quarter."""
    with Progress("counting", "beans") as progress:
        for done in range(1, 1001):
            progress.update(done, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("counting: 1000 of 1000 beans")


def test_a_slow_run_says_so_on_a_terminal_alone(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """One line, taken away at the end; nothing is written elsewhere, nor at once."""
    with ExitStack() as held:
        assert simulate_run.default_progress(held) is None
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        simulate_run.default_progress(held)(1, 10)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(simulate_run, "PATIENCE", 0.0)
        update = simulate_run.default_progress(held)
        update(5, 10)
        update(6, 10)
        assert re.fullmatch(r"\r\x1b\[Ksimulate: 5 of 10 steps, 0 s, about 0 s to go", capsys.readouterr().err)
        update(10, 10)
        assert capsys.readouterr().err == simulate_run.EMPTY


def test_help_needs_nothing_heavy() -> None:
    """The command returns before any compiler or picture library is imported."""
    code = (
        "import sys; from contactlab.cli import main\n"
        "try: main(['toss', '--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numba', 'matplotlib', 'viser', 'rich', 'scipy.optimize') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_run_writes_a_record(tmp_path, capsys):
    """The record has the scene's duration or the options'; progress is written to standard error on request."""
    out = tmp_path / "run.npz"
    assert main(["run", str(write(tmp_path)), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "cube: 1 bodies, 0.1 s at h = 0.002 s" in printed.out
    assert f"wrote {out}" in printed.out
    assert "simulating" not in printed.err
    assert Recording.open(out).n_steps == 50
    more = ["--duration", "0.02", "--h", "0.005", "--progress", "--overwrite"]
    assert main(["run", str(write(tmp_path)), "--out", str(out), *more]) == 0
    assert Recording.open(out).stepper.h == 0.005
    assert "simulating: 4 of 4 steps" in capsys.readouterr().err


def test_a_bad_scene_is_one_line_and_status_2(tmp_path, capsys):
    """File, line and key; no record, no traceback."""
    path = write(tmp_path, CUBE.replace("mass =", "masss ="))
    assert main(["run", str(path), "--out", str(tmp_path / "run.npz")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"contactlab: error: {path}, line 20: [[body]] 'masss': unknown key, did you mean 'mass'?"]
    assert not (tmp_path / "run.npz").exists()


def test_a_failed_step_is_status_1(tmp_path, capsys):
    """The record so far stays, and the problem is named."""
    options = 'h = 2e-3\non_unsolved = "raise"\nsolver = { name = "Lemke", max_pivots = 1 }'
    path = write(tmp_path, TUMBLING.replace("h = 2e-3", options))
    out = tmp_path / "run.npz"
    assert main(["run", str(path), "--out", str(out)]) == 1
    printed = capsys.readouterr().out
    assert "stopped: step" in printed
    assert f"{out}.chunks" in printed
    assert Recording.open(out).n_steps > 0


def test_replay_writes_html_and_picture(tmp_path, capsys):
    """From a record, without simulating."""
    out, html, picture = tmp_path / "run.npz", tmp_path / "a.html", tmp_path / "a.png"
    assert main(["run", str(write(tmp_path)), "--out", str(out)]) == 0
    assert main(["replay", str(out), "--html", str(html), "--picture", str(picture)]) == 0
    assert html.stat().st_size > 100_000
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["replay", str(tmp_path / "absent.npz"), "--html", str(html)]) == 2
    assert "no such record" in capsys.readouterr().err


def test_a_run_is_gone_on_with(tmp_path, capsys):
    """--resume from a shorter record: the same as in one go, with the scene's text and checksum in the stamp."""
    scene, whole, parts = write(tmp_path), tmp_path / "whole.npz", tmp_path / "parts.npz"
    assert main(["run", str(scene), "--out", str(whole)]) == 0
    assert main(["run", str(scene), "--out", str(parts), "--resume", "--duration", "0.04"]) == 0
    assert main(["run", str(scene), "--out", str(parts), "--resume"]) == 0
    assert "steps/s" in capsys.readouterr().out
    one, other = Recording.open(whole), Recording.open(parts)
    assert all((rows == other.rows[name]).all() for name, rows in one.rows.items())
    assert one.environment["scene"] == scene.read_text()
    assert other.environment["resumed"].endswith("at step 20")
    assert main(["verify", str(whole)]) == 0
    printed = capsys.readouterr().out
    assert f"scene_sha256: {one.environment['scene_sha256']}" in printed
    assert "numpy: " in printed
    scene.write_text(scene.read_text().replace("mass = ", "mass = 1"))
    assert main(["run", str(scene), "--out", str(parts), "--resume"]) == 2
    assert "mass" in capsys.readouterr().err


def test_a_record_that_is_there_is_kept(tmp_path, capsys):
    """Without an option the command stops before the run; with one it resumes the run or begins again."""
    scene, out = write(tmp_path), tmp_path / "run.npz"
    assert main(["run", str(scene), "--out", str(out), "--duration", "0.02"]) == 0
    before = out.read_bytes()
    assert main(["run", str(scene), "--out", str(out)]) == 2
    assert "is there already: `resume` continues it, `overwrite` replaces it" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert main(["run", str(scene), "--out", str(out), "--overwrite"]) == 0
    assert out.read_bytes() != before
    assert main(["run", str(scene), "--out", str(out), "--h", "1e-9", "--duration", "1e9", "--overwrite"]) == 2
    assert "[stepper] 'h'" in capsys.readouterr().err


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
