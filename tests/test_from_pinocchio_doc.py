"""The guide for those who come from Pinocchio: names of both sides exist, its code runs, and what it says is so."""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import numpy as np
import pytest
from guides import CODE, DOCS, Reader, tables

from contactlab import constraints as ours_cs
from contactlab import multibody as mb

GUIDE = DOCS / "from_pinocchio.md"
TABLES = tables(GUIDE)
SWAP = [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize(("heading", "head", "text"), TABLES, ids=lambda value: value if len(value) < 60 else "")
def test_every_name_on_our_side_exists(heading: str, head: str, text: str) -> None:
    """Each piece of code names what is there, and calls it as it can be called."""
    reader = Reader(heading)
    for code in CODE.findall(text):
        if not code.endswith(".md"):
            reader.check(code)


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's code leaves, its own assertions having held."""
    pytest.importorskip("pinocchio", reason="pinocchio is not installed (extra peers)")
    values: dict[str, Any] = {}
    for block in re.findall(
        r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    ):
        exec(compile(block, str(GUIDE), "exec", dont_inherit=True), values)
    return values


def test_every_name_on_their_side_exists(page: dict[str, Any]) -> None:
    roots = {"pin": page["pin"], "model": page["theirs"], "data": page["data"]}
    rows = [line.split(" | ")[0] for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
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
