"""Sweeps on a real Dask scheduler with three worker processes: the same rows, though workers are killed."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sweep_tasks
from test_sweep import WALKS, bits, computed

from contactlab.lab import SweepError, sweep
from contactlab.lab.sweeps import workers as cluster_module

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="dask.distributed is missing: pip install '.[lab]'"
)


@dataclass(frozen=True)
class Cluster:
    address: str
    workers: list[subprocess.Popen[bytes]]

    def kill_one(self) -> None:
        """End this process by SIGKILL, without a report."""
        alive = [worker for worker in self.workers if worker.poll() is None]
        alive[0].kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler on the loopback interface that gives a task up as soon as one worker dies under it, and 3 workers."""
    folder = tmp_path_factory.mktemp("cluster")
    file, log = folder / "scheduler.json", (folder / "log").open("wb")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    }

    def start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", "--no-dashboard"]
        command += ["--scheduler-file", str(file), *arguments]
        return subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)

    scheduler = start("dask_scheduler", "--port", "0")
    place = ("--local-directory", str(folder))
    workers = [start("dask_worker", "--nthreads", "1", "--no-nanny", *place) for _ in range(3)]
    try:
        given_up = time.monotonic() + 60
        while not file.exists() or not file.read_bytes().endswith(b"}"):
            assert time.monotonic() < given_up, (folder / "log").read_text()
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        wait_for_workers(address, 3)
        yield Cluster(address, workers)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
        log.close()


def wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=90)


@pytest.mark.slow
def test_the_same_rows_with_a_worker_killed_and_nothing_twice_on_resuming(cluster: Cluster, tmp_path: Path) -> None:
    """The rows equal this process's bit for bit; resumed, the sweep computes nothing."""
    marks, out = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    tasks = [{"seed": seed, "scale": 0.3, "sleep": 0.1, "marks": str(marks)} for seed in range(24)]
    alive = []

    def kill(done: int, total: int) -> None:
        if done == 6:
            cluster.kill_one()
        alive.append(sum(worker.poll() is None for worker in cluster.workers))

    there = sweep(sweep_tasks.walk, tasks, cluster=cluster.address, out=out, progress=kill)
    assert alive[0] == 3
    assert alive[-1] == 2
    assert there.computed == 24
    assert not there.failures
    lines = (out / "rows.jsonl").read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 24

    before = computed(marks)
    again = sweep(sweep_tasks.walk, tasks, cluster=cluster.address, out=out)
    assert again.computed == 0
    assert again.rows == there.rows
    assert computed(marks) == before
    assert bits(there) == bits(sweep(sweep_tasks.walk, tasks, jobs=1))


@pytest.mark.slow
def test_a_stopped_sweep_leaves_the_cluster_free(cluster: Cluster, tmp_path: Path) -> None:
    """Ctrl-C ends what is under way there; the next sweep does not wait for it."""
    tasks: list[dict[str, Any]] = [{"seed": 0}, *({"seed": seed, "sleep": 300.0} for seed in range(1, 6))]

    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sweep(sweep_tasks.walk, tasks, cluster=cluster.address, out=tmp_path, progress=stop)
    assert sweep(sweep_tasks.walk, WALKS, cluster=cluster.address).failures == []
    assert time.monotonic() - begun < 100.0
    assert sweep(sweep_tasks.walk, tasks[:1], out=tmp_path, jobs=1).computed == 0


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Said at once, before any task is run."""
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 0.5)
    with pytest.raises(SweepError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        sweep(sweep_tasks.walk, WALKS, cluster="tcp://127.0.0.1:9")
