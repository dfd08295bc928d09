"""Untrusted files: every reader ends with a `FileError` or reads, in bounded memory, for any content."""

import time
import zipfile
from dataclasses import replace

import fuzz_readers
import good_files
import numpy as np
import pytest
import reader_kinds
import simulation_scenes as scenes
from record_runs import stop_run

import contactlab
import lcp
import problem_data
from contactlab.cli import main
from contactlab.lab import DatasetError
from contactlab.lab.datasets import load_problem
from contactlab.lab.datasets.files import Arrays
from contactlab.multibody import load_urdf
from contactlab.simulation import RecordError, Recording, TimeStepping, load_mesh, load_urdf_world, simulate
from contactlab.simulation.explanation import explain_failure
from contactlab.simulation.scene import load_scene
from problem_data import ConstraintVelProblemData, FileError
from problem_data import files as npz_files

INPUTS = 40
BY_NAME = {kind.name: kind for kind in reader_kinds.KINDS}


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_refused_or_read(name):
    """Some dozens of each kind, by its structure; `benchmarks/fuzz_readers.py` tries tens of thousands."""
    kind = BY_NAME[name]
    if needed := reader_kinds.needs(kind):
        pytest.importorskip(needed)
    good = len(fuzz_readers.seeds_of(kind))
    words = []
    for i in range(good + INPUTS):
        outcome = fuzz_readers.tried(kind, fuzz_readers.content(kind, 0, i))
        assert outcome.word in ("typed", "accepted"), f"input {i}: {outcome.detail}"
        words.append(outcome.word)
    assert words[:good] == ["accepted"] * good
    assert "typed" in words


def test_one_class_catches_what_any_reader_refuses(tmp_path):
    """`contactlab.FileError` catches them, for every kind of file."""
    junk = b"\x00\xff junk"
    readers = {
        "a.npz": (Recording.open, problem_data.load, load_problem),
        "a.toml": (load_scene,),
        "a.urdf": (load_urdf,),
        "a.stl": (load_mesh,),
        "a.dat": (load_problem,),
    }
    for name, functions in readers.items():
        path = tmp_path / name
        path.write_bytes(junk)
        for function in functions:
            with pytest.raises(contactlab.FileError):
                function(path)


@pytest.mark.parametrize("compress", [True, False])
def test_archives_are_measured_before_they_are_unpacked(compress, tmp_path, monkeypatch):
    """Sizes in their headers are checked before arrays are read; a record to be mapped can be larger than memory."""
    monkeypatch.setattr(npz_files, "ARRAY_BYTES", 1 << 20)
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as archive:
        for name in ("M", "q"):
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.zeros(100_000))
    monkeypatch.setattr(npz_files, "_fill", lambda *_: pytest.fail("an array was read"))
    for read in (Arrays, load_problem, problem_data.load):
        with pytest.raises(FileError, match=r"unpacks to 1\.526 MiB, at most 1 MiB are taken into memory"):
            read(path)
    if not compress:
        assert npz_files.NpzFile(path, DatasetError).members["M"].nbytes == 800_000


def test_commands_refuse_a_bomb_in_one_line(tmp_path, monkeypatch, capsys):
    """Three readers once, and three ways to run out of memory."""
    monkeypatch.setattr(npz_files, "ARRAY_BYTES", 1 << 20)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, pos=np.zeros((100_000, 3)), pre_vel=np.zeros((10, 3)), M=np.zeros((9, 9)), q=np.zeros(9))
    for command in ("toss", "impact", "race", "explain", "verify"):
        assert main([command, str(path)]) == 2
        assert capsys.readouterr().err.startswith("contactlab: error:")


def test_an_archive_of_many_members_is_refused_at_once(tmp_path):
    """A hundred thousand headers would be minutes."""
    path = tmp_path / "many.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(2000):
            archive.writestr(f"a{i}.npy", b"")
    with pytest.raises(DatasetError, match="2000 members, at most 1000"):
        Arrays(path)


def test_a_row_that_is_zero_but_for_rounding_is_read_back(tmp_path):
    """The file of a failure can be explained: the response to cancelling terms is rounding, and not a contradiction."""
    noise = np.array([1.9e-17, 0.0, 0.0])

    def solve(f):
        out = f / np.array([2.0, 1.0, 0.5])[:, None] if f.ndim == 2 else f / np.array([2.0, 1.0, 0.5])
        return out + (noise[:, None] if f.ndim == 2 else noise)

    N = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.3]])
    data = ConstraintVelProblemData(solve_inertia=solve, Mv=[0.0, -1.0, 0.1], N=N, mu=[0.0, 0.0], r=[0, 0])
    path = tmp_path / "run_failed_step3.npz"
    problem_data.save(path, data)
    assert np.array_equal(problem_data.load(path).blocks().Y, data.blocks().Y)
    assert explain_failure(path).problem is not None
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["Y"][0, 1] = 1e-3
    np.savez(path, **arrays)
    with pytest.raises(FileError, match=r"Y: row 0 is not M\^-1 times J"):
        problem_data.load(path)


def test_damaged_dumps_end_explain_in_one_line(tmp_path, capsys):
    """Half a file, another kind of archive, encrypted ones."""
    path = tmp_path / "run_failed_step3.npz"
    good = good_files.problems()[2]
    for bad in (good[: len(good) // 2], b"PK\x03\x04" + bytes(100), good.replace(b"PK\x01\x02", b"PK\x01\x03")):
        path.write_bytes(bad)
        assert main(["explain", str(path)]) == 2
        assert "contactlab: error:" in capsys.readouterr().err
    encrypted = bytearray(good)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[good.index(mark) + at] |= 1
    path.write_bytes(bytes(encrypted))
    assert main(["explain", str(path)]) == 2


def test_joints_that_are_called_as_their_links_mimic():
    """Which is a good URDF; found by damaging one."""
    text = good_files.URDF.replace('name="k"', 'name="c"')
    (follower,) = load_urdf_world(text, collisions=False).joint_actions.mimics
    assert (follower.body, follower.followed) == ("c", "b")


def test_a_record_whose_contacts_are_no_state_says_so(tmp_path):
    """The error is raised on access: opening a large record does not read all of it."""
    run = simulate(scenes.cube_at_rest(), TimeStepping(2e-3), steps=3)
    replace(run, rows={**run.rows, "contact_id": run.rows["contact_id"] * 0}).save(tmp_path / "run.npz")
    with pytest.raises(RecordError, match="state 3, contact_ids: must ascend without repetition"):
        Recording.open(tmp_path / "run.npz").state(3)


def test_numbers_of_a_type_that_numpy_does_not_have(tmp_path):
    """A float of 64 bits with another bias of its exponent."""
    h5py = pytest.importorskip("h5py")
    from contactlab.lab.datasets import load_fclib, save_fclib

    save_fclib(tmp_path / "one.hdf5", lcp.FrictionProblem(np.eye(3), -np.ones(3), [0.5]))
    with h5py.File(tmp_path / "one.hdf5", "r+") as file:
        group = file["fclib_local"]
        size = group["vectors/q"].size
        del group["vectors/q"]
        odd = h5py.h5t.IEEE_F64LE.copy()
        odd.set_ebias(100_000)
        h5py.h5d.create(group["vectors"].id, b"q", odd, h5py.h5s.create_simple((size,)))
    with pytest.raises(DatasetError, match="type that numpy does not have"):
        load_fclib(tmp_path / "one.hdf5")


def test_a_small_file_cannot_ask_for_a_large_matrix(tmp_path):
    """Blocks that a text announces and does not fill."""
    path = tmp_path / "a.dat"
    path.write_text("1 0\n0\n20000\n0\n20000\n1\n1\n20000\n20000\n0\n1\n1\n20000\n20000\n2\n1\n0\n0\n0\n")
    begun = time.perf_counter()
    with pytest.raises(DatasetError, match="takes more than 1 GiB"):
        load_problem(path)
    assert time.perf_counter() - begun < 1.0


def test_descriptions_of_records_are_bounded(tmp_path, monkeypatch):
    """A folder's description is read through the same door."""
    path = tmp_path / "a.npz"
    stop_run(scenes.tumble(), TimeStepping(1e-3), path, 5, 5)
    meta = tmp_path / "a.npz.chunks" / "meta.json"
    meta.write_bytes(meta.read_bytes() + b" " * (1 << 27))
    with pytest.raises(RecordError, match="larger than 64 MiB"):
        Recording.open(path)
