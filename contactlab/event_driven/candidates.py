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

import numpy as np

from contactlab.contact import HalfSpace, RestitutionLaw, Sphere, tangent_frame
from contactlab.contact.material import combine
from contactlab.multibody import (
    Kinematics,
    Model,
    body_poses,
    point_bias_acceleration_6d,
    point_jacobian_6d,
    point_position,
    point_velocity_6d,
)
from contactlab.multibody.packing import structure
from contactlab.recording.long_steps import DEPTH
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.world.collision_filter import build_collision_filter
from contactlab.world.errors import SimulationConfigError
from contactlab.world.world import World


@dataclass(frozen=True, eq=False)
class PairKinematics:
    """A pair at one instant."""

    gap: float  # distance [m], negative in penetration
    # (3,) contact point, and the normal from A into B, world axes.
    point: FloatArray
    normal: FloatArray
    tangents: FloatArray  # (2, 3) world axes
    # (nv,) and (2, nv) rows of u_n and u_t, B relative to A.
    N: FloatArray
    T: FloatArray
    # Velocities [m/s], u_t (2,).
    u_n: float
    u_t: FloatArray
    # Their rates at zero generalised acceleration [m/s^2], bias_t (2,).
    bias_n: float
    bias_t: FloatArray


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

    def gap(self, model: Model, kin: Kinematics) -> float:
        """Return the distance of the ball from the half-space [m], negative in penetration."""
        n = self.half_space.normal
        c = point_position(model, kin, self.body, self.center)
        return float(n @ c) - self.half_space.offset - self.radius

    def local(self, model: Model, kin: Kinematics) -> PairKinematics:
        """Return all quantities of the pair."""
        n = self.half_space.normal
        tangents = np.array(tangent_frame(n))
        J = point_jacobian_6d(model, kin, self.body, self.center)
        velocity = point_velocity_6d(model, kin, None, self.body, self.center)
        bias = point_bias_acceleration_6d(model, kin, None, self.body, self.center)
        arm = -self.radius * n
        # t . (w x arm) = w . (arm x t)
        levers = np.cross(arm, tangents)
        c = point_position(model, kin, self.body, self.center)
        return PairKinematics(
            gap=float(n @ c) - self.half_space.offset - self.radius,
            point=c + arm,
            normal=n,
            tangents=tangents,
            N=n @ J[3:],
            T=tangents @ J[3:] + levers @ J[:3],
            u_n=float(n @ velocity[3:]),
            u_t=tangents @ velocity[3:] + levers @ velocity[:3],
            bias_n=float(n @ bias[3:]),
            bias_t=tangents @ bias[3:] + levers @ bias[:3],
        )


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

    def gap(self, model: Model, kin: Kinematics) -> float:
        """Return the distance of the balls' surfaces [m], negative if they overlap."""
        across = point_position(model, kin, self.body, self.center)
        across = across - point_position(model, kin, self.body_a, self.center_a)
        return float(np.linalg.norm(across)) - self.radius - self.radius_a

    def local(self, model: Model, kin: Kinematics) -> PairKinematics:
        """Return all quantities of the pair."""
        ends = ((self.body_a, self.center_a), (self.body, self.center))
        (xa, xb) = (point_position(model, kin, body, point) for body, point in ends)
        (Ja, Jb) = (point_jacobian_6d(model, kin, body, point) for body, point in ends)
        (va, vb) = (point_velocity_6d(model, kin, None, body, point) for body, point in ends)
        (ba, bb) = (point_bias_acceleration_6d(model, kin, None, body, point) for body, point in ends)
        distance = float(np.linalg.norm(xb - xa))
        n = (xb - xa) / distance
        tangents = np.array(tangent_frame(n))
        relative = vb[3:] - va[3:]
        across = relative - (n @ relative) * n
        turning = across / distance
        # Contact points at -radius n of B and +radius n of A; both arms turn with n.
        levers_a, levers_b = np.cross(self.radius_a * n, tangents), np.cross(-self.radius * n, tangents)
        bias_t = tangents @ (bb[3:] - ba[3:]) + levers_b @ bb[:3] - levers_a @ ba[:3]
        bias_t = bias_t + tangents @ np.cross(vb[:3], -self.radius * turning)
        bias_t = bias_t - tangents @ np.cross(va[:3], self.radius_a * turning)
        return PairKinematics(
            gap=distance - self.radius - self.radius_a,
            point=xa + self.radius_a * n,
            normal=n,
            tangents=tangents,
            N=n @ (Jb[3:] - Ja[3:]),
            T=tangents @ (Jb[3:] - Ja[3:]) + levers_b @ Jb[:3] - levers_a @ Ja[:3],
            u_n=float(n @ relative),
            u_t=tangents @ relative + levers_b @ vb[:3] - levers_a @ va[:3],
            bias_n=float(n @ (bb[3:] - ba[3:]) + across @ across / distance),
            bias_t=bias_t,
        )


Candidate = BallHalfSpacePair | BallBallPair


def edges_in_tangents(edges: int) -> FloatArray:
    """Return the first half of the edges of a friction pyramid as unit vectors (edges / 2, 2) in the two tangents."""
    angles = 2.0 * np.pi * np.arange(edges // 2) / edges
    return np.column_stack((np.cos(angles), np.sin(angles)))


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
    if any(np.isfinite(material.stiffness) for material in materials):
        raise SimulationConfigError("world", "has surfaces with a stiffness: event-driven contacts are rigid")
    if world.has_moment_friction:
        detail = "has torsional or rolling friction: event-driven runs do not support it; use TimeStepping"
        raise SimulationConfigError("world", detail)
    if world.motions:
        detail = "has kinematic bodies: event-driven runs hold them fixed; use TimeStepping"
        raise SimulationConfigError("world", detail)
    if not world.joint_actions.is_empty:
        what = "stops, drives, friction, damping or loops"
        raise SimulationConfigError("world", f"has {what}: event-driven runs support only contacts; use TimeStepping")


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
    R, p = body_poses(world.model, q)
    number = {name: i for i, name in enumerate(world.model.names)}

    def centers(bodies: list[str], own: list[FloatArray]) -> FloatArray:
        at = [number[name] for name in bodies]
        return np.asarray(p[:, at] + np.einsum("nkij,kj->nki", R[:, at], np.array(own)))

    across = centers([pair.body for pair in pairs], [pair.center for pair in pairs])
    across = across - centers([pair.body_a for pair in pairs], [pair.center_a for pair in pairs])
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
