"""One line from a robot file to a world that runs; robots of many makers load with pinocchio's dynamics."""

import importlib.metadata
import math
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from mesh_shapes import hull
from refusals import assert_fields

from contactlab.constraint_solver import BridgeError
from contactlab.multibody import (
    UrdfWarning,
    body_pose,
    inverse_dynamics,
    load_urdf,
    mass_matrix,
    nonlinear_effects,
    position_limits,
    random_configuration,
)
from contactlab.multibody.joints import FloatingBase
from contactlab.multibody.spatial import quaternion
from contactlab.simulation import (
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    JointLimit,
    Material,
    Mesh,
    PositionDrive,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    VelocityDrive,
    WorldBuilder,
    load_urdf_world,
    simulate,
)

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'


def link(name, *geometries):
    """A link of one kilogram that collides with each geometry."""
    shapes = "".join(f'<collision><origin xyz="{p}"/><geometry>{one}</geometry></collision>' for p, one in geometries)
    return f'<link name="{name}">{INERTIAL}{shapes}</link>'


def joint(parent, child, xyz):
    """A hinge about y."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="to {child}" type="continuous">{ends}<axis xyz="0 1 0"/><origin xyz="{xyz}"/></joint>'


ROBOT = f"""<robot name="r">
{link("body", ("0 0 0", '<box size="0.4 0.2 0.1"/>'), ("0 0 0.1", '<sphere radius="0.05"/>'))}
{link("leg", ("0 0 -0.15", '<capsule radius="0.03" length="0.2"/>'))}
{link("wheel", ("0 0 0", '<cylinder radius="0.1" length="0.05"/>'))}
{joint("body", "leg", "0.15 0 0")}{joint("body", "wheel", "-0.15 0 -0.1")}
</robot>"""


def test_shapes_ground_and_start():
    """Every kind of shape at its place; a floating base stands with its lowest shape on the ground."""
    world = load_urdf_world(ROBOT, floating_base=True)
    assert [type(s.shape) for s in world.surfaces] == [Box, Sphere, Capsule, Cylinder]
    assert world.half_space_names == ("ground",)
    # The capsule reaches 0.15 + 0.1 + 0.03 below the body.
    assert world.initial_q[2] == pytest.approx(0.28, abs=1e-9)
    assert {s.material for s in world.surfaces} == {Material(0.8)}
    # Links do not touch one another by default; links of one joint never do.
    assert len(world.excluded_pairs) == 3
    assert load_urdf_world(ROBOT, self_collisions=True).excluded_pairs == ()


def test_choices():
    """A fixed base, no ground or another one, no shapes, a start of one's own."""
    world = load_urdf_world(ROBOT, ground=False, collisions=False, q=(0.1, 0.2), material=Material(0.3))
    assert world.half_spaces == ()
    assert world.surfaces == ()
    assert np.array_equal(world.initial_q, (0.1, 0.2))
    slope = HalfSpace((0.1, 0, 1), -0.5)
    world = load_urdf_world(ROBOT, floating_base=True, ground=slope)
    start = world.initial_state()
    assert start.q[:3] @ slope.normal < 0.0
    assert_fields(SimulationConfigError, ("ground", lambda: load_urdf_world(ROBOT, ground=3)))


@pytest.fixture
def with_mesh(tmp_path):
    """A description beside a mesh file, a tetrahedron scaled by 0.1."""
    trimesh = pytest.importorskip("trimesh")
    one = hull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    trimesh.Trimesh(one.vertices, one.triangles).export(tmp_path / "part.stl")
    mesh = '<mesh filename="part.stl" scale="0.1 0.1 0.1"/>'
    (tmp_path / "robot.urdf").write_text(f'<robot name="r">{link("part", ("0 0 0", mesh))}</robot>')
    return tmp_path / "robot.urdf"


def test_meshes_by_choice(with_mesh):
    """Their hull, themselves, or none."""
    convex = load_urdf_world(with_mesh, floating_base=True).surfaces[0].shape
    assert isinstance(convex, ConvexPoints)
    assert convex.points.max() == pytest.approx(0.1)
    exact = load_urdf_world(with_mesh, meshes="exact").surfaces[0].shape
    assert isinstance(exact, Mesh)
    assert exact.convex
    assert load_urdf_world(with_mesh, meshes="skip").surfaces == ()
    assert_fields(SimulationConfigError, ("meshes", lambda: load_urdf_world(with_mesh, meshes="hull")))


def test_a_mesh_that_is_not_there_is_named():
    """The link, the file and the way out."""
    mesh = '<mesh filename="package://x/y.stl"/>'
    text = f'<robot name="r">{link("part", ("0 0 0", mesh))}</robot>'
    with pytest.raises(SimulationConfigError, match=r"'part'.*y\.stl.*package_roots.*skip"):
        load_urdf_world(text)


def test_a_bad_mesh_is_named_and_can_be_left_out(with_mesh):
    """Link, file, reason, alternative; on request the robot is added without it, and a warning lists the missing."""
    (with_mesh.parent / "bad.stl").write_text("no mesh")
    meshes = [("0 0 0", f'<mesh filename="{name}"/>') for name in ("bad.stl", "gone.stl", "part.stl")]
    text = f'<robot name="r">{link("body", *meshes[:2])}{link("leg", meshes[2])}{joint("body", "leg", "0 0 0")}</robot>'
    with_mesh.write_text(text)
    with pytest.raises(SimulationConfigError, match=r"'body'.*bad\.stl.*read.*bad_meshes='skip'"):
        load_urdf_world(with_mesh)
    with pytest.warns(UrdfWarning, match=r"'body'.*bad\.stl.*'body'.*gone\.stl") as warned:
        world = load_urdf_world(with_mesh, bad_meshes="skip")
    assert [world.model.names[i] for i in world.surface_bodies] == ["leg"]
    assert [one.filename for one in warned] == [__file__]
    world = load_urdf_world(with_mesh, meshes={"body": "skip", "leg": "exact"})
    assert [type(s.shape) for s in world.surfaces] == [Mesh]
    faults = (
        ("meshes", partial(load_urdf_world, with_mesh, meshes=bad)) for bad in ({"arm": "skip"}, {"leg": "hull"}, 3)
    )
    assert_fields(SimulationConfigError, *faults)


def test_robots_in_a_world_that_grows():
    """Two robots, a drive by a joint's name, an object; each stands at its pose, and only robots' own links ignore."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    turned = Transform.rotation((0, 0, 1), 0.5 * np.pi)
    model = builder.add_urdf(ROBOT, name="left", pose=Transform(p=(1, 2, 3)) @ turned)
    builder.add_urdf(ROBOT, name="right", pose=Transform(p=(5, 0, 9)) @ turned, floating_base=True, stand_on="floor")
    builder.add_drive(PositionDrive("left/to leg", 0.2, 10.0))
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
    world = builder.build()
    assert model.joint_names == ("to leg", "to wheel")
    assert world.model.names == tuple(f"{side}/{n}" for side in ("left", "right") for n in model.names) + ("ball",)
    placed = body_pose(world.model, world.initial_q, "left/body")
    assert placed.p == pytest.approx((1, 2, 3))
    assert np.allclose(placed.R, turned.R)
    placed = body_pose(world.model, world.initial_q, "right/body")
    assert placed.p == pytest.approx((5, 0, 0.28))
    assert np.allclose(placed.R, turned.R)
    assert {frozenset(world.model.names[i].split("/")[0] for i in pair) for pair in world.excluded_pairs} == {
        frozenset({"left"}),
        frozenset({"right"}),
    }
    assert len(world.excluded_pairs) == 6


def test_the_worlds_own_shapes_move_with_the_robot():
    """Where the root is the world itself, its shapes and all that hangs on it stand at the pose."""
    ends = '<parent link="world"/><child link="arm"/>'
    hinge = f'<joint name="j" type="continuous">{ends}<origin xyz="0 0 1"/></joint>'
    base = '<link name="world"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
    builder = WorldBuilder()
    builder.add_urdf(f'<robot name="r">{base}{link("arm")}{hinge}</robot>', name="r", pose=Transform(p=(1, 0, 0)))
    world = builder.build()
    poses = {name: body_pose(world.model, world.initial_q, name).p.tolist() for name in world.model.names}
    assert poses == {"r/arm": [1, 0, 1], "r/world 0": [1, 0, 0]}


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("name", {"name": ""}),
        ("name", {"name": None}),  # its links are taken
        ("pose", {"name": "b", "pose": (0, 0, 1)}),
        ("material", {"name": "b", "material": 0.5}),
        ("stand_on", {"name": "b", "stand_on": "floor"}),
        ("stand_on", {"name": "b", "floating_base": True, "stand_on": "flor"}),
        ("q", {"name": "b", "floating_base": True, "q": (0, 0, 0, 1, 0, 0, 0, 0, 0), "pose": Transform()}),
        ("bad_meshes", {"name": "b", "bad_meshes": "warn"}),
    ],
)
def test_a_refused_robot_leaves_the_builder_as_it_was(field, arguments):
    """The error has the wrong argument."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    builder.add_urdf(ROBOT)
    before = repr(builder.build())
    assert_fields(
        SimulationConfigError,
        (field, lambda: builder.add_urdf(ROBOT, **arguments)),
    )
    assert repr(builder.build()) == before


def test_hulls_of_fine_meshes_keep_their_extremes():
    """At most 256 corners, within a hundredth of the size of the full hull."""
    from contactlab.collision.shapes.convex_points import coarse_hull, directions

    ball = hull(directions(2000))
    coarse = coarse_hull(ball.vertices)
    assert len(coarse.points) <= 256
    reach = (coarse.points @ directions(500).T).max(axis=0)
    assert reach.min() > 0.98


JOINTED = f"""<robot name="r">{link("base")}{link("arm", ("0 0 -0.2", '<sphere radius="0.05"/>'))}{link("tail")}
<joint name="hip" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="4" velocity="9"/><dynamics damping="0.3" friction="0.2"/></joint>
<joint name="tag" type="continuous"><parent link="base"/><child link="tail"/><axis xyz="0 1 0"/>
  <mimic joint="hip" multiplier="2"/></joint></robot>"""


def test_what_a_description_says_of_joints_can_be_said_otherwise():
    """Joints are addressed as in `add_model`: by the names of the description, after the robot's name."""
    builder = WorldBuilder()
    stop = JointLimit("hip", -0.2, 0.3, stiffness=50.0)
    builder.add_urdf(
        JOINTED, name="a", limits=[stop], damping={"tag": 0.5}, friction=None, mimics=False, q={"tag": 0.7}
    )
    builder.add_urdf(JOINTED, name="b", limits=None, q={"hip": 0.1})
    world = builder.build()
    actions = world.joint_actions
    assert actions.limits == (replace(stop, joint="a/arm"),)
    assert [(one.body, one.value) for one in actions.damping] == [("a/tail", 0.5), ("b/arm", 0.3)]
    assert [(one.body, one.value) for one in actions.friction] == [("b/arm", 0.2)]
    assert [one.body for one in actions.mimics] == ["b/tail"]
    assert world.initial_q.tolist() == [0.0, 0.7, 0.1, 0.2]
    with pytest.raises(SimulationConfigError, match="damping"):
        builder.add_urdf(JOINTED, name="c", damping=3.0)
    assert builder.build().model.names == world.model.names


def test_efforts_bound_drives_where_asked():
    """For drives without their own bound; the arm then hangs where the motor is too weak for its load."""
    for add in (
        lambda builder, **more: builder.add_urdf(JOINTED, name="a", **more),
        lambda builder, **more: builder.add_model(load_urdf(JOINTED), prefix="a/", **more),
    ):
        forces = {}
        for asked in (False, True):
            builder = WorldBuilder()
            add(builder, effort_limits=asked, mimics=False)
            for drive in (
                PositionDrive("a/hip", 0.5, 100.0),
                VelocityDrive("a/hip", 1.0, 7.0, name="own"),
                VelocityDrive("a/tag", name="no limit"),
            ):
                builder.add_drive(drive)
            forces[asked] = [drive.max_force for drive in builder.build().joint_actions.drives]
        assert forces == {False: [np.inf, 7.0, np.inf], True: [4.0, 7.0, np.inf]}
    builder = WorldBuilder(gravity=(0, 0, 0))
    builder.add_urdf(JOINTED, effort_limits=True, damping=None, friction=None, mimics=False)
    builder.add_drive(PositionDrive("hip", 0.9, 1e4))
    recording = simulate(builder.build(), TimeStepping(1e-3), steps=5)
    assert recording.v[-1, 0] == pytest.approx(4.0 * 5e-3 / 0.01)
    with pytest.raises(BridgeError, match="got None"):
        PositionDrive("hip", 0.0, 1.0, max_force=None)


def test_a_joint_is_told_its_place_once():
    """A joint's position is given by its name or its link's name, not by both; the error names the two entries."""
    with pytest.raises(SimulationConfigError, match=r"q\['arm'\]: is of the same joint as q\['hip'\]"):
        WorldBuilder().add_urdf(JOINTED, q={"hip": 0.1, "arm": 0.2})


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


def quietly(file, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        return load_urdf(file, **options)


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
    """Total mass, poses, mass matrix, bias, inverse dynamics and limits, with joints matched by name."""
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
