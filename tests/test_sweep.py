"""Sweeps on one machine: the same rows in any process, each once, for any effect of a task on its process."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sweep_tasks

from contactlab.lab import SweepError, SweepResult, sweep

WALKS = [{"seed": seed, "scale": 0.1 * (1 + seed)} for seed in range(7)]


def bits(result: SweepResult) -> list[dict[str, Any]]:
    """Return the rows without their times; floats by `repr`, which shows every bit."""
    return [{name: repr(value) for name, value in row.items() if name != "seconds"} for row in result.rows]


def computed(marks: Path) -> dict[str, int]:
    """How often each seed was computed."""
    return {mark.name: len(mark.read_text()) for mark in marks.iterdir()}


def marked(tmp_path: Path) -> tuple[list[dict[str, Any]], Path]:
    marks = tmp_path / "marks"
    marks.mkdir()
    return [{**walk, "marks": str(marks)} for walk in WALKS], marks


def test_rows_in_process_and_on_processes_are_the_same_bits() -> None:
    """In the order of the tasks, with their entries, numpy's numbers made plain."""
    here, there = sweep(sweep_tasks.walk, WALKS, jobs=1), sweep(sweep_tasks.walk, WALKS, jobs=3)
    assert bits(here) == bits(there)
    assert [row["seed"] for row in here.rows] == list(range(7))
    direct = sweep_tasks.walk(WALKS[4])
    assert here.rows[4]["end"] == direct["end"]
    assert type(here.rows[4]["most"]) is int
    assert here.rows[4]["path"] == direct["path"].tolist()
    assert not here.failures
    assert len({row["key"] for row in here.rows}) == 7


def test_a_resumed_sweep_computes_nothing_twice(tmp_path: Path) -> None:
    """Interrupted by the caller after three rows, resumed, then called once more."""
    tasks, marks = marked(tmp_path)
    out = tmp_path / "out"

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(sweep_tasks.walk, tasks, out=out, jobs=1, progress=stop)
    assert len((out / "rows.jsonl").read_text().splitlines()) == 3
    second = sweep(sweep_tasks.walk, tasks, out=out, jobs=2)
    assert second.computed == 4
    third = sweep(sweep_tasks.walk, tasks, out=out, jobs=2)
    assert third.computed == 0
    assert computed(marks) == {str(seed): 1 for seed in range(7)}
    assert third.rows == second.rows
    assert bits(second) == bits(sweep(sweep_tasks.walk, tasks, jobs=1))
    table = (out / "rows.csv").read_text().splitlines()
    assert len(table) == 8
    assert table[0].startswith("key,outcome,error,seconds,")


def test_more_tasks_and_other_orders_use_what_is_there(tmp_path: Path) -> None:
    """A task is identified by its content, not by its position; equal ones are run once."""
    tasks, marks = marked(tmp_path)
    out = tmp_path / "out"
    sweep(sweep_tasks.walk, tasks[:4], out=out, jobs=1)
    result = sweep(sweep_tasks.walk, [*reversed(tasks), tasks[0]], out=out, jobs=1)
    assert result.computed == 3
    assert [row["seed"] for row in result.rows] == [6, 5, 4, 3, 2, 1, 0, 0]
    assert set(computed(marks).values()) == {1}


def test_a_torn_last_line_is_computed_again(tmp_path: Path) -> None:
    """A killed run may leave half a row; half a row in the middle is damage and is said to be."""
    out = tmp_path / "out"
    before = sweep(sweep_tasks.walk, WALKS, out=out, jobs=1)
    rows = out / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-40])
    after = sweep(sweep_tasks.walk, WALKS, out=out, jobs=1)
    assert after.computed == 1
    assert bits(after) == bits(before)
    assert len(rows.read_bytes().splitlines()) == 7
    rows.write_bytes(b'{"key": "abc"\n' + rows.read_bytes())
    with pytest.raises(SweepError, match=r"rows\.jsonl, line 1: not a row"):
        sweep(sweep_tasks.walk, WALKS, out=out, jobs=1)


def test_two_sweeps_do_not_write_to_one_folder(tmp_path: Path) -> None:
    """The second is refused while the first is at work, and welcome afterwards."""
    refused: list[str] = []

    def meddle(done: int, total: int) -> None:
        if done == 1:
            with pytest.raises(SweepError) as caught:
                sweep(sweep_tasks.walk, WALKS, out=tmp_path, jobs=1)
            refused.append(str(caught.value))

    sweep(sweep_tasks.walk, WALKS, out=tmp_path, jobs=1, progress=meddle)
    assert len(refused) == 1
    assert refused[0].startswith(f"{tmp_path}: another sweep is writing here: process {os.getpid()} on ")
    assert sweep(sweep_tasks.walk, WALKS, out=tmp_path, jobs=1).computed == 0


@pytest.fixture(scope="module")
def poisoned() -> dict[str, dict[str, Any]]:
    """One sweep with everything a task can do to its process; rows by kind."""
    kinds = ("raise", "exit", "sys.exit", "segfault", "kill", "hang", "print", "nested", "own", "object", "fine")
    result = sweep(sweep_tasks.poison, [{"kind": kind} for kind in kinds], jobs=2, time_limit=6.0, retries=1)
    assert [row["kind"] for row in result.rows] == list(kinds)
    assert len(result.failures) == 9
    return {row["kind"]: row for row in result.rows}


@pytest.mark.parametrize(
    ("kind", "outcome", "error"),
    [
        ("raise", "failed", "ValueError: the well is poisoned"),
        ("exit", "failed", "exit status 3"),
        ("sys.exit", "failed", "SystemExit: enough"),
        ("segfault", "failed", "SIGSEGV"),
        ("kill", "lost", "died in each of 2 tries, the last time of SIGKILL"),
        ("hang", "timeout", "no answer within 6 s"),
        ("nested", "failed", "a dict as 'inner'"),
        ("own", "failed", "'key'"),
        ("object", "failed", "not object"),
    ],
)
@pytest.mark.slow
def test_poisoned_tasks(poisoned: dict[str, dict[str, Any]], kind: str, outcome: str, error: str) -> None:
    """Each task's row has its outcome."""
    row = poisoned[kind]
    assert row["outcome"] == outcome
    assert error in row["error"]


@pytest.mark.slow
def test_a_worker_killed_from_outside_is_replaced(tmp_path: Path) -> None:
    """The task is run again; without retries it is lost, and remains so until it is requested again."""
    task = {"mark": str(tmp_path / "mark")}
    assert sweep(sweep_tasks.die_once, [task], jobs=2).rows[0]["survived"]
    (tmp_path / "mark").unlink()
    out = tmp_path / "out"
    assert sweep(sweep_tasks.die_once, [task], jobs=2, retries=0, out=out).rows[0]["outcome"] == "lost"
    assert sweep(sweep_tasks.die_once, [task], jobs=2, out=out).computed == 0
    mended = sweep(sweep_tasks.die_once, [task], jobs=2, out=out, again=("lost",))
    assert mended.rows[0]["outcome"] == "done"
    assert sweep(sweep_tasks.die_once, [task], jobs=2, out=out).rows == mended.rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": lambda task: {}}, "top level of a module"),
        ({"function": Path.exists}, "top level of a module"),
        ({"tasks": [{"seed": 1}, 3]}, r"tasks\[1\] must be a dict, got int"),
        ({"tasks": [{"seed": object()}]}, r"tasks\[0\] cannot be written as JSON"),
        ({"tasks": [{1: 2}]}, "the key 1 is not a string"),
        ({"tasks": [{"outcome": 2}]}, "'outcome' is an entry of the rows"),
        ({"tasks": None}, "a function needs tasks"),
        ({"jobs": 0}, "jobs must be a whole number of at least 1, got 0"),
        ({"jobs": 2, "cluster": "tcp://127.0.0.1:1"}, "not both"),
        ({"time_limit": 0.0}, "time_limit must be a positive number"),
        ({"retries": -1}, "retries must be a whole number of at least 0, got -1"),
        ({"again": ("late",)}, "again must hold outcomes"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(change: dict[str, Any], message: str) -> None:
    """The text names what is wrong."""
    arguments = {"function": sweep_tasks.walk, "tasks": WALKS, **change}
    function: Callable[..., Any] = arguments.pop("function")
    with pytest.raises(SweepError, match=message):
        sweep(function, arguments.pop("tasks"), **arguments)


def script(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "own_script.py"
    path.write_text(textwrap.dedent(body))
    return path


@pytest.mark.slow
def test_a_function_of_a_script(tmp_path: Path) -> None:
    """The first use: function and call in one file."""
    path = script(
        tmp_path,
        """
        from contactlab.lab import sweep

        def square(task):
            return {"square": task["x"] ** 2}

        if __name__ == "__main__":
            print([row["square"] for row in sweep(square, [{"x": x} for x in range(5)], jobs=2).rows])
        """,
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[0, 1, 4, 9, 16]\n"


@pytest.mark.slow
def test_a_script_without_its_guard_is_told(tmp_path: Path) -> None:
    """It would begin itself again in every worker."""
    path = script(
        tmp_path,
        """
        from contactlab.lab import sweep

        def square(task):
            return {"square": task["x"] ** 2}

        sweep(square, [{"x": 2}], jobs=2)
        """,
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert '__name__ == "__main__"' in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.slow
def test_a_sweep_that_is_stopped_can_be_gone_on_with(tmp_path: Path, how: signal.Signals) -> None:
    """After Ctrl-C or a kill its workers end, the rows remain, and the next call computes the rest."""
    out, marks = tmp_path / "out", tmp_path / "marks"
    marks.mkdir()
    tasks = [{"seed": seed, "sleep": 0.2, "marks": str(marks)} for seed in range(30)]
    code = (
        f"import json, sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        "import sweep_tasks; from contactlab.lab import sweep\n"
        f"sweep(sweep_tasks.walk, json.loads({json.dumps(tasks)!r}), out={str(out)!r}, jobs=2)"
    )
    process = subprocess.Popen([sys.executable, "-P", "-c", code], stderr=subprocess.PIPE, start_new_session=True)
    rows = out / "rows.jsonl"
    given_up = time.monotonic() + 60
    while not (rows.exists() and rows.read_bytes().count(b"\n") >= 2):
        assert time.monotonic() < given_up
        time.sleep(0.02)
    os.kill(process.pid, how)
    process.communicate(timeout=60)
    time.sleep(0.5)  # a worker whose sweep is gone may still finish its task, not begin another
    begun, kept = len(list(marks.iterdir())), rows.read_bytes().count(b"\n")
    assert 2 <= kept < 30
    rest = sweep(sweep_tasks.walk, tasks, out=out, jobs=4)
    assert rest.computed == 30 - kept
    assert not rest.failures
    assert sum(computed(marks).values()) <= 30 + begun - kept


@pytest.mark.slow
def test_bits_do_not_depend_on_the_threads_of_blas() -> None:
    """If no variable sets the number of threads, products are split in this process as in workers."""
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is missing: pip install '.[lab]'")
    code = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        "import sweep_tasks; from contactlab.lab import sweep\n"
        "tasks = [{'seed': seed} for seed in range(2)]\n"
        "here, there = (sweep(sweep_tasks.product, tasks, jobs=jobs).rows for jobs in (1, 2))\n"
        "print([{**row, 'seconds': 0} for row in here] == [{**row, 'seconds': 0} for row in there])\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "True\n"
