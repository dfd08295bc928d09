"""Cases of persistent contact: friction and rest.

Sticking contacts do not creep. Sliding bodies stop where Coulomb's law predicts, equally in all directions. Forces sum
to the load and are shared, stacks settle, and nothing sinks. Reported forces satisfy their laws.
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.lab.conformance.case import (
    Body,
    Case,
    Engine,
    HalfSpaceSpec,
    Measure,
    NotReportedError,
    Scene,
    ShapeSpec,
    ball,
    box,
    net_contact_force,
    path,
)

G, H = 9.81, 1e-3
#: A micrometre per second, less than all rates in MuJoCo's issue 3328, 50 to 2300.
CREEP = 1e-6
BRICK = (0.1, 0.1, 0.02)


def incline(angle: float, mu: float) -> Scene:
    """Return the scene of a brick at rest on a slope that falls along x, at an angle [rad], with friction ``mu``."""
    s, c = math.sin(angle), math.cos(angle)
    turn = (math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0)
    return Scene((box(BRICK, 1.0, (0.02 * s, 0.0, 0.02 * c), turn),), (HalfSpaceSpec((s, 0.0, c)),), mu)


def _stops(engine: Engine) -> list[Measure]:
    """Measure the error of the distance at which a sliding brick stops, and its creep in the last 0.2 s."""
    v, mu = 2.0, 0.5
    scene = Scene((box(BRICK, 1.0, (0.0, 0.0, 0.02), velocity=(v, 0.0, 0.0)),), mu=mu)
    track, far = path(engine, scene, H, 1.0), v * v / (2.0 * mu * G)
    crept = float(np.linalg.norm(track.poses[-1, 0, :2] - track.poses[-201, 0, :2]) / (200 * H))
    return [Measure(f"missed the {far:.3f} m of v^2/(2 mu g) by", abs(float(track.poses[-1, 0, 0]) - far), v * H, "m"),
            Measure("crept on, where 0 is asked, at", crept, CREEP, "m/s")]  # fmt: skip


def _holds(engine: Engine) -> list[Measure]:
    """Measure the creep in one second of a brick on an incline below the angle of friction."""
    track = path(engine, incline(math.radians(20.0), 0.8), H, 2.0)
    crept = float(np.linalg.norm(track.poses[-1, 0, :3] - track.poses[-1001, 0, :3]))
    return [Measure("crept down 20 degrees at mu = 0.8, where 0 is asked, at", crept, CREEP, "m/s")]


def _slides(engine: Engine) -> list[Measure]:
    """Measure the error of the speed after 1 s of a brick on an incline above the angle of friction."""
    angle, mu = math.radians(30.0), 0.3
    track, wanted = path(engine, incline(angle, mu), H, 1.0), G * (math.sin(angle) - mu * math.cos(angle))
    off = abs(float(np.linalg.norm(track.velocities[-1, 0, :3])) - wanted)
    return [Measure(f"missed the {wanted:.3f} m/s of g (sin - mu cos) t by", off, 2.0 * wanted * H, "m/s")]


def _pressed(engine: Engine) -> list[Measure]:
    """Measure the creep in one second of an upright capsule that a force presses against a wall."""
    r, half = 4e-3, 0.02
    # The inertia of a rod, which stands upright, so that it cannot roll down the wall.
    inertia = (0.045 * half**2 / 3.0, 0.045 * half**2 / 3.0, 0.5 * 0.045 * r * r)
    capsule = Body(ShapeSpec("capsule", (r, half)), 0.045, inertia, (r, 0.0, 0.5), force=(-12.0, 0.0, 0.0))
    track = path(engine, Scene((capsule,), (HalfSpaceSpec((1.0, 0.0, 0.0)),), 0.7), H, 2.0)
    crept = abs(float(track.poses[-1, 0, 2] - track.poses[-1001, 0, 2]))
    return [Measure("crept, pressed by 12 N with a weight of 0.44 N, where 0 is asked, at", crept, CREEP, "m/s")]


def _isotropy(engine: Engine) -> list[Measure]:
    """Measure the spread of sliding distances over directions of the initial speed, and the turn of the direction."""
    v, mu = 2.0, 0.5
    angles = np.radians(np.arange(0.0, 91.0, 11.25))
    bodies = tuple(
        box(BRICK, 1.0, (0.0, 5.0 * i, 0.02), velocity=(v * math.cos(a), v * math.sin(a), 0.0))
        for i, a in enumerate(angles.tolist())
    )
    track = path(engine, Scene(bodies, mu=mu), H, 1.0)
    gone = track.poses[-1, :, :2] - track.poses[0, :, :2]
    lengths, turned = np.linalg.norm(gone, axis=1), np.arctan2(gone[:, 1], gone[:, 0]) - angles
    return [Measure("slid, by the direction, ways that differ by", float(np.ptp(lengths)), v * H, "m"),
            Measure("turned the direction of sliding by", float(np.abs(turned).max()), 1e-3, "rad")]  # fmt: skip


def _rolls(engine: Engine) -> list[Measure]:
    """Measure the error of the final speed of a sliding ball that begins to roll, and its slip."""
    v, mu = 2.0, 0.3
    track = path(engine, Scene((ball(0.1, 1.0, (0.0, 0.0, 0.1), (v, 0.0, 0.0)),), mu=mu), H, 1.0)
    rolls = float(track.velocities[-1, 0, 0])
    slip = abs(rolls - 0.1 * float(track.velocities[-1, 0, 4]))
    return [Measure("missed 5/7 of the speed by", abs(rolls - 5.0 / 7.0 * v), mu * G * H, "m/s"),
            Measure("slipped, rolling, where 0 is asked, at", slip, CREEP, "m/s")]  # fmt: skip


def _spins(engine: Engine) -> list[Measure]:
    """Measure the error of the angle by which a brick spins on the floor before it stops."""
    w, mu, r = 8.0, 0.3, math.hypot(0.1, 0.1)
    scene = Scene((box(BRICK, 1.0, (0.0, 0.0, 0.02), spin=(0.0, 0.0, w)),), mu=mu)
    slows = mu * G * r / scene.bodies[0].inertia[2]
    track = path(engine, scene, H, 0.5)
    if (count := len(track.contacts().body)) != 4:
        raise NotReportedError(f"reports {count} contacts of a box on the floor, not four at its corners")
    angle = float(np.sum(track.velocities[1:, 0, 5]) * H)
    far = w * w / (2.0 * slows)
    return [Measure(f"missed the {far:.3f} rad of I w^2/(2 mu m g r) by", abs(angle - far), w * H, "rad")]


_FRICTION = (
    Case("sliding brick stops", "Does it stop after v^2/(2 mu g), and stay?",
         "Closed form; limit one step's way", _stops),
    Case("brick holds on a slope", "Does it creep inside the cone?", "Coulomb: 0; MuJoCo issue 3328", _holds),
    Case("brick slides down a slope", "Is it g (sin - mu cos)?", "Closed form; limit two steps' speed", _slides),
    Case("pressed capsule", "Does a capsule creep, pressed against a wall by 12 N, 19 times the necessary force?",
         "Coulomb: 0; the numbers of MuJoCo issue 3328, which reports 50 to 2300 um/s", _pressed),
    Case("isotropy", "Is friction the same in all directions, 0 to 90 degrees?",
         "Coulomb's cone; limit one step's way and 1 mrad", _isotropy),
    Case("sliding ball rolls", "Does it roll at 5/7 of its speed?", "Closed form; limit one step of mu g", _rolls),
    Case("spinning brick stops", "Do four corners stop a spin as they should?",
         "Closed form of four equal loads at the corners; limit one step's angle", _spins),
)  # fmt: skip


SHARE = 1e-3  # a tenth of a percent of the load


def stack(masses: list[float]) -> Scene:
    """Return the scene of a stack of cubes of 0.2 m with these masses [kg], the lowest first."""
    return Scene(tuple(box((0.1,) * 3, m, (0.0, 0.0, 0.1 + 0.2 * i)) for i, m in enumerate(masses)))


def _corners(engine: Engine) -> list[Measure]:
    """Measure the relative errors of the total force on a resting cube, and of the forces at its four corners."""
    contacts = path(engine, stack([2.0]), H, 1.0).contacts()
    total, forces = net_contact_force(contacts, 0), np.linalg.norm(contacts.force, axis=1)
    if forces.size != 4:
        raise NotReportedError(f"tells {forces.size} contacts of a box on the floor, not those of its four corners")
    return [Measure("missed the load, of its weight, by", float(abs(total[2] / (2.0 * G) - 1.0)), SHARE),
            Measure("four corners missed a quarter of it by",
                    float(np.abs(forces - 0.5 * G).max()) / (2.0 * G), SHARE)]  # fmt: skip


def _pressures(engine: Engine) -> list[Measure]:
    """Measure the relative errors of the contact forces under a stack of three cubes and under its uppermost cube."""
    contacts = path(engine, stack([1.0, 1.0, 1.0]), H, 1.0).contacts()
    ground = -sum(float(f[2]) * (1 if b < 0 else -1 if o < 0 else 0)
                  for b, o, f in zip(contacts.body, contacts.other, contacts.force, strict=True))  # fmt: skip
    return [Measure("three cubes missed 3 m g on the ground, of it, by", abs(ground / (3 * G) - 1.0), SHARE),
            Measure("the uppermost missed m g by",
                    abs(float(net_contact_force(contacts, 2)[2]) / G - 1.0), SHARE)]  # fmt: skip


def _settles(masses: list[float], engine: Engine) -> list[Measure]:
    """Measure the largest speed after 1 s, and the largest sinking, of a stack of cubes of these masses [kg]."""
    track = path(engine, stack(masses), H, 1.0)
    moving = float(np.abs(track.velocities[-1, :, :3]).max())
    sunk = float(np.abs(track.poses[-1, :, 2] - track.poses[0, :, 2]).max())
    return [Measure("moved, after a second, at", moving, 1e-6, "m/s"), Measure("sank by", sunk, 1e-4, "m")]


def _groove(engine: Engine) -> list[Measure]:
    """Measure the relative error of the two contact forces of a ball at rest in a groove without friction."""
    s = math.sqrt(0.5)
    scene = Scene(
        (ball(0.1, 1.0, (0.0, 0.0, 0.1 / s)),), (HalfSpaceSpec((s, 0.0, s)), HalfSpaceSpec((-s, 0.0, s))), 0.0
    )
    forces = np.linalg.norm(path(engine, scene, H, 1.0).contacts().force, axis=1)
    off = float(np.abs(forces / (G * s) - 1.0).max()) if forces.size == 2 else math.inf
    return [Measure("each side of the groove missed m g/(2 cos 45), of it, by", off, SHARE)]


def _three_balls(engine: Engine) -> list[Measure]:
    """Measure the largest speed of three balls in a trough 3 s after they were pushed together."""
    s, r = math.sqrt(0.5), 0.1
    walls = (
        HalfSpaceSpec((s, 0.0, s)),
        HalfSpaceSpec((-s, 0.0, s)),
        HalfSpaceSpec((0.0, 1.0, 0.0), -0.6),
        HalfSpaceSpec((0.0, -1.0, 0.0), -0.6),
    )
    balls = tuple(ball(r, 1.0, (0.0, 0.25 * (i - 1), r / s), (0.0, 0.5 * (1 - i), 0.0)) for i in range(3))
    track = path(engine, Scene(balls, walls, 0.3), H, 3.0)
    return [Measure("moved, three seconds later, at", float(np.abs(track.velocities[-1, :, :3]).max()), 1e-6, "m/s")]


def _cone(engine: Engine) -> list[Measure]:
    """Measure the deviations of a sliding brick's contact forces from the cone, and from mu N against the motion.

    The brick's distance from the slope and pulling contacts are measured too.
    """
    mu = 0.3
    track = path(engine, incline(math.radians(30.0), mu), H, 0.5)
    contacts = track.contacts()
    up = (math.sin(math.radians(30.0)), 0.0, math.cos(math.radians(30.0)))
    off = float(np.abs(track.poses[-101:, 0, :3] @ up - 0.02).max())
    gap = Measure("was off the slope on which it weighs, in the last 0.1 s, by", off, 1e-4, "m")
    if not contacts.body:
        return [gap, Measure("reported no contact under the weight:", 1.0, 0.0)]
    normal = np.sum(contacts.force * contacts.normal, axis=1)
    # The force on the brick, whichever of the two bodies the engine reports as the pushed one.
    tangent = np.where(np.array(contacts.body) >= 0, 1.0, -1.0)[:, None] * (
        contacts.force - normal[:, None] * contacts.normal
    )
    load = max(float(normal.sum()), 1e-300)
    beyond = float((np.linalg.norm(tangent, axis=1) - mu * normal).max())
    # If the contact slides, friction is mu N against the motion.
    v = track.velocities[-1, 0, :3]
    short = float(np.linalg.norm(tangent.sum(0) + mu * load * v / np.linalg.norm(v)))
    return [gap, Measure("pulled at a contact, of the load, with", float(-normal.min(initial=0.0)) / load, 1e-9),
            Measure("left the cone, by the load, by", beyond / load, 1e-6),
            Measure("missed mu N against the motion, of the load, by", short / load, 1e-6)]  # fmt: skip


CASES = (
    *_FRICTION,
    Case("four corners", "Do forces sum to the weight, shared evenly?",
         "Statics and symmetry; 0.1 % of the load", _corners),
    Case("pressures of a stack", "Does each face carry the weight above it?", "Statics; 0.1 %", _pressures),
    Case("ball in a groove", "Do two sides share the weight?", "Statics: m g/(2 cos 45); 0.1 %", _groove),
    Case("stack of ten", "Does it stand still after a second, without sinking?",
         "Rigid bodies at rest: 0; limits 1 um/s and 0.1 mm", lambda engine: _settles([1.0] * 10, engine)),
    Case("mass ratio 1000", "Does a light cube carry a heavy one?",
         "Rigid bodies at rest: 0; limits 1 um/s and 0.1 mm", lambda engine: _settles([1.0, 1000.0], engine)),
    Case("three balls that stop", "Do balls that meet in a groove come to rest?",
         "Friction and inelastic impacts leave no energy; limit 1 um/s", _three_balls),
    Case("residual on the original data", "Do reported forces obey Coulomb's law?",
         "Signorini and Coulomb, on the reported forces; 1e-6 of the load, and a gap of 0.1 mm", _cone),
)  # fmt: skip
