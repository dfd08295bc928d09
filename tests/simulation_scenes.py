"""Scenes that the tests of the simulation share; each returns a world with its start set."""

import math

import numpy as np
from numpy.typing import ArrayLike

import lcp
from contactlab.collision import BodyShape
from contactlab.simulation import Box, ConvexPoints, HalfSpace, Material, RigidInertia, Sphere, World, WorldBuilder

G = 9.81


class Outside:
    """Lemke's method as a user's solver: the compiled loop does not have it and calls Python for every solve."""

    def solve(self, problem, *, z0, tolerance, trace):
        """Delegate."""
        return lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)


def one_body(
    shape: BodyShape,
    inertia: RigidInertia,
    *,
    mu: float,
    q: ArrayLike,
    v: ArrayLike = (0.0,) * 6,
    normal: ArrayLike = (0.0, 0.0, 1.0),
    restitution: float = 0.0,
) -> World:
    """One body above one half-space through the origin."""
    builder = WorldBuilder((0.0, 0.0, -G))
    material = Material(mu, restitution)
    builder.add_half_space("ground", HalfSpace(normal, 0.0), material)
    builder.add_free_body("body", inertia, shape, material, q, v)
    return builder.build()


def block(mu: float, speed: float = 0.0) -> World:
    """A flat brick of 2 kg on the ground, sliding along x."""
    half = (0.2, 0.15, 0.04)
    inertia = RigidInertia.solid_box(2.0, half)
    return one_body(Box(half), inertia, mu=mu, q=(0, 0, 0.04, 1, 0, 0, 0), v=(speed, 0, 0, 0, 0, 0))


def cube_at_rest() -> World:
    """A cube of 1 kg lying on the ground."""
    return one_body(Box.cube(0.1), RigidInertia.solid_box(1.0, (0.1,) * 3), mu=0.5, q=(0, 0, 0.1, 1, 0, 0, 0))


def incline(theta: float, mu: float) -> World:
    """A flat brick at rest on a plane that falls towards +x at the angle theta."""
    half = (0.2, 0.15, 0.04)
    normal = np.array([math.sin(theta), 0.0, math.cos(theta)])
    q = (*(0.04 * normal), math.cos(theta / 2), 0.0, math.sin(theta / 2), 0.0)
    return one_body(Box(half), RigidInertia.solid_box(2.0, half), mu=mu, q=q, normal=normal)


def ball(mu: float, speed: float) -> World:
    """A ball of radius 0.1 m on the ground, sliding along x without spin."""
    inertia = RigidInertia.solid_sphere(0.5, 0.1)
    return one_body(Sphere(0.1), inertia, mu=mu, q=(0, 0, 0.1, 1, 0, 0, 0), v=(speed, 0, 0, 0, 0, 0))


def dropped_ball(height: float, restitution: float = 0.0) -> World:
    """A ball of radius 0.1 m, its lowest point at ``height``."""
    inertia = RigidInertia.solid_sphere(0.5, 0.1)
    q = (0, 0, 0.1 + height, 1, 0, 0, 0)
    return one_body(Sphere(0.1), inertia, mu=0.3, q=q, restitution=restitution)


def tumble() -> World:
    """A thrown cube, ball and tetrahedron (centre of mass off its origin) between a tilted floor and a wall."""
    builder = WorldBuilder((0.0, 0.0, -G))
    rough, smooth = Material(0.4, 0.3), Material(0.2)
    builder.add_half_space("floor", HalfSpace((0.1, 0.2, 1.0), 0.0), rough)
    builder.add_half_space("wall", HalfSpace((-1.0, 0.1, 0.2), -1.0), smooth)
    turned = np.array([0.8, 0.2, -0.4, 0.4])
    turned /= np.linalg.norm(turned)
    cube = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_free_body("cube", cube, Box.cube(0.1), rough, (0, 0, 0.3, *turned), (2, 0.3, -1, 2, 3, 4))
    ball = RigidInertia.solid_sphere(0.3, 0.08)
    builder.add_free_body("ball", ball, Sphere(0.08), smooth, (0, 1, 0.2, 1, 0, 0, 0), (3, 0, 0, 0, -9, 1))
    corners = [(0.1, 0.0, -0.05), (-0.1, 0.1, -0.05), (-0.1, -0.1, -0.05), (0.0, 0.0, 0.12)]
    tetrahedron = RigidInertia(0.4, (-0.025, 0.0, -0.01), inertia=np.diag([8e-4, 9e-4, 1e-3]))
    start = (0.3, -1, 0.45, *turned)
    builder.add_free_body("tetrahedron", tetrahedron, ConvexPoints(corners), rough, start, (1, 1, 0, 5, 0, 1))
    return builder.build()


class UpTo:
    """Lemke's method as a user's solver that gives up where h is above a limit.

    It reads h off the problem: the ball's normal row has N C N' = 1/mass, so M[0, 0] = h / mass.
    """

    def __init__(self, limit, mass=0.5, wrong=np.nan):
        self.limit = limit
        self.mass = mass
        self.wrong = wrong
        self.seen = []

    def solve(self, problem, *, z0, tolerance, trace):
        h = self.mass * problem.M[0, 0]
        self.seen.append(h)
        if h > self.limit * (1 + 1e-9):
            return lcp.Claim(np.full(problem.n, self.wrong), lcp.Status.SOLVED, 1)
        return lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)


def certified(recording, mechanical=1e-9):
    """Return the recording, in which every step was solved."""
    worst = recording.worst_certificate()
    assert worst.scaled <= 1e-9
    assert worst.mechanical <= mechanical
    return recording
