"""The stage DETECT, between shapes: broad phase, narrow phase, and the contacts that take part in the step.

Shapes close a gap only by motion within the step, so bounds and margins are enlarged by the distance that each shape
moves in it. Whether a contact takes part is then decided by the same rule as for half-spaces.
"""

from __future__ import annotations

import math

from contactlab.collision import kernels as shapes
from contactlab.collision.detection.kernels.collide_pair import collide_pair
from contactlab.collision.detection.kernels.contacts import flip_normals, sort_contacts
from contactlab.collision.detection.kernels.convex_convex import corner_contacts, spread_contacts
from contactlab.collision.detection.kernels.support import place_shape, shape_bounds
from contactlab.collision.detection.kernels.sweep_and_prune import candidates
from contactlab.collision.kernels.contact_rows import pair_restitution
from contactlab.multibody.kernels.layout import frames, tree
from contactlab.multibody.kernels.points import velocity_at, velocity_of
from contactlab.simulation.stepping.kernels.arrays import Collision, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import seen_depth
from contactlab.simulation.stepping.kernels.contacts import write_contact
from contactlab.simulation.stepping.kernels.kinematic import (
    DEVIATION,
    add_turning,
    body_velocity,
    kinematic_index,
    predicted_body,
    world_body_pose,
)
from contactlab.simulation.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    BODY_DOF,
    BODY_ROOT,
    FEATURE_BITS,
    GAP,
    GAP_CORRECTION,
    LOWEST_ID,
    NORMAL,
    POINT,
    SHORT_OF_PAIR_CONTACTS,
    SHORT_OF_PAIRS,
    FloatArray,
    StepControl,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.kernels import kernel

# Shapes that move more than this fraction of the smaller body's smallest extent in a step are fast.
FAST = 0.005
# Number of such extents up to which contacts are searched for with the velocities seen at the end of the step; shapes
# farther away may pass each other.
LOOK = 10.0


@kernel(inner=True)
def place_shapes(world: PackedWorld, work: StepWork, c: Collision, h: float, margin: float, looks: int) -> float:
    """Fill poses, reach and bounds, enlarged on each side by the reach; return the largest reach.

    The reach of a shape is half the margin plus its motion in the step. The motion is computed from the present
    velocity; in a repeated search for contacts, also from the first ``looks`` velocities v+ in ``work.v_seen``. The
    largest motion counts.
    """
    t = tree(world.ints, world.floats)
    f = frames(work.W, t.parent.shape[0], t.dof_parent.shape[0])
    pose = work.scratch[0:12]
    center = work.scratch[12:15]
    motion = work.scratch[15:21]
    largest = 0.5 * margin
    endless = False
    for i in range(c.kind.shape[0]):
        world_body_pose(world, work, t, f, c.body[i], pose)
        place_shape(pose, c.place[i], c.poses[i])
        box = c.boxes[i]
        shape_bounds(c.kind[i], c.size[i], c.poses[i], c.data, box)
        reach = 0.5 * margin
        row = kinematic_index(world, c.body[i])
        if row >= 0 and c.kind[i] == shapes.HALF_SPACE:
            # Its reach is limited by the extent of the other shapes: see below.
            endless = True
        elif c.link[i] >= 0 or row >= 0:
            # The speed of any point is bounded by the speed of the box's middle plus the speed of rotation about it.
            radius2 = middle_of(box, 0.0, center)
            velocity_at(t, f.p, f.V, c.link[i], center, motion)
            if row >= 0:
                body_velocity(work, row, center, motion[0:3], motion[3:6])
                for k in range(3):
                    motion[k] = work.motion_twist[row, k] - work.belt_twist[row, k]
            way = h * way_of(motion, math.sqrt(radius2) + margin)
            for k in range(looks if row < 0 else 0):
                seen_velocity(world, work, work.v_seen[k], c.body[i], center, motion)
                way = max(way, h * way_of(motion, math.sqrt(radius2) + margin))
            reach += way
        c.reach[i] = reach
        largest = max(largest, reach)
        for k in range(3):
            box[k] -= reach
            box[3 + k] += reach
    if endless:
        largest = max(largest, reach_of_planes(world, work, c, h, margin))
    return largest


@kernel(inner=True)
def middle_of(box: FloatArray, reach: float, center: FloatArray) -> float:
    """Fill the middle of a box that is enlarged by its reach; return the squared radius of the box itself."""
    radius2 = 0.0
    for k in range(3):
        center[k] = 0.5 * (box[k] + box[3 + k])
        radius2 += (0.5 * (box[3 + k] - box[k]) - reach) ** 2
    return radius2


@kernel(inline=True)
def way_of(motion: FloatArray, radius: float) -> float:
    """Return the maximum speed [m/s] of points within ``radius`` of one with this motion (6,): turn, velocity."""
    spin = math.sqrt(motion[0] * motion[0] + motion[1] * motion[1] + motion[2] * motion[2])
    speed = math.sqrt(motion[3] * motion[3] + motion[4] * motion[4] + motion[5] * motion[5])
    return speed + spin * radius


@kernel(inner=True)
def outruns(
    world: PackedWorld, work: StepWork, c: Collision, before: FloatArray, after: FloatArray, h: float, margin: float
) -> bool:
    """Return True if impacts have changed velocities so far that the search for contacts must be repeated."""
    center = work.scratch[12:15]
    motion = work.scratch[15:21]
    old = work.scratch[21:27]
    # moving shapes only
    for i in range(c.kind.shape[0]):
        if c.link[i] < 0:
            continue
        # change of the velocity at the middle of the shape's box
        radius2 = middle_of(c.boxes[i], 0.0, center)
        seen_velocity(world, work, after, c.body[i], center, motion)
        seen_velocity(world, work, before, c.body[i], center, old)
        for k in range(6):
            motion[k] -= old[k]
        # the change moves the shape by more than half the margin
        if h * way_of(motion, math.sqrt(radius2)) > 0.5 * margin:
            return True
    return False


@kernel(inner=True)
def seen_velocity(
    world: PackedWorld, work: StepWork, v: FloatArray, body: int, point: FloatArray, out: FloatArray
) -> None:
    """Fill ``out`` (6,) with a body's angular velocity and its point's velocity under velocities v (nv,)."""
    # the world does not move
    fill_array(out, 0.0)
    if body < 0:
        return
    # kinematic bodies move by their motion
    row = kinematic_index(world, body)
    if row >= 0:
        body_velocity(work, row, point, work.scratch[33:36], out[3:6])
        return
    # bodies in trees move by their coordinates
    j = world.bodies[body, BODY_DOF]
    if j < 0:
        return
    velocity_of(world.dof_parent, work.S, j, work.origins[world.bodies[body, BODY_ROOT]], point, v, out[3:6])
    add_turning(world, work, body, 1.0, v, out)


@kernel(inner=True)
def seen_rate(
    world: PackedWorld, work: StepWork, looks: int, a: int, b: int, point: FloatArray, found: FloatArray, sign: float
) -> float:
    """Return the minimum N v of a contact over the first ``looks`` velocities v+ in ``work.v_seen``."""
    at_a = work.scratch[21:27]
    at_b = work.scratch[27:33]
    least = math.inf
    # normal speed of B relative to A under each velocity
    for look in range(looks):
        seen_velocity(world, work, work.v_seen[look], a, point, at_a)
        seen_velocity(world, work, work.v_seen[look], b, point, at_b)
        rate = 0.0
        for k in range(3):
            rate += sign * found[shapes.NORMAL + k] * (at_b[3 + k] - at_a[3 + k])
        least = min(least, rate)
    return least


@kernel(inner=True)
def reach_of_planes(world: PackedWorld, work: StepWork, c: Collision, h: float, margin: float) -> float:
    """Fill the reach of kinematic half-spaces, their motion at the farthest shape; return the largest."""
    largest = 0.0
    # half-spaces of kinematic bodies
    for i in range(c.kind.shape[0]):
        row = kinematic_index(world, c.body[i])
        if row < 0 or c.kind[i] != shapes.HALF_SPACE:
            continue
        # farthest corner of any moving shape's box from the half-space's origin
        far = 0.0
        for j in range(c.kind.shape[0]):
            squared = 0.0
            for k in range(3):
                o = work.motion_pose[row, 9 + k]
                squared += max(abs(c.boxes[j, k] - o), abs(c.boxes[j, 3 + k] - o)) ** 2
            if c.link[j] >= 0:
                far = max(far, math.sqrt(squared))
        # speeds of the half-space without the motion of its belt
        s = work.motion_twist[row]
        belt = work.belt_twist[row]
        spin = math.sqrt((s[0] - belt[0]) ** 2 + (s[1] - belt[1]) ** 2 + (s[2] - belt[2]) ** 2)
        speed = math.sqrt((s[3] - belt[3]) ** 2 + (s[4] - belt[4]) ** 2 + (s[5] - belt[5]) ** 2)
        # reach in one step
        c.reach[i] = 0.5 * margin + h * (speed + spin * far)
        largest = max(largest, c.reach[i])
    return largest


@kernel(inner=True)
def add_contact(
    world: PackedWorld,
    work: StepWork,
    c: Collision,
    i: int,
    j: int,
    found: FloatArray,
    feature: int,
    h: float,
    margin: float,
    looks: int,
    count: int,
) -> int:
    """Append a contact of shapes i < j if gap <= margin + h max(0, -N v); return the new number of contacts.

    Append it also if one of the first ``looks`` velocities v+ in ``work.v_seen`` would make it deep.

    Body B has shape j, unless j is fixed to the world: B moves in every contact.
    """
    # A and B: exchange the shapes if j does not move
    t = tree(world.ints, world.floats)
    f = frames(work.W, t.parent.shape[0], t.dof_parent.shape[0])
    at_a = work.scratch[0:6]
    at_b = work.scratch[6:12]
    a, b, sign = i, j, 1.0
    if c.link[j] < 0:
        a, b, sign = j, i, -1.0
    # normal speed of the pair at the point
    point = found[shapes.POINT : shapes.POINT + 3]
    velocity_at(t, f.p, f.V, c.link[a], point, at_a)
    row = kinematic_index(world, c.body[a])
    if row >= 0:
        body_velocity(work, row, point, at_a[0:3], at_a[3:6])
    velocity_at(t, f.p, f.V, c.link[b], point, at_b)
    vn = 0.0
    for k in range(3):
        vn += sign * found[shapes.NORMAL + k] * (at_b[3 + k] - at_a[3 + k])
    # near enough for the present velocity
    gap = found[shapes.GAP]
    near = gap <= margin + h * max(0.0, -vn)
    # or deep after the step under a velocity that an earlier search has seen
    if looks > 0 and not near and gap <= margin + LOOK * least_extent(world, i, j):
        seen = gap + h * seen_rate(world, work, looks, c.body[a], c.body[b], point, found, sign)
        restitution = pair_restitution(world.restitution, c.material[a], c.material[b], -vn)
        near = seen < -seen_depth(restitution) * least_extent(world, i, j)
    if not near:
        return count
    # write the contact if the buffer has room; count it in any case
    if count < work.contact_int.shape[0]:
        bounces = pair_restitution(world.restitution, c.material[a], c.material[b], -vn)
        law = gap, c.pair_mu[c.material[a], c.material[b]], bounces, vn
        number = LOWEST_ID + (((i * c.kind.shape[0] + j) << FEATURE_BITS) | feature)
        ground = c.half_space[a]
        normal = found[shapes.NORMAL : shapes.NORMAL + 3]
        shape_a = a if ground < 0 else -1
        write_contact(work, count, c.body[a], c.body[b], ground, number, shape_a, b, point, normal, sign, law)
    return count + 1


@kernel(inline=True)
def least_extent(world: PackedWorld, i: int, j: int) -> float:
    """Return the smallest extent [m] of the smaller of two shapes; infinite for two grounds."""
    n = world.extent.shape[0] - 1
    size = world.extent[i] if i < n else math.inf
    return min(size, world.extent[j]) if j < n else size


@kernel(inner=True)
def add_far_ends(
    a: shapes.Posed, b: shapes.Posed, found: int, within: float, room: shapes.Workspace, out: shapes.ContactBuffer
) -> int:
    """Add the common corners of a pair's faces to its contacts; return the new number of contacts."""
    # order the shapes by kind
    turned = a.kind > b.kind
    first, second = (b, a) if turned else (a, b)
    if turned:
        flip_normals(out.rows, found)
    # contacts spread over the common face, then its corners
    if a.kind != shapes.CAPSULE or b.kind != shapes.CAPSULE:
        found = spread_contacts(first, second, found, within, room, out)
    if found <= out.rows.shape[0] and (a.kind != shapes.BOX or b.kind != shapes.BOX):
        found = corner_contacts(first, second, found, within, room, out)
    # restore the order of the shapes
    if turned:
        flip_normals(out.rows, found)
    if found <= out.rows.shape[0]:
        sort_contacts(found, out)
    return found


@kernel(inner=True)
def predict_shapes(world: PackedWorld, work: StepWork, c: Collision, h: float, v: FloatArray) -> None:
    """Fill the poses of the shapes at the end of the step, and their maximum deviation from straight motion."""
    pose = work.scratch[0:12]
    center = work.scratch[12:15]
    motion = work.scratch[15:21]
    # shapes that do not move stay in place
    for i in range(c.kind.shape[0]):
        c.deviation[i] = 0.0
        if c.link[i] < 0 and kinematic_index(world, c.body[i]) < 0:
            copy_array(c.poses[i], c.predicted[i])
            continue
        # pose at the end of the step
        predicted_body(world, work, c.body[i], pose)
        place_shape(pose, c.place[i], c.predicted[i])
        # middle of the shape's box, and its velocity
        radius2 = middle_of(c.boxes[i], c.reach[i], center)
        seen_velocity(world, work, v, c.body[i], center, motion)
        # The middle of the box as a point of the shape, at the end.
        off2, spin2 = 0.0, 0.0
        for k in range(3):
            there = c.predicted[i, 9 + k]
            for m in range(3):
                own = 0.0
                for n in range(3):
                    own += c.poses[i, 3 * n + m] * (center[n] - c.poses[i, 9 + n])
                there += c.predicted[i, 3 * k + m] * own
            off2 += (there - center[k] - h * motion[3 + k]) ** 2
            spin2 += motion[k] * motion[k]
        # distance of this point from its straight motion, plus the bound of the rotation about it
        c.deviation[i] = math.sqrt(off2) + 0.5 * h * h * spin2 * math.sqrt(radius2)


@kernel(inner=True)
def correct_gaps(
    world: PackedWorld, work: StepWork, begin: int, end: int, deepest: float, h: float, v: FloatArray
) -> None:
    """Fill the gap corrections of a pair: its smallest gap at the predicted poses, less the minimum of gap + h N v."""
    # smallest gap at the end of the step for straight motion
    at_a = work.scratch[0:6]
    at_b = work.scratch[6:12]
    straight = math.inf
    for i in range(begin, min(end, work.contact_int.shape[0])):
        ints, floats = work.contact_int[i], work.contact_float[i]
        seen_velocity(world, work, v, ints[BODY_A], floats[POINT : POINT + 3], at_a)
        seen_velocity(world, work, v, ints[BODY_B], floats[POINT : POINT + 3], at_b)
        gap = floats[GAP]
        for k in range(3):
            gap += h * floats[NORMAL + k] * (at_b[3 + k] - at_a[3 + k])
        straight = min(straight, gap)
    # the predicted gap is smaller: correct by the difference
    if deepest < straight < math.inf:
        for i in range(begin, min(end, work.contact_int.shape[0])):
            work.contact_float[i, GAP_CORRECTION] = deepest - straight


@kernel(inner=True)
def pair_contacts(
    world: PackedWorld,
    work: StepWork,
    c: Collision | None,
    h: float,
    margin: float,
    reduce: bool,
    looks: int,
    predicted: FloatArray,
    control: StepControl,
) -> int:
    """List the contacts between shapes, before all others, by pair and feature; return their number.

    ``reduce``: at most four contacts of a pair of shapes. ``looks``: search also with this number of velocities seen at
    the end of the step. Return -1 if a buffer is too small. Contacts beyond the capacity are counted, not stored.
    """
    # If c is None, the compiler removes the rest: a world without such pairs has no overhead.
    if c is None:
        return 0
    largest = place_shapes(world, work, c, h, margin, looks)
    if predicted.shape[0] > 0:
        predict_shapes(world, work, c, h, predicted)
    n = c.kind.shape[0]
    n_pairs = candidates(
        c.kind, c.size, c.poses, c.boxes, largest, c.link, c.category, c.mask, c.order, c.keys, c.pairs
    )
    if n_pairs > c.pairs.shape[0]:
        control.short, control.wanted = SHORT_OF_PAIRS, n_pairs
        return -1
    room, out = shapes.Workspace(c.work, c.ints), shapes.ContactBuffer(c.points, c.features)
    count = 0
    e = 0
    for m in range(n_pairs):
        pair = c.pairs[m]
        # Both lists are in ascending order.
        while e < c.excluded.shape[0] and c.excluded[e] < pair:
            e += 1
        if e < c.excluded.shape[0] and c.excluded[e] == pair:
            continue
        i = pair // n
        j = pair - i * n
        within = c.reach[i] + c.reach[j]
        a = shapes.Posed(c.kind[i], c.size[i], c.poses[i], c.data, c.loops)
        b = shapes.Posed(c.kind[j], c.size[j], c.poses[j], c.data, c.loops)
        deepest = 0.0
        if predicted.shape[0] > 0 and c.deviation[i] + c.deviation[j] > DEVIATION * least_extent(world, i, j):
            end_a = shapes.Posed(c.kind[i], c.size[i], c.predicted[i], c.data, c.loops)
            end_b = shapes.Posed(c.kind[j], c.size[j], c.predicted[j], c.data, c.loops)
            found = collide_pair(end_a, end_b, 0.0, reduce, room, out)
            for k in range(min(found, c.points.shape[0])):
                deepest = min(deepest, c.points[k, shapes.GAP])
        found = collide_pair(a, b, within, reduce, room, out)
        if found > c.points.shape[0]:
            control.short, control.wanted = SHORT_OF_PAIR_CONTACTS, found
            return -1
        fast = within - margin > FAST * least_extent(world, i, j) or work.listed.shape[0] > 0
        # Such shapes can touch at corners far from their closest points.
        if fast and not reduce and found > 0 and min(c.kind[i], c.kind[j]) >= shapes.CAPSULE:
            found = add_far_ends(a, b, found, within, room, out)
            if found > c.points.shape[0]:
                control.short, control.wanted = SHORT_OF_PAIR_CONTACTS, found
                return -1
        begin = count
        for k in range(found):
            count = add_contact(world, work, c, i, j, c.points[k], c.features[k], h, margin, looks, count)
        if deepest < 0.0:
            correct_gaps(world, work, begin, count, deepest, h, predicted)
    return count
