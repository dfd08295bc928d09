"""One writer per path: the second one gets the owner's name and ends, and a dead owner's lock is taken over."""

import errno
import os
import platform
import signal
import sys

import numpy as np
import pytest
import simulation_scenes as scenes
from record_runs import STEPPER, same
from scene_texts import CUBE
from test_record_crash import started, stop, watch

import lcp
from contactlab.cli import main
from contactlab.lab import SweepError, race
from contactlab.simulation import RecordError, Recording, simulate
from contactlab.simulation.recording.storage import chunk_folder
from contactlab.simulation.recording.writer import Lock


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGSTOP and SIGKILL")
def test_a_second_run_ends_at_once_and_harms_nothing(tmp_path, capsys):
    """Exit status 2, with process and host in the text, with --resume or without; after a kill the right is free."""
    path, scene = tmp_path / "run.npz", tmp_path / "scene.toml"
    scene.write_text(CUBE)
    process = started(path)
    try:
        watch(process, 0.4)
        for more in ([], ["--resume"]):
            assert main(["run", str(scene), "--out", str(path), *more]) == 2
            told = capsys.readouterr().err
            assert f"{path}: is being written by process {process.pid} on {platform.node()} since " in told
        (_, before), *_, (_, after) = watch(process, 0.4)
        assert after > before
    finally:
        stop(process, signal.SIGKILL)
    assert (chunk_folder(path) / "lock").read_text().startswith(f"{process.pid} ")
    n = Recording.open(path).n_steps
    assert n > 0
    simulate(scenes.tumble(), STEPPER, steps=n + 10, path=path, resume=True)
    assert [file.name for file in tmp_path.iterdir() if file != scene] == ["run.npz"]


def test_a_run_within_a_run_is_refused(tmp_path):
    """Threads and callbacks of one process are writers, too; the outer run ends undisturbed."""
    path, refused = tmp_path / "run.npz", []

    def meddle(done, total):
        with pytest.raises(RecordError) as caught:
            simulate(scenes.tumble(), STEPPER, steps=3, path=path)
        refused.append(caught.value.detail)

    run = simulate(scenes.tumble(), STEPPER, steps=20, path=path, progress=meddle)
    assert refused
    assert all(f"process {os.getpid()} on" in text for text in refused)
    assert same(run, simulate(scenes.tumble(), STEPPER, steps=20))


def test_a_refused_resume_leaves_no_folder(tmp_path):
    """A packed record of another run remains the only file."""
    path = tmp_path / "a.npz"
    simulate(scenes.block(0.3, 1.0), STEPPER, steps=3, path=path)
    with pytest.raises(RecordError, match="record of another"):
        simulate(scenes.tumble(), STEPPER, steps=9, path=path, resume=True)
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="patches fcntl")
def test_a_file_system_without_locks_excludes_nobody(tmp_path, monkeypatch):
    """Other errors of the disk are raised."""
    import fcntl

    def fail_with(number):
        def fail(handle, operation):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", fail)

    path = tmp_path / "lock"
    fail_with(errno.ENOLCK)
    first, second = Lock(path), Lock(path)
    first.release()
    second.release()
    fail_with(errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        Lock(path)


def test_a_second_race_is_refused(tmp_path):
    """At any stage of the first one."""
    problem = lcp.LCP(np.eye(2), -np.ones(2))
    lock = Lock(tmp_path / "lock")
    with pytest.raises(SweepError, match="another race is writing here: process"):
        race([("a", problem)], "Lemke", out=tmp_path)
    lock.release()
