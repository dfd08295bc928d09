"""Worlds whose joints have stops, friction, drives, damping, followers and loops; each returned with its start set."""

import math

import numpy as np

from contactlab.multibody import load_urdf
from contactlab.multibody.constraints import LoopConstraint
from contactlab.simulation import (
    Box,
    HalfSpace,
    JointLimit,
    Material,
    ModelBuilder,
    PositionDrive,
    RigidInertia,
    Sphere,
    Transform,
    VelocityDrive,
    World,
    WorldBuilder,
    joints,
)

G = 9.81
FAST = {"body_contacts": False}  # shapes of bodies do not meet: no collision detection is compiled


def rod(mass: float = 1.0, length: float = 1.0) -> RigidInertia:
    """A point mass, nearly, at the end of a rod that hangs down."""
    return RigidInertia(mass, (0.0, 0.0, -length), inertia=1e-9 * np.eye(3))


def pendulum(q: float = 0.0, v: float = 0.0, *, mass: float = 1.0, length: float = 1.0) -> WorldBuilder:
    """A pendulum that swings about y, to be completed; q from hanging down."""
    builder = WorldBuilder((0.0, 0.0, -G), **FAST)
    model = ModelBuilder((0.0, 0.0, -G)).add_body("rod", joint=joints.Revolute((0, 1, 0)), inertia=rod(mass, length))
    builder.add_model(model.build(), [q], [v])
    return builder


def cart(v: float = 0.0, *, mass: float = 1.0, gravity=(0.0, 0.0, 0.0)) -> WorldBuilder:
    """A body on a rail along x, to be completed."""
    builder = WorldBuilder(gravity, **FAST)
    one = ModelBuilder(gravity).add_body(
        "cart", joint=joints.Prismatic((1, 0, 0)), inertia=RigidInertia(mass, (0, 0, 0), inertia=np.eye(3))
    )
    builder.add_model(one.build(), [0.0], [v])
    return builder


def four_bar(*, erp: float = 0.2, planar: bool = True, speed: float | None = None) -> World:
    """A crank of 0.3 m, a coupler of 0.8 m and a rocker of 0.6 m on a base of 0.7 m, closed by a loop.

    ``planar``: two rows; else five, three of them redundant in the plane. ``speed``: of a drive on the crank.
    """
    crank, coupler, rocker, base = 0.3, 0.8, 0.6, 0.7
    bars = ModelBuilder((0.0, 0.0, -G))
    y = (0, 1, 0)

    def bar(m: float, a: float) -> RigidInertia:
        return RigidInertia(m, (0.5 * a, 0.0, 0.0), inertia=m * a * a * np.diag([0.01, 1 / 12, 1 / 12]))

    bars.add_body("crank", joint=joints.Revolute(y), inertia=bar(0.3, crank))
    bars.add_body(
        "coupler",
        parent="crank",
        joint=joints.Revolute(y),
        placement=Transform(p=(crank, 0, 0)),
        inertia=bar(0.8, coupler),
    )
    bars.add_body("rocker", joint=joints.Revolute(y), placement=Transform(p=(base, 0, 0)), inertia=bar(0.6, rocker))
    # Crank along +x: coupler and rocker meet at the crossing of two circles.
    d = base - crank
    x = (coupler**2 - rocker**2 + d**2) / (2.0 * d)
    z = math.sqrt(coupler**2 - x**2)
    # A turn by q about y takes x to (cos q, 0, -sin q).
    q = [0.0, -math.atan2(z, x), -math.atan2(z, x - d)]
    builder = WorldBuilder((0.0, 0.0, -G), **FAST)
    builder.add_model(bars.build(), q)
    axes = np.eye(6)[[3, 5]] if planar else np.eye(6)[[0, 2, 3, 4, 5]]
    ends = Transform(p=(coupler, 0, 0)), Transform(p=(rocker, 0, 0))
    builder.add_loop([LoopConstraint("coupler", "rocker", *ends, axis) for axis in axes], erp=erp)
    if speed is not None:
        builder.add_drive(VelocityDrive("crank", speed))
    return builder.build()


GRIPPER = """<robot name="gripper">
<link name="palm"><inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="left"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="right"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="close" type="prismatic"><parent link="palm"/><child link="left"/><origin xyz="-0.08 0 0"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.07" effort="10" velocity="1"/><dynamics damping="2" friction="0.1"/>
</joint>
<joint name="follow" type="prismatic"><parent link="palm"/><child link="right"/><origin xyz="0.08 0 0"/>
<axis xyz="-1 0 0"/><limit lower="0" upper="0.07" effort="10" velocity="1"/><mimic joint="close"/></joint>
</robot>"""


def gripper(force: float = 8.0) -> World:
    """A parallel gripper, fixed in the air, that closes on a cube of 0.2 kg and holds it by friction."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_model(load_urdf(GRIPPER), [0.048, 0.048])
    grip = Material(0.8)
    # Round tips: with pads the load of their corners is not unique, and neither is their resistance to rotation.
    for finger, side in (("left", -0.01), ("right", 0.01)):
        builder.add_shape(finger, Sphere(0.01), grip, placement=Transform(p=(side, 0, 0)))
    builder.add_free_body("cube", RigidInertia.solid_box(0.2, (0.03,) * 3), Box((0.03,) * 3), grip)
    builder.add_drive(PositionDrive("close", 0.07, 2e3, 20.0, max_force=force, name="grip"))
    return builder.build()


def busy() -> World:
    """Everything at once, in two islands: an arm with stops, friction and drives hits the floor; a four-bar turns."""
    builder = WorldBuilder((0.0, 0.0, -G), **FAST)
    arm, y = ModelBuilder((0.0, 0.0, -G)), (0, 1, 0)
    link = RigidInertia(0.5, (0.2, 0.0, 0.0), inertia=np.diag([1e-3, 8e-3, 8e-3]))
    arm.add_body("upper", joint=joints.Revolute(y), placement=Transform(p=(0, 0, 0.5)), inertia=link)
    arm.add_body("lower", parent="upper", joint=joints.Revolute(y), placement=Transform(p=(0.4, 0, 0)), inertia=link)
    arm.add_body("hand", parent="lower", joint=joints.Revolute(y), placement=Transform(p=(0.4, 0, 0)), inertia=link)
    builder.add_model(arm.build(), [0.2, 0.3, 0.1], [0.0, 1.0, 0.0])
    builder.add_shape("hand", Sphere(0.05), Material(0.5), placement=Transform(p=(0.2, 0, 0)))
    builder.add_half_space("floor", HalfSpace((0, 0, 1), 0.0), Material(0.5))
    builder.add_joint_limit(JointLimit("lower", -0.2, 0.6))
    builder.add_joint_limit(JointLimit("upper", -1.0, 0.8, restitution=0.4))
    builder.add_joint_friction("hand", 0.05)
    builder.add_joint_damping("lower", 0.1)
    builder.add_drive(PositionDrive("upper", 0.1, 20.0, 1.0, max_force=3.0))
    builder.add_drive(PositionDrive("hand", -0.5, 4.0, 0.2, name="wrist"))
    builder.add_drive(VelocityDrive("lower", 0.3, max_force=0.2))
    bars = four_bar(planar=False, speed=2.0)
    # The same bodies once more, as a second tree of the world.
    builder.add_model(bars.model, bars.initial_q, bars.initial_v)
    builder.add_actions(bars.joint_actions)
    return builder.build()


def driven(stiffness: float = 50.0, target: float = 0.0) -> World:
    """A pendulum that a servo holds."""
    builder = pendulum(0.3)
    builder.add_drive(PositionDrive("rod", target, stiffness, 5.0, name="servo"))
    return builder.build()
