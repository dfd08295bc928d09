"""The suite of engines: ours keeps what it should, bad ones lose, absent ones have a row, the page's example runs."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from contactlab.cli import main
from contactlab.lab.conformance import CaseVerdict, Contactlab, conform, engine_of

PAGE = Path(__file__).parents[1] / "docs" / "conformance.md"
FAST = (
    "brick holds",
    "pressed",
    "sliding brick",
    "four corners",
    "groove",
    "e = 0",
    "corner",
    "projectile",
    "order in h",
)


def test_ours_keeps_the_fast_cases():
    report = conform(["ours"], FAST)
    assert len(report.rows) >= 9
    assert {row.case: row.reason for row in report.rows if row.verdict is not CaseVerdict.PASSED} == {}


class _Bad(Contactlab):
    """Creeps, and gains energy: its bodies are moved and sped up after every step."""

    def load(self, scene, h):
        run, self.name = super().load(scene, h), "<bad>"
        poses, velocities = run.poses, run.velocities
        made = [0]

        def step(inner=run.step):
            inner()
            made[0] += 1

        run.step = step
        run.poses = lambda: poses() + 1e-5 * made[0] * np.eye(7)[0]
        run.velocities = lambda: velocities() * (1.0 + 1e-3 * made[0])
        run.contacts = lambda: None
        return run


def test_a_bad_engine_loses_what_it_breaks_and_is_told_why(tmp_path):
    report = conform([_Bad()], ["brick holds", "e = 1/2", "four corners"])
    creeps, gains, untold = (
        report.row("<bad>", name) for name in ("brick holds on a slope", "drop, e = 1/2", "four corners")
    )
    assert creeps.verdict is gains.verdict is CaseVerdict.FAILED
    assert re.search(r"crept .* at 0.01 m/s \(limit 1e-06 m/s\)", creeps.reason)
    assert "gained energy" in gains.reason
    assert untold.verdict is CaseVerdict.NOT_REPORTED
    text = report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<bad>" not in text
    assert "&lt;bad&gt;" in text


def test_an_engine_that_raises_has_a_row_with_its_reason():
    class Broken(Contactlab):
        def load(self, scene, h):
            raise RuntimeError("out of order")

    report = conform([Broken()], ["projectile"])
    assert report.rows[0].verdict is CaseVerdict.CRASHED
    assert report.rows[0].reason == "RuntimeError: out of order"
    assert report.score("ours") == (0, 1)


def test_an_engine_that_ends_its_process_or_hangs_has_rows_with_the_reason(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(
        "import os, time\n"
        "class Dies:\n    name, version = 'dies', '1'\n    def load(self, scene, h): os.abort()\n"
        "class Hangs:\n    name, version = 'hangs', '1'\n    def load(self, scene, h): time.sleep(60)\n"
    )
    report = conform([f"{file}:Dies", f"{file}:Hangs"], ["projectile"], seconds=3.0)
    dies, hangs = report.rows
    assert (dies.verdict, hangs.verdict) == (CaseVerdict.CRASHED, CaseVerdict.TIMED_OUT)
    assert "SIGABRT" in dies.reason
    assert "no answer within 3 s" in hangs.reason


def test_a_process_apart_tells_the_same_figures():
    here, apart = (conform(["ours"], ["projectile"], seconds=seconds) for seconds in (None, 60.0))
    assert here.rows == apart.rows


@pytest.mark.parametrize("name", ["four bars", "pinched"])
def test_joints_and_contact(name):
    (row,) = conform(
        [
            "ours",
        ],
        [name],
    ).rows
    assert row.verdict is CaseVerdict.PASSED, row.reason


def test_a_loop_of_unequal_bars_opens_at_our_defaults():
    # docs/conformance.md has the gap and its limit.
    (row,) = conform(["ours"], ["unequal"]).rows
    opened, drifted = row.measures
    assert 1e-4 < opened.value < 5e-3
    assert drifted.passed


def test_a_missing_engine_has_rows_and_a_wrong_name_is_refused(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    report = conform(["mujoco", "ours"], ["projectile"])
    assert report.row("mujoco", "projectile").verdict is CaseVerdict.MISSING
    assert "mujoco" in report.row("mujoco", "projectile").reason
    assert report.score("mujoco") == (0, 0)
    assert main(["conform", "nobody"]) == 2
    assert "there is no engine 'nobody'" in capsys.readouterr().err
    assert main(["conform", "ours", "--filter", "nothing"]) == 2


def test_the_command_writes_report_and_scores(tmp_path, capsys):
    out, scores = tmp_path / "report.html", tmp_path / "scores.json"
    assert main(["conform", "ours", "--filter", "projectile", "--out", str(out), "--json", str(scores)]) == 0
    assert "kept" in capsys.readouterr().out
    assert json.loads(scores.read_text())["scores"] == {"ours": [1, 1]}
    assert out.read_text().startswith("<!DOCTYPE html>")
    assert main(["conform", "--list"]) == 0
    assert "projectile" in capsys.readouterr().out


def test_the_engine_of_the_page_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    file = tmp_path / "falling.py"
    file.write_text(code)
    report = conform([f"{file}:Falling"], ["projectile", "four corners", "brick holds"])
    verdicts = {row.case: row.verdict for row in report.rows}
    assert verdicts["projectile"] is CaseVerdict.PASSED
    assert verdicts["four corners"] is CaseVerdict.NOT_REPORTED
    assert verdicts["brick holds on a slope"] is CaseVerdict.FAILED


@pytest.mark.parametrize("name", ["mujoco", "mujoco:noslip", "drake"])
def test_peers_are_held_to_it_where_they_are_installed(name):
    pytest.importorskip({"mujoco": "mujoco", "drake": "pydrake"}[name.partition(":")[0]])
    report = conform([engine_of(name)], ["projectile", "pressures", "determinism"])
    assert report.score(name) == (3, 3)
