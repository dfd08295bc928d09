"""After any end of a run the record of the computed part opens, and the run resumes with the same bits."""

import errno
import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import simulation_scenes as scenes
from record_runs import LONG, STEPPER, same, stop_run
from refusals import assert_fields

import contactlab
from contactlab.simulation import RecordError, Recording, RecordWriteError, TimeStepping, simulate
from contactlab.simulation.recording.storage import chunk_folder
from problem_data import files as npz_files


def started(path, steps=LONG, *more):
    """Start a run in a separate process, with this package and its compiled kernels."""
    script = Path(__file__).with_name("record_runs.py")
    package = str(Path(contactlab.__file__).parents[1])
    found = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(script), str(path), str(steps), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": found})


def watch(process, seconds):
    """Read what the run says of itself for a while; return (time, steps) of each line."""
    told = [(time.monotonic(), int(process.stdout.readline()))]
    while told[-1][0] - told[0][0] < seconds:
        told.append((time.monotonic(), int(process.stdout.readline())))
    return told


def stop(process, signal_number):
    process.send_signal(signal_number)
    process.stdout.close()
    process.wait(30)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.slow
def test_a_killed_run_loses_the_last_interval_at_most_and_goes_on(tmp_path):
    """SIGKILL in mid-run: a prefix with the same bits, not older than the interval; continued, the same record."""
    path = tmp_path / "run.npz"
    process = started(path)
    told = watch(process, 2.0)
    stop(process, signal.SIGKILL)
    assert not path.exists()
    left = Recording.open(path)
    # All that was told 0.3 s (the interval) and a portion before the end is there; on a loaded machine a portion takes
    # as long as the longest silence between two tellings.
    portion = max([0.3, *np.diff([when for when, _ in told])])
    before = [steps for when, steps in told if when <= told[-1][0] - 0.3 - portion]
    assert left.n_steps >= max(before, default=0)
    n = left.n_steps
    more = n + 200
    whole = simulate(scenes.tumble(), STEPPER, steps=more)
    assert same(left, whole.first(n))
    assert same(simulate(scenes.tumble(), STEPPER, steps=more, path=path, resume=True), whole)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    assert Recording.open(path).environment["resumed"].endswith(f"at step {n}")


def test_ctrl_c_loses_nothing_that_was_told(tmp_path):
    """SIGINT: the pending rows are written before the process ends."""
    path = tmp_path / "run.npz"
    process = started(path)
    told = watch(process, 0.5)
    stop(process, signal.SIGINT)
    assert process.returncode == 130
    left = Recording.open(path)
    assert left.n_steps >= told[-1][1]
    assert same(left, simulate(scenes.tumble(), STEPPER, steps=left.n_steps))


def unfinished(path, steps=60, world=scenes.tumble, stepper=STEPPER):
    """Write the chunks of a run that was stopped after this many steps."""
    stop_run(world(), stepper, path, steps, steps // 4)


@pytest.fixture(scope="module")
def whole():
    return simulate(scenes.tumble(), STEPPER, steps=100)


def test_a_kill_between_the_last_chunk_and_the_packed_file(tmp_path, monkeypatch, whole):
    """All steps are in chunks: they open, and going on packs them."""
    path = tmp_path / "run.npz"

    def killed(*arguments):
        raise SystemExit

    monkeypatch.setattr("contactlab.simulation.recording.writer.pack", killed)
    with pytest.raises(SystemExit):
        simulate(scenes.tumble(), STEPPER, steps=100, path=path)
    monkeypatch.undo()
    assert not path.exists()
    assert same(Recording.open(path), whole)
    assert same(simulate(scenes.tumble(), STEPPER, steps=100, path=path, resume=True), whole)
    assert not chunk_folder(path).exists()


@pytest.mark.parametrize("left", ["all", "some", "no description"])
def test_a_kill_between_the_packed_file_and_the_removal_of_the_chunks(left, tmp_path, monkeypatch, whole):
    """The packed file is whole; however many chunks are left, record and continuation are the same."""
    path = tmp_path / "run.npz"

    def killed(folder):
        if not path.exists():
            return
        files = sorted(folder.iterdir(), key=lambda file: file.suffix != ".json")
        for file in {"all": [], "some": files[:3], "no description": files[:1]}[left]:
            file.unlink()
        raise SystemExit

    monkeypatch.setattr("contactlab.simulation.recording.writer._clear", killed)
    with pytest.raises(SystemExit):
        simulate(scenes.tumble(), STEPPER, steps=60, path=path, chunk_steps=7, flush_seconds=0.0)
    monkeypatch.undo()
    assert same(Recording.open(path), whole.first(60))
    assert same(simulate(scenes.tumble(), STEPPER, steps=100, path=path, resume=True), whole)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_what_a_killed_writing_left_is_swept_away(tmp_path, whole):
    """Half-written files have names of their own and are never read."""
    path = tmp_path / "run.npz"
    unfinished(path)
    (chunk_folder(path) / ".chunk_000005.npz.1.partial").write_bytes(b"half")
    (tmp_path / ".run.npz.1.partial").write_bytes(b"half")
    assert same(Recording.open(path), whole.first(60))
    assert same(simulate(scenes.tumble(), STEPPER, steps=100, path=path, resume=True), whole)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_a_damaged_chunk_is_named_and_nothing_is_made_worse(tmp_path, whole):
    """Cut short, or with a changed bit: neither opened nor continued, and put right again it is as before."""
    path = tmp_path / "run.npz"
    unfinished(path)
    chunk = sorted(chunk_folder(path).glob("chunk_*.npz"))[2]
    content = chunk.read_bytes()
    changed = bytearray(content)
    changed[content.index(whole.rows["v"][20].tobytes()) + 3] ^= 4
    for bad in (content[: len(content) // 2], bytes(changed)):
        chunk.write_bytes(bad)
        for attempt in (
            lambda: Recording.open(path),
            lambda: simulate(scenes.tumble(), STEPPER, steps=100, path=path, resume=True),
        ):
            with pytest.raises(RecordError, match=chunk.name):
                attempt()
    chunk.write_bytes(content)
    assert same(Recording.open(path), whole.first(60))


def test_a_bit_changed_after_the_opening_is_reported(tmp_path):
    """Numbers are compared with their checksum when they are read."""
    path = tmp_path / "a.npz"
    npz_files.write_npz(path, {"one": npz_files.Source.of(np.arange(7.0))}, compress=False)
    file, content = npz_files.NpzFile(path, RecordError), bytearray(path.read_bytes())
    content[file.members["one"].start] ^= 1
    path.write_bytes(content)
    with pytest.raises(RecordError, match="checksum"):
        file.read("one")


@pytest.mark.parametrize("when", ["meta", "chunk", "pack"])
def test_a_full_disk_is_told_and_what_was_written_stands(when, tmp_path, monkeypatch, whole):
    """The error names file and reason; the record opens up to there; with free space the run resumes."""
    path = tmp_path / "run.npz"
    simulate(scenes.tumble(), STEPPER, steps=3).save(path)
    written = []

    def fsync(handle):
        written.append(handle)
        # The description and the start are the first two; 60 steps of chunks of 10 six more; then the packed file.
        if len(written) >= {"meta": 1, "chunk": 6, "pack": 9}[when]:
            raise OSError(errno.ENOSPC, "No space left on device")

    def run(**more):
        return simulate(scenes.tumble(), STEPPER, steps=60, path=path, chunk_steps=10, flush_seconds=0.0, **more)

    monkeypatch.setattr(npz_files.os, "fsync", fsync)
    with pytest.raises(RecordWriteError, match="No space left") as caught:
        run(overwrite=True)
    monkeypatch.undo()
    assert caught.value.errno == errno.ENOSPC
    kept = {"meta": 3, "chunk": 30, "pack": 60}[when]
    assert same(Recording.open(path), whole.first(kept))
    assert not list(tmp_path.rglob("*.partial"))
    assert same(run(resume=True), whole.first(60))


def test_a_record_is_gone_on_with_only_by_its_own_run(tmp_path):
    """Another world, another stepper, applied forces that were not there: refused, the entry named, nothing touched."""
    path = tmp_path / "run.npz"
    unfinished(path, world=lambda: scenes.block(0.3, 1.0))
    before = Recording.open(path)
    go_on = functools.partial(simulate, steps=100, path=path, resume=True)
    assert_fields(
        RecordError,
        ("world.half_spaces[0].material.mu", lambda: go_on(scenes.block(0.4, 1.0), STEPPER)),
        ("world.half_spaces", lambda: go_on(scenes.tumble(), STEPPER)),
        ("stepper.h", lambda: go_on(scenes.block(0.3, 1.0), TimeStepping(2e-3))),
    )
    with pytest.raises(RecordError, match="applied forces"):
        go_on(scenes.block(0.3, 1.0), STEPPER, tau=np.zeros(6))
    assert same(Recording.open(path), before)


def test_a_record_that_is_long_enough_is_returned(tmp_path, whole):
    """Going on to fewer steps than there are computes nothing and loses nothing; where there is no record it begins."""
    path = tmp_path / "run.npz"
    assert same(simulate(scenes.tumble(), STEPPER, steps=100, path=path, resume=True), whole)
    assert same(simulate(scenes.tumble(), STEPPER, steps=40, path=path, resume=True), whole)
    assert same(Recording.open(path), whole)


def test_a_copy_elsewhere_goes_on_too(tmp_path, whole):
    """The record holds no path: its chunks can be moved and renamed."""
    unfinished(tmp_path / "run.npz")
    chunk_folder(tmp_path / "run.npz").rename(chunk_folder(tmp_path / "b.npz"))
    assert same(simulate(scenes.tumble(), STEPPER, steps=100, path=tmp_path / "b.npz", resume=True), whole)
