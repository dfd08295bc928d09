"""Candidate contacts of an event-driven run: support points and balls over half-spaces, balls against balls.

Every pair has a gap, rows of its normal and tangential velocity, and a bias: the rate of these velocities at zero
generalised acceleration. For a point or ball over a plane with unit normal n, centre c and radius rho on body B::

    u_n = n . v_c        u_t = T (v_c - rho w x n)        bias: the same with accelerations

For two balls n turns with the line of centres. d is their distance and v_s the relative velocity of the centres across
n. The normal bias includes |v_s|^2 / d, and the contact points move on the surfaces with n' = v_s / d.

Penetrations and missed contacts are also reported: pairs that start inside one another or penetrate, and balls that
pass through one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import HalfSpace, RestitutionLaw, Sphere, tangent_frame
from contactlab.collision.material import combine
from contactlab.multibody import (
    Kinematics,
    Model,
    point_bias_acceleration_6d,
    point_position,
)
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import structure
from contactlab.multibody.points import columns
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.recording.long_steps import DEPTH
from contactlab.simulation.world.collision_filter import build_collision_filter
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import World


@dataclass(frozen=True, eq=False)
class PairKinematics:
    """A pair at one instant; at many instants every array but the normals of a half-space has one more axis, the first.

    ``u`` = (u_n, u_t1, u_t2) [m/s] is the velocity of B relative to A.
    """

    gap: Any  # distance [m], negative in penetration
    # (3,) contact point, and the normal from A into B, world axes.
    point: FloatArray
    normal: FloatArray
    tangents: FloatArray  # (2, 3) world axes
    L: FloatArray  # (3, nv) rows of u
    u: FloatArray  # (3,)
    bias: FloatArray  # (3,) rates of u at zero generalised acceleration [m/s^2]


#: One end of a pair: length of the arm along n from a ball's centre to the contact point; position of the centre, and
#: the columns (6, nv + 2) of `_center`.
_End = tuple[float, FloatArray, FloatArray]


def _center(
    model: Model, q: Instant, v: ArrayLike | None, body: str, center: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the position of a body's point, and its motion (6, nv + 2): Jacobian, velocity and bias acceleration."""
    R, p, J = columns(model, q, body, center, 0)
    speed = np.asarray(q.v if v is None and isinstance(q, Kinematics) else v)
    bias = point_bias_acceleration_6d(model, q, v, body, center)
    return p + R @ center, np.concatenate((J, J @ speed[..., None], bias[..., None]), axis=-1)


def contact_frame(n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the normal n and its tangents (..., 3, 3), and the products n x t: t . (w x n) = w . (n x t)."""
    tangents = np.array([tangent_frame(one) for one in n.reshape(-1, 3)]).reshape(*n.shape[:-1], 2, 3)
    frame = np.concatenate((n[..., None, :], tangents), axis=-2)
    # n x t1 = t2, n x t2 = -t1
    return frame, frame[..., [0, 2, 1], :] * np.array([[0.0], [1.0], [-1.0]])


def _pair_kinematics(
    ends: Sequence[_End], axes: tuple[FloatArray, FloatArray], gap: Any, turning: Any = None
) -> PairKinematics:
    """Return the quantities of a pair of B, the first end, and A.

    ``axes`` is the result of `contact_frame`; ``turning`` is n', None if n is constant.
    """
    frame, turns = axes
    n, tangents = frame[..., 0, :], frame[..., 1:, :]
    total: Any = 0.0
    for sign, (arm, _, motion) in zip((1.0, -1.0), ends, strict=False):
        total = total + sign * (frame @ motion[..., 3:, :] + arm * turns @ motion[..., :3, :])
        if turning is not None:
            # The contact point moves on the surface.
            moved = np.cross(motion[..., :3, -2], turning)
            total[..., 1:, -1] += sign * arm * (tangents @ moved[..., None])[..., 0]
    arm, center, _ = ends[0]
    return PairKinematics(gap, center + arm * n, n, tangents, total[..., :-2], total[..., -2], total[..., -1])


@dataclass(frozen=True, eq=False)
class BallHalfSpacePair:
    """A support point of a body, with a radius, over a half-space of the world."""

    body: str
    center: FloatArray
    radius: float
    half_space: HalfSpace
    mu: float
    restitution: float | RestitutionLaw
    name: str

    def gap(self, model: Model, q: Instant) -> Any:
        """Return the distance of the ball from the half-space [m], negative in penetration, at one instant or many."""
        c = point_position(model, q, self.body, self.center)
        return c @ self.half_space.normal - self.half_space.offset - self.radius

    def local(self, model: Model, q: Instant, v: ArrayLike | None = None) -> PairKinematics:
        """Return all quantities of the pair at q and v, or at the velocities of a `Kinematics`."""
        c, motion = _center(model, q, v, self.body, self.center)
        gap = c @ self.half_space.normal - self.half_space.offset - self.radius
        return _pair_kinematics([(-self.radius, c, motion)], self.axes, gap)

    @cached_property
    def axes(self) -> tuple[FloatArray, FloatArray]:
        """The `contact_frame` of the half-space."""
        return contact_frame(self.half_space.normal)


@dataclass(frozen=True, eq=False)
class BallBallPair:
    """A ball of body B on a ball of body A."""

    body_a: str
    center_a: FloatArray
    radius_a: float
    body: str
    center: FloatArray
    radius: float
    mu: float
    restitution: float | RestitutionLaw
    name: str

    def gap(self, model: Model, q: Instant) -> Any:
        """Return the distance of the balls' surfaces [m], negative if they overlap, at one instant or many."""
        across = point_position(model, q, self.body, self.center)
        across = across - point_position(model, q, self.body_a, self.center_a)
        return np.linalg.norm(across, axis=-1) - self.radius - self.radius_a

    def local(self, model: Model, q: Instant, v: ArrayLike | None = None) -> PairKinematics:
        """Return all quantities of the pair at q and v, or at the velocities of a `Kinematics`."""
        (xa, of_a), (xb, of_b) = (
            _center(model, q, v, *end) for end in ((self.body_a, self.center_a), (self.body, self.center))
        )
        distance = np.linalg.norm(xb - xa, axis=-1, keepdims=True)
        n, relative = (xb - xa) / distance, (of_b - of_a)[..., 3:, -2]
        turning = (relative - np.sum(n * relative, axis=-1, keepdims=True) * n) / distance
        gap = distance[..., 0] - self.radius - self.radius_a
        pair = _pair_kinematics([(-self.radius, xb, of_b), (self.radius_a, xa, of_a)], contact_frame(n), gap, turning)
        pair.bias[..., 0] += distance[..., 0] * np.sum(turning * turning, axis=-1)
        return pair


Candidate = BallHalfSpacePair | BallBallPair


def find_candidates(world: World) -> tuple[Candidate, ...]:
    """List every pair that may touch, in the order of bodies, half-spaces and points, then pairs of balls.

    Raise for two shapes of bodies that could touch and are not both balls, and for worlds that event-driven runs do not
    support.
    """
    _check_supported(world)
    names = world.model.names
    link = structure(world.model).body_link
    found: list[Candidate] = []
    for surface, number in zip(world.surfaces, world.surface_bodies, strict=True):
        if link[number] < 0:
            continue
        points, radii = surface.support_points()
        for s, half_space in enumerate(world.half_spaces):
            mu, e = combine(surface.material, world.half_space_materials[s])
            for i, (point, radius) in enumerate(zip(points, radii, strict=True)):
                name = f"{names[number]}[{i}] on {world.half_space_names[s]}"
                found.append(BallHalfSpacePair(names[number], point, float(radius), half_space, mu, e, name))
    found.extend(_balls(world, link))
    return tuple(found)


def _check_supported(world: World) -> None:
    """Raise for a world with compliant contacts, moment friction, kinematic bodies or joint actions."""
    materials = [*(surface.material for surface in world.surfaces), *world.half_space_materials]
    refused = {
        "has surfaces with a stiffness: event-driven contacts are rigid": any(
            np.isfinite(material.stiffness) for material in materials
        ),
        "has torsional or rolling friction: event-driven runs do not support it; use TimeStepping": (
            world.has_moment_friction
        ),
        "has kinematic bodies: event-driven runs hold them fixed; use TimeStepping": bool(world.motions),
        "has stops, drives, friction, damping or loops: event-driven runs support only contacts; use TimeStepping": (
            not world.joint_actions.is_empty
        ),
    }
    for detail, found in refused.items():
        if found:
            raise SimulationConfigError("world", detail)


def _balls(world: World, link: IntArray) -> list[Candidate]:
    """Return the pairs of balls of different bodies that may touch; raise for other shapes that may touch.

    ``link`` (nb,) numbers rigidly connected bodies. These, parents with children, and excluded pairs are left out.
    """
    if build_collision_filter(world) is None:
        return []
    names = world.model.names
    ignored = {frozenset(pair) for pair in world.excluded_pairs}
    found: list[Candidate] = []
    surfaces = list(zip(world.surfaces, world.surface_bodies, strict=True))
    for i, (a, body_a) in enumerate(surfaces):
        for b, body_b in surfaces[i + 1 :]:
            one, other = world.model.bodies[body_a], world.model.bodies[body_b]
            joined = link[body_a] == link[body_b] or one.parent == other.name or other.parent == one.name
            if body_a == body_b or joined or frozenset((body_a, body_b)) in ignored:
                continue
            if not (isinstance(a.shape, Sphere) and isinstance(b.shape, Sphere)):
                detail = (
                    f"has a {type(a.shape).__name__} of {names[body_a]!r} and a {type(b.shape).__name__} of "
                    f"{names[body_b]!r} that may touch: event-driven runs support balls against balls, and all "
                    "shapes against half-spaces; use TimeStepping, or body_contacts=False if they do not touch"
                )
                raise SimulationConfigError("world", detail)
            mu, e = combine(a.material, b.material)
            (pa, ra), (pb, rb) = a.support_points(), b.support_points()
            name = f"{names[body_b]} on {names[body_a]}"
            args = (names[body_a], pa[0], float(ra[0]), names[body_b], pb[0], float(rb[0]), mu, e, name)
            found.append(BallBallPair(*args))
    return found


def penetration_text(
    world: World, candidates: Sequence[Candidate], time: FloatArray, gaps: FloatArray
) -> dict[str, str]:
    """Return by kind a text on pairs deeper than the integrator's errors; times (n,), gaps (n, pairs)."""
    thick: dict[str, float] = {}
    for body, size in zip(world.surface_bodies, world.extents.min_width, strict=True):
        name = world.model.names[body]
        thick[name] = min(thick.get(name, np.inf), float(size))
    bodies = ((pair.body, getattr(pair, "body_a", pair.body)) for pair in candidates)
    sizes = np.array([min(thick[name] for name in names) for names in bodies])
    depth = -gaps / sizes
    found = {}
    for kind, rows in (("overlap", depth[:1]), ("penetration", np.where(depth[:1] > DEPTH, 0.0, depth))):
        if not rows.size or rows.max() <= DEPTH:
            continue
        i, k = map(int, np.unravel_index(np.argmax(rows), rows.shape))
        how = f"{candidates[k].name}: {-gaps[i, k]:.3g} m deep"
        if kind == "overlap":
            found[kind] = f"{how} from the start, which no event closes: start them apart"
        else:
            found[kind] = f"{how} at t = {time[i]:.9g} s: smaller `max_step`, `rtol` and `atol`"
    return found


def tunnelled_balls(world: World, candidates: Sequence[Candidate], time: FloatArray, q: FloatArray) -> str:
    """Return a text about the two balls that passed deepest through one another between two states, or "".

    Their gap was positive at both ends of a step of the integrator, so no event was found. ``q`` (n, nq) are the states
    at the times ``time`` (n,); centres are assumed to move on straight lines between them.
    """
    pairs = [pair for pair in candidates if isinstance(pair, BallBallPair)]
    if not pairs or len(time) < 2:
        return ""
    ends = (((pair.body, pair.center), (pair.body_a, pair.center_a)) for pair in pairs)
    centers = np.array([[point_position(world.model, q, *end) for end in both] for both in ends])
    across = np.moveaxis(centers[:, 0] - centers[:, 1], 0, 1)
    radii = np.array([(pair.radius_a, pair.radius) for pair in pairs])
    way = np.diff(across, axis=0)
    square = np.sum(way**2, axis=2)
    when = np.clip(-np.sum(across[:-1] * way, axis=2) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    nearest = np.linalg.norm(across[:-1] + when[..., None] * way, axis=2)
    apart = np.linalg.norm(across, axis=2) >= radii.sum(axis=1)
    depth = np.where(apart[:-1] & apart[1:], radii.sum(axis=1) - nearest, 0.0)
    i, k = map(int, np.unravel_index(np.argmax(depth), depth.shape))
    if depth[i, k] <= DEPTH * 2.0 * radii[k].min():
        return ""
    between = f"between t = {time[i]:.9g} s and {time[i + 1]:.9g} s"
    return f"{pairs[k].name}: they pass through one another {between}, in one step: lower `max_step`"
