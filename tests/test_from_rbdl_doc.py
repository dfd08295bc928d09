"""The guides from RBDL and Pinocchio and the messages for foreign names: all named objects exist, and the code runs."""

import importlib
import importlib.util
import re
from functools import reduce
from typing import Any

import numpy as np
import pytest
from guides import CODE, DOCS, Reader, tables

from contactlab import constraints as ours_cs
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


def test_full_names_in_the_text_exist() -> None:
    """So do the modules and names that are spelled out."""
    for name in sorted(set(re.findall(r"`(contactlab[\w.]*)`", GUIDE.read_text(encoding="utf-8")))):
        module, _, last = name.rpartition(".")
        assert importlib.util.find_spec(name) if last.islower() else hasattr(importlib.import_module(module), last)


@pytest.mark.parametrize("joint", joints.ALL_JOINTS, ids=lambda joint: joint.__name__)
def test_every_joint_has_its_rows(joint: type[joints.Joint]) -> None:
    """The guide names each joint, and the table of `docs/notation.md` gives its nq and nv."""
    name = joint.__name__
    assert f"`{name}" in GUIDE.read_text(encoding="utf-8")
    notation = GUIDE.with_name("notation.md").read_text(encoding="utf-8")
    short = name.replace("Euler", "") if name != "EulerZYX" else name
    (row,) = re.findall(rf"^\| [^|]*`{short}[`(][^|]*\| ([^|]+) \| ([^|]+) \|.*$", notation, flags=re.MULTILINE)
    if isinstance(getattr(joint, "nq", None), int):
        assert row == (str(joint.nq), str(joint.nv))


def check_helpers(of: dict[str, Any]) -> None:
    """Against what RBDL's manual says of them: matrices written out, rates by differences."""

    def about(axis: int, angle: float) -> np.ndarray:
        s, c = np.sin(angle), np.cos(angle)
        E = np.eye(3)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        E[i, i], E[i, j], E[j, i], E[j, j] = c, s, -s, c
        return E

    def spatial(E: np.ndarray) -> np.ndarray:
        return np.block([[E, np.zeros((3, 3))], [np.zeros((3, 3)), E]])

    def cross(v: np.ndarray) -> np.ndarray:
        return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])

    def E(angles: np.ndarray) -> np.ndarray:
        return about(0, angles[2]) @ about(1, angles[1]) @ about(2, angles[0])

    def w(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
        dt = 1e-5
        W = E(angles) @ (E(angles + dt * rates) - E(angles - dt * rates)).T / (2 * dt)
        return np.array([W[2, 1], W[0, 2], W[1, 0]])

    zyx, rates, dt = of["zyx"], of["rates"], 1e-4
    assert of["rotx"] == pytest.approx(about(0, zyx[2]))
    slope = (about(0, zyx[2] + dt * rates[2]) - about(0, zyx[2] - dt * rates[2])) / (2 * dt)
    assert of["rotxdot"] == pytest.approx(slope, abs=1e-6)
    shift = np.eye(6)
    shift[3:, :3] = -cross(of["d"])
    turns = spatial(about(2, zyx[0])) @ spatial(about(1, zyx[1])) @ spatial(about(0, zyx[2]))
    assert of["XtransRotZYXEuler"] == pytest.approx(turns @ shift)
    C = cross(of["com"])
    assert of["parallel_axis"] == pytest.approx(of["I_c"] + of["mass"] * C @ C.T)
    assert of["SpatialRigidBodyInertia"].inertia == pytest.approx(of["I_c"], abs=1e-12)
    assert of["R"] == pytest.approx(E(zyx).T)
    vector = of["CalcAngularVelocityfromMatrix"]
    angle = np.linalg.norm(vector)
    K = cross(vector / angle)
    assert of["R"] == pytest.approx(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)
    assert of["angular_velocity_from_angle_rates"] == pytest.approx(w(zyx, rates), abs=1e-8)
    assert of["global_angular_velocity_from_rates"] == pytest.approx(E(zyx).T @ w(zyx, rates), abs=1e-8)
    later, before = (rates + side * dt * of["accelerations"] for side in (1, -1))
    change = (w(zyx + dt * rates, later) - w(zyx - dt * rates, before)) / (2 * dt)
    assert of["angular_acceleration_from_angle_rates"] == pytest.approx(change, abs=1e-6)


def test_the_ports_run() -> None:
    """The code of the guide runs in order, its own assertion included, and the converter puts w before x, y, z."""
    values: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), values)
    check_helpers(values)
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


def test_every_name_on_their_side_exists(page: dict[str, Any]) -> None:
    roots = {"pin": page["pin"], "model": page["theirs"], "data": page["data"]}
    rows = [
        line.split(" | ")[0] for line in GUIDE_DOC.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    named = [code for row in rows for code in CODE.findall(row) if re.match(r"(pin|model|data)\.", code)]
    assert len(named) > 60
    for code in named:
        root, *path = code.split(".")
        reduce(getattr, path, roots[root])


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


def test_impacts_and_delassus_agree(page: dict[str, Any]) -> None:
    pin, theirs, data, ours, q, v, T = (page[n] for n in ("pin", "theirs", "data", "ours", "q", "v", "T"))
    G = ours_cs.constraint_jacobian(ours, q, page["point"])
    after = pin.impulseDynamics(theirs, data, page["q_pin"], page["v_pin"], G @ T, 0.0, 0.0)
    impact = ours_cs.constraint_impulses(ours, q, v, page["point"])
    np.testing.assert_allclose(impact.v_after, T @ after, atol=1e-9)
    np.testing.assert_allclose(impact.impulses, data.impulse_c, atol=1e-9)
    W = G @ mb.solve_mass_matrix(ours, q, G.T)
    np.testing.assert_allclose(ours_cs.delassus_matrix(ours, q, page["point"]), W, atol=1e-9)


NAMES = [(name, library, meant) for name, found in foreign_names().items() for library, meant in found]
# Words of the guides' tables that no package of theirs has: members of objects, arguments, and letters.
MEMBERS = set(
    re.findall(
        r"\S+",
        """
        gravity mIsVirtual mFixedBodies q_size qdot_size dof_count mBodies mJoints X_T lambda mDoFCount XJ X_lambda S
        c_J jcalc_X_lambda_S U Dinv u d_u X_base QDDot weight num_steps error_norm step_tol max_steps dlambda 6DoF
        update_kinematics f_ext toMatrix toMatrixAdjoint toMatrixTranspose fromMatrix conjugate rotate timeStep size
        T_stab floating planar rpy acceleration constraints gamma force QDotPlus impulse v_plus K Y Z XYZ YXZ ZXY Size
        Type Id AssignedId ById RangeSpaceSparse NullSpace PartialPivLU HouseholderQR ColPivHouseholderQR
        LinearSolverLLT Model ConstraintSet CustomConstraint cf nv Reinitialize get_num_pivots A_solve fast_A_solve
        MM qq a N_mult N_transpose_mult F_mult L_mult G_mult N_minus_muQ_transpose_mult kN kF kL kG tau Mv mu r
        gammaN gammaF gammaE gammaL mu_sliding mu_non_sliding sliding_contacts non_sliding_contacts
        use_complementarity_problem_solver solve_inertia GetRodConfig GetContactJacobianRow GetContactPoints
        """,
    )
)


def resolved(address: str) -> Any:
    """Return the object at the start of an address, or an annotated field of a class."""
    path = re.match(r"[\w.]+", address)
    assert path is not None
    parts = path[0].split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = {
                field for base in getattr(thing, "__mro__", ()) for field in vars(base).get("__annotations__", {})
            }
            assert hasattr(thing, part) or part in fields, address
            thing = getattr(thing, part, None)
        return thing
    raise AssertionError(address)


@pytest.mark.parametrize(("name", "library", "meant"), NAMES, ids=lambda value: value if value.isidentifier() else "")
def test_every_answer_is_there(name: str, library: str, meant: str) -> None:
    """Each address can be imported, and is public."""
    resolved(meant)
    assert not re.search(r"\._", meant)
    assert library in ("RBDL's", "Drake's", "Pinocchio's", "MuJoCo's")


@pytest.mark.parametrize(
    ("package", "name", "words"),
    [
        ("contactlab.multibody", "ForwardDynamics", "RBDL's ForwardDynamics is contactlab.multibody.forward_dynam"),
        ("contactlab.constraints", "CalcAssemblyQ", "RBDL's CalcAssemblyQ is contactlab.constraints.assemble_q here"),
        ("contactlab", "CalcAssemblyQ", "RBDL's CalcAssemblyQ is contactlab.constraints.assemble_q here"),
        ("contactlab", "SolveImpactProblem", "Drake's SolveImpactProblem is contactlab.ConstraintSolver.solve_impact"),
        ("contactlab.simulation", "mj_step", "MuJoCo's mj_step is contactlab.simulation.Simulation.step here"),
        ("contactlab.contact", "computeCollisions", "Pinocchio's computeCollisions is contactlab.contact.detection"),
        ("contactlab.multibody", "rnea", "Pinocchio's rnea is contactlab.multibody.inverse_dynamics here"),
        ("contactlab.constraints", "ConstraintVelProblemData", "is problem_data.ConstraintVelProblemData here"),
        ("contactlab.constraints", "ForwardDynamicsConstraintsNullSpace", r"constraints\(method='null_space'\) here"),
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


@pytest.mark.parametrize("guide", ["from_rbdl.md", "from_drake.md"])
def test_functions_of_the_guides_are_answered(guide: str) -> None:
    """Every function and class in the first columns has a message, with a name of its row."""
    library = "RBDL's" if guide == "from_rbdl.md" else "Drake's"
    known, head, heading = foreign_names(), "", ""
    checked = 0
    for line in (DOCS / guide).read_text(encoding="utf-8").splitlines():
        heading = line if line.startswith("## ") else heading
        if not line.startswith("|"):
            head = ""
            continue
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if not head:
            head = cells[-1]
        elif head == "contactlab" and not line.startswith("| ---"):
            for code in re.findall(r"`([^`]+)`", cells[0]):
                name = re.sub(r"<T>|\(.*\)$", "", code).replace("::", ".").rpartition(".")[2]
                if "..." in code or not name.isidentifier() or name in MEMBERS or re.match(r"X\d?\.", code):
                    continue
                answers = [meant for theirs, meant in known.get(name, ()) if theirs == library]
                assert answers, f"{name} of {heading}"
                checked += 1
                if "the same" not in cells[-1] and "list of targets" not in cells[-1]:
                    last = re.match(r"[\w.]+", answers[0])
                    assert last is not None
                    assert last[0].rpartition(".")[2] in cells[-1], f"{name}: {answers[0]} is not in {cells[-1]}"
    assert checked > (80 if library == "RBDL's" else 15)
