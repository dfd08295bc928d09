"""The guides from RBDL and Pinocchio and the messages for foreign names: all named objects exist, and the code runs."""

import importlib
import pkgutil
import re
from typing import Any

import numpy as np
import pytest
from guides import CODE, DOCS, Reader, tables

from contactlab import multibody
from contactlab import multibody as mb
from contactlab.naming import foreign_names
from contactlab.simulation import joints

GUIDE = DOCS / "from_rbdl.md"
GUIDE_DOC = DOCS / "from_pinocchio.md"
TABLES = [*tables(GUIDE), *tables(GUIDE_DOC)]


@pytest.mark.parametrize(("heading", "head", "text"), TABLES, ids=lambda value: value if len(value) < 60 else "")
def test_every_name_of_the_guides_exists(heading: str, head: str, text: str) -> None:
    """Each piece of code on our side of the tables names what is there, and calls it as it can be called."""
    reader = Reader(heading)
    for code in CODE.findall(text):
        if not code.endswith(".md"):
            reader.check(code)


def test_the_ports_run() -> None:
    """The code of the guide runs in order, its own assertion included, and the converter puts w before x, y, z."""
    values: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), values)
    ball = multibody.RigidInertia.solid_sphere(1.0, 0.1)
    builder = multibody.ModelBuilder()
    for name, joint in (("free", joints.FloatingBase()), ("knee", joints.Revolute()), ("hip", joints.Spherical())):
        builder.add_body(name, joint=joint, inertia=ball)
    # x y z | qx qy qz | knee | qx qy qz || w of the first, w of the second
    theirs = np.array([1, 2, 3, 10, 20, 30, 4, 11, 21, 31, 100, 101.0])
    assert values["q_from_rbdl"](builder.build(), theirs).tolist() == [1, 2, 3, 100, 10, 20, 30, 4, 101, 11, 21, 31]


SWAP = [3, 4, 5, 0, 1, 2]


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Return the variables of the page's code, whose assertions have passed."""
    pytest.importorskip("pinocchio", reason="pinocchio is not installed (extra peers)")
    values: dict[str, Any] = {}
    for block in re.findall(
        r"^```python\n(.*?)^```$", GUIDE_DOC.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    ):
        exec(compile(block, str(GUIDE_DOC), "exec", dont_inherit=True), values)
    return values


def test_conventions(page: dict[str, Any]) -> None:
    pin, theirs, data, ours, q, T = (page[name] for name in ("pin", "theirs", "data", "ours", "q", "T"))
    assert list(theirs.names) == ["universe", "root_joint", "drum", "knee"]
    assert ours.joint_names == ("knee", "sole", "drum")
    assert (theirs.nq, ours.nq, ours.nv) == (10, 9, 8)
    assert theirs.getJointId("elbow") == theirs.njoints
    with pytest.raises(mb.MultibodyError, match="no joint"):
        ours.joint_q("elbow")
    np.testing.assert_allclose(theirs.gravity.linear, ours.gravity)
    local = pin.computeFrameJacobian(theirs, data, page["q_pin"], page["tip"], pin.LOCAL)
    np.testing.assert_allclose(local[SWAP], mb.body_spatial_jacobian(ours, q, "foot") @ T, atol=1e-12)
    pin.forwardKinematics(theirs, data, page["q_pin"], page["v_pin"], page["a_pin"])
    spatial = pin.getFrameAcceleration(theirs, data, page["tip"], pin.LOCAL_WORLD_ALIGNED)
    twist = mb.point_velocity_6d(ours, q, page["v"], "foot", (0, 0, 0))
    classical = mb.point_acceleration_6d(ours, q, page["v"], page["a"], "foot", (0, 0, 0))
    np.testing.assert_allclose(spatial.linear + np.cross(twist[:3], twist[3:]), classical[3:], atol=1e-12)


NAMES = [(name, library, meant) for name, found in foreign_names().items() for library, meant in found]


@pytest.mark.parametrize(("name", "library", "meant"), NAMES, ids=lambda value: value if value.isidentifier() else "")
def test_every_answer_is_there(name: str, library: str, meant: str) -> None:
    """Each address can be imported, and is public."""
    path, _, last = re.match(r"[\w.]+", meant)[0].rpartition(".")
    owner = pkgutil.resolve_name(path)
    assert hasattr(owner, last) or any(last in vars(base).get("__annotations__", {}) for base in owner.__mro__)
    assert not re.search(r"\._", meant)
    assert library in ("RBDL's", "Drake's", "Pinocchio's", "MuJoCo's")


@pytest.mark.parametrize(
    ("package", "name", "words"),
    [
        ("contactlab.multibody", "ForwardDynamics", "RBDL's ForwardDynamics is contactlab.multibody.forward_dynam"),
        ("contactlab.multibody.constraints", "CalcAssemblyQ", "is contactlab.multibody.constraints.assemble_q here"),
        ("contactlab", "CalcAssemblyQ", "RBDL's CalcAssemblyQ is contactlab.multibody.constraints.assemble_q here"),
        ("contactlab", "SolveImpactProblem", "Drake's SolveImpactProblem is contactlab.ConstraintSolver.solve_impact"),
        ("contactlab.simulation", "mj_step", "MuJoCo's mj_step is contactlab.simulation.Simulation.step here"),
        ("contactlab.collision", "computeCollisions", "Pinocchio's computeCollisions is contactlab.collision.detec"),
        ("contactlab.multibody", "rnea", "Pinocchio's rnea is contactlab.multibody.inverse_dynamics here"),
        ("contactlab.multibody.constraints", "ConstraintVelProblemData", "is problem_data.ConstraintVelProblem"),
        ("contactlab.multibody.constraints", "ForwardDynamicsConstraintsNullSpace", r"\(method='null_space'\) here"),
        ("lcp", "UnrevisedLemkeSolver", "Drake's UnrevisedLemkeSolver is lcp.Lemke here"),
        ("lcp", "LinearComplementarityProblem", "Siconos' LinearComplementarityProblem is lcp.LCP here"),
        ("problem_data", "ConstraintSolver", "Drake's ConstraintSolver is contactlab.ConstraintSolver here"),
        # Names of this library, misspelt.
        ("contactlab.multibody", "RandomConfiguration", "it is contactlab.multibody.random_configuration$"),
        ("contactlab.multibody", "forward_dynamic", "; close: forward_dynamics"),
        ("contactlab", "ConstraintSolvr", "; close: ConstraintSolver"),
    ],
)  # fmt: skip
def test_packages_answer(package: str, name: str, words: str) -> None:
    """The AttributeError has the name used here, with its address; its attribute is the name, for tools."""
    with pytest.raises(AttributeError, match=words) as caught:
        getattr(importlib.import_module(package), name)
    assert caught.value.name == name
    assert str(caught.value).startswith(f"module {package!r} has no attribute {name!r}")
