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
import toss_ablation

from contactlab.cli import main
from contactlab.lab.datasets import save_cube_tosses
from contactlab.lab.progress import Progress
from contactlab.simulation import notice_monitor
from contactlab.studies import TossSettings, synthesize_tosses


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


def test_toss_by_model_and_its_ablation(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A named model, the file by place; of the benchmark one line per ingredient added or left out."""
    cone = ["--edges", "8", "--substeps", "3", "--friction", "pyramid"]
    bars = tmp_path / "bars.png"
    assert main(["toss", str(data), "--model", "best", *cone]) == 0
    assert "contactlab (best, k 8, 3 sub-steps)" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["toss_ablation.py", str(data), "--plot", str(bars), *cone])
    toss_ablation.main()
    printed = capsys.readouterr().out
    assert bars.exists()
    for name in ("friction alone", "+ corner radius", "best without corners that give way"):
        assert name in printed
    assert main(["toss", str(data), "--model", "best", "--mu", "0.3", *cone]) == 0
    assert "mu 0.3" in capsys.readouterr().out


def test_failed_toss_gives_status_1(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is listed, counted in the JSON file and makes the exit status 1."""
    monkeypatch.setattr("contactlab.studies.CERTIFIED", -1.0)
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
    assert main(["warmup"]) == 0
    printed = capsys.readouterr().out
    parts = [line.partition(":")[0] for line in printed.splitlines()[:-1]]
    assert sorted(parts) == ["bodies", "ground", "joints", "public", "robots"]
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
        assert notice_monitor.default_progress(held) is None
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        notice_monitor.default_progress(held)(1, 10)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(notice_monitor, "PATIENCE", 0.0)
        update = notice_monitor.default_progress(held)
        update(5, 10)
        update(6, 10)
        assert re.fullmatch(r"\r\x1b\[Ksimulate: 5 of 10 steps, 0 s, about 0 s to go", capsys.readouterr().err)
        update(10, 10)
        assert capsys.readouterr().err == notice_monitor.EMPTY


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
