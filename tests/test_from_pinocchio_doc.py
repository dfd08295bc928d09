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
from contactlab.spatial import Transform, quaternion

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


def test_quantities_of_the_tables_agree(page: dict[str, Any]) -> None:
    pin, theirs, data, ours, q, v, a, T = (page[n] for n in ("pin", "theirs", "data", "ours", "q", "v", "a", "T"))
    q_pin, v_pin, a_pin = page["q_pin"], page["v_pin"], page["a_pin"]

    def same(found: Any, wanted: Any) -> None:
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-10)

    same(pin.nonLinearEffects(theirs, data, q_pin, v_pin), T.T @ mb.nonlinear_effects(ours, q, v) + bias(page))
    same(pin.computeGeneralizedGravity(theirs, data, q_pin), T.T @ mb.nonlinear_effects(ours, q, 0.0 * v))
    same(T @ pin.computeMinverse(theirs, data, q_pin) @ T.T, mb.solve_mass_matrix(ours, q, np.eye(ours.nv)))
    same(pin.centerOfMass(theirs, data, q_pin, v_pin, a_pin), mb.center_of_mass(ours, q))
    same(data.vcom[0], mb.center_of_mass_velocity(ours, q, v))
    same(data.acom[0], mb.center_of_mass_acceleration(ours, q, v, a))
    same(pin.jacobianCenterOfMass(theirs, data, q_pin), mb.center_of_mass_jacobian(ours, q) @ T)
    pin.ccrba(theirs, data, q_pin, v_pin)
    same(data.Ag[SWAP], mb.centroidal_momentum_matrix(ours, q) @ T)
    momentum = pin.computeCentroidalMomentum(theirs, data, q_pin, v_pin)
    same(momentum.linear, mb.linear_momentum(ours, q, v))
    same(momentum.angular, mb.angular_momentum(ours, q, v))
    same(pin.computeKineticEnergy(theirs, data, q_pin, v_pin), mb.kinetic_energy(ours, q, v))
    same(pin.computePotentialEnergy(theirs, data, q_pin), mb.potential_energy(ours, q))
    same(pin.computeTotalMass(theirs), ours.mass)
    # A free flyer goes along a screw there, straight here.
    moved, straight = page["q_of_pin"](ours, theirs, pin.integrate(theirs, q_pin, v_pin)), mb.integrate(ours, q, v, 1.0)
    same(moved[3:], straight[3:])
    same(straight[:3], q[:3] + v[:3])
    assert np.abs(moved[:3] - straight[:3]).max() > 1e-2
    knee = theirs.getJointId("knee")
    reduced, held = pin.buildReducedModel(theirs, [knee], q_pin), ours.reduced({"knee": q[ours.joint_q("knee")]})
    lone = np.delete(q_pin, theirs.joints[knee].idx_q)
    at = page["q_of_pin"](held, reduced, lone)
    back = page["to_ours"](held, reduced, at)
    same(pin.crba(reduced, reduced.createData(), lone), back.T @ mb.mass_matrix(held, at) @ back)
    same(theirs.upperPositionLimit[-1], ours.limits.upper[ours.joint_v("knee")][0])
    same(theirs.velocityLimit[-1], ours.limits.velocity[ours.joint_v("knee")][0])


def bias(page: dict[str, Any]) -> np.ndarray:
    """What zero acceleration means there: a free flyer's axes turn, so that the derivative of its v here is not 0."""
    a = page["a_of_pin"](page["T"], page["q"], page["v"], np.zeros(8))
    return np.asarray(page["T"].T @ mb.mass_matrix(page["ours"], page["q"]) @ a)


def test_poses_and_turns_agree(page: dict[str, Any]) -> None:
    pin, rng = page["pin"], np.random.default_rng(4)
    M, motion, force, point = pin.SE3.Random(), pin.Motion.Random(), pin.Force.Random(), rng.normal(size=3)
    X = Transform(M.rotation, M.translation)
    np.testing.assert_allclose(M.act(point), X.apply(point))
    np.testing.assert_allclose(M.actInv(point), X.apply_inverse(point))
    np.testing.assert_allclose(M.act(motion).vector[SWAP], X.apply_motion(motion.vector[SWAP]))
    np.testing.assert_allclose(M.actInv(motion).vector[SWAP], X.apply_motion_inverse(motion.vector[SWAP]))
    np.testing.assert_allclose(M.act(force).vector[SWAP], X.apply_force(force.vector[SWAP]))
    np.testing.assert_allclose(M.toActionMatrix()[np.ix_(SWAP, SWAP)], X.motion_matrix(), atol=1e-12)
    turn = rng.normal(size=3)
    np.testing.assert_allclose(pin.exp3(turn), quaternion.to_matrix(quaternion.exp(turn)))
    np.testing.assert_allclose(pin.log3(M.rotation), quaternion.log(quaternion.from_matrix(M.rotation)))
    inertia = pin.Inertia(2.0, point, 0.5 * np.eye(3))
    ours = mb.RigidInertia(2.0, point, 0.5 * np.eye(3)).matrix()
    np.testing.assert_allclose(inertia.matrix()[np.ix_(SWAP, SWAP)], ours, atol=1e-12)


def test_impacts_and_delassus_agree(page: dict[str, Any]) -> None:
    pin, theirs, data, ours, q, v, T = (page[n] for n in ("pin", "theirs", "data", "ours", "q", "v", "T"))
    G = ours_cs.constraint_jacobian(ours, q, page["point"])
    after = pin.impulseDynamics(theirs, data, page["q_pin"], page["v_pin"], G @ T, 0.0, 0.0)
    impact = ours_cs.constraint_impulses(ours, q, v, page["point"])
    np.testing.assert_allclose(impact.v_after, T @ after, atol=1e-9)
    np.testing.assert_allclose(impact.impulses, data.impulse_c, atol=1e-9)
    W = G @ mb.solve_mass_matrix(ours, q, G.T)
    np.testing.assert_allclose(ours_cs.delassus_matrix(ours, q, page["point"]), W, atol=1e-9)
