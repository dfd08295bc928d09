"""Penetration depths over scenes that press, throw, tumble and stack bodies.

Run: ``python benchmarks/depth.py [--kind NAME ...] [--seeds 3] [--h 0.002] [--scenes FOLDER] [--verify]``.

Every scene begins with its bodies apart. A row is a kind of scene. It has the worst depth over the smallest extent of
the smaller body, and the same over the bound h^2 w^2 r / 2 if this is larger than 2 % of the extent. It also has the
steps with a contact deeper than 2 %, the largest violation of a joint stop, the fraction of steps that moved positions,
and whether `verify` holds. ``--scenes`` adds the kinds of a folder with a ``scenes.py`` whose ``make(kind, seed)``
gives random scenes.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import Box, Capsule, Cylinder, HalfSpace, Material, PlacedShape, Sphere
from contactlab.multibody import ModelBuilder, joints, neutral
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import (
    ConstantVelocity,
    JointLimit,
    Recording,
    SimulationError,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.verification.motion import moving_bodies

Array = NDArray[np.float64]
Made = tuple[Any, float, dict[str, Any]]
ALONG_X = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], dtype=np.float64)


def unit(rng: np.random.Generator) -> tuple[float, ...]:
    """Return a random unit quaternion."""
    q = rng.standard_normal(4)
    return tuple(float(x) for x in q / np.linalg.norm(q))


def about(axis: int, angle: float) -> tuple[float, ...]:
    """Return the quaternion of a turn about a coordinate axis."""
    q = [np.cos(angle / 2), 0.0, 0.0, 0.0]
    q[1 + axis] = np.sin(angle / 2)
    return tuple(float(x) for x in q)


def turn(axis: int, angle: float) -> Array:
    """Return the matrix of a turn about a coordinate axis."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i] = np.sin(angle)
    R[i, j] = -R[j, i]
    return R


def solid(shape: Any, density: float = 1000.0) -> RigidInertia:
    """Return the inertia of a shape of uniform density."""
    one = shape.inertia()
    return RigidInertia(one.mass * density, one.com, inertia=np.asarray(one.inertia) * density)


def ground(mu: float) -> tuple[WorldBuilder, Material]:
    """Return a builder with a floor, and the material of all."""
    b, m = WorldBuilder(), Material(mu)
    b.add_half_space("floor", HalfSpace(), m)
    return b, m


def cards(rng: np.random.Generator) -> Made:
    """Cards of 1.5 mm that fall on one another."""
    b, m = ground(float(rng.choice([0.2, 0.5])))
    card = Box((0.03, 0.045, 0.00075))
    for i in range(12):
        q = rng.standard_normal(4) * 0.15 + np.array([1, 0, 0, 0])
        p = (*rng.uniform(-0.015, 0.015, 2), 0.06 + 0.06 * i)
        b.add_free_body(f"c{i}", solid(card), card, m, (*p, *(q / np.linalg.norm(q))))
    return b.build(), 0.8, {}


def house_of_cards(rng: np.random.Generator) -> Made:
    """Pairs of cards that lean on one another under flat ones, hit by a ball."""
    b, m = ground(0.6)
    t, half, lean = 0.00075, 0.044, 0.3
    card = Box((t, 0.032, half))
    # Upright ones lean about y: their lower edges stand apart, the upper ones meet.
    high = half * np.cos(lean) + t * np.sin(lean)
    off = half * np.sin(lean) + t * np.cos(lean) + 1e-4
    for i in range(3):
        for side in (-1.0, 1.0):
            x = (i - 1) * 4.2 * off + side * off
            b.add_free_body(f"c{i}{side:+.0f}", solid(card), card, m, (x, 0, high + 1e-4, *about(1, -side * lean)))
    flat = Box((0.065, 0.032, t))
    b.add_free_body("flat", solid(flat), flat, m, (0, 0, 2 * high + t + 4e-4, 1, 0, 0, 0))
    v = (3, 0, float(rng.uniform(0.1, 0.6)), 0, 0, 0)
    b.add_free_body("ball", solid(Sphere(0.01)), Sphere(0.01), m, (-0.25, 0, 0.03, 1, 0, 0, 0), v)
    return b.build(), 0.6, {}


def dominoes(rng: np.random.Generator) -> Made:
    """A row that topples."""
    b, m = ground(float(rng.choice([0.3, 0.6])))
    stone, gap = Box((0.00375, 0.012, 0.024)), float(rng.uniform(0.018, 0.03))
    for i in range(16):
        v = (0.24, 0, 0, 0, 10, 0) if i == 0 else (0,) * 6
        b.add_free_body(f"d{i}", solid(stone), stone, m, (gap * i, 0, 0.024, 1, 0, 0, 0), v)
    return b.build(), 1.2, {}


def ring(radius: float, r: float, n: int = 10) -> list[PlacedShape]:
    """Return a ring about z of capsules."""
    half = radius * np.tan(np.pi / n)
    parts = []
    for i in range(n):
        a = 2 * np.pi * i / n
        across = turn(2, a + np.pi / 2) @ ALONG_X
        parts.append(PlacedShape(Capsule(r, half), Transform(across, (radius * np.cos(a), radius * np.sin(a), 0))))
    return parts


def rings(rng: np.random.Generator) -> Made:
    """A chain of linked rings that hangs from a fixed one and is struck."""
    b, m = WorldBuilder(), Material(float(rng.choice([0.1, 0.4])))
    radius, r, n = 0.02, 0.003, 7
    mass = 0.03
    I = np.diag([0.5, 0.5, 1.0]) * mass * radius**2
    upright = turn(0, np.pi / 2)
    placed = [PlacedShape(p.shape, Transform(upright @ p.pose.R, upright @ p.pose.p)) for p in ring(radius, r)]
    b.add_fixed_body("r0", placed, m)
    for i in range(1, n):
        z = -i * (2 * radius - 2 * r - 0.002)
        q = np.array(about(0, np.pi / 2))
        if i % 2:
            s = np.array(about(2, np.pi / 2))
            w = s[0] * q[0] - s[1:] @ q[1:]
            q = np.array([w, *(s[0] * q[1:] + q[0] * s[1:] + np.cross(s[1:], q[1:]))])
        v = (2.0, float(rng.uniform(-1, 1)), 0, 0, 0, 0) if i == n - 1 else (0,) * 6
        b.add_free_body(f"r{i}", RigidInertia(mass, (0, 0, 0), I), ring(radius, r), m, (0, 0, z, *q), v)
    return b.build(), 0.8, {}


def ragdoll(rng: np.random.Generator) -> Made:
    """A figure of capsules, with stops at its joints, that falls on steps."""
    b, m = ground(0.5)
    M = ModelBuilder()
    parts: dict[str, tuple[float, float]] = {"torso": (0.1, 0.15)}
    M.add_body("torso", joint=joints.FloatingBase(), inertia=solid(Capsule(0.1, 0.15)))
    head = RigidInertia(3.0, (0, 0, 0.09), 0.01 * np.eye(3))
    M.add_body(
        "head", parent="torso", joint=joints.Revolute((0, 1, 0)), placement=Transform(p=(0, 0, 0.27)), inertia=head
    )
    limits = [JointLimit("head", -0.5, 0.5)]
    for side, s in (("l", 1.0), ("r", -1.0)):
        for upper, lower, at, r, half in (
            ("arm", "hand", (0, s * 0.2, 0.13), 0.04, 0.11),
            ("thigh", "shin", (0, s * 0.08, -0.2), 0.06, 0.16),
        ):
            length = 2 * half + 2 * r + 0.02
            inertia = solid(Capsule(r, half))
            own = RigidInertia(inertia.mass, (0, 0, -half - r), inertia.inertia)
            hinge = joints.Revolute((0, 1, 0))
            M.add_body(f"{upper}_{side}", parent="torso", joint=hinge, placement=Transform(p=at), inertia=own)
            under = Transform(p=(0, 0, -length))
            M.add_body(f"{lower}_{side}", parent=f"{upper}_{side}", joint=hinge, placement=under, inertia=own)
            parts[f"{upper}_{side}"] = parts[f"{lower}_{side}"] = (r, half)
            low, high = (-2.2, 0.1) if lower == "hand" else (-0.05, 2.2)
            limits += [JointLimit(f"{upper}_{side}", -1.2, 1.2), JointLimit(f"{lower}_{side}", low, high)]
    model = M.build()
    q, v = np.array(neutral(model)), np.zeros(model.nv)
    q[:3], q[3:7] = (0, 0, 2.0), unit(rng)
    v[:6] = (*rng.uniform(-1, 1, 3), *rng.uniform(-3, 3, 3))
    b.add_model(model, q, v)
    for name, (r, half) in parts.items():
        z = 0.0 if name == "torso" else -half - r
        b.add_shape(name, PlacedShape(Capsule(r, half), Transform(p=(0, 0, z))), m)
    b.add_shape("head", PlacedShape(Sphere(0.09), Transform(p=(0, 0, 0.1))), m)
    for limit in limits:
        b.add_joint_limit(limit)
    for i in range(3):
        b.add_fixed_body(f"step{i}", Box((0.5, 0.15, 0.1 * (3 - i))), m, Transform(p=(0, 0.3 * i - 0.1, 0.1 * (3 - i))))
    return b.build(), 1.2, {}


def tube(rng: np.random.Generator) -> Made:
    """Capsules that fall into a tube of eight walls."""
    b, m = ground(0.3)
    inner, wall = 0.06, 0.004
    half = (inner + wall) * np.tan(np.pi / 8)
    walls = []
    for i in range(8):
        a = 2 * np.pi * i / 8
        at = ((inner + wall) * np.cos(a), (inner + wall) * np.sin(a), 0.4)
        walls.append(PlacedShape(Box((wall, half, 0.4)), Transform(turn(2, a), at)))
    b.add_fixed_body("tube", walls, m)
    grain = Capsule(0.012, 0.02)
    for i in range(16):
        b.add_free_body(f"g{i}", solid(grain), grain, m, (*rng.uniform(-0.015, 0.015, 2), 0.1 + 0.09 * i, *unit(rng)))
    return b.build(), 0.9, {}


def drum(rng: np.random.Generator) -> Made:
    """Grains of four shapes in a drum that turns."""
    b, m = WorldBuilder(), Material(0.5)
    inner, wall = 0.15, 0.01
    half = (inner + wall) * np.tan(np.pi / 12)
    walls = []
    for i in range(12):
        a = 2 * np.pi * i / 12
        at = ((inner + wall) * np.cos(a), 0, (inner + wall) * np.sin(a))
        walls.append(PlacedShape(Box((wall, 0.1, half)), Transform(turn(1, -a), at)))
    walls += [PlacedShape(Box((0.2, wall, 0.2)), Transform(p=(0, s * (0.1 + wall), 0))) for s in (-1, 1)]
    b.add_kinematic_body(
        "drum", walls, m, motion=ConstantVelocity(Transform(), (0, 0, 0), (0, float(rng.uniform(3, 6)), 0))
    )
    shapes = [Box((0.015, 0.02, 0.012)), Sphere(0.016), Capsule(0.01, 0.015), Cylinder(0.016, 0.012)]
    k = 0
    for i in range(3):
        for j in range(3):
            for n in range(3):
                s, p = shapes[k % 4], (-0.06 + 0.06 * i, -0.06 + 0.06 * j, -0.06 + 0.06 * n)
                b.add_free_body(f"g{k}", solid(s), s, m, (*p, *unit(rng)))
                k += 1
    return b.build(), 1.2, {}


def heap(rng: np.random.Generator) -> Made:
    """Sticks, plates and cylinders poured on a plane."""
    b, m = ground(0.5)
    for i in range(24):
        kind = i % 4
        shape = (Capsule(0.01, 0.06), Box((0.05, 0.03, 0.004)), Cylinder(0.03, 0.006), Box((0.008, 0.008, 0.07)))[kind]
        p = (*rng.uniform(-0.06, 0.06, 2), 0.1 + 0.16 * i)
        v = (*rng.uniform(-0.5, 0.5, 3), *rng.uniform(-8, 8, 3))
        b.add_free_body(f"b{i}", solid(shape), shape, m, (*p, *unit(rng)), v)
    return b.build(), 1.0, {}


def chain(rng: np.random.Generator) -> Made:
    """A chain of ball joints that slides over a fixed beam."""
    b, m = WorldBuilder(), Material(0.4)
    n, l, r = int(rng.integers(10, 18)), 0.05, 0.012
    b.add_fixed_body("beam", Capsule(0.06, 0.6), m, Transform(np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]])))
    M, I = ModelBuilder(), RigidInertia(0.05, (l, 0, 0), np.diag([3.4e-6, 3.6e-5, 3.6e-5]))
    for i in range(n):
        M.add_body(
            f"k{i}",
            parent="world" if i == 0 else f"k{i - 1}",
            joint=joints.FloatingBase() if i == 0 else joints.Spherical(),
            placement=Transform(p=(0 if i == 0 else 2 * l, 0, 0)),
            inertia=I,
        )
    model = M.build()
    q, v = np.array(neutral(model)), np.zeros(model.nv)
    q[:3], v[0] = (-l * n + 0.027, 0, 0.15), float(rng.uniform(0.1, 0.5))
    b.add_model(model, q, v)
    for i in range(n):
        b.add_shape(f"k{i}", PlacedShape(Capsule(r, l - 1.2 * r), Transform(ALONG_X, (l, 0, 0))), m)
    return b.build(), 0.6, {}


def planks(rng: np.random.Generator) -> Made:
    """A long body that falls tilted on a fixed long one, which it meets crosswise or along."""
    L, r = 0.2, 0.02
    shapes = (Capsule(r, L), Cylinder(r, L), Box((r, r, L)))
    b, m = WorldBuilder(), Material(0.5)
    b.add_fixed_body("low", shapes[int(rng.integers(3))], m, Transform(ALONG_X))
    tilt = float(rng.choice([0.002, 0.01, 0.03, 0.1, 0.2]))
    up = shapes[int(rng.integers(3))]
    q = np.array(about(1, np.pi / 2 + tilt))
    b.add_free_body("up", solid(up), up, m, (0, 0, 3 * r + L * np.sin(tilt) + 0.004, *q), (0, 0, -3, 0, 0, 0))
    return b.build(), 0.12, {}


KINDS: dict[str, Callable[[np.random.Generator], Made]] = {
    one.__name__: one for one in (cards, house_of_cards, dominoes, rings, ragdoll, tube, drum, heap, chain, planks)
}


def measured(recording: Recording, own: Array) -> dict[str, float]:
    """Return the worst depths of a recording; ``own``: the smallest extent of each shape."""
    world, c = recording.world, recording.contacts
    out = dict.fromkeys(("depth", "over", "steps", "mm", "begin"), 0.0)
    if len(c):
        rows = recording.rows
        a, b = rows["contact_shape_a"], rows["contact_shape_b"]
        extent = np.minimum(np.where(a >= 0, own[a], np.inf), own[b])
        share = -c.gap / extent
        bound = np.full(share.size, 0.02)
        deep = np.flatnonzero(share > 0.02)
        if deep.size:
            bodies = moving_bodies(world, recording.q, recording.v)
            names = [body.name for body in world.model.bodies]
            # Of either body: the previous step and its rotation about the contact.
            for k in deep:
                i = int(rows["contact_step"][k])
                for body in (rows["contact_body_a"][k], rows["contact_body_b"][k]):
                    if body >= 0 and names[body] in bodies:
                        frame = bodies[names[body]]
                        w = np.linalg.norm(frame.w[max(i - 1, 0) : i + 1], axis=1).max()
                        r = np.linalg.norm(rows["contact_point"][k] - frame.p[i])
                        bound[k] = max(bound[k], recording.h[i] ** 2 * w**2 * r / 2 / extent[k])
        out["depth"] = share.max()
        out["begin"] = share[rows["contact_step"] == 0].max(initial=0.0)
        out["mm"] = 1e3 * (-c.gap).max()
        out["over"] = (share / bound).max()
        out["steps"] = np.unique(rows["contact_step"][share > bound]).size
    stops = [i for i, row in enumerate(world.joint_rows) if row.kind.name == "STOP"]
    said = np.isin(recording.rows["joint_row"], stops)
    out["stop"] = max(0.0, -recording.rows["joint_error"][said].min(initial=0.0))
    out["moved"] = np.unique(
        recording.rows["contact_step"][recording.rows["contact_projection_multiplier"] != 0.0]
    ).size / max(1, recording.n_steps)
    out["creep"] = 0.0
    return out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kind", nargs="*", default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--h", type=float, default=2e-3)
    parser.add_argument("--scenes", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--option", nargs="*", default=[], help="NAME=VALUE of TimeStepping")
    arguments = parser.parse_args()
    more = {name: ast.literal_eval(value) for name, value in (one.split("=") for one in arguments.option)}
    warnings.simplefilter("ignore")
    jobs: list[tuple[str, int, Callable[[], tuple[Any, Any, dict[str, Any]]]]] = []
    for kind in arguments.kind:
        for seed in range(arguments.seeds):

            def own(kind: str = kind, seed: int = seed) -> tuple[Any, Any, dict[str, Any]]:
                world, duration, further = KINDS[kind](np.random.default_rng(seed))
                return world, TimeStepping(arguments.h, **more), {"duration": duration, **further}

            jobs.append((kind, seed, own))
    if arguments.scenes:
        sys.path.insert(0, str(arguments.scenes))
        import scenes  # type: ignore[import-not-found]

        for kind in arguments.only or [kind for kind in scenes.ALL if kind != "overlap"]:
            for seed in range(arguments.seeds):

                def given(kind: str = kind, seed: int = seed) -> tuple[Any, Any, dict[str, Any]]:
                    from dataclasses import replace

                    s, stepper, steps, _ = scenes.make(kind, seed, h=arguments.h)
                    return s.world(), replace(stepper, **more), {"steps": steps, **s.kw}

                jobs.append((kind, seed, given))
    print(
        "kind seed | begins | depth/extent | over bound | steps over | mm | stop rad | moved | contacts | s | verify",
        flush=True,
    )
    for kind, seed, make in jobs:
        world, stepper, further = make()
        begin = time.process_time()
        try:
            recording = simulate(world, stepper, **further)
        except SimulationError as error:  # a run that stops is a row of the table
            print(kind, seed, "failed:", str(error).split("\n")[0][:150], flush=True)
            continue
        took = time.process_time() - begin
        m = measured(recording, world.extents.min_width)
        held = verify(recording).holds if arguments.verify else "-"
        said = [f"{m['begin']:.3f}", f"{m['depth']:8.4f}", f"{m['over']:6.2f}", f"{m['steps']:4.0f}", f"{m['mm']:7.3f}"]
        said += [f"{m['stop']:.4f}", f"{m['moved']:.3f}", f"{len(recording.contacts) / recording.n_steps:.0f}"]
        print(f"{kind:14s} {seed}", *said, f"{took:.1f}", held, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
