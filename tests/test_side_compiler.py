"""A second process compiles kernels that the first one will ask for."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contactlab.cli import demo as demo_command
from contactlab.cli import main
from contactlab.cli.demo import SIDE_PARTS
from lcp.compiler.compile_events import compilation_begins


def test_process_is_started_by_a_compilation_and_ended_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        assert command[1:] == ["-P", "-m", "contactlab.cli", "warmup", *SIDE_PARTS]
        started.append(popen([sys.executable, "-P", "-c", "import time; time.sleep(60)"], **options))
        return started[-1]

    monkeypatch.setattr(demo_command.subprocess, "Popen", start)
    monkeypatch.setattr(demo_command.os, "sched_getaffinity", lambda _: {0, 1})
    with demo_command.background_compilation(SIDE_PARTS):
        pass
    assert not started
    with demo_command.background_compilation(SIDE_PARTS):
        compilation_begins()
        compilation_begins()
        assert [process.poll() for process in started] == [None]
    assert started[0].poll() is not None


def test_one_core_compiles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_command.os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(demo_command.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    with demo_command.background_compilation(SIDE_PARTS):
        compilation_begins()


def test_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["warmup", "sun"])
    assert "unknown part 'sun'" in capsys.readouterr().err


@pytest.mark.slow
def test_parts_are_versions_that_the_demo_calls_but_does_not_begin_with(tmp_path: Path) -> None:
    """With an empty cache folder, no part compiles what the demo compiles meanwhile, or another version of it."""
    command, environment = demo_command.side_command(*SIDE_PARTS)
    environment = environment | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run(command, env=environment, capture_output=True, check=True, timeout=300)
    kernels = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    needed_last = {"step_stages.enter_sweeps", "strategy_loop.solve_fallback", "free_motion.recompute_energy_terms"}
    assert needed_last <= kernels
    assert not kernels & {"step_stages.enter_step_stages", "step_stages.enter_island_stages"}
    run = "from contactlab.cli.demo import *; r = simulate(demo_world(), demo_stepper(), 4.0); str(r.ledger); r.poses()"
    subprocess.run([sys.executable, "-c", run], env=environment, capture_output=True, check=True, timeout=300)
    for kernel in needed_last:
        assert len(list(tmp_path.rglob(f"{kernel}-*.nbc"))) == 1, kernel
