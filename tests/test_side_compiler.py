"""A second process compiles kernels that the first one will ask for."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contactlab.cli import warmup
from lcp.compiler.compile_events import compilation_begins


def test_process_is_started_by_a_compilation_and_ended_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        assert command[1:] == ["-P", "-m", "contactlab.cli", "warmup", *warmup.DEMO_PARTS]
        started.append(popen([sys.executable, "-P", "-c", "import time; time.sleep(60)"], **options))
        return started[-1]

    monkeypatch.setattr(warmup.subprocess, "Popen", start)
    monkeypatch.setattr(warmup.os, "sched_getaffinity", lambda _: {0, 1})
    with warmup.background_compilation():
        pass
    assert not started
    with warmup.background_compilation():
        compilation_begins()
        compilation_begins()
        assert [process.poll() for process in started] == [None]
    assert started[0].poll() is not None


def test_one_core_compiles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup.os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(warmup.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    with warmup.background_compilation():
        compilation_begins()


@pytest.mark.slow
def test_parts_are_the_versions_that_the_loop_calls() -> None:
    from contactlab.cli.demo import demo_stepper, demo_world
    from contactlab.simulation import simulate

    recording = simulate(demo_world(), demo_stepper(), steps=2)
    str(recording.ledger)
    recording.poses()
    command, environment = warmup.side_command(*warmup.DEMO_PARTS)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    # On disk since this run was compiled, or before: not compiled again.
    assert "compiling" not in done.stderr
    assert "ledger" in done.stdout


@pytest.mark.slow
def test_the_part_that_is_compiled_beside_is_not_the_one_that_the_loop_begins_with(tmp_path: Path) -> None:
    """With an empty cache folder, the process compiles strategies, but no kernels that the loop compiles meanwhile."""
    command, environment = warmup.side_command("forces")
    environment = environment | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    kernels = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert {"step_stages.enter_first_strategies", "step_stages.enter_sweeps"} <= kernels
    assert not kernels & {"step_stages.enter_step_stages", "step_stages.enter_island_stages"}
