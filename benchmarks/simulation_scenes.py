"""The scenes of ``benchmarks/simulation.py``, described independently of engines.

Everything is SI, poses are (x, y, z, qw, qx, qy, qz), velocities (linear in world axes, angular in body axes).
Walls are half-spaces (normal, offset): the points with normal . x >= offset are free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = tuple[float, ...]

URDF = Path(__file__).with_name("quadruped.urdf")
LEGS = ("fl", "fr", "rl", "rr")
JOINTS = tuple(f"{leg}_{name}" for leg in LEGS for name in ("abduction", "flexion", "knee"))
BODIES = tuple(f"{leg}_{name}" for leg in LEGS for name in ("hip", "thigh", "shank"))  # that the joints move
FOOT_RADIUS, TRUNK = 0.02, (0.3, 0.15, 0.06)
KP, KD = 150.0, 2.0  # N m/rad, N m s/rad
FLOOR = ((0.0, 0.0, 1.0), 0.0)


@dataclass(frozen=True)
class Body:
    """A solid of uniform density, its frame at the centre of mass along the principal axes.

    ``size``: half extents of a box, (radius,) of a sphere, (radius, half length) of a capsule; a hull has its half
    extents before it tapers, see `voussoir`, and ``corners`` (8, 3).
    """

    kind: str
    size: Numbers
    mass: float
    pose: Numbers
    velocity: Numbers = (0.0,) * 6
    corners: tuple[Numbers, ...] = ()
    moments: Numbers = ()

    @property
    def inertia(self) -> Array:
        """Moments about the axes through the centre [kg m^2]; a capsule lies along z."""
        m = self.mass
        if self.kind == "hull":
            return np.array(self.moments)
        if self.kind == "sphere":
            return np.full(3, 0.4 * m * self.size[0] ** 2)
        if self.kind == "box":
            x, y, z = np.square(self.size)
            return np.array([y + z, x + z, x + y]) * m / 3.0
        r, half = self.size
        ball = 4.0 / 3.0 * r / (4.0 / 3.0 * r + 2.0 * half) * m  # share of the two caps
        rod = m - ball
        across = rod * (r * r / 4.0 + half * half / 3.0) + ball * (0.4 * r * r + half * half + 0.75 * half * r)
        return np.array([across, across, (0.5 * rod + 0.4 * ball) * r * r])


@dataclass(frozen=True)
class Scene:
    """Bodies between walls, or the quadruped; ``steps`` of ``h`` make one timed run.

    ``reference``, if there is a robot: wanted angles of its joints (12,) at a time.
    """

    name: str
    steps: int
    bodies: tuple[Body, ...] = ()
    walls: tuple[tuple[Numbers, float], ...] = (FLOOR,)
    mu: float = 0.5
    h: float = 2e-3
    reference: Callable[[float], Array] | None = field(default=None, compare=False)
    moving_reference: bool = False


def unit(values: Array) -> Numbers:
    """Return the unit quaternion along four numbers."""
    return tuple(float(x) for x in values / np.linalg.norm(values))


def bin_walls(half: float) -> tuple[tuple[Numbers, float], ...]:
    """A floor and four upright walls at this distance from the middle."""
    sides = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
    return (FLOOR, *((side, -half) for side in sides))


def resting_boxes(count: int) -> tuple[Body, ...]:
    """Boxes side by side on the floor, apart from one another."""
    columns = int(np.ceil(np.sqrt(count)))
    return tuple(
        Body("box", (0.1, 0.1, 0.1), 1.0, (0.4 * (i % columns), 0.4 * (i // columns), 0.1, 1, 0, 0, 0))
        for i in range(count)
    )


def free_boxes(count: int) -> tuple[Body, ...]:
    """Boxes in flight, turning, too far apart to meet."""
    random = np.random.default_rng(count)
    return tuple(
        Body("box", (0.1, 0.08, 0.06), 1.0, (*body.pose[:2], 50.0, 1, 0, 0, 0), (0, 0, 0, *random.normal(size=3)))
        for body in resting_boxes(count)
    )


def stacked_boxes(count: int) -> tuple[Body, ...]:
    """Equal boxes, one on the other."""
    return tuple(Body("box", (0.1, 0.1, 0.1), 1.0, (0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0)) for i in range(count))


def dropped(
    kind: str, size: Numbers, count: int, columns: int, pitch: float, tilt: float, seed: int | None = None
) -> tuple[Body, ...]:
    """Bodies in layers of columns x columns, tilted at random, the lowest just above the floor."""
    random = np.random.default_rng(count if seed is None else seed)
    bodies = []
    for i in range(count):
        layer, place = divmod(i, columns * columns)
        x, y = (pitch * (k - (columns - 1) / 2) for k in divmod(place, columns))
        turn = unit(np.array([1.0, *(tilt * random.normal(size=3))]))
        start = (x + 0.01 * random.normal(), y + 0.01 * random.normal(), pitch * (layer + 0.6), *turn)
        bodies.append(Body(kind, size, 1.0, tuple(float(value) for value in start)))
    return tuple(bodies)


def pile(kind: str, count: int, seed: int) -> Scene:
    """Spheres or boxes that fall into a bin and settle there; 0.2 m wide, 1 kg."""
    columns = round((count if kind == "spheres" else count / 2.0) ** (1.0 / 3.0))
    if kind == "spheres":
        bodies = dropped("sphere", (0.1,), count, columns, 0.24, 0.0, seed)
        return Scene(f"{count} spheres", 400, bodies, bin_walls(0.12 * columns + 0.03))
    bodies = dropped("box", (0.1, 0.1, 0.1), count, columns, 0.27, 0.1, seed)
    return Scene(f"{count} boxes", 300, bodies, bin_walls(0.135 * columns + 0.045))


def tower(planks: int, seed: int) -> Scene:
    """Layers of three planks, crosswise, each put down with an error of 0.1 mm."""
    random = np.random.default_rng(seed)
    size, bodies = (0.25, 0.04, 0.025), []
    for i in range(planks):
        layer, place = divmod(i, 3)
        x, y = (0.0, 0.2 * (place - 1)) if layer % 2 == 0 else (0.2 * (place - 1), 0.0)
        turn = (1.0, 0.0, 0.0, 0.0) if layer % 2 == 0 else unit(np.array([1.0, 0.0, 0.0, 1.0]))
        at = np.array([x, y, 0.025 + 0.05 * layer]) + 1e-4 * random.normal(size=3) * [1.0, 1.0, 0.0]
        bodies.append(Body("box", size, 1.0, (*(float(value) for value in at), *turn)))
    return Scene(f"tower of {planks}", 100, tuple(bodies), mu=0.8)


def aligned_boxes(count: int, seed: int) -> Scene:
    """Boxes of 0.1 m and 1 kg in columns, dropped upright, each a little beside the one below, between walls."""
    random = np.random.default_rng(seed)
    columns = int(np.ceil((count / 4.0) ** (1.0 / 3.0)))
    bodies = []
    for i in range(count):
        layer, place = divmod(i, columns * columns)
        x, y = (0.11 * (k - (columns - 1) / 2) + 0.004 * float(random.normal()) for k in divmod(place, columns))
        bodies.append(Body("box", (0.05, 0.05, 0.05), 1.0, (x, y, 0.08 + 0.12 * layer, 1, 0, 0, 0)))
    return Scene(f"{count} aligned boxes", 300, tuple(bodies), bin_walls(0.06 * columns + 0.02))


def dominoes(count: int) -> Scene:
    """A row of dominoes of 8 x 24 x 48 mm and 1800 kg/m^3, with gaps of 18 mm; the first is pushed over."""
    size = (0.004, 0.012, 0.024)
    mass = 8.0 * size[0] * size[1] * size[2] * 1800.0
    push = (0.12, 0.0, 0.02, 0.0, 5.0, 0.0)  # a turn about the edge it stands on
    bodies = [
        Body("box", size, mass, (0.026 * i, 0.0, size[2], 1, 0, 0, 0), push if i == 0 else (0.0,) * 6)
        for i in range(count)
    ]
    return Scene(f"{count} dominoes", 500, tuple(bodies))


def heap(count: int, seed: int) -> Scene:
    """Spheres, boxes and capsules in turn, 1 kg each, dropped between walls at random angles."""
    random = np.random.default_rng(seed)
    kinds = (("sphere", (0.1,)), ("box", (0.1, 0.08, 0.06)), ("capsule", (0.06, 0.08)))
    columns, bodies = round((count / 4.0) ** (1.0 / 3.0)), []
    for i in range(count):
        kind, size = kinds[i % 3]
        (body,) = dropped(kind, size, 1, 1, 0.0, 0.5, int(random.integers(2**31)))
        layer, place = divmod(i, columns * columns)
        x, y = (0.27 * (k - (columns - 1) / 2) for k in divmod(place, columns))
        at = (body.pose[0] + x, body.pose[1] + y, 0.27 * (layer + 0.6), *body.pose[3:])
        bodies.append(replace(body, pose=at))
    return Scene(f"heap of {count}", 500, tuple(bodies), bin_walls(0.135 * columns + 0.03))


def voussoir(inner: float, outer: float, half_angle: float, depth: float, density: float) -> Body:
    """Return the stone at the crown of an arch about the origin: a prism over a trapezoid, x along the arch, z up."""
    a, b = inner * np.sin(half_angle), outer * np.sin(half_angle)  # half widths below and above
    low, height = inner * np.cos(half_angle), (outer - inner) * np.cos(half_angle)
    centre = height * (a + 2.0 * b) / (3.0 * (a + b))  # above the lower face
    ends = ((a, -centre), (b, height - centre))
    corners = tuple((float(s * w), t * depth / 2, float(z)) for w, z in ends for s in (-1, 1) for t in (-1, 1))
    mass = density * depth * height * (a + b)
    # Mean squares over the trapezoid and along the depth.
    xx = (a * a + b * b) / 6.0
    zz = height**2 * (a * a + 4.0 * a * b + b * b) / (18.0 * (a + b) ** 2)
    yy = depth**2 / 12.0
    moments = tuple(float(mass * value) for value in (yy + zz, xx + zz, xx + yy))
    pose = (0.0, 0.0, float(low + centre), 1.0, 0.0, 0.0, 0.0)
    return Body("hull", (float(b), depth / 2, float(height / 2)), float(mass), pose, corners=corners, moments=moments)


def arch(count: int) -> Scene:
    """A semicircle of stones without mortar, radius 1 m, a fifth of it thick (0.11 is the least), mu 0.8."""
    half = np.pi / 2.0 / count
    crown = voussoir(0.9, 1.1, half, 0.3, 2000.0)
    bodies = []
    for i in range(count):
        turn = (2 * i + 1) * half - np.pi / 2.0  # about y, from z towards x
        x, z = crown.pose[2] * np.sin(turn), crown.pose[2] * np.cos(turn)
        pose = (float(x), 0.0, float(z), float(np.cos(turn / 2)), 0.0, float(np.sin(turn / 2)), 0.0)
        bodies.append(replace(crown, pose=pose))
    return Scene(f"arch of {count}", 300, tuple(bodies), mu=0.8)


def stance(_: float) -> Array:
    """Angles of a quadruped that stands."""
    return np.tile([0.0, 0.5, -1.0], 4)


def trot(time: float) -> Array:
    """Angles of a trot in place at 2 Hz: diagonal pairs of legs lift in turn."""
    lift = np.sin(4.0 * np.pi * time)
    up = np.maximum(0.0, [lift, -lift, -lift, lift])
    angles = np.tile([0.0, 0.5, -1.0], (4, 1))
    angles[:, 1] += 0.3 * up
    angles[:, 2] -= 0.6 * up
    return angles.ravel()


def standing_height() -> float:
    """Height of the trunk whose feet touch the floor in the stance [m]."""
    return 0.6 * float(np.cos(0.5)) + FOOT_RADIUS


def scenes() -> dict[str, Scene]:
    """The seven scenes by name."""
    quaternion = unit(np.array([0.9, 0.3, 0.2, 0.1]))
    tumbling = Body("box", (0.05,) * 3, 0.37, (0, 0, 0.4, *quaternion), (2.0, 0.3, 0.5, 3.0, 8.0, -4.0))
    boxes = dropped("box", (0.1, 0.1, 0.1), 50, 3, 0.27, 0.1)
    capsules = dropped("capsule", (0.05, 0.1), 27, 3, 0.32, 0.3)
    all_scenes = (
        Scene("tumbling cube", 1000, (tumbling,), mu=0.2),
        Scene("free box at rest", 2000, resting_boxes(1)),
        Scene("stack of 10", 500, stacked_boxes(10)),
        Scene("50 boxes in a bin", 500, boxes, bin_walls(0.45)),
        Scene("27 capsules", 500, capsules, bin_walls(0.6)),
        Scene("quadruped standing", 1000, mu=0.6, reference=stance),
        Scene("quadruped trotting", 1000, mu=0.6, reference=trot, moving_reference=True),
    )
    return {scene.name: scene for scene in all_scenes}
