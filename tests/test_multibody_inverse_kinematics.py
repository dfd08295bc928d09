import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import assert_fields, assert_messages
from trees import random_tree, state
from urdf_texts import joint as urdf_joint
from urdf_texts import link, robot

from contactlab.multibody import (
    Model,
    ModelBuilder,
    apply_mimic,
    body_pose,
    center_of_mass,
    joints,
    load_urdf,
    point_position,
)
from contactlab.multibody.inverse_kinematics import (
    CenterOfMassTarget,
    OrientationTarget,
    PointTarget,
    PoseTarget,
    damped_step,
    inverse_kinematics,
)
from contactlab.multibody.spatial import RigidInertia, SpatialError, Transform
from contactlab.multibody.spatial.arrays import MultibodyError

BALL = RigidInertia.solid_sphere(1.0, 0.1)
entries = st.floats(-2.0, 2.0)
AXES = np.eye(3)[[2, 1, 1, 0, 1, 0, 2]]


def arm(n: int = 7, length: float = 0.3) -> Model:
    """A serial arm with its axes in turn."""
    builder = ModelBuilder()
    for i in range(n):
        parent, place = (f"l{i - 1}", [0.0, 0.0, length]) if i else ("world", [0.0, 0.0, 0.0])
        builder.add_body(
            f"l{i}", parent=parent, joint=joints.Revolute(AXES[i]), placement=Transform(p=place), inertia=BALL
        )
    return builder.build()


def planar(lengths: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Model:
    """Revolute joints about z, links along x."""
    builder = ModelBuilder()
    for i in range(len(lengths)):
        parent, x = (f"l{i - 1}", lengths[i - 1]) if i else ("world", 0.0)
        builder.add_body(
            f"l{i}", parent=parent, joint=joints.Revolute(), placement=Transform(p=[x, 0.0, 0.0]), inertia=BALL
        )
    return builder.build()


def single(joint: joints.Joint) -> Model:
    return ModelBuilder().add_body("b", joint=joint, inertia=BALL).build()


@pytest.mark.nojit
def test_two_link_arm_in_closed_form():
    """The law of cosines: the elbow of a planar arm at a given distance."""
    model = planar((1.0, 0.7))
    target = np.array([0.9, 0.8, 0.0])
    result = inverse_kinematics(model, [0.1, 0.5], [PointTarget("l1", [0.7, 0.0, 0.0], target)])
    assert result.converged
    assert result.error <= 1e-10
    assert result.errors == (result.error,)
    cosine = (target @ target - 1.0 - 0.49) / 1.4
    assert np.cos(result.q[1]) == pytest.approx(cosine, abs=1e-9)
    assert result.iterations < 20


def test_seven_joints_reach_any_pose_they_can_have():
    """Poses of random configurations, from the straight singular arm: all are found."""
    model = arm()
    for seed in range(30):
        pose = body_pose(model, np.random.default_rng(seed).uniform(-2.5, 2.5, 7), "l6")
        result = inverse_kinematics(model, np.zeros(7), [PoseTarget("l6", pose)])
        assert result.converged, seed
        found = body_pose(model, result.q, "l6")
        np.testing.assert_allclose(found.R, pose.R, atol=1e-9)
        np.testing.assert_allclose(found.p, pose.p, atol=1e-9)


def test_every_joint_and_several_targets_at_once():
    """Trees of all joints, quaternions included: pose, orientation and centre of mass together."""
    for seed in range(20):
        model = random_tree(seed)
        there, here = state(model, seed)[0], state(model, seed + 1000)[0]
        last, other = model.names[-1], model.names[-2]
        targets = [
            PoseTarget(last, body_pose(model, there, last)),
            OrientationTarget(other, body_pose(model, there, other).R),
            CenterOfMassTarget(center_of_mass(model, there)),
        ]
        result = inverse_kinematics(model, here, targets)
        assert result.converged, seed
        found = body_pose(model, result.q, last)
        np.testing.assert_allclose(found.p, targets[0].pose.p, atol=1e-9)
        np.testing.assert_allclose(found.R, targets[0].pose.R, atol=1e-9)
        np.testing.assert_allclose(center_of_mass(model, result.q), targets[2].position, atol=1e-9)


@pytest.mark.nojit
@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, -0.8]])
def test_half_turns(axis):
    """A target exactly opposite is reached, by a spherical joint and by a floating base."""
    wanted = Transform.rotation(axis, np.pi)
    ball, floating = single(joints.Spherical()), single(joints.FloatingBase())
    result = inverse_kinematics(ball, ball.neutral, [OrientationTarget("b", wanted.R)])
    assert result.converged
    np.testing.assert_allclose(body_pose(ball, result.q, "b").R, wanted.R, atol=1e-9)
    assert np.linalg.norm(result.q) == pytest.approx(1.0, abs=1e-14)
    pose = Transform(wanted.R, [1.0, 2.0, 3.0])
    result = inverse_kinematics(floating, floating.neutral, [PoseTarget("b", pose)])
    assert result.converged
    np.testing.assert_allclose(body_pose(floating, result.q, "b").p, pose.p, atol=1e-9)


@pytest.mark.parametrize(
    ("target", "error"), [([5.0, 0.0, 0.0], 2.0), ([0.0, -4.0, 3.0], np.hypot(1, 3)), ([2.0, 0.0, 1.0], 1.0)]
)
def test_unreachable_points(target, error):
    """Not converged, and the best there is: the arm stretched towards the target, or the plane's nearest point."""
    model = planar()
    tip = [1.0, 0.0, 0.0]
    result = inverse_kinematics(model, [0.3, 0.2, 0.1], [PointTarget("l2", tip, target)])
    assert not result.converged
    assert result.error == pytest.approx(error, abs=1e-9)
    assert result.error == pytest.approx(np.linalg.norm(point_position(model, result.q, "l2", tip) - target), abs=1e-14)
    assert result.iterations <= 300


@pytest.mark.parametrize("length", [1e-4, 1e3])
def test_lengths_of_any_size(length):
    """A gripper of tenths of millimetres and a crane of kilometres reach their targets."""
    model, tip = arm(6, length), [0.0, 0.0, length]
    q = np.random.default_rng(1).uniform(-1.0, 1.0, 6)
    target = PointTarget("l5", tip, point_position(model, q, "l5", tip))
    assert inverse_kinematics(model, np.zeros(6), [target], tolerance=1e-9 * length).converged


def test_a_joint_at_its_limit_leaves_it_again():
    """The arm starts at limits that point away from the target, and still reaches it."""
    model, limits = planar(), (np.zeros(3), np.full(3, 2.0))
    target = PointTarget("l2", [1.0, 0, 0], point_position(model, [0.5, 1.0, 0.7], "l2", [1.0, 0.0, 0.0]))
    for corner in limits:
        assert inverse_kinematics(model, corner, [target], limits=limits).converged


def test_limits_are_kept():
    """Poses within the limits are found within them; q0 outside is moved in; beyond them the nearest is on one."""
    model = arm()
    low, high = np.full(7, -1.05), np.full(7, 1.05)
    for seed in range(20):
        pose = body_pose(model, np.random.default_rng(seed).uniform(-1.0, 1.0, 7), "l6")
        result = inverse_kinematics(model, np.full(7, 2.0), [PoseTarget("l6", pose)], limits=(low, high))
        assert (result.q >= low).all()
        assert (result.q <= high).all()
        assert result.converged, seed
    slider = single(joints.Prismatic([1.0, 0.0, 0.0]))
    result = inverse_kinematics(slider, [0.0], [PointTarget("b", [0, 0, 0], [3.0, 0.0, 0.0])], limits=([-1.0], [2.0]))
    assert not result.converged
    assert result.q[0] == 2.0
    assert result.error == pytest.approx(1.0)


def test_limits_and_mimic_relations_of_a_description():
    """Limits of a URDF hold unless switched off, and a joint that mimics another follows it."""
    limited = "<axis xyz='0 0 1'/><origin xyz='1 0 0'/><limit lower='-0.5' upper='0.5' effort='1' velocity='1'/>"
    follows = "<axis xyz='0 0 1'/><origin xyz='1 0 0'/><limit lower='-0.6' upper='0.6' effort='1' velocity='1'/>"
    text = robot(
        *(link(name) for name in "abcd"),
        urdf_joint("j0", "revolute", "a", "b", limited),
        urdf_joint("j1", "revolute", "b", "c", follows + "<mimic joint='j0' multiplier='-1.5' offset='0.1'/>"),
        urdf_joint("j2", "continuous", "c", "d", "<axis xyz='0 0 1'/><origin xyz='1 0 0'/>"),
    )
    model = load_urdf(text)
    tip = [1.0, 0.0, 0.0]
    wanted = apply_mimic(model, [0.3, 0.0, 0.4])
    target = PointTarget("d", tip, point_position(model, wanted, "d", tip))
    result = inverse_kinematics(model, np.zeros(3), [target])
    assert result.converged
    assert result.q[1] == -1.5 * result.q[0] + 0.1
    # The follower's own limit stops the joint it follows: -1.5 q + 0.1 >= -0.6.
    away = PointTarget("b", tip, [1.0 + np.cos(0.5), np.sin(0.5), 0.0])
    result = inverse_kinematics(model, np.zeros(3), [away])
    assert not result.converged
    assert result.q[0] == pytest.approx(0.7 / 1.5, abs=1e-9)
    assert abs(result.q[1]) <= 0.6 + 1e-12
    # A start at which the follower is beyond its limit is brought back first.
    result = inverse_kinematics(model, [0.5, 0.0, 0.0], [target])
    assert result.converged
    beyond = PointTarget("b", tip, [1.0 + np.cos(1.5), np.sin(1.5), 0.0])
    assert inverse_kinematics(model, np.zeros(3), [beyond], limits=False).converged


def test_weights_decide_what_gives_way():
    """Two points that cannot both be met: the weighted mean; a row of weight zero is free."""
    slider = single(joints.TranslationXYZ())
    one, other = PointTarget("b", [0, 0, 0], [0.0, 0.0, 0.0]), PointTarget("b", [0, 0, 0], [1.0, 0.0, 2.0])
    result = inverse_kinematics(slider, np.ones(3), [one, other], weights=[1.0, 2.0])
    # Weights multiply rows, hence 1 : 4 in the squares.
    np.testing.assert_allclose(result.q, [0.8, 0.0, 1.6], atol=1e-7)
    assert not result.converged
    assert result.errors[0] == pytest.approx(0.8 * np.sqrt(5.0), abs=1e-7)
    free = inverse_kinematics(slider, [7.0, 7.0, 7.0], [one, other], weights=[[1, 1, 0], [0, 0, 1]])
    assert free.converged
    np.testing.assert_allclose(free.q, [0.0, 0.0, 2.0], atol=1e-10)
    assert inverse_kinematics(slider, np.ones(3), [one, other], weights=[1.0, 0.0]).converged


@pytest.mark.nojit
def test_nothing_to_do_and_nothing_that_moves():
    """A target met at the start costs no iteration; a fixed body and the world cannot be moved; no steps, no search."""
    model = planar()
    result = inverse_kinematics(model, [0.1, 0.2, 0.3], [PointTarget("world", [1, 2, 3], [1.0, 2.0, 3.0])])
    assert (result.converged, result.iterations) == (True, 0)
    np.testing.assert_array_equal(result.q, [0.1, 0.2, 0.3])
    result = inverse_kinematics(model, [0.1, 0.2, 0.3], [PointTarget("world", [0, 0, 0], [1.0, 0.0, 0.0])])
    assert not result.converged
    assert result.error == 1.0
    np.testing.assert_array_equal(result.q, [0.1, 0.2, 0.3])
    tip = PointTarget("l2", [1.0, 0.0, 0.0], [1.0, 1.0, 0.0])
    result = inverse_kinematics(model, [0.1, 0.2, 0.3], [tip], max_iterations=0)
    assert (result.converged, result.iterations) == (False, 0)
    np.testing.assert_array_equal(result.q, [0.1, 0.2, 0.3])
    assert inverse_kinematics(model, [0.1, 0.2, 0.3], [tip], max_iterations=7).iterations <= 7
    empty = ModelBuilder().build()
    assert not inverse_kinematics(empty, [], [PointTarget("world", [0, 0, 0], [1.0, 0.0, 0.0])]).converged


def test_refused_values():
    """Typed errors name the wrong argument; for unknown bodies they list close names."""
    model, q0, ball = planar(), np.zeros(3), single(joints.Spherical())
    tip = PointTarget("l2", [1.0, 0.0, 0.0], [1.0, 1.0, 0.0])
    unknown, far = PointTarget("l3", [0, 0, 0], [0, 0, 0]), PointTarget("l2", [0, 0, 0], [1e200, 0.0, 0.0])

    def run(q0=q0, targets=(tip,), **more):
        return inverse_kinematics(model, q0, list(targets), **more)

    turned, half = [OrientationTarget("b", np.eye(3))], np.full(4, 0.5)
    assert_fields(
        MultibodyError,
        ("q0", lambda: run(q0=np.zeros(4))),
        ("q", lambda: run(q0=np.full(3, np.nan))),
        ("targets", lambda: run(targets=[])),
        ("targets[1]", lambda: run(targets=[tip, "l2"])),
        ("body", lambda: run(targets=[unknown])),
        ("weights", lambda: run(weights=[1.0, 2.0])),
        ("weights[0]", lambda: run(weights=[-1.0])),
        ("weights", lambda: run(weights=[0.0])),
        ("limits", lambda: run(limits=([1.0, 0.0, 0.0], [0.0, 1.0, 1.0]))),
        ("limits[1]", lambda: run(limits=([0.0, 0.0, 0.0], [0.0, 1.0]))),
        ("tolerance", lambda: run(tolerance=-1.0)),
        ("max_iterations", lambda: run(max_iterations=-1)),
        ("limits", lambda: inverse_kinematics(ball, ball.neutral, turned, limits=(-half, half))),
        ("PointTarget.point", lambda: PointTarget("b", [0, 0], [0, 0, 0])),
        ("PoseTarget.pose", lambda: PoseTarget("b", np.eye(4))),
        ("targets", lambda: run(targets=[far])),
    )
    assert_messages(MultibodyError, ("close: 'l1'|'l2'", lambda: run(targets=[unknown])))
    with pytest.raises(SpatialError):
        OrientationTarget("b", np.ones((3, 3)))


@settings(max_examples=60)
@given(
    J=arrays(float, (3, 5), elements=entries),
    e=arrays(float, 3, elements=entries),
    low=arrays(float, 5, elements=st.floats(-1.0, 0.0)),
    high=arrays(float, 5, elements=st.floats(0.0, 1.0)),
    damping=st.floats(1e-3, 1.0),
)
def test_bounded_steps_are_optimal(J, e, low, high, damping):
    """Between the bounds, and at each entry the slope is zero or points out of a bound (the optimality conditions)."""
    x = damped_step(J, e, damping, low, high)
    assert (x >= low).all()
    assert (x <= high).all()
    slope = J.T @ (J @ x - e) + damping * x
    assert (slope[x > low] <= 1e-10).all()
    assert (slope[x < high] >= -1e-10).all()
