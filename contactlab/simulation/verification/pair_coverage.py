"""Check, in plain numpy, that the contact table has a row for every two shapes that come close to each other.

For grounds that are not convex, only necessary contacts are checked. For a mesh: the triangle closest to the shape, if
the shortest direction leaves its outer side. And for a polytope with a small depth, a triangle on which it stands with
a point well inside the triangle. At larger depth, or at an edge, the direction out of the mesh is ambiguous, and no
contact is required.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from contactlab.collision import BodyShape, HalfSpace, HeightField, Mesh, Shape
from contactlab.multibody import Model
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import EXTERNAL_ID
from contactlab.simulation.verification.contacts import admits
from contactlab.simulation.verification.motion import cross, rotate, tree_roots
from contactlab.simulation.verification.portion import StepSlice, distinct, groups, length_of
from contactlab.simulation.verification.proximity import (
    Core,
    ShapePose,
    Support,
    contact_errors,
    core_of,
    hull_of,
    nearest,
)
from contactlab.simulation.world.motion import belt_twist
from contactlab.simulation.world.world import World


class PairCoverage:
    """Data of a world that do not depend on the step: shapes that can touch, and their cores."""

    def __init__(self, world: World, stepper: TimeStepping) -> None:
        self.world = world
        self.stepper = stepper
        self.length, self.margin = length_of(world), stepper.thresholds.margin
        self.cores = [core_of(s.shape) if isinstance(s.shape, Shape) else None for s in world.surfaces]
        # Half-spaces touch the convex hull of a mesh.
        self.hulls = [
            hull_of(s.shape) if isinstance(s.shape, Mesh) else core
            for s, core in zip(world.surfaces, self.cores, strict=True)
        ]
        self.pairs = np.array(_may_touch(world), dtype=np.int64).reshape(-1, 2)
        # Support points touch half-spaces one by one; only shapes without such points touch as a whole.
        self.round = [
            i
            for i, surface in enumerate(world.surfaces)
            if self.cores[i] is not None
            and not isinstance(surface.shape, BodyShape)
            and world.body_trees[world.surface_bodies[i]] >= 0
        ]

    def uncovered(self, portion: StepSlice) -> FloatArray:
        """Return the amount (ns,) by which a pair without a row is within reach, relative to its position; 0 for none.

        Reach is margin + h max(0, -N v) at the closest points. Sleeping bodies have rows only with awake bodies.
        """
        worst = np.zeros(portion.steps.size)
        if not self.pairs.size and not self.round:
            return worst
        owner = np.array(self.world.surface_bodies, dtype=np.int64)
        awake = ((self.world.body_trees >= 0) & ~portion.recording.asleep[portion.steps])[:, owner]
        names = self.world.model.names
        fields = [self._fields(i, names, portion) for i in range(len(self.world.surfaces))]
        a, b, plane = (portion.column(name) for name in ("shape_a", "shape_b", "half_space"))
        low, high = np.where(plane >= 0, -1 - plane, np.minimum(a, b)), np.where(plane >= 0, b, np.maximum(a, b))
        listed = set(zip(portion.at.tolist(), low.tolist(), high.tolist(), strict=True))

        def place(s: int, i: int) -> ShapePose:
            return ShapePose(*(part[s] for part in fields[i]))

        at, near = self._pairs_in_reach(fields, portion.h)
        i, j = self.pairs[near].T
        either = awake[at, i] | awake[at, j]
        for s, one, other in zip(at[either].tolist(), i[either].tolist(), j[either].tolist(), strict=True):
            if (s, one, other) not in listed:
                found = self._excess(one, other, place(s, one), place(s, other), float(portion.h[s]))
                worst[s] = max(worst[s], found)
        for n in self.round:
            for number, ground in enumerate(self.world.half_spaces):
                for s in (
                    np.flatnonzero(awake[:, n]).tolist() if admits(self.world, number, self.world.surfaces[n]) else ()
                ):
                    if (s, -1 - number, n) not in listed:
                        worst[s] = max(worst[s], self._excess_of_plane(ground.normal, ground.offset, n, place(s, n)))
        return worst

    def wrong_contacts(self, portion: StepSlice) -> tuple[Any, FloatArray]:
        """Return the rows of the contact table between two convex shapes, and the error of each."""
        a, b, plane = (portion.column(name) for name in ("shape_a", "shape_b", "half_space"))
        between = (plane < 0) & (a >= 0) & (b >= 0) & (portion.column("id") < EXTERNAL_ID)
        chosen, names, fields = np.flatnonzero(between), self.world.model.names, {}
        worst = np.zeros(chosen.size)
        pairs, number = distinct([a[chosen], b[chosen]])
        known = np.zeros(chosen.size, dtype=bool)
        for pair, own in groups(number):
            i, j = pairs[pair].tolist()
            core_a, core_b = self.cores[i], self.cores[j]
            if core_a is None or core_b is None:
                continue
            for n in (i, j):
                if n not in fields:
                    fields[n] = self._fields(n, names, portion)
            rows = chosen[own]
            at = portion.at[rows]
            poses = ((fields[i][0][at], fields[i][1][at]), (fields[j][0][at], fields[j][1][at]))
            contacts = portion.column("point")[rows], portion.column("normal")[rows], portion.column("gap")[rows]
            margin, reduced = self.margin, self.stepper.reduce_contacts
            worst[own] = contact_errors(core_a, core_b, poses, contacts, at, margin, reduced)
            known[own] = True
        return chosen[known], worst[known]

    def _fields(self, i: int, names: tuple[str, ...], portion: StepSlice) -> tuple[FloatArray, ...]:
        """Return the fields of the `ShapePose` of shape ``i``, each with a first axis over the steps of a portion.

        ``names`` are the names of the bodies. A kinematic body has its recorded pose and the velocity of this pose.
        """
        surface, owner, rows = self.world.surfaces[i], self.world.surface_bodies[i], portion.recording.rows
        place, body = surface.placement, portion.state.bodies[names[owner]]
        R, p, v = body.R, body.p, portion.v[:, body.own]
        velocity, turning = rotate(body.Jv, v), rotate(body.Jw, v)
        for row, (body_number, _) in enumerate(self.world.motions):
            if body_number == owner:
                pose, after = (rows["motion_pose"][portion.steps + end, row] for end in (0, 1))
                twist = rows["motion_twist"][portion.steps, row]
                twist = twist - belt_twist(pose, after, twist, portion.h)
                R, p, velocity, turning = pose[:, :9].reshape(-1, 3, 3), pose[:, 9:], twist[:, 3:], twist[:, :3]
        return R @ place.R, p + rotate(R, place.p), p, velocity, turning

    def _pairs_in_reach(self, fields: list[tuple[FloatArray, ...]], h: FloatArray) -> tuple[Any, Any]:
        """Return the steps in which bounding balls of a pair are within reach, and these pairs, as indices (n,) each.

        ``fields`` has the `_fields` of every shape, ``h`` (ns,) the steps' sizes [s].
        """
        none = np.zeros(0, dtype=np.int64)
        if not self.pairs.size:
            return none, none
        _, center, origin, velocity, turning = (np.stack(parts, axis=1) for parts in zip(*fields, strict=True))
        ball = np.array([np.inf if hull is None else hull.reach for hull in self.hulls])
        speed = np.linalg.norm(velocity + cross(turning, center - origin), axis=2)
        spin = np.linalg.norm(turning, axis=2)
        reach = (
            self.margin + ball + h[:, None] * (speed + spin * (np.where(np.isfinite(ball), ball, 0.0) + self.length))
        )
        i, j = self.pairs.T
        apart, reach = np.zeros((h.size, i.size)), reach[:, i] + reach[:, j]
        for axis in range(3):
            apart += (center[:, i, axis] - center[:, j, axis]) ** 2
        at, near = np.nonzero(np.sqrt(apart) <= reach)
        return at, near

    def _excess(self, i: int, j: int, place_i: ShapePose, place_j: ShapePose, h: float) -> float:
        """Return how far shapes i and j, at their places, are inside the reach of detection; 0 if they are not.

        The result is a length over the size of the world and the coordinates of the closest points.
        """
        cores, worst = (self.cores[i], self.cores[j]), 0.0
        if cores[0] is not None and cores[1] is not None:
            return self._within(cores[0], cores[1], place_i, place_j, h)
        for n, other, at, at_b in ((i, j, place_i, place_j), (j, i, place_j, place_i)):
            ground, shape, core = self.world.surfaces[n].shape, self.world.surfaces[other].shape, self.cores[other]
            if isinstance(ground, HalfSpace):
                normal = at.R @ ground.normal
                worst = max(worst, self._excess_of_plane(normal, ground.offset + float(normal @ at.p), other, at_b))
            elif isinstance(ground, Mesh) and self.cores[n] is None and core is not None:
                worst = max(worst, mesh_excess(ground, at, core, at_b, self.margin, self.length))
            elif isinstance(ground, HeightField) and core is not None:
                for triangle in triangles_of(ground, at, at_b.p, core.reach + self.margin):
                    worst = max(worst, self._within(Core(triangle), core, at, at_b, h, up=at.R[:, 2]))
            elif isinstance(ground, HeightField) and isinstance(shape, Mesh):
                points = shape.support_points()[0] @ at_b.R.T + at_b.p
                worst = max(worst, points_excess(ground, at, points, self.margin, self.length))
        return worst

    def _within(
        self, a: Core, b: Core, at_a: ShapePose, at_b: ShapePose, h: float, up: FloatArray | None = None
    ) -> float:
        """Return the relative amount by which the closest points of two shapes are closer than the reach.

        Shapes farther apart along the line of their origins are skipped. With ``up`` the first is a triangle of
        terrain, in its axes, and counts if it is touched from above.
        """
        if up is None and self._apart(a, b, at_a, at_b, h):
            return 0.0
        pa, pb = nearest(
            lambda d: at_a.R @ a.support(at_a.R.T @ d) + at_a.p,
            lambda d: at_b.R @ b.support(at_b.R.T @ d) + at_b.p,
            at_b.p - at_a.p if up is None else up,
        )
        apart = float(np.linalg.norm(pb - pa))
        size = self.length + float(np.abs(pa).sum()) + float(np.abs(pb).sum())
        gap, reach = apart - a.radius - b.radius, self.margin
        if apart > NEAR * size:
            normal = (pb - pa) / apart
            if up is not None and normal @ up < UPRIGHT:
                return 0.0
            # A reduced manifold, or a rim, has no row for every point, and the fastest point may be left out: only the
            # margin counts then.
            if not (a.disc or b.disc) and up is None and not self.stepper.reduce_contacts:
                middle = pa + (a.radius + 0.5 * gap) * normal
                reach += h * max(0.0, -float(normal @ (at_b.velocity_at(middle) - at_a.velocity_at(middle))))
        return max(0.0, reach - gap - NEAR * size) / size

    def _apart(self, a: Core, b: Core, at_a: ShapePose, at_b: ShapePose, h: float) -> bool:
        """Return True if the shapes cannot meet in the step: they are too far apart along the line of their origins."""
        d = at_b.p - at_a.p
        length = float(np.linalg.norm(d))
        if not length > 0.0:
            return False
        pa, pb = at_a.R @ a.support(at_a.R.T @ d) + at_a.p, at_b.R @ b.support(at_b.R.T @ -d) + at_b.p
        spin = float(np.linalg.norm(at_a.turning)) * a.reach + float(np.linalg.norm(at_b.turning)) * b.reach
        speed = float(np.linalg.norm(at_a.velocity_at(at_a.p) - at_b.velocity_at(at_b.p)))
        reach = self.margin + h * (speed + 2.0 * spin) + a.radius + b.radius
        return float(d @ (pb - pa)) > length * reach

    def _excess_of_plane(self, normal: FloatArray, offset: float, i: int, place: ShapePose) -> float:
        """Return how far shape i is inside the margin of a half-space, relative as in `_excess`; 0 if it is not."""
        hull = self.hulls[i]
        if hull is None:
            return 0.0
        lowest = place.R @ hull.support(place.R.T @ -normal) + place.p
        size = self.length + float(np.abs(lowest).sum())
        gap = float(normal @ lowest) - hull.radius - offset
        return max(0.0, self.margin - gap - NEAR * size) / size


SLACK = 1e-5  # fraction of a shape's size by which a point must be deeper to be the deepest


def uncovered_points(portion: StepSlice) -> FloatArray:
    """Return for each step (ns,) the maximum of margin + h max(0, -N v) - gap over unlisted points on half-spaces.

    A support point with a positive value, in reach, must be listed as a contact; 0: all are. Values are relative to the
    world's length plus the point's coordinates. Sleeping bodies have no contacts. If contacts are reduced to four of a
    shape, points that are not deeper than all of these can be unlisted.
    """
    recording = portion.recording
    world, margin, worst = recording.world, recording.stepper.thresholds.margin, np.zeros(portion.steps.size)
    ground, shape, listed = portion.column("half_space"), portion.column("shape_b"), portion.column("point")
    names, asleep, length = world.model.names, recording.asleep[portion.steps], length_of(world)
    depth = portion.column("gap")
    of_shapes = dict(groups(np.where(ground >= 0, shape, -1)))
    none = np.zeros(0, dtype=np.int64)
    for number, (surface, index) in enumerate(zip(world.surfaces, world.surface_bodies, strict=True)):
        if world.body_trees[index] < 0 or not isinstance(surface.shape, BodyShape):
            continue
        body = portion.state.bodies[names[index]]
        points, radii = surface.support_points()
        arms = points @ np.swapaxes(body.R, 1, 2)
        v = portion.v[:, body.own]
        origin_velocity, turning = rotate(body.Jv, v), rotate(body.Jw, v)
        own = of_shapes.get(number, none)
        for s, plane in enumerate(world.half_spaces):
            if not admits(world, s, surface):
                continue
            gap = (body.p @ plane.normal - plane.offset)[:, None] + arms @ plane.normal - radii
            # The normal speed of rotation: (w x arm) . n = (n x w) . arm.
            speed = (origin_velocity @ plane.normal)[:, None] + rotate(arms, cross(plane.normal, turning))
            excess = margin + portion.h[:, None] * np.maximum(0.0, -speed) - gap
            near = (excess > 0.0) & ~asleep[:, index, None]
            mine = own[ground[own] == s]
            if recording.stepper.reduce_contacts:
                deepest = np.full(near.shape[0], np.inf)
                np.minimum.at(deepest, portion.at[mine], depth[mine])
                slack = SLACK * np.ptp(points, axis=0).max()
                near &= (near.sum(axis=1) <= 4)[:, None] | (gap < deepest[:, None] - slack)
            at, n = np.nonzero(near)
            places = body.p[at] + arms[at, n] - radii[n, None] * plane.normal
            size = length + np.abs(places).sum(axis=1)
            found = _is_listed(at, places, NEAR * size, portion.at[mine], listed[mine])
            np.maximum.at(worst, at[~found], (excess[at, n] / size)[~found])
    return worst


def _is_listed(at: IntArray, places: FloatArray, slack: FloatArray, steps: IntArray, listed: FloatArray) -> Any:
    """Return a mask (n,) of the places (n, 3) in steps ``at`` (n,) that are in the table ``listed`` (m, 3).

    ``steps`` (m,) are the steps of the table, ascending. Coordinates may differ by ``slack`` (n,).
    """
    first, last = np.searchsorted(steps, at), np.searchsorted(steps, at, side="right")
    found = np.zeros(at.size, dtype=bool)
    for k in range(int((last - first).max(initial=0))):
        own = np.flatnonzero(first + k < last)
        found[own] |= np.abs(listed[first[own] + k] - places[own]).max(axis=1) <= slack[own]
    return found


def _may_touch(world: World) -> list[tuple[int, int]]:
    """Return the pairs i < j of shapes of different bodies that are not joined and do not exclude each other."""
    if not world.body_contacts:
        return []
    model, names = world.model, world.model.names
    welds, moving = _welds(model), tree_roots(model)
    joined = {
        frozenset((welds[body.parent], welds[body.name]))
        for body in model.bodies
        if body.parent != WORLD and welds[body.parent] != welds[body.name]
    }
    ignored = {frozenset(pair) for pair in world.excluded_pairs}

    def touch(i: int, j: int) -> bool:
        one, other = (names[world.surface_bodies[n]] for n in (i, j))
        first, second = world.surfaces[i], world.surfaces[j]
        return (
            isinstance(first.shape, Shape)
            and isinstance(second.shape, Shape)
            and (one in moving or other in moving)
            and welds[one] != welds[other]
            and frozenset((welds[one], welds[other])) not in joined
            and frozenset((world.surface_bodies[i], world.surface_bodies[j])) not in ignored
            and bool(first.category & second.mask and second.category & first.mask)
        )

    return [pair for pair in itertools.combinations(range(len(world.surfaces)), 2) if touch(*pair)]


def _welds(model: Model) -> dict[str, str]:
    """Return for each body the first body to which it is fixed, other than the world."""
    welds: dict[str, str] = {}
    for body in model.bodies:
        fixed = body.joint.nv == 0 and body.parent != WORLD
        welds[body.name] = welds[body.parent] if fixed else body.name
    return welds


NEAR = 1e-9  # relative tolerance of a listed point, and of a pair within reach without a row
UPRIGHT = 0.1  # cosine: a surface is touched from its outer side
SUNK = 0.01  # depth of a body, relative to its thickness, up to which there is only one direction out
INSIDE = 4.0  # factor on this depth: at this distance from the triangle's edges the shortest way out is up


def mesh_excess(mesh: Mesh, at: ShapePose, core: Core, at_b: ShapePose, margin: float, length: float = 1.0) -> float:
    """Return the relative amount by which a convex shape is nearer to a mesh than ``margin``, or 0."""
    # In the mesh's axes.
    R, p = at.R.T @ at_b.R, at.R.T @ (at_b.p - at.p)
    size = length + float(np.abs(at.p).sum()) + float(np.abs(at_b.p).sum()) + core.reach
    slack = NEAR * size

    def support(d: FloatArray) -> FloatArray:
        return R @ core.support(R.T @ d) + p

    low = np.array([support(-axis)[i] for i, axis in enumerate(np.eye(3))]) - core.radius - margin
    high = np.array([support(axis)[i] for i, axis in enumerate(np.eye(3))]) + core.radius + margin
    triangles = mesh.vertices[mesh.triangles]
    close = np.all((triangles.min(axis=1) <= high) & (triangles.max(axis=1) >= low), axis=1)
    least, outside = np.inf, -1.0
    for triangle in triangles[close]:
        normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
        area = float(np.linalg.norm(normal))
        if area == 0.0:
            continue
        normal /= area
        pa, pb = nearest(Core(triangle).support, support, normal)
        apart = float(np.linalg.norm(pb - pa))
        if apart <= slack:
            depth = _exit_distance(triangle, normal, support, slack) if core.radius == 0.0 else None
            if depth is not None:
                return (margin + depth) / size
            least, outside = 0.0, -1.0
        elif apart < least - slack:
            least, outside = apart, float(normal @ (pb - pa)) / apart
        elif apart <= least + slack:
            outside = max(outside, float(normal @ (pb - pa)) / apart)
    if outside < UPRIGHT:
        return 0.0
    return max(0.0, margin + core.radius - least - slack) / size


def _exit_distance(triangle: FloatArray, normal: FloatArray, support: Support, slack: float) -> float | None:
    """Return the lift that places a polytope on a triangle it overlaps; None if another direction may be shorter.

    Some point is ``depth`` deep, at the distance c from the closest edge. In a direction at the angle t from the normal
    it has to move by depth cos t + c sin t or more, which exceeds the depth for c = 4 depth up to t = 152 degrees. For
    larger angles the body's thickness blocks the way.
    """
    lowest, highest = float(normal @ support(-normal)), float(normal @ support(normal))
    depth = max(0.0, float(normal @ triangle[0]) - lowest)
    sides = np.linalg.norm(np.roll(triangle, -1, axis=0) - np.roll(triangle, -2, axis=0), axis=1)
    middle = sides @ triangle / sides.sum()
    radius = float(np.linalg.norm(np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0]))) / float(sides.sum())
    share = 1.0 - INSIDE * max(depth, slack) / radius
    if share <= 0.0 or depth > SUNK * (highest - lowest):
        return None
    inner = Core(middle + share * (triangle - middle))
    pa, pb = nearest(inner.support, lambda d: support(d) + depth * normal, normal)
    return depth if float(np.linalg.norm(pb - pa)) <= 2.0 * slack else None


def points_excess(terrain: HeightField, at: ShapePose, points: FloatArray, margin: float, length: float = 1.0) -> float:
    """Return the largest relative amount by which points (n, 3), world axes, are less than ``margin`` above terrain."""
    dx, dy = terrain.spacing
    nx, ny = terrain.heights.shape
    x, y, z = ((points - at.p) @ at.R).T
    over = (x >= 0.0) & (x <= (nx - 1) * dx) & (y >= 0.0) & (y <= (ny - 1) * dy)
    if not over.any():
        return 0.0
    x, y, z = x[over] / dx, y[over] / dy, z[over]
    i, j = np.minimum(x.astype(int), nx - 2), np.minimum(y.astype(int), ny - 2)
    x, y, H = x - i, y - j, terrain.heights
    below = np.where(
        x >= y,
        H[i, j] + x * (H[i + 1, j] - H[i, j]) + y * (H[i + 1, j + 1] - H[i + 1, j]),
        H[i, j] + y * (H[i, j + 1] - H[i, j]) + x * (H[i + 1, j + 1] - H[i, j + 1]),
    )
    size = length + np.abs(points[over]).sum(axis=1) + float(np.abs(at.p).sum())
    return float(np.max(np.maximum(0.0, margin - (z - below) - NEAR * size) / size))


def triangles_of(terrain: HeightField, place: ShapePose, center: FloatArray, reach: float) -> list[FloatArray]:
    """Return the triangles (3, 3) of the terrain's cells that may be within ``reach`` [m] of a point in the world.

    Vertices are rows, in the terrain's axes. Cells are selected by x and y only.
    """
    dx, dy = terrain.spacing
    x, y = (place.R.T @ (center - place.p))[:2]
    nx, ny = terrain.heights.shape
    first = [max(0, int(np.floor((value - reach) / step))) for value, step in ((x, dx), (y, dy))]
    last = [min(n - 1, int(np.ceil((value + reach) / step))) for value, step, n in ((x, dx, nx), (y, dy, ny))]
    triangles = []
    for i, j in itertools.product(range(first[0], last[0]), range(first[1], last[1])):
        for a, b in ((1, 0), (0, 1)):
            cell = ((i, j), (i + 1, j + 1), (i + a, j + b))
            triangles.append(np.array([[m * dx, n * dy, terrain.heights[m, n]] for m, n in cell]))
    return triangles
