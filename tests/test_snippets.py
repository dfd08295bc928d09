"""Code blocks of pages that use the reader's own objects are run, after those objects are made.

Whatever a page leaves to its reader (a world, a file, the rows of a problem) is made here, as small as possible; the
blocks run in the order of the page. Complete pages are in `test_tutorials.py`.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import test_tutorials

import lcp
from contactlab import multibody as mb
from contactlab.constraint_solver import ContactPoint, problem_data_from
from contactlab.lab.datasets.recordings import load_planar_impacts
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    Recording,
    TimeStepping,
    VisualMesh,
    World,
    WorldBuilder,
    joints,
    simulate,
)

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCS = Path(__file__).resolve().parents[1] / "docs"
INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'
LIMIT = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
ROBOT = f"""<robot name="r"><link name="trunk">{INERTIAL}
<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link><link name="arm">{INERTIAL}</link>
<joint name="elbow" type="revolute"><parent link="trunk"/><child link="arm"/>{LIMIT}</joint></robot>"""


def legs() -> mb.Model:
    """A trunk over two feet, with a knee."""
    box, builder = mb.RigidInertia.solid_box(3.0, (0.2, 0.1, 0.05)), mb.ModelBuilder()
    builder.add_body("trunk", joint=joints.FloatingBase(), inertia=box)
    for name, y, joint in (("left", 0.1, "knee"), ("right", -0.1, "other knee")):
        turn, place, limits = joints.Revolute((0, 1, 0)), mb.Transform(p=(0, y, -0.2)), mb.JointLimits(-1.0, 0.0)
        builder.add_body(
            name, parent="trunk", joint=turn, placement=place, inertia=box, joint_name=joint, limits=limits
        )
    return builder.build()


def falling_box() -> WorldBuilder:
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    box = mb.RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_free_body("hand", box, Box.cube(0.1), Material(0.5), q=(0, 0, 0.15, 1, 0, 0, 0))
    return builder


def bridge() -> dict[str, Any]:
    model = legs()
    q, v = model.neutral, np.zeros(model.nv)
    q[2] = 0.2
    contacts = [ContactPoint("left", (0, 0, 0), (0, 0, 1), frame="body", point_a=(0, 0, 0), mu=0.6, name="wheel")]
    given = {"lcp": lcp, "FEET": ("left", "right"), "model": model, "q": q, "v": v, "tau": np.zeros(model.nv)}
    from contactlab import EqualCompliance

    one = {"contacts": contacts, "h": 1e-3, "previous_normal_force": 1.0, "EqualCompliance": EqualCompliance}
    return {**given, **one, "f": np.ones(1)}


def cone() -> dict[str, Any]:
    from contactlab import ConstraintSolver

    model = legs()
    q = model.neutral
    sole = ContactPoint("left", (0, 0, 0), (0, 0, 1), frame="body", point_a=(0, 0, 0), mu=0.5)
    problem = problem_data_from(model, q, np.zeros(model.nv), contacts=[sole], h=1e-3, edges=4)
    M, H = np.eye(3), np.eye(3)
    given = {"W": np.eye(3), "q": np.array([-1.0, 0, 0]), "mu": [0.5], "M": M, "H": H, "f": np.array([-1.0, 0, 0])}
    run = {"world": falling_box().build(), "TimeStepping": TimeStepping, "simulate": briefly}
    return {**given, **run, "w": np.zeros(3), "ConstraintSolver": ConstraintSolver, "data": problem.velocity, "h": 1e-3}


def backends() -> dict[str, Any]:
    return {"lcp": lcp, **{name: cone()[name] for name in ("data", "h")}}


def briefly(world: World, stepper: TimeStepping, duration: float, **options: Any) -> Recording:
    """Simulate as the page does, but only briefly."""
    return simulate(world, stepper, min(duration, 1.0), **options | ({"chunk_steps": 50} if "watch" in options else {}))


def seeing() -> dict[str, Any]:
    builder, stepper = falling_box(), TimeStepping(1e-2)
    world = builder.build()
    Path("go2.urdf").write_text(ROBOT, encoding="utf-8")
    Path("parts").mkdir()
    recording = simulate(world, stepper, 1.0, path="run.npz")
    given = {"world": world, "builder": builder, "stepper": stepper, "recording": recording, "simulate": briefly}
    parts = {"World": World, "Box": Box, "material": Material(0.5), "VisualMesh": VisualMesh, "Path": Path}
    return {**given, **parts, "Recording": Recording}


def from_urdf() -> dict[str, Any]:
    for name in ("panda", "go2", "talos"):
        Path(f"{name}.urdf").write_text(ROBOT, encoding="utf-8")
    return {"text": ROBOT, "position_limits": mb.position_limits}


def racing() -> dict[str, Any]:
    Path("problems").mkdir()
    np.savez("problems/one.npz", M=2.0 * np.eye(3), q=-np.ones(3))
    return {}


def own_solver() -> dict[str, Any]:
    """The reader has saved the first block."""
    block = BLOCK.findall((DOCS / "your_own_solver.md").read_text(encoding="utf-8"))[0]
    Path("mine.py").write_text(block, encoding="utf-8")
    return {}


GIVEN = {
    "contact_solver": dict,
    "bridge": bridge,
    "cone_friction": cone,
    "event_driven": lambda: {"world": falling_box().build()},
    "friction_backends": backends,
    "from_urdf": from_urdf,
    "racing": racing,
    "seeing": seeing,
    "validation": dict,
    "your_own_solver": own_solver,
}


@pytest.mark.parametrize("page", GIVEN)
@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Names, arguments and files are those on the page."""
    monkeypatch.chdir(tmp_path)
    if page == "validation":
        data = request.getfixturevalue("shared") / "data" / "planar_impacts" / "ellipse_dev.npz"
        write_bounces({name: array for name, array in np.load(data).items() if array.ndim})
    values = {"__name__": "page", **GIVEN[page]()}
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8").replace("/opt/robots", tmp_path.as_posix())
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block[1], f"{page}.md", "exec", dont_inherit=True), values)


def write_bounces(arrays: dict[str, np.ndarray]) -> None:
    """Write impacts in the layout of the public MATLAB file."""
    n = len(arrays["pre_vel"])
    bounces = np.empty(n, dtype=[(name, object) for name in ("states", "n", "d", "flags")])
    pose = np.zeros((n, 3))
    columns = {"states": np.hstack((pose, arrays["pre_vel"], pose, arrays["post_vel"]))}
    columns |= {"n": arrays["jac_normal"], "d": arrays["jac_tangent"], "flags": arrays["flags"].astype(float)}
    for name, rows in columns.items():
        for i, row in enumerate(rows):
            bounces[name][i] = row
    scipy.io.savemat("ellipse_uniform.mat", {"bounce_array": bounces})


def test_impacts_of_the_public_matlab_file_are_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's first block makes a file that the reader accepts, array by array, without marked impacts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    velocities, levers = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 1))
    flags = np.zeros((5, 6), dtype=np.int64)
    flags[1, 2] = 1
    arrays = {"pre_vel": velocities[0], "post_vel": velocities[1], "flags": flags}
    arrays["jac_normal"] = np.hstack((np.zeros((5, 1)), np.ones((5, 1)), levers[0]))
    arrays["jac_tangent"] = np.hstack((np.ones((5, 1)), np.zeros((5, 1)), levers[1]))
    write_bounces(arrays)
    block = BLOCK.findall((DOCS / "validation.md").read_text(encoding="utf-8"))[0]
    exec(compile(block, "validation.md", "exec", dont_inherit=True), {"__name__": "page"})
    found, kept = load_planar_impacts("ellipse.npz"), [0, 2, 3, 4]
    assert found.left_out == 1
    for name, array in (
        ("before", "pre_vel"),
        ("after", "post_vel"),
        ("normal", "jac_normal"),
        ("tangent", "jac_tangent"),
    ):
        np.testing.assert_array_equal(getattr(found, name), arrays[array][kept])


@pytest.mark.slow
def test_the_page_on_sweeps_is_a_script(tmp_path: Path) -> None:
    """Its block, saved as a file, runs a sweep in other processes, which read that file again."""
    (block,) = BLOCK.findall((DOCS / "sweeps.md").read_text(encoding="utf-8"))
    (tmp_path / "bounces.py").write_text(block, encoding="utf-8")
    run = [sys.executable, "bounces.py"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "bounces" / "rows.csv").exists()


def test_every_page_with_code_is_run() -> None:
    """Every page is tested here, among the tutorials, or by a separate test."""
    own = {"conformance", "derivatives_elsewhere", "from_pinocchio", "from_rbdl", "models", "solvers", "sweeps"}
    pages = {page for page in DOCS.rglob("*.md") if BLOCK.search(page.read_text(encoding="utf-8"))}
    pages = {page for page in pages if page.parent in (DOCS, DOCS / "theory")}
    assert {page.stem for page in pages - set(test_tutorials.PAGES)} == own | set(GIVEN)
