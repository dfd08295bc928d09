"""Scenes of bodies that touch one another; each returns a world with its start set."""

import numpy as np

from contactlab.multibody.joints import Fixed, FloatingBase, Revolute
from contactlab.simulation import (
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    Material,
    ModelBuilder,
    RigidInertia,
    Sphere,
    Transform,
    World,
    WorldBuilder,
)

CUBE = RigidInertia.solid_box(1.0, (0.1,) * 3)
BALL = RigidInertia.solid_sphere(0.5, 0.1)
ROUND = RigidInertia(0.8, inertia=np.diag([0.02, 0.02, 0.005]))
LYING = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
ROUGH = Material(0.5)


def stack(count: int) -> World:
    """Equal cubes, one on the other, on the ground."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    for i in range(count):
        builder.add_free_body(f"cube {i}", CUBE, Box.cube(0.1), ROUGH, (0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0))
    return builder.build()


def ball_on_a_moving_box() -> World:
    """A ball dropped onto a flat box that slides on the ground."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.2))
    half = (0.4, 0.3, 0.05)
    start = (0, 0, 0.05, 1, 0, 0, 0)
    builder.add_free_body("box", RigidInertia.solid_box(2.0, half), Box(half), ROUGH, start, (1.5, 0.2, 0, 0, 0, 0))
    builder.add_free_body("ball", BALL, Sphere(0.1), Material(0.5, 0.4), (0.1, 0, 0.23, 1, 0, 0, 0))
    return builder.build()


def capsule_on_a_cylinder() -> World:
    """A capsule that falls across a lying cylinder on the ground."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    builder.add_free_body("cylinder", ROUND, Cylinder(0.1, 0.3), ROUGH, (0, 0, 0.1, *LYING))
    across = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    builder.add_free_body("capsule", ROUND, Capsule(0.05, 0.2), ROUGH, (0.03, 0.05, 0.26, *across), (0, 0, -1, 0, 1, 0))
    return builder.build()


def pendulum_and_box() -> World:
    """Two rods below a fixed hinge, their lower end hitting a cube on the ground; every link has a shape."""
    rod = RigidInertia(1.2, (0, 0, -0.25), inertia=np.diag([0.025, 0.025, 4e-4]))
    model = ModelBuilder()
    model.add_body("stand", joint=Fixed(), placement=Transform(p=(0.0, 0.0, 1.1)))
    model.add_body("upper", parent="stand", joint=Revolute((0, 1, 0)), inertia=rod)
    below = Transform(p=(0, 0, -0.5))
    model.add_body("lower", parent="upper", joint=Revolute((0, 1, 0)), placement=below, inertia=rod)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    builder.add_model(model.build(), q=(1.0, 0.2))
    builder.add_shape("stand", Box.cube(0.05), ROUGH)
    for name in ("upper", "lower"):
        builder.add_shape(name, Capsule(0.03, 0.22), ROUGH, placement=Transform(p=(0, 0, -0.25)))
    builder.add_free_body("cube", CUBE, Box.cube(0.1), ROUGH, (0.15, 0, 0.1, 1, 0, 0, 0))
    return builder.build()


def collision_in_space(mu: float = 0.3, restitution: float = 0.5) -> World:
    """Two rotating boxes, equal about all axes, that fly into each other; no gravity, no ground."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    material = Material(mu, restitution)
    half = (0.2, 0.1, 0.15)
    inertia = RigidInertia(1.3, inertia=0.02 * np.eye(3))
    turned = np.array([0.9, 0.1, 0.3, -0.2])
    turned /= np.linalg.norm(turned)
    builder.add_free_body("left", inertia, Box(half), material, (-0.4, 0, 0, 1, 0, 0, 0), (2, 0.1, 0, 0.5, 1, -0.3))
    builder.add_free_body("right", CUBE, Box.cube(0.1), material, (0.3, 0.05, 0.02, *turned), (-1, 0, 0, 1, -2, 3))
    return builder.build()


def heap(count: int, seed: int) -> World:
    """Bodies of every shape that fall into a funnel, one on the other."""
    random = np.random.default_rng(seed)
    builder, material = WorldBuilder(), Material(0.4, 0.1)
    builder.add_half_space("floor", HalfSpace(), material)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        builder.add_half_space(f"wall {x} {y}", HalfSpace((x, y, 0.5), -0.3), material)
    octahedron = ConvexPoints(0.12 * np.concatenate((np.eye(3), -np.eye(3))))
    shapes = (Sphere(0.1), Box((0.1, 0.08, 0.06)), Capsule(0.05, 0.1), Cylinder(0.08, 0.1), octahedron)
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.09, 0.08))
    for i in range(count):
        turn = random.normal(size=4)
        start = (*random.uniform(-0.2, 0.2, 2), 0.4 + 0.25 * i, *(turn / np.linalg.norm(turn)))
        speed = (0.0, 0.0, -1.0, *random.normal(size=3))
        builder.add_free_body(f"body {i}", inertia, shapes[i % 5], material, start, speed)
    return builder.build()


def tree_that_folds() -> World:
    """Three links in space: the last swings onto the first, all of one tree."""
    model = ModelBuilder((0.0, 0.0, 0.0))
    inertia = RigidInertia.solid_box(1.0, (0.2, 0.1, 0.05))
    model.add_body("first", joint=FloatingBase(), inertia=inertia)
    for name, parent in (("middle", "first"), ("last", "middle")):
        place = Transform(p=(0.25, 0.0, 0.0))
        model.add_body(name, parent=parent, joint=Revolute((0, 1, 0.1)), placement=place, inertia=inertia)
    builder = WorldBuilder((0.0, 0.0, 0.0))
    q = (0, 0, 0, 1, 0, 0, 0, -1.2, -1.2)
    builder.add_model(model.build(), q, (0, 0, 0, 0, 0, 0, -1.0, -3.0))
    for name in ("first", "last"):
        builder.add_shape(name, Box((0.2, 0.1, 0.05)), Material(0.4, 0.3))
    return builder.build()


def two_balls(restitution: float) -> World:
    """A ball that flies into one at rest, centre to centre."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    material = Material(0.0, restitution)
    builder.add_free_body("first", BALL, Sphere(0.1), material, (-0.3, 0, 0, 1, 0, 0, 0), (1, 0, 0, 0, 0, 0))
    builder.add_free_body("second", BALL, Sphere(0.1), material, (0.0, 0, 0, 1, 0, 0, 0))
    return builder.build()


SCENES = {
    "stack of three": (lambda: stack(3), 0.1),
    "ball on a moving box": (ball_on_a_moving_box, 0.4),
    "capsule on a cylinder": (capsule_on_a_cylinder, 0.4),
    "pendulum and box": (pendulum_and_box, 0.6),
    "tree that folds": (tree_that_folds, 0.8),
    "collision in space": (collision_in_space, 0.3),
}
