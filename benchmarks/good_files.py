"""Small valid files of every kind that readers accept, made here by the writers of such files."""

from __future__ import annotations

import functools
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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
    """Return the scene above and, in a checkout, the scenes of the examples that are single files."""
    folder = Path(__file__).resolve().parents[1] / "examples" / "scenes"
    texts = [SCENE, *(file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.toml")))]
    return [text.encode() for text in texts if len(text) < 20_000 and "urdf" not in text and "mesh" not in text]


def stl() -> bytes:
    """Return a tetrahedron, as binary STL."""
    facets = np.zeros(4, np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("c", "<u2")]))
    facets["v"] = TETRAHEDRON[FACES]
    return bytes(80) + np.uint32(4).tobytes() + facets.tobytes()


def ascii_stl() -> bytes:
    """Return the same as text."""
    corner = "vertex {} {} {}\n"
    facets = "".join(
        f"facet normal 0 0 0\nouter loop\n{''.join(corner.format(*x) for x in corners)}endloop\nendfacet\n"
        for corners in TETRAHEDRON[FACES].tolist()
    )
    return f"solid t\n{facets}endsolid t\n".encode()


def obj() -> bytes:
    """Return the same as OBJ, with missing materials."""
    lines = ["mtllib none.mtl", *("v {} {} {}".format(*x) for x in TETRAHEDRON.tolist()), "usemtl m"]
    return "\n".join([*lines, *("f {} {} {}".format(*(i + 1)) for i in FACES)]).encode()


def npz(**arrays: Any) -> bytes:
    """Return arrays as an archive."""
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.asarray(value) for name, value in arrays.items()})
    return buffer.getvalue()


def written(write: Callable[[Path], object], name: str = "file.npz") -> bytes:
    """Return the bytes that a function writes to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


@functools.cache
def recording() -> Any:
    """Return a few steps of the scene."""
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
    """Return problem data of both levels, and the problem of a step."""
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


def elbows() -> list[bytes]:
    n, m = 2, 5
    still = np.zeros((n, m, 3))
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (n, m, 1))
    poses = {"pos": still, "quat_wxyz": quat, "joint": np.zeros((n, m))}
    rates = {"lin_vel_world": still, "ang_vel_body": still, "joint_vel": np.zeros((n, m))}
    return [npz(**poses, **rates, eval_start=[0, 1], toss_id=[3, 5], dt=0.01)]


def logs() -> list[bytes]:
    t = 0.01 * np.arange(12)
    return [npz(t=t, q=np.zeros((12, 2)), tau=np.ones((12, 2)), v=np.zeros((12, 2)))]


def logs_as_text() -> list[bytes]:
    return [("t,q0,tau0,v0\n" + "".join(f"{0.01 * k:.2f},0.5,1e-3,-0.25\n" for k in range(12))).encode()]


def drops() -> list[bytes]:
    path = np.arange(24.0).reshape(2, 12)
    return [npz(x=path, z=path, theta=path, traj_id=[1, 2], dt=0.004, half_width=0.02)]


def siconos() -> list[bytes]:
    lcp = "2\n0\n2\n2\n2\n2\n2 0 1 3\n-1 -2\n"
    blocks = "2\n1\n2\n2\n1 1 1\n2\n2\n2 1\n0 1\n0\n1\n2 0 1 3\n-1 -2\n"
    mixed = "0 1\n1\n1\n2\n3\n0.5\n0.25\n-1\n-2\n"
    friction = "3\n1\n0\n3\n3\n3\n3\n2 0 0 0 2 0 0 0 2\n-1 0.1 0\n0.5\n"
    return [text.encode() for text in (lcp, blocks, mixed, friction)]


def fclibs() -> list[bytes]:
    import lcp
    from contactlab.lab.datasets import save_fclib

    local = lcp.FrictionProblem(np.eye(6) * 2.0, [-1.0, 0.1, 0.0, -0.5, 0.0, 0.2], [0.3, 0.4])
    whole = lcp.GlobalFrictionProblem(np.eye(4), np.arange(12.0).reshape(4, 3), np.ones(4), -np.ones(3), [0.3])
    return [written(lambda path, one=one: save_fclib(path, one), "file.hdf5") for one in (local, whole)]


def kept() -> list[bytes]:
    import lcp
    from contactlab.lab.racing.kinds import keep_problem

    given = (lcp.LCP(np.eye(2), -np.ones(2)), lcp.FrictionProblem(np.eye(3), -np.ones(3), [0.5]))
    with tempfile.TemporaryDirectory() as folder:
        return [keep_problem(Path(folder), problem).read_bytes() for problem in given]


def rows() -> list[bytes]:
    lines = [{"key": f"{i}" * 64, "outcome": "done", "seconds": 0.1, "seed": i, "end": 0.5} for i in range(3)]
    return ["".join(json.dumps(line) + "\n" for line in lines).encode()]
