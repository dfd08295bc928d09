"""Every reader of files on damaged files: each ends with a `FileError` or reads, in bounded memory and time.

Run: ``python benchmarks/fuzz_readers.py [--inputs 20000] [--kind NAME ...] [--seed 0] [--keep FOLDER]
[--out benchmarks/results/fuzz_DATE]``. Writes OUT.csv and OUT.md: inputs of each kind, how many raised the typed error,
were accepted, ended otherwise, and the most memory and time that one took. Each kind has a process of its own, whose
memory is limited; what ends it is told, and another goes on behind that input. ``--keep`` keeps the inputs that ended
otherwise.

The good files that are damaged (`damage`) are small and made here, by what writes such files.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from damage import Damage, damaged, of_hdf5, of_json, of_npz, of_toml, of_words, of_xml

MEMORY = 6 << 30  # bytes of addresses a process may have
PATIENCE = 20  # s for one input
HEAD = ("kind", "inputs", "typed", "accepted", "escaped", "slow", "died", "most MB", "slowest s")


@dataclass(frozen=True)
class Kind:
    """A kind of file: how it is called, good ones, how it is damaged, how it is read."""

    name: str
    file: str
    seeds: Callable[[], list[bytes]]
    damage: Damage
    read: Callable[[Path], object]


# --- good files -----------------------------------------------------------------------------------------------------

SCENE = """\
[scene]
name = "pair"
duration = 0.01
[stepper]
h = 2e-3
[[material]]
name = "rubber"
mu = 0.5
[[half_space]]
name = "floor"
material = "rubber"
[[body]]
name = "cube"
shape = "box"
half_extents = [0.1, 0.1, 0.1]
mass = 1.0
material = "rubber"
position = [0.0, 0.0, 0.1]
velocity = [1.0, 0.0, 0.0]
[[body]]
name = "ball"
shape = "sphere"
radius = 0.1
mass = 1.0
material = "rubber"
position = [0.5, 0.0, 0.11]
"""

EXPERIMENTS = (
    '[sweep]\nscene = "scene.toml"\nseeds = 3\n[parameters]\nstepper.h = [1e-3, 2e-3]\n[spread]\n'
    '"body.cube.velocity" = 0.1\n',
    '[sweep]\nproblems = ["one.npz"]\ntolerance = 1e-9\n[[solver]]\nname = "APGD"\nmax_iterations = [100, 1000]\n',
)

URDF = """<robot name="r"><material name="m"><color rgba="1 0 0 1"/></material>
<link name="a"><inertial><origin xyz="0 0 0.1" rpy="0 0 0.2"/><mass value="1"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
<collision><origin xyz="0 0 0"/><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<link name="b"><inertial><mass value="0.5"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
<collision><geometry><cylinder radius="0.05" length="0.3"/></geometry></collision></link>
<link name="c"><inertial><mass value="0.5"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
<collision><geometry><mesh filename="part.stl" scale="1 1 1"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><origin xyz="0 0 0.2"/>
<limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.3" effort="10" velocity="3"/><mimic joint="j" multiplier="2" offset="0.1"/></joint></robot>"""

MJCF = """<mujoco model="m"><compiler angle="radian"/><option timestep="0.002" gravity="0 0 -9.8"/>
<default><joint damping="0.1" armature="0.01"/></default>
<worldbody><geom name="floor" type="plane" size="5 5 0.1" friction="0.7"/>
<body name="base" pos="0 0 0.5"><freejoint/><geom type="box" size="0.1 0.1 0.05" density="500"/>
<body name="arm" pos="0.2 0 0"><joint name="h" type="hinge" axis="0 1 0" range="-1 1" limited="true"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/><site name="s" pos="0.1 0 0"/></body></body></worldbody>
<actuator><position name="servo" joint="h" kp="10"/></actuator>
<keyframe><key name="home" qpos="0 0 0.5 1 0 0 0 0.1"/></keyframe></mujoco>"""

COLLADA = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 1 2 3 0 3 2</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="w">
<node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>"""

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.1
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def scenes() -> list[bytes]:
    """The one above and, in a checkout, those of the examples that are a file alone."""
    folder = Path(__file__).resolve().parents[1] / "examples" / "scenes"
    texts = [SCENE, *(file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.toml")))]
    return [text.encode() for text in texts if len(text) < 20_000 and "urdf" not in text and "mesh" not in text]


def stl() -> bytes:
    """A tetrahedron, as binary STL."""
    facets = np.zeros(4, np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("c", "<u2")]))
    facets["v"] = TETRAHEDRON[FACES]
    return bytes(80) + np.uint32(4).tobytes() + facets.tobytes()


def ascii_stl() -> bytes:
    """The same as text."""
    corner = "vertex {} {} {}\n"
    facets = "".join(
        f"facet normal 0 0 0\nouter loop\n{''.join(corner.format(*x) for x in corners)}endloop\nendfacet\n"
        for corners in TETRAHEDRON[FACES].tolist()
    )
    return f"solid t\n{facets}endsolid t\n".encode()


def obj() -> bytes:
    """The same as OBJ, with materials that are not there."""
    lines = ["mtllib none.mtl", *("v {} {} {}".format(*x) for x in TETRAHEDRON.tolist()), "usemtl m"]
    return "\n".join([*lines, *("f {} {} {}".format(*(i + 1)) for i in FACES)]).encode()


def npz(**arrays: Any) -> bytes:
    """Arrays as an archive."""
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.asarray(value) for name, value in arrays.items()})
    return buffer.getvalue()


def written(write: Callable[[Path], object], name: str = "file.npz") -> bytes:
    """What somebody writes to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


@functools.cache
def recording() -> Any:
    """A few steps of the scene."""
    from contactlab.simulation import simulate
    from contactlab.simulation.scene import load_scene

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.toml"
        path.write_text(SCENE)
        scene = load_scene(path)
    return simulate(scene.world, scene.stepper, steps=8)


def records() -> list[bytes]:
    return [written(functools.partial(recording().save, compress=compress)) for compress in (False, True)]


@functools.cache
def problems() -> list[bytes]:
    """Problem data of both levels, and the problem of a step."""
    import problem_data
    from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

    velocity = ConstraintVelProblemData(
        M=np.diag([2.0, 1.0, 0.5]), Mv=[0.0, -1.0, 0.1], N=[[0.0, 1.0, 0.0]], F=[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        r=[2], mu=[0.4],
    )  # fmt: skip
    acceleration = ConstraintAccelProblemData(
        M=np.eye(2), tau=[0.0, -1.0], N=[[0.0, 1.0]], mu_non_sliding=[0.3], F=[[1.0, 0.0]], r=[1]
    )
    step = next(i for i in range(recording().n_steps) if recording().islands[i])
    data = [velocity, acceleration, recording().problem(step)]
    return [written(lambda path, one=one: problem_data.save(path, one)) for one in data]


def metas() -> list[bytes]:
    with np.load(io.BytesIO(records()[0])) as archive:
        return [str(archive["meta"]).encode()]


def lcps() -> list[bytes]:
    M, q = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([-1.0, -2.0])
    return [
        npz(M=M, q=q),
        npz(M=M, q=q, n_free=1),
        npz(M=M, q=q, lo=[-1.0, 0.0], hi=[1.0, np.inf]),
        npz(M=np.r_[M.ravel(), 1.0], q=np.r_[q, -1.0], n=[2, 1]),
    ]


def tosses() -> list[bytes]:
    n = 12
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    start = np.concatenate([np.zeros((2, 3)), quat[:2], np.zeros((2, 6))], axis=1)
    return [
        npz(
            pos=np.arange(3.0 * n).reshape(n, 3),
            quat_wxyz=quat,
            offsets=[0, 6, n],
            toss_id=[3, 5],
            eval_start=[0, 1],
            eval_ic=start,
            dt=0.01,
            half_width=0.05,
            mass=0.37,
            inertia=1e-3,
            gravity=9.8,
        )
    ]


def impacts() -> list[bytes]:
    n = 4
    rows = np.tile([0.0, 1.0, 0.02], (n, 1))
    return [
        npz(
            pre_vel=np.ones((n, 3)),
            post_vel=-np.ones((n, 3)),
            jac_normal=rows,
            jac_tangent=rows[:, [1, 0, 2]],
            flags=np.zeros((n, 2), dtype=np.int64),
            mass=0.04,
            inertia=1e-5,
        )
    ]


def drops() -> list[bytes]:
    path = np.arange(24.0).reshape(2, 12)
    return [npz(x=path, z=path, theta=path, traj_id=[1, 2], dt=0.004, half_width=0.02)]


def siconos() -> list[bytes]:
    lcp = "2\n0\n2\n2\n2\n2\n2 0 1 3\n-1 -2\n"
    blocks = "2\n1\n2\n2\n1 1 1\n2\n2\n2 1\n0 1\n0\n1\n2 0 1 3\n-1 -2\n"
    mixed = "0 1\n1\n1\n2\n3\n0.5\n0.25\n-1\n-2\n"
    friction = "3\n1\n0\n3\n3\n3\n3\n2 0 0 0 2 0 0 0 2\n-1 0.1 0\n0.5\n"
    sparse = "3\n1\n2\n3\n3\n0\nCSparse Version 3\n3-by-3, nzmax: 3 nnz: 3\ncol 0 : locations 0 to 0\n0 : 2\n" \
        "col 1 : locations 1 to 1\n1 : 2\ncol 2 : locations 2 to 2\n2 : 2\n-1 0 0\n0.5\n"  # fmt: skip
    return [text.encode() for text in (lcp, blocks, mixed, friction, sparse)]


def fclibs() -> list[bytes]:
    import lcp
    from contactlab.lab.datasets import save_fclib

    local = lcp.FrictionProblem(np.eye(6) * 2.0, [-1.0, 0.1, 0.0, -0.5, 0.0, 0.2], [0.3, 0.4])
    whole = lcp.GlobalFrictionProblem(np.eye(4), np.arange(12.0).reshape(4, 3), np.ones(4), -np.ones(3), [0.3])
    return [written(lambda path, one=one: save_fclib(path, one), "file.hdf5") for one in (local, whole)]


def races() -> list[bytes]:
    from contactlab.lab.racing.row import Row, write_rows

    row = Row(
        "p", "Lemke", "SOLVED", 1e-12, 3, 1e-3, 2, "", "LCP", "p", 1e-12, 1e-3, 3, "SOLVED", "contactlab", 1e-9, ""
    )
    return [written(lambda path: write_rows(path, [row, row]), "rows.csv")]


def kept() -> list[bytes]:
    import lcp
    from contactlab.lab.racing.problem_files import keep_problem

    given = (lcp.LCP(np.eye(2), -np.ones(2)), lcp.FrictionProblem(np.eye(3), -np.ones(3), [0.5]))
    with tempfile.TemporaryDirectory() as folder:
        return [keep_problem(Path(folder), problem).read_bytes() for problem in given]


def rows() -> list[bytes]:
    lines = [{"key": f"{i}" * 64, "outcome": "done", "seconds": 0.1, "seed": i, "end": 0.5} for i in range(3)]
    return ["".join(json.dumps(line) + "\n" for line in lines).encode()]


# --- readers --------------------------------------------------------------------------------------------------------


def read_record(path: Path) -> object:
    """Open it, and look at all of it."""
    from contactlab.simulation import Recording

    found = Recording.open(path)
    state = found.state(found.n_steps)
    assert all(np.isfinite(part).all() for part in (found.q, found.v, state.q, state.v))
    return len(found.contacts), [np.array(values).sum() for values in found.rows.values() if values.dtype.kind == "f"]


def read_chunks(path: Path) -> object:
    """The description of a record in a folder of chunks."""
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
    from contactlab.cli.explain import lines
    from contactlab.simulation.explanation import explain_failure

    return lines(explain_failure(path), 5)


def read_scene(path: Path) -> object:
    from contactlab.simulation.scene import load_scene

    scene = load_scene(path)
    assert np.isfinite(scene.world.initial_q).all()
    assert np.isfinite(scene.duration)
    return scene


def read_experiment(path: Path) -> object:
    from contactlab.lab.sweeps.experiment import load_experiment

    (path.parent / "scene.toml").write_text(SCENE)
    (path.parent / "one.npz").write_bytes(lcps()[0])
    return load_experiment(path)


def read_urdf(path: Path) -> object:
    from contactlab.multibody import Model
    from contactlab.simulation import World

    (path.parent / "part.stl").write_bytes(stl())
    model = Model.from_urdf(path)
    world = World.from_urdf(path)
    assert np.isfinite(world.initial_q).all()
    return model


def read_mjcf(path: Path) -> object:
    from contactlab.simulation import World

    world = World.from_mjcf(path)
    assert np.isfinite(world.initial_q).all()
    return world


def read_mesh(path: Path) -> object:
    from contactlab.contact.mesh_files import load_hull, load_mesh

    mesh = load_mesh(path)
    assert np.isfinite(mesh.vertices).all()
    return load_hull(path)


def read_problems(path: Path) -> object:
    """As a race reads them: errors are told of each file, the others go on."""
    from contactlab.lab.datasets import load_problems
    from contactlab.lab.errors import DatasetError

    found = list(load_problems(path))
    for _, problem in found:
        if isinstance(problem, DatasetError):
            raise problem
    return found


def read_tosses(path: Path) -> object:
    from contactlab.lab.datasets import load_cube_tosses

    return list(load_cube_tosses(path))


def read_impacts(path: Path) -> object:
    from contactlab.lab.datasets.planar_impacts import load_planar_impacts

    return load_planar_impacts(path)


def read_drops(path: Path) -> object:
    from contactlab.lab.datasets.square_drops import load_square_drops

    return load_square_drops(path)


def read_race(path: Path) -> object:
    from contactlab.lab.racing.row import read_rows

    return read_rows(path)


def read_kept(path: Path) -> object:
    from contactlab.lab.racing.problem_files import read_problem

    read_problem.cache_clear()
    return read_problem(str(path))


def read_rows_of_sweep(path: Path) -> object:
    from contactlab.lab.sweeps.store import Store

    folder = path.parent / "sweep"
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / "rows.jsonl")
    with Store(folder) as store:
        return len(store.rows)


def of_json_lines(rng: np.random.Generator, data: bytes) -> bytes:
    """One line of a file of JSON lines."""
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
    Kind("planar impacts", "impacts.npz", impacts, of_npz, read_impacts),
    Kind("square drops", "drops.npz", drops, of_npz, read_drops),
    Kind("rows of a race", "rows.csv", races, of_words, read_race),
    Kind("problem of a race", "kept.npz", kept, of_npz, read_kept),
    Kind("rows of a sweep", "rows.jsonl", rows, of_json_lines, read_rows_of_sweep),
)


def needs(kind: Kind) -> str:
    """The module that a kind needs and may be missing."""
    modules = {"MJCF": "mujoco", "COLLADA": "collada", "FCLIB": "h5py"}
    meshes = ("STL", "STL as text", "OBJ", "URDF")
    return modules.get(kind.name, "trimesh" if kind.name in meshes else "")


# --- the run --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of one input: ``typed``, ``accepted``, ``escaped`` or ``slow``; how, and in what time."""

    word: str
    seconds: float
    detail: str = ""


@functools.cache
def seeds_of(kind: Kind) -> list[bytes]:
    return kind.seeds()


def content(kind: Kind, seed: int, i: int) -> bytes:
    """Input i of a kind; the first ones are the good files."""
    good = seeds_of(kind)
    if i < len(good):
        return good[i]
    rng = np.random.default_rng([seed, zlib.crc32(kind.name.encode()), i])
    return damaged(rng, good[int(rng.integers(len(good)))], kind.damage)


def tried(kind: Kind, data: bytes) -> Outcome:
    """Read one input, in a folder of its own."""
    from problem_data import FileError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / kind.file
        path.write_bytes(data)
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings(), limited(PATIENCE):
                warnings.simplefilter("ignore")
                kind.read(path)
        except FileError as error:
            # Who is told must be told something.
            word, detail = ("typed", "") if str(error).strip() else ("escaped", "an error without words")
        except TooSlow:
            word, detail = "slow", "".join(traceback.format_exc(limit=-4))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            word, detail = "escaped", "".join(traceback.format_exception(error, limit=-4))
        else:
            word, detail = "accepted", ""
        return Outcome(word, time.perf_counter() - begun, detail)


class TooSlow(BaseException):
    """One input took longer than anybody waits."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `TooSlow` after so many seconds, where the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def child(name: str, seed: int, first: int, last: int) -> None:
    """Try inputs of one kind and tell of each, before and after."""
    import resource

    kind = next(one for one in KINDS if one.name == name)
    for i in range(len(seeds_of(kind))):
        tried(kind, content(kind, seed, i))  # imports and compiles
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for i in range(first, last):
        print(json.dumps({"begins": i}), file=out, flush=True)
        data = content(kind, seed, i)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcome = tried(kind, data)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        told = {"i": i, "word": outcome.word, "seconds": outcome.seconds, "grown": grown, "detail": outcome.detail}
        print(json.dumps(told), file=out, flush=True)


def campaign(kind: Kind, seed: int, inputs: int, keep: Path | None) -> dict[str, Any]:
    """Run the inputs of one kind; its row."""
    row: dict[str, Any] = dict.fromkeys(HEAD, 0) | {"kind": kind.name, "inputs": inputs}
    first = 0
    seen: set[str] = set()

    def told(i: int, word: str, detail: str) -> None:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{kind.name.replace(' ', '_')}_{i}_{kind.file}").write_bytes(content(kind, seed, i))
        lines = detail.strip().splitlines() or [""]
        # Where it was raised, and of what class.
        line = (
            next((one for one in reversed(lines) if one.lstrip().startswith("File ")), "") + lines[-1].partition(":")[0]
        )
        if line not in seen:
            seen.add(line)
            print(f"{kind.name} {i} {word}: {detail}", file=sys.stderr, flush=True)

    while first < inputs:
        command = [sys.executable, __file__, "--child", kind.name, str(seed), str(first), str(inputs)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        at = first
        for line in process.stdout:
            found = json.loads(line)
            if "begins" in found:
                at = found["begins"]
                continue
            row[found["word"]] += 1
            row["most MB"] = max(row["most MB"], found["grown"] // 1024)
            row["slowest s"] = max(row["slowest s"], round(found["seconds"], 2))
            if found["word"] in ("escaped", "slow"):
                told(found["i"], found["word"], found["detail"])
            at = found["i"] + 1
        if process.wait() != 0:
            row["died"] += 1
            told(at, "died", f"exit status {process.returncode}")
            at += 1
        first = at
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000, help="of all kinds together")
    parser.add_argument("--kind", action="append", help="only these")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for inputs that ended otherwise")
    parser.add_argument("--out", type=Path, help="path of the tables, without ending")
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], *map(int, sys.argv[3:]))
        return
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if not arguments.kind or kind.name in arguments.kind]
    each = math.ceil(arguments.inputs / len(kinds))
    rows = []
    for kind in kinds:
        rows.append(campaign(kind, arguments.seed, each, arguments.keep))
        print(rows[-1], flush=True)
    numbers = [name for name in HEAD if name != "kind"]
    total = {name: (max if name in ("most MB", "slowest s") else sum)(row[name] for row in rows) for name in numbers}
    rows.append({"kind": "all", **total})
    table = ["| " + " | ".join(HEAD) + " |", "| " + " | ".join("---" for _ in HEAD) + " |"]
    table += ["| " + " | ".join(str(row[name]) for name in HEAD) + " |" for row in rows]
    print("\n".join(table))
    if arguments.out is not None:
        with arguments.out.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, HEAD)
            writer.writeheader()
            writer.writerows(rows)
        arguments.out.with_suffix(".md").write_text("\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
