"""Agreement with pinocchio on random models with all joints both have."""

import numpy as np
import pytest
from pin_models import Pair, random_pair

from contactlab.multibody import (
    body_pose,
    body_spatial_jacobian,
    factorize_ltl,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    nonlinear_effects,
    point_acceleration_6d,
    point_jacobian_6d,
    point_velocity_6d,
    random_configuration,
    solve_mass_matrix,
)

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-10


def worst(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1e-3))


def state(pair: Pair, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    q = random_configuration(pair.ours, rng, spread=2.0)
    return q, *rng.standard_normal((3, pair.ours.nv))


@pytest.mark.parametrize("seed", range(200))
def test_random_models(seed: int) -> None:
    """RNEA, CRBA and Jacobians agree to 1e-10, ABA's backward error is below it, up to 100 degrees of freedom."""
    rng = np.random.default_rng([5, seed])
    pair = random_pair(pin, rng, int(rng.integers(1, 101)), chain=seed % 5 == 0)
    model, data = pair.ours, pair.theirs.createData()
    q, v, a, tau = state(pair, rng)
    T = pair.rotations(q)
    q_pin, v_pin = pair.q(q), np.linalg.solve(T, v)
    a_pin = np.linalg.solve(T, a - pair.turning(q, v))
    forces = inverse_dynamics(model, q, v, a)
    assert worst(forces, T @ pin.rnea(pair.theirs, data, q_pin, v_pin, a_pin)) < TOLERANCE
    M = mass_matrix(model, q)
    theirs = pin.crba(pair.theirs, data, q_pin, pin.Convention.WORLD)
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    assert worst(M, T @ theirs.reshape(model.nv, model.nv) @ T.T) < TOLERANCE
    acceleration = forward_dynamics(model, q, v, tau)
    h = nonlinear_effects(model, q, v)
    scale = np.abs(M) @ np.abs(acceleration) + np.abs(h) + np.abs(tau)
    assert np.max(np.abs(M @ acceleration + h - tau) / np.max(scale)) < TOLERANCE
    x = solve_mass_matrix(model, q, tau)
    assert np.max(np.abs(M @ x - tau) / np.max(np.abs(M) @ np.abs(x) + np.abs(tau))) < TOLERANCE
    x = factorize_ltl(model, M).solve(tau)
    assert np.max(np.abs(M @ x - tau) / np.max(np.abs(M) @ np.abs(x) + np.abs(tau))) < TOLERANCE
    pin.computeJointJacobians(pair.theirs, data, q_pin)
    pin.forwardKinematics(pair.theirs, data, q_pin, v_pin, a_pin)
    for name in model.names[:: max(1, len(model.names) // 5)]:
        joint = pair.theirs.getJointId(name)
        J = body_spatial_jacobian(model, q, name)
        reference = pin.getJointJacobian(pair.theirs, data, joint, pin.ReferenceFrame.LOCAL).reshape(6, model.nv)
        reference = reference @ np.linalg.inv(T)
        assert worst(J, reference[[3, 4, 5, 0, 1, 2]]) < TOLERANCE
        point = rng.uniform(-0.5, 0.5, 3)
        pose = data.oMi[joint] * pin.SE3(np.eye(3), point)
        assert worst(body_pose(model, q, name).apply(point), pose.translation) < TOLERANCE
        frame = pin.SE3(pose.rotation, np.zeros(3))
        at = pin.SE3(np.eye(3), point)
        motion = frame.act(at.actInv(data.v[joint]))
        J6 = point_jacobian_6d(model, q, name, point)
        assert worst(J6 @ v, np.concatenate([motion.angular, motion.linear])) < TOLERANCE
        assert worst(point_velocity_6d(model, q, v, name, point), J6 @ v) < TOLERANCE
        spatial = frame.act(at.actInv(data.a[joint]))
        linear = spatial.linear + np.cross(motion.angular, motion.linear)
        found = point_acceleration_6d(model, q, v, a, name, point)
        assert worst(found, np.concatenate([spatial.angular, linear])) < TOLERANCE


def test_external_forces_agree() -> None:
    """A wrench on every body has the effect pinocchio gives it."""
    rng = np.random.default_rng(8)
    for _ in range(10):
        pair = random_pair(pin, rng, 20)
        model, data = pair.ours, pair.theirs.createData()
        q, v, a, tau = state(pair, rng)
        T = pair.rotations(q)
        q_pin, v_pin = pair.q(q), np.linalg.solve(T, v)
        f_ext = rng.standard_normal((model.nb, 6))
        pin.forwardKinematics(pair.theirs, data, q_pin)
        wrenches = pin.StdVec_Force()
        wrenches.append(pin.Force.Zero())
        for i, name in enumerate(model.names):
            world = pin.Force(f_ext[i, 3:], f_ext[i, :3])
            wrenches.append(data.oMi[pair.theirs.getJointId(name)].actInv(world))
        theirs = T @ pin.aba(pair.theirs, data, q_pin, v_pin, np.linalg.solve(np.linalg.inv(T).T, tau), wrenches)
        assert worst(forward_dynamics(model, q, v, tau, f_ext), theirs + pair.turning(q, v)) < 1e-8
        theirs = pin.rnea(pair.theirs, data, q_pin, v_pin, np.linalg.solve(T, a - pair.turning(q, v)), wrenches)
        assert worst(inverse_dynamics(model, q, v, a, f_ext), T @ theirs) < TOLERANCE
