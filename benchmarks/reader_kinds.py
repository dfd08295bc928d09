"""The kinds of files that readers accept: valid ones (`good_files`), their damage, and their readers."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from damage import Damage, of_hdf5, of_json, of_npz, of_toml, of_words, of_xml
from good_files import (
    COLLADA,
    EXPERIMENTS,
    MJCF,
    SCENE,
    URDF,
    ascii_stl,
    drops,
    elbows,
    fclibs,
    impacts,
    kept,
    lcps,
    logs,
    logs_as_text,
    metas,
    obj,
    problems,
    records,
    rows,
    scenes,
    siconos,
    stl,
    tosses,
)


@dataclass(frozen=True)
class Kind:
    """Kind of file: its name, valid files, the function that damages them, and the reader."""

    name: str
    file: str
    seeds: Callable[[], list[bytes]]
    damage: Damage
    read: Callable[[Path], object]


def read_record(path: Path) -> object:
    """Open it, and read all of it."""
    from contactlab.simulation import Recording

    found = Recording.open(path)
    state = found.state(found.n_steps)
    assert all(np.isfinite(part).all() for part in (found.q, found.v, state.q, state.v))
    return len(found.contacts), [np.array(values).sum() for values in found.rows.values() if values.dtype.kind == "f"]


def read_chunks(path: Path) -> object:
    """Read the description of a record in a folder of chunks."""
    from contactlab.simulation import Recording

    folder = path.parent / "run.npz.chunks"
    folder.mkdir(exist_ok=True)
    (folder / "chunk_000000.npz").write_bytes(records_once()[0])
    shutil.copy(path, folder / "meta.json")
    return Recording.open(path.parent / "run.npz").n_steps


@functools.cache
def records_once() -> list[bytes]:
    return records()


def read_problem_data(path: Path) -> object:
    import problem_data

    data = problem_data.load(path)
    assert all(np.isfinite(part).all() for part in (data.blocks().J, data.blocks().Y, data.blocks().k))
    return data


def read_explained(path: Path) -> object:
    from contactlab.cli.records import explanation_lines
    from contactlab.simulation.explanation import explain_failure

    return explanation_lines(explain_failure(path), 5)


def read_scene(path: Path) -> object:
    from contactlab.simulation.scene import load_scene

    scene = load_scene(path)
    assert np.isfinite(scene.world.initial_q).all()
    assert np.isfinite(scene.duration)
    return scene


def read_experiment(path: Path) -> object:
    from contactlab.lab.sweeps.grids import load_experiment

    (path.parent / "scene.toml").write_text(SCENE)
    (path.parent / "one.npz").write_bytes(lcps()[0])
    return load_experiment(path)


def read_urdf(path: Path) -> object:
    from contactlab.multibody import load_urdf
    from contactlab.simulation import load_urdf_world

    (path.parent / "part.stl").write_bytes(stl())
    model = load_urdf(path)
    world = load_urdf_world(path)
    assert np.isfinite(world.initial_q).all()
    return model


def read_mjcf(path: Path) -> object:
    from contactlab.simulation import load_mjcf_world

    world = load_mjcf_world(path)
    assert np.isfinite(world.initial_q).all()
    return world


def read_mesh(path: Path) -> object:
    from contactlab.collision.mesh_files import load_hull, load_mesh

    mesh = load_mesh(path)
    assert np.isfinite(mesh.vertices).all()
    return load_hull(path)


def read_problems(path: Path) -> object:
    """Read as a race does: errors are reported per file, and the other files are still read."""
    from contactlab.lab.datasets import load_problems
    from contactlab.lab.datasets.files import DatasetError

    found = list(load_problems(path))
    for _, problem in found:
        if isinstance(problem, DatasetError):
            raise problem
    return found


def read_tosses(path: Path) -> object:
    from contactlab.lab.datasets import load_cube_tosses

    return list(load_cube_tosses(path))


def read_impacts(path: Path) -> object:
    from contactlab.lab.datasets.recordings import load_planar_impacts

    return load_planar_impacts(path)


def read_drops(path: Path) -> object:
    from square_drops import load_square_drops

    return load_square_drops(path)


def read_elbows(path: Path) -> object:
    from elbow_tosses import load_elbow_tosses

    found = load_elbow_tosses(path)
    assert np.isfinite(found.joint).all()
    return len(found), found.dt


def read_log(path: Path) -> object:
    from contactlab.lab.datasets.recordings import load_arm_log

    found = load_arm_log(path)
    assert all(np.isfinite(part).all() for part in (found.q, found.tau))
    return found.dt


def read_kept(path: Path) -> object:
    from contactlab.lab.racing.kinds import read_problem

    read_problem.cache_clear()
    return read_problem(str(path))


def read_rows_of_sweep(path: Path) -> object:
    from contactlab.lab.sweeps.tasks import Store

    folder = path.parent / "sweep"
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / "rows.jsonl")
    with Store(folder) as store:
        return len(store.rows)


def of_json_lines(rng: np.random.Generator, data: bytes) -> bytes:
    """Damage one line of a file of JSON lines."""
    lines = data.splitlines(keepends=True)
    i = int(rng.integers(len(lines)))
    lines[i] = of_json(rng, lines[i]) + b"\n"
    return b"".join(lines)


KINDS = (
    Kind("record", "run.npz", records, of_npz, read_record),
    Kind("record's description", "meta.json", metas, of_json, read_chunks),
    Kind("problem data", "data.npz", problems, of_npz, read_problem_data),
    Kind("failed step", "run_failed_step3.npz", lambda: problems()[::2], of_npz, read_explained),
    Kind("scene", "scene.toml", scenes, of_toml, read_scene),
    Kind("experiment", "experiment.toml", lambda: [text.encode() for text in EXPERIMENTS], of_toml, read_experiment),
    Kind("URDF", "robot.urdf", lambda: [URDF.encode()], of_xml, read_urdf),
    Kind("MJCF", "robot.xml", lambda: [MJCF.encode()], of_xml, read_mjcf),
    Kind("STL", "part.stl", lambda: [stl()], of_words, read_mesh),
    Kind("STL as text", "part.stl", lambda: [ascii_stl()], of_words, read_mesh),
    Kind("OBJ", "part.obj", lambda: [obj()], of_words, read_mesh),
    Kind("COLLADA", "part.dae", lambda: [COLLADA.encode()], of_xml, read_mesh),
    Kind("problems", "one.npz", lcps, of_npz, read_problems),
    Kind("Siconos", "one.dat", siconos, of_words, read_problems),
    Kind("FCLIB", "one.hdf5", fclibs, of_hdf5, read_problems),
    Kind("tosses", "tosses.npz", tosses, of_npz, read_tosses),
    Kind("elbow tosses", "elbows.npz", elbows, of_npz, read_elbows),
    Kind("robot's recording", "log.npz", logs, of_npz, read_log),
    Kind("robot's recording as text", "log.csv", logs_as_text, of_words, read_log),
    Kind("planar impacts", "impacts.npz", impacts, of_npz, read_impacts),
    Kind("square drops", "drops.npz", drops, of_npz, read_drops),
    Kind("problem of a race", "kept.npz", kept, of_npz, read_kept),
    Kind("rows of a sweep", "rows.jsonl", rows, of_json_lines, read_rows_of_sweep),
)


def needs(kind: Kind) -> str:
    """Return the module that a kind needs and that can be missing."""
    modules = {"MJCF": "mujoco", "COLLADA": "collada", "FCLIB": "h5py"}
    meshes = ("STL", "STL as text", "OBJ", "URDF")
    return modules.get(kind.name, "trimesh" if kind.name in meshes else "")
