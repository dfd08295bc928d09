"""Robots of many makers, read as pinocchio reads them."""

from __future__ import annotations

import importlib.metadata
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from contactlab.contact import ConvexPoints
from contactlab.multibody.configuration import random_configuration
from contactlab.multibody.dynamics import inverse_dynamics, nonlinear_effects
from contactlab.multibody.joint_data import position_limits
from contactlab.multibody.joints import Fixed, FloatingBase
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
from contactlab.multibody.urdf import UrdfWarning
from contactlab.simulation import WorldBuilder
from contactlab.spatial import Transform, quaternion

#: Robots of ten makers: Franka Emika, Universal Robots, UFACTORY, PAL Robotics (3), Unitree (2), ANYbotics, Istituto
#: Italiano di Tecnologia, Rethink, Willow Garage, open dynamic robot initiative.
ROBOTS = (
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "tiago_description/robots/tiago.urdf",
    "tiago_description/robots/tiago_dual.urdf",
    "go2_description/urdf/go2.urdf",
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
    "icub_description/robots/icub.urdf",
    "baxter_description/urdf/baxter.urdf",
    "pr2_description/urdf/pr2.urdf",
    "solo_description/robots/solo12.urdf",
)


@pytest.fixture(scope="module")
def robots():
    """Give the folder of robots that the distribution example-robot-data installs."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    some = next(file for file in files if str(file).endswith(ROBOTS[0]))
    return Path(str(some.locate())).resolve().parents[2]


def carried(model: Model, name: str) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about it of a body and all that is fixed to it, in the body's axes."""
    at, parts = {name: Transform()}, []
    for body in model.bodies:
        if isinstance(body.joint, Fixed) and body.parent in at:
            at[body.name] = at[body.parent] @ body.placement
        if body.name in at and body.inertia is not None:
            X, own = at[body.name], body.inertia
            parts.append((own.mass, X.R @ own.com + X.p, X.R @ own.inertia @ X.R.T))
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    about = np.zeros((3, 3))
    for m, c, inertia in parts:
        d = c - com
        about += inertia + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, com, about


def quietly(file, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        return Model.from_urdf(file, **options)


def pinocchio_state(pin, theirs, model, q):
    """Their q, the matrix T (nv, nv) with v_theirs = T v, and a function that gives (dT/dt) v; joints by name."""
    q_theirs, T = pin.neutral(theirs), np.zeros((model.nv, model.nv))
    floating = isinstance(model.bodies[0].joint, FloatingBase)
    if floating:  # theirs: velocity of the origin in body axes, quaternion with the scalar last
        R = quaternion.to_matrix(q[3:7])
        q_theirs[:7] = q[[0, 1, 2, 4, 5, 6, 3]]
        T[:3, :3], T[3:6, 3:6] = R.T, np.eye(3)
    for data in model.joints:
        if data.v.stop > data.v.start:
            other = theirs.joints[theirs.getJointId(data.name)]
            T[other.idx_v, data.v.start] = 1.0
            value = q[data.q][0]
            q_theirs[other.idx_q : other.idx_q + other.nq] = (
                (math.cos(value), math.sin(value)) if other.nq == 2 else (value,)
            )

    def drift(v):
        out = np.zeros(model.nv)
        if floating:
            out[:3] = -np.cross(v[3:6], T[:3, :3] @ v[:3])
        return out

    return q_theirs, T, drift


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_of_many_makers_load_with_the_dynamics_pinocchio_gives(robots, name, floating):
    """Masses, centres of mass, inertias, mass matrix, bias and inverse dynamics, with joints matched by name."""
    pin = pytest.importorskip("pinocchio")
    if floating and quietly(robots / name).root == "world":
        pytest.skip("stands on the world")
    model = quietly(robots / name, floating_base=floating)
    file = str(robots / name)
    theirs = pin.buildModelFromUrdf(file, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(file)
    assert (model.nv, model.mass) == (theirs.nv, pytest.approx(pin.computeTotalMass(theirs) + theirs.inertias[0].mass))
    rng = np.random.default_rng(7)
    q = random_configuration(model, rng)
    v, a = rng.standard_normal((2, model.nv))
    q_theirs, T, drift = pinocchio_state(pin, theirs, model, q)
    data = theirs.createData()
    pin.framesForwardKinematics(theirs, data, q_theirs)
    for body in model.names:
        pose, frame = body_pose(model, q, body), theirs.getFrameId(body, pin.FrameType.BODY)
        np.testing.assert_allclose(pose.R, data.oMf[frame].rotation, atol=1e-12)
        np.testing.assert_allclose(pose.p, data.oMf[frame].translation, atol=1e-12)
    for joint_ in model.joints:
        if joint_.v.stop > joint_.v.start:
            mass, com, about = carried(model, joint_.body)
            inertia = theirs.inertias[theirs.getJointId(joint_.name)]
            assert mass == pytest.approx(inertia.mass, rel=1e-14)
            np.testing.assert_allclose(com, inertia.lever, rtol=0, atol=1e-13)
            np.testing.assert_allclose(about, inertia.inertia, rtol=0, atol=1e-13)
    M_theirs = pin.crba(theirs, data, q_theirs)
    M_theirs = T.T @ (np.triu(M_theirs) + np.triu(M_theirs, 1).T) @ T
    M = mass_matrix(model, q)
    np.testing.assert_allclose(M, M_theirs, rtol=0, atol=1e-10 * max(1.0, np.abs(M).max()))
    bias = T.T @ pin.rnea(theirs, data, q_theirs, T @ v, drift(v))
    np.testing.assert_allclose(nonlinear_effects(model, q, v), bias, rtol=0, atol=1e-10 * max(1.0, np.abs(bias).max()))
    tau = T.T @ pin.rnea(theirs, data, q_theirs, T @ v, T @ a + drift(v))
    np.testing.assert_allclose(inverse_dynamics(model, q, v, a), tau, rtol=0, atol=1e-10 * max(1.0, np.abs(tau).max()))
    lower, upper = position_limits(model)
    for joint_ in model.joints:
        other = theirs.joints[theirs.getJointId(joint_.name)] if joint_.v.stop > joint_.v.start else None
        if other is not None and joint_.kind != "continuous":
            assert lower[joint_.q][0] == theirs.lowerPositionLimit[other.idx_q]
            assert upper[joint_.q][0] == theirs.upperPositionLimit[other.idx_q]


@pytest.mark.parametrize(
    "robot",
    ["hyq_description/robots/hyq_no_sensors.urdf", "kinova_description/robots/kinova.urdf", ROBOTS[3], ROBOTS[12]],
)
def test_the_meshes_of_robots_become_shapes_of_a_world(robots, robot):
    """COLLADA and STL: every <collision> has its shape, which the kernels take."""
    pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    builder = WorldBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        model = builder.add_urdf(robots / robot, name="r", package_roots=[robots.parents[1]])
    world = builder.build()
    assert len(world.surfaces) == len(model.collisions) > 0
    for surface in world.surfaces:
        if isinstance(surface.shape, ConvexPoints):
            assert surface.shape.pack().sizes[0] <= 256
