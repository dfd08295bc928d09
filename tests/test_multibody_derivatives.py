"""Derivatives of dynamics and motion against fourth-order differences, identities and closed forms."""

import importlib.metadata
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from differencing import Function, differenced, worst
from every_joint import Cam, Cylindrical, model_with_every_joint, random_body
from refusals import assert_messages
from trees import random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    MultibodyError,
    angular_momentum,
    angular_momentum_rate,
    center_of_mass_acceleration,
    centroidal_momentum_derivatives,
    centroidal_momentum_matrix,
    centroidal_rate_derivatives,
    forward_dynamics_derivatives,
    integrate,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    joints,
    kinematics,
    linear_momentum,
    load_urdf,
    mass_matrix,
    point_acceleration_6d,
    point_acceleration_derivatives,
    point_jacobian_6d,
    point_position,
    point_velocity_6d,
    point_velocity_derivatives,
)
from contactlab.multibody.spatial import RigidInertia


def with_rotors_and_own_joints(seed: int) -> Model:
    """A random tree of every joint, with joints of the user's own here and there, and rotors."""
    rng, builder = np.random.default_rng(seed), ModelBuilder.from_model(random_tree(seed, 5))
    for k, joint in enumerate((Cam(), joints.Revolute((1, 2, 3)), Cylindrical(), joints.FloatingBase())):
        placement, inertia = random_body(rng)
        armature = rng.uniform(0.0, 0.3, joint.nv)
        parent = f"b{rng.integers(5)}" if k != 1 else "own0"
        builder.add_body(f"own{k}", parent=parent, joint=joint, placement=placement, inertia=inertia, armature=armature)
    return builder.build()


def check_differences(model: Model, seed: int, *, forces: bool) -> None:
    """Derivatives of inverse dynamics to 1e-10, the mass matrix to rounding, of forward dynamics by M^-1."""
    q, v, a = state(model, seed)
    f_ext = np.random.default_rng(seed).standard_normal((model.nb, 6)) if forces else None
    dq, dv, da = inverse_dynamics_derivatives(model, q, v, a, f_ext)
    along = differenced(
        lambda x: inverse_dynamics(model, x, v, a, f_ext), lambda d: integrate(model, q, d, 1.0), model.nv, 1e-3
    )
    assert worst(dq, along) < 1e-10
    by_speed = differenced(lambda x: inverse_dynamics(model, q, x, a, f_ext), lambda d: v + d, model.nv, 1e-2)
    assert worst(dv, by_speed) < 1e-10
    M = mass_matrix(model, q)
    assert worst(da, M) < 1e-14
    tau = inverse_dynamics(model, q, v, a, f_ext)
    scale = np.linalg.cond(M) * 1e-14
    by_q, by_v, by_tau = forward_dynamics_derivatives(model, q, v, tau, f_ext)
    assert worst(M @ by_tau, np.eye(model.nv)) < scale
    assert worst(M @ by_q, -dq) < scale
    assert worst(M @ by_v, -dv) < scale


@pytest.mark.parametrize("forces", [False, True])
def test_random_trees(forces: bool) -> None:
    """All joints, floating ones in mid-tree, Euler chains, skew screws, rotors; half with joints of the user's own."""
    for seed in range(24):
        check_differences(random_tree(seed) if seed % 2 else with_rotors_and_own_joints(seed), seed, forces=forces)
    check_differences(model_with_every_joint(), 3, forces=forces)


@pytest.mark.filterwarnings("ignore::contactlab.multibody.UrdfWarning")
def test_robots() -> None:
    """Robots of the distribution example-robot-data: arms, quadrupeds, humanoids."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    arms, walkers = ("panda", "ur5_robot"), ("solo12", "anymal", "g1_29dof_with_hand_rev_1_0", "talos_full_v2")
    for end, free in (*((f"{arm}.urdf", False) for arm in arms), *((f"{walker}.urdf", True) for walker in walkers)):
        path = next(file for file in files if str(file).endswith(f"/{end}"))
        check_differences(load_urdf(Path(str(path.locate())), floating_base=free), 1, forces=False)


def test_larger_than_the_stack() -> None:
    check_differences(random_tree(7, 40, ("revolute", "prismatic", "floating")), 7, forces=False)


def test_errors() -> None:
    model = random_tree(2)
    (q, v, a), spoiled = state(model, 2), np.where(np.arange(model.nv) == 1, np.nan, 1.0)
    for function, name in ((inverse_dynamics_derivatives, "a"), (forward_dynamics_derivatives, "tau")):
        assert_messages(
            MultibodyError,
            (rf"^{name}: must have shape \({model.nv},\), got", partial(function, model, q, v, a[:-1])),
            (r"^v: entry \[1\] is nan", partial(function, model, q, spoiled, a)),
            ("^v: is needed", partial(function, model, q, None, a)),
            ("so large that the result is not", partial(function, model, q, 1e200 * v, a)),
        )
    bad = np.array([0, 0, 0, 1.5, 0, 0, 0])
    point = RigidInertia(1.0, inertia=np.zeros((3, 3)))
    body = ModelBuilder().add_body("body", joint=joints.FloatingBase(), inertia=point).build()
    assert_messages(
        MultibodyError,
        ("not 1", lambda: inverse_dynamics_derivatives(body, bad, np.zeros(6), np.zeros(6))),
        (
            r"singular: v\[5\], of the FloatingBase joint of 'body'",
            lambda: forward_dynamics_derivatives(body, body.neutral, np.zeros(6), np.zeros(6)),
        ),
    )


class Lost(Cam):
    """A joint whose subspace ends beyond q = 0.3."""

    def motion_subspace(self, q: np.ndarray) -> np.ndarray:
        return super().motion_subspace(q) * (np.nan if q[0] > 0.3 else 1.0)


def test_a_joint_of_the_users_that_fails_near_by_is_named() -> None:
    placement, inertia = random_body(np.random.default_rng(0))
    model = ModelBuilder().add_body("cam", joint=Lost(), placement=placement, inertia=inertia).build()
    inverse_dynamics(model, [0.3], [1.0], [0.0])
    with pytest.raises(MultibodyError, match=r"Lost\.motion_subspace"):
        inverse_dynamics_derivatives(model, [0.3], [1.0], [0.0])


POINT = np.array([0.3, -0.2, 0.5])


def momentum(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.concatenate([angular_momentum(model, q, v), linear_momentum(model, q, v)], axis=-1)


def momentum_rate(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    force = model.mass * center_of_mass_acceleration(model, q, v, a)
    return np.concatenate([angular_momentum_rate(model, q, v, a), force], axis=-1)


def check(model: Model, seed: int) -> None:
    """Derivatives by q and v to 1e-10, those that are Jacobians to rounding."""
    (q, v, a), nv = state(model, seed), model.nv

    def along(function: Function) -> np.ndarray:
        return differenced(function, lambda ways: integrate(model, q, ways, 1.0), nv, 1e-3)

    def by_speed(function: Function) -> np.ndarray:
        return differenced(function, lambda ways: v + ways, nv, 1e-2)

    at = (model.names[seed % model.nb], POINT)
    dq, dv = point_velocity_derivatives(model, q, v, *at)
    J = point_jacobian_6d(model, q, *at)
    assert worst(along(lambda x: point_position(model, x, *at)), J[3:]) < 1e-10
    assert worst(dq, along(lambda x: point_velocity_6d(model, x, v, *at))) < 1e-10
    np.testing.assert_array_equal(dv, J)
    dq, dv, da = point_acceleration_derivatives(model, q, v, a, *at)
    assert worst(dq, along(lambda x: point_acceleration_6d(model, x, v, a, *at))) < 1e-10
    assert worst(dv, by_speed(lambda x: point_acceleration_6d(model, q, x, a, *at))) < 1e-10
    np.testing.assert_array_equal(da, J)
    dq, dv = centroidal_momentum_derivatives(model, q, v)
    A = centroidal_momentum_matrix(model, q)
    assert worst(dq, along(lambda x: momentum(model, x, v))) < 1e-10
    assert worst(dv, A) < 1e-13
    dq, dv, da = centroidal_rate_derivatives(model, q, v, a)
    assert worst(dq, along(lambda x: momentum_rate(model, x, v, a))) < 1e-10
    assert worst(dv, by_speed(lambda x: momentum_rate(model, q, x, a))) < 1e-10
    assert worst(da, A) < 1e-13


def test_motion_of_random_trees() -> None:
    """All joints, free ones in mid-tree, skew screws, several trees; half with joints of the user's own."""
    for seed in range(8):
        check(random_tree(seed) if seed % 2 else with_rotors_and_own_joints(seed), seed)


@pytest.mark.nojit
def test_a_point_on_a_wheel() -> None:
    """The derivatives of (r cos q, r sin q), with the momentum of a mass there."""
    inertia = RigidInertia(2.0, (0.5, 0, 0), inertia=np.diag([0.1, 0.1, 0.1]))
    wheel = ModelBuilder().add_body("wheel", joint=joints.Revolute(), inertia=inertia).build()
    s, c, w, a = np.sin(0.3), np.cos(0.3), 2.0, 1.5
    dq, dv = point_velocity_derivatives(wheel, [0.3], [w], "wheel", (0.5, 0, 0))
    np.testing.assert_allclose(dq[:, 0], [0, 0, 0, -0.5 * w * c, -0.5 * w * s, 0], atol=1e-14)
    np.testing.assert_allclose(dv[:, 0], [0, 0, 1, -0.5 * s, 0.5 * c, 0], atol=1e-14)
    found = point_acceleration_derivatives(wheel, [0.3], [w], [a], "wheel", (0.5, 0, 0))
    slope = np.array([0, 0, 0, 0.5 * (w**2 * s - a * c), 0.5 * (-(w**2) * c - a * s), 0])
    np.testing.assert_allclose(found.dacceleration_dq[:, 0], slope, atol=1e-14)
    np.testing.assert_allclose(found.dacceleration_dv[:, 0], [0, 0, 0, -w * c, -w * s, 0], atol=1e-14)
    np.testing.assert_allclose(centroidal_rate_derivatives(wheel, [0.3], [w], [a])[0][:, 0], 2.0 * slope, atol=1e-14)
    np.testing.assert_allclose(centroidal_momentum_derivatives(wheel, [0.3], [w])[0][:, 0], 2.0 * dq[:, 0], atol=1e-14)
    for still in point_velocity_derivatives(wheel, [0.3], [w], "world", POINT):
        assert not still.any()


def test_errors_of_motion() -> None:
    model = random_tree(4)
    (q, v, a), at = state(model, 4), (model.names[-1], POINT)
    for function, more in (
        (point_velocity_derivatives, at),
        (point_acceleration_derivatives, (a, *at)),
        (centroidal_momentum_derivatives, ()),
        (centroidal_rate_derivatives, (a,)),
    ):
        assert_messages(
            MultibodyError,
            (r"^v: entry \[0\] is nan", partial(function, model, q, np.full(model.nv, np.nan), *more)),
            ("^v: is needed", partial(function, model, q, None, *more)),
            ("so large", partial(function, model, q, 1e200 * v, *more)),
        )
    assert_messages(
        MultibodyError,
        (
            "another model",
            lambda: centroidal_momentum_derivatives(
                model, kinematics(random_tree(3), *state(random_tree(3), 3)[:2]), None
            ),
        ),
        ("nobody", lambda: point_velocity_derivatives(model, q, v, "nobody", POINT)),
        (
            r"^point: must have shape \(3,\), got \(2,\)",
            lambda: point_velocity_derivatives(model, q, v, "b1", [1.0, 2.0]),
        ),
    )
