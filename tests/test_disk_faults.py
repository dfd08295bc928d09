"""A full disk, or a kill, at any operation: no reported result is lost, and everything resumes to the same bits.

`benchmarks/kills.py` does it by the hundred, with kills from outside, too.
"""

import contextlib
import json

import kills
import numpy as np
import pytest
import simulation_scenes as scenes
import sweep_tasks
from faulty_disk import KINDS, Killed, faulty
from record_runs import STEPPER, same

from contactlab.lab import SweepError, sweep
from contactlab.simulation import RecordError, Recording, RecordWriteError, simulate
from contactlab.simulation.recording.storage import chunk_folder

STEPS = 24
WALKS = [{"seed": seed} for seed in range(4)]


@pytest.fixture(scope="module")
def whole():
    return simulate(scenes.tumble(), STEPPER, steps=STEPS)


def run(path, told, resume=False, **more):
    return simulate(
        scenes.tumble(),
        STEPPER,
        steps=STEPS,
        path=path,
        chunk_steps=9,
        flush_seconds=0.0,
        progress=lambda done, total: told.append(done),
        resume=resume,
        overwrite=not resume,
        **more,
    )


def begun(kind, path):
    """Existing data at the path: none, the packed record of an earlier run, or the chunks of a stopped one."""
    if kind == "packed":
        simulate(scenes.tumble(), STEPPER, steps=5, path=path)
    elif kind == "stopped":
        with contextlib.suppress(KeyboardInterrupt):

            def stop(done, total):
                raise KeyboardInterrupt

            simulate(scenes.tumble(), STEPPER, steps=STEPS, path=path, chunk_steps=5, flush_seconds=0.0, progress=stop)


def some(operations, seed):
    """A handful of operations, counted from 1: one of every name, and the last."""
    names = sorted(set(operations))
    rng = np.random.default_rng(seed)
    places = [[i for i, name in enumerate(operations, start=1) if name == wanted] for wanted in names]
    return sorted({int(rng.choice(some)) for some in places} | {len(operations)})


@pytest.mark.parametrize(
    ("kind", "before", "resume"),
    [
        ("full", "nothing", False),
        ("kill", "nothing", False),
        ("kill", "packed", False),
        ("full", "packed", True),
        ("kill", "packed", True),
        ("kill", "stopped", True),
    ],
)
@pytest.mark.slow
def test_a_run_at_any_operation(kind, before, resume, tmp_path, whole):
    """Reported steps open from disk, with the same bits; partial files are not read; resumed runs end the same."""
    clean = tmp_path / "clean"
    clean.mkdir()
    begun(before, clean / "a.npz")
    with faulty(clean) as disk:
        run(clean / "a.npz", [], resume=resume)
    assert disk.count > 100
    for at in some(disk.operations, 0):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        path, told = folder / "a.npz", [5] if resume else [0]
        begun(before, path)
        with faulty(folder, at, kind), contextlib.suppress(RecordWriteError, Killed):
            run(path, told, resume=resume)
        if told[-1] or before == "packed":
            left = Recording.open(path)
            assert left.n_steps >= told[-1]
            assert same(left, whole.first(left.n_steps))
        if before == "packed" and not resume and told == [0]:
            continue  # the run has not begun; resuming would go on with the earlier record
        assert same(run(path, [], resume=True), whole)
        assert [file.name for file in folder.iterdir()] == ["a.npz"]
        assert same(Recording.open(path), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_at_every_operation(kind, tmp_path):
    """Reported rows are not computed again; the others are; the table is the same."""
    reference = sweep(sweep_tasks.walk, WALKS, out=tmp_path / "clean", jobs=1).rows
    with faulty(tmp_path / "counted") as disk:
        sweep(sweep_tasks.walk, WALKS, out=tmp_path / "counted", jobs=1)
    assert disk.count > 10
    for at in range(1, disk.count + 1):
        out, told = tmp_path / f"{at}", [0]
        with faulty(out, at, kind), contextlib.suppress(SweepError, Killed):
            sweep(sweep_tasks.walk, WALKS, out=out, jobs=1, progress=lambda done, total, told=told: told.append(done))
        result = sweep(sweep_tasks.walk, WALKS, out=out, jobs=1)
        assert result.computed <= len(WALKS) - told[-1]
        for row, wanted in zip(result.rows, reference, strict=True):
            assert {**row, "seconds": 0} == {**wanted, "seconds": 0}
        assert len((out / "rows.csv").read_text().splitlines()) == 1 + len(WALKS)
        assert len((out / "rows.jsonl").read_text().splitlines()) == len(WALKS)
        assert sorted(file.name for file in out.iterdir()) == ["rows.csv", "rows.jsonl"]


def test_going_on_where_nothing_is_left_writes_nothing(tmp_path, whole):
    """Any number of times; a file without a step, as earlier releases wrote, does not prevent resuming."""
    path, told = tmp_path / "a.npz", []
    with faulty(tmp_path, None) as disk:
        run(path, told)
        before = path.read_bytes()
        count = disk.count
        run(path, told, resume=True)
        # The lock, and a look for what a kill may have left.
        assert disk.operations[count:] == ["mkdir", "open", "ftruncate", "write", "unlink", "unlink", "rmdir"]
    assert path.read_bytes() == before


def test_a_description_without_a_state_is_no_record(tmp_path, whole):
    """Earlier releases left one if killed at the very start; it does not prevent a new run."""
    path = tmp_path / "a.npz"
    begun("stopped", path)
    for chunk in chunk_folder(path).glob("chunk_*.npz"):
        chunk.unlink()
    with pytest.raises(RecordError, match="no such record"):
        Recording.open(path)
    assert same(run(path, [], resume=True), whole)


def test_a_torn_row_is_not_gone_on_with_by_the_sweep_that_tore_it(tmp_path):
    """The error names the file; data finished before remain."""
    with faulty(tmp_path / "out") as disk:
        sweep(sweep_tasks.walk, WALKS, out=tmp_path / "out", jobs=1)
    first_write = disk.operations.index("fsync")
    with faulty(tmp_path / "new", first_write, "once"), pytest.raises(SweepError, match=r"rows\.jsonl: No space"):
        sweep(sweep_tasks.walk, WALKS, out=tmp_path / "new", jobs=1)
    torn = (tmp_path / "new" / "rows.jsonl").read_bytes()
    assert torn
    with pytest.raises(ValueError, match=r"[A-Za-z]"):
        json.loads(torn)
    assert len(sweep(sweep_tasks.walk, WALKS, out=tmp_path / "new", jobs=1).rows) == len(WALKS)


@pytest.mark.parametrize("kind", [kills.Run, kills.Sweep, kills.Race], ids=lambda kind: kind.name)
@pytest.mark.slow
def test_a_dozen_kills(kind):
    """A dozen of the random kills of `benchmarks/kills.py`, also of races, with any stored data."""
    row, rng = dict.fromkeys(kills.HEAD, 0), np.random.default_rng(1)
    while row["kills"] < 12:
        kills.by_faults(kind, rng, row, 12)
    assert (row["lost"], row["differing"]) == (0, 0)
