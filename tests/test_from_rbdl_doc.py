"""The guide for those who come from RBDL names what exists, with arguments that exist, and its code runs."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

import numpy as np
import pytest
from guides import CODE, DOCS, Reader, tables

from contactlab import multibody
from contactlab.multibody import joints

GUIDE = DOCS / "from_rbdl.md"
TABLES = tables(GUIDE)


@pytest.mark.parametrize(("heading", "head", "text"), TABLES, ids=lambda value: value if len(value) < 60 else "")
def test_every_name_of_the_guide_exists(heading: str, head: str, text: str) -> None:
    """Each piece of code on our side of the tables names what is there, and calls it as it can be called."""
    reader = Reader(heading)
    pieces = CODE.findall(text)
    assert pieces
    for code in pieces:
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


def test_the_guide_is_read_as_meant() -> None:
    """A wrong name, a wrong attribute and a wrong argument are found."""
    reader = Reader("Dynamics")
    assert len(TABLES) >= 12
    for code in ("massmatrix(model, q)", "model.nvv", "mass_matrix(model, q, v)", "model.q_slice()", "toleranze="):
        with pytest.raises((AssertionError, TypeError)):
            reader.check(code)


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
