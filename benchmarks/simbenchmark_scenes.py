"""The scenes of SimBenchmark (Kang and Hwangbo, ETH Zurich, 2018) and its measures.

Each scene is a function that returns a world with its start set; each measure a function of states or of a record. No
error correction, no damping: the scenes are stated with ERP, CFM and damping 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.collision import Box, HalfSpace, Material, Sphere
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, World, WorldBuilder

Array = NDArray[np.float64]

GRAVITY = 9.81
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
#: Directions of the force in 1a: along y, and at 60 degrees to x.
DIRECTIONS = {"y": (0.0, 1.0), "oblique": (0.5, np.sqrt(0.75))}

# --- 1a: friction ---

PUSH, PLATE_MASS, BALL_MASS, MU_GROUND = 150.0, 10.0, 1.0, 0.4


def rolling(columns: int = 5, *, overlap: float = 2e-5) -> World:
    """Balls (columns^2, radius 0.5 m, 1 kg) on a plate of 20 x 20 x 1 m and 10 kg on the ground.

    Friction 0.4 between ground and plate, 0.8 between plate and balls: with the rule sqrt(mu_a mu_b) that is 0.2 for
    the ground and 0.8 for the others. They start overlapping by 2e-5 m and 4e-5 m, as the original scene does;
    ``overlap`` 0 lets them touch.
    """
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.2))
    rough, half = Material(0.8), (10.0, 10.0, 0.5)
    plate = RigidInertia.solid_box(PLATE_MASS, half)
    builder.add_free_body("plate", plate, Box(half), rough, (0, 0, 0.5 - overlap, *UPRIGHT))
    ball = RigidInertia.solid_sphere(BALL_MASS, 0.5)
    for i in range(columns * columns):
        x, y = (-4.0 + 2.0 * k for k in divmod(i, columns))
        builder.add_free_body(f"ball {i}", ball, Sphere(0.5), rough, (x, y, 1.5 - 3.0 * overlap, *UPRIGHT))
    return builder.build()


def push(world: World, direction: ArrayLike) -> Array:
    """Return the generalized force (nv,) [N]: 150 N at the plate's centre, along a unit vector (2,)."""
    tau = np.zeros(world.nv)
    tau[:2] = PUSH * np.asarray(direction)
    return tau


def rolling_accelerations(balls: int = 25) -> tuple[float, float]:
    """Exact accelerations of plate and ball [m/s^2].

    The plate slides; each ball rolls without slip, held by f = (2/7) m a: its centre follows with 2/7 of the plate's
    acceleration.
    """
    slip = MU_GROUND * (PLATE_MASS + balls * BALL_MASS) * GRAVITY
    plate = (PUSH - slip) / (PLATE_MASS + balls * BALL_MASS * 2.0 / 7.0)
    return plate, plate * 2.0 / 7.0


def rolling_accelerations_of_pyramid(direction: ArrayLike, edges: int, balls: int = 25) -> tuple[Array, Array]:
    """Return accelerations (2,) of plate and ball [m/s^2] if the ground's friction is a pyramid of ``edges`` edges.

    If the force points along an edge, the pyramid equals the cone. Otherwise the plate slides along the normal of the
    facet nearest to the force. The facet balances the component of the force across, and brakes with cos(pi / k) of the
    cone: a = (F cos(angle) - cos(pi / k) mu N) / m. The angle between force and normal is at most pi / k.
    """
    part = 2.0 * np.pi / edges
    angle = float(np.arctan2(*np.asarray(direction)[::-1]))
    slip = MU_GROUND * (PLATE_MASS + balls * BALL_MASS) * GRAVITY
    mass = PLATE_MASS + balls * BALL_MASS * 2.0 / 7.0
    normal = part * (np.floor(angle / part) + 0.5)
    if abs(angle / part - round(angle / part)) < 1e-9:
        along, size = angle, (PUSH - slip) / mass
    else:
        along, size = normal, (PUSH * np.cos(angle - normal) - slip * np.cos(0.5 * part)) / mass
    plate = size * np.array([np.cos(along), np.sin(along)])
    return plate, plate * 2.0 / 7.0


def rolling_facet_error(time: Array, direction: ArrayLike, edges: int) -> float:
    """Return the mean of `rolling_error` over times (n,) of a motion that is exact except for the facets."""
    v = np.zeros((len(time), 12))
    plate, ball = rolling_accelerations_of_pyramid(direction, edges)
    v[:, 0:2], v[:, 6:8] = np.multiply.outer(time, plate), np.multiply.outer(time, ball)
    return float(rolling_error(time, v, direction).mean())


def rolling_error(time: Array, v: Array, direction: ArrayLike, balls: int = 25) -> Array:
    """Return squared velocity errors (n,) [m^2/s^2] of plate and first ball, at times (n,), velocities (n, nv)."""
    along = np.array([*np.asarray(direction), 0.0])
    plate, ball = rolling_accelerations(balls)
    errors = (v[:, 0:3] - plate * np.multiply.outer(time, along), v[:, 6:9] - ball * np.multiply.outer(time, along))
    return np.asarray(sum(np.square(error).sum(axis=1) for error in errors))


# --- 1b: bouncing ---


def bouncing(count: int = 49) -> World:
    """Balls of radius 0.1 m and 10 kg, 2 m apart, without friction and with restitution 1, their centres 5 m up."""
    builder, material = WorldBuilder(), Material(0.0, 1.0)
    builder.add_half_space("ground", HalfSpace(), material)
    ball = RigidInertia.solid_sphere(10.0, 0.1)
    for i in range(count):
        x, y = (2.0 * k for k in divmod(i, 7))
        builder.add_free_body(f"ball {i}", ball, Sphere(0.1), material, (x, y, 5.0, *UPRIGHT))
    return builder.build()


def energy_error(recording: Recording, start: float) -> Array:
    """Return (E - E0)^2 [J^2] of the states at the start of steps, with the initial energy E0 [J]."""
    return np.square(recording.kinetic[:-1] + recording.potential[:-1] - start)


def midstep_energy_error(recording: Recording, start: float) -> Array:
    """Return (E - E0)^2 [J^2] with the velocity of free bodies at the time of their position.

    The step is the leapfrog's: v belongs to half a step before q. At the same time as q it is v + h g / 2.
    """
    model = recording.world.model
    masses = np.array([body.inertia.mass for body in model.bodies])
    v = recording.v[:-1].reshape(recording.n_steps, -1, 6)[:, :, :3]
    gain = 0.5 * recording.stepper.h * model.gravity
    more = (v @ gain + 0.5 * gain @ gain) @ masses
    return np.square(recording.kinetic[:-1] + recording.potential[:-1] + more - start)


# --- 1c and 1d: 666 ---


def block_of_spheres(seed: int, *, elastic: bool = False, side: int = 6) -> World:
    """side^3 spheres of radius 0.1 m and 10 kg, 0.21 m apart, each coordinate off by up to 1 mm; no friction.

    The lowest centres are at 0.101 m; with restitution 1 (``elastic``) at 1.101 m.
    """
    random = np.random.default_rng(seed)
    builder, material = WorldBuilder(), Material(0.0, 1.0 if elastic else 0.0)
    builder.add_half_space("ground", HalfSpace(), material)
    sphere, lowest = RigidInertia.solid_sphere(10.0, 0.1), 1.101 if elastic else 0.101
    for i in range(side**3):
        place = 0.21 * np.array([i // side % side, i % side, i // side**2]) + 0.001 * random.uniform(size=3)
        place[2] += lowest
        builder.add_free_body(f"sphere {i}", sphere, Sphere(0.1), material, (*place, *UPRIGHT))
    return builder.build()


def penetrations(centres: Array, radius: float = 0.1) -> Array:
    """Return the sums (n,) over pairs and the ground of squared penetrations [m^2], from centres (n, bodies, 3)."""
    from scipy.spatial import cKDTree

    sums = np.zeros(len(centres))
    for i, points in enumerate(centres):
        pairs = cKDTree(points).query_pairs(2.0 * radius, output_type="ndarray")
        gaps = 2.0 * radius - np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        sums[i] = np.square(gaps).sum() + np.square(np.minimum(0.0, points[:, 2] - radius)).sum()
    return sums


# --- 1e: Kapla ---


def kapla(floors: int = 6, mu: float = 0.8) -> World:
    """A house of 17 blocks of 10 kg a floor; the last block is the highest."""
    builder, material = WorldBuilder(), Material(mu)
    builder.add_half_space("ground", HalfSpace(), material)
    base, wall = (0.025, 0.125, 0.05), (0.1, 0.025, 0.05)
    for i in range(floors):
        blocks = [(base, 0.2 * j, 0.0, 0.05) for j in range(8)]
        blocks += [(wall, 0.1 + 0.4 * j, -0.1, 0.15) for j in range(4)]
        blocks += [(wall, 0.3 + 0.4 * j, 0.1, 0.15) for j in range(3)]
        blocks += [(wall, x, 0.1, 0.15) for x in (0.1, 1.3)]
        for half, x, y, z in blocks:
            inertia = RigidInertia.solid_box(10.0, half)
            name = f"block {i} {x:.1f} {y:.1f} {z:.2f}"
            builder.add_free_body(name, inertia, Box(half), material, (x, y, 0.2 * i + z, *UPRIGHT))
    return builder.build()
