"""Agreement with pinocchio on random models with all joints both have."""

import numpy as np
import pytest
from pin_models import Pair, random_pair

from contactlab.multibody import (
    body_pose,
    body_spatial_jacobian,
    inverse_dynamics,
    mass_matrix,
    point_acceleration_6d,
    point_jacobian_6d,
    point_velocity_6d,
    random_configuration,
)

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-10


def worst(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1e-3))


def state(pair: Pair, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    q = random_configuration(pair.ours, rng, spread=2.0)
    return q, *rng.standard_normal((2, pair.ours.nv))


@pytest.mark.parametrize("seed", range(50))
def test_random_models(seed: int) -> None:
    """RNEA, CRBA, Jacobians and the motion of points agree to 1e-10, up to 100 degrees of freedom."""
    rng = np.random.default_rng([5, seed])
    pair = random_pair(pin, rng, int(rng.integers(1, 101)), chain=seed % 5 == 0)
    model, data = pair.ours, pair.theirs.createData()
    q, v, a = state(pair, rng)
    T = pair.rotations(q)
    q_pin, v_pin = pair.q(q), np.linalg.solve(T, v)
    a_pin = np.linalg.solve(T, a - pair.turning(q, v))
    forces = inverse_dynamics(model, q, v, a)
    assert worst(forces, T @ pin.rnea(pair.theirs, data, q_pin, v_pin, a_pin)) < TOLERANCE
    theirs = pin.crba(pair.theirs, data, q_pin, pin.Convention.WORLD)
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    assert worst(mass_matrix(model, q), T @ theirs.reshape(model.nv, model.nv) @ T.T) < TOLERANCE
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
