from scene_texts import CUBE, TUMBLING, write

from contactlab.cli import main
from contactlab.simulation import Recording


def test_run_writes_a_record(tmp_path, capsys):
    """The record has the scene's duration; the summary is printed, and standard error is empty by default."""
    out = tmp_path / "run.npz"
    assert main(["run", str(write(tmp_path)), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "cube: 1 bodies, 0.1 s at h = 0.002 s" in printed.out
    assert f"wrote {out}" in printed.out
    assert "simulating" not in printed.err
    assert Recording.open(out).n_steps == 50


def test_options_override_the_scene(tmp_path, capsys):
    """Duration and step; progress goes to standard error."""
    out = tmp_path / "run.npz"
    more = ["--duration", "0.02", "--h", "0.005", "--progress"]
    assert main(["run", str(write(tmp_path)), "--out", str(out), *more]) == 0
    recording = Recording.open(out)
    assert (recording.n_steps, recording.stepper.h) == (4, 0.005)
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
