"""The stage DETECT: contacts with half-spaces and external contacts; contacts between shapes are in `pairs`."""

from __future__ import annotations

from contactlab.collision.detection.kernels.contacts import reduce_contacts
from contactlab.collision.kernels import ContactBuffer
from contactlab.collision.kernels.contact_rows import collide_point, pair_restitution
from contactlab.multibody.kernels.layout import frames, tree
from contactlab.multibody.kernels.points import body_pose, field_at, velocity_of, world_point
from contactlab.simulation.stepping.kernels.arrays import PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import seen_depth
from contactlab.simulation.stepping.kernels.kinematic import belt_velocity, kinematic_index, relative_velocity
from contactlab.simulation.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    BODY_DOF,
    CONTACT_ID,
    GAP,
    GAP_CORRECTION,
    HALF_SPACE,
    ID_BITS,
    MU,
    NORMAL,
    POINT,
    PREVIOUS,
    RESTITUTION,
    SHAPE_A,
    SHAPE_B,
    VN_MINUS,
    FloatArray,
)
from lcp.compiler.kernels import copy_array
from lcp.kernels import kernel


@kernel(inline=True)
def contact_id(body: int, half_space: int, point: int) -> int:
    """Return the persistent number of a contact, which is independent of the other contacts."""
    return (body << 2 * ID_BITS) | (half_space << ID_BITS) | point


@kernel(inline=True)
def move_contact(work: StepWork, c: int, place: int) -> None:
    """Copy contact ``c`` of the contact buffers to the earlier row ``place``."""
    copy_array(work.contact_int[c], work.contact_int[place])
    copy_array(work.contact_float[c], work.contact_float[place])


@kernel(inner=True)
def write_contact(
    work: StepWork,
    row: int,
    body_a: int,
    body_b: int,
    half_space: int,
    number: int,
    shape_a: int,
    shape_b: int,
    point: FloatArray,
    normal: FloatArray,
    sign: float,
    law: tuple[float, float, float, float],
) -> None:
    """Write a row of the contact buffers; the normal is ``sign`` times the given one.

    ``number`` is the id, ``law`` has gap, friction, restitution and normal velocity.
    """
    # bodies, shapes and identity
    ints = work.contact_int[row]
    ints[BODY_A] = body_a
    ints[BODY_B] = body_b
    ints[HALF_SPACE] = half_space
    ints[CONTACT_ID] = number
    ints[PREVIOUS] = -1
    ints[SHAPE_A] = shape_a
    ints[SHAPE_B] = shape_b
    # geometry and law
    floats = work.contact_float[row]
    for k in range(3):
        floats[POINT + k] = point[k]
        floats[NORMAL + k] = sign * normal[k]
    floats[GAP], floats[MU], floats[RESTITUTION], floats[VN_MINUS] = law
    floats[GAP_CORRECTION] = 0.0


@kernel(inner=True)
def half_space_contacts(
    world: PackedWorld, work: StepWork, h: float, margin: float, reduce: bool, looks: int, count: int
) -> int:
    """Append the contacts with gap <= margin + h max(0, -N v) to the first ``count`` ones of the contact buffers.

    The order is body, half-space, point. ``reduce``: keep at most four contacts of a shape with a half-space. Contacts
    that would become deep under any of the first ``looks`` velocities ``work.v_seen`` are also listed. Return the
    number of all contacts, the first ones included; contacts beyond the capacity of the buffers are counted, not
    stored. Shapes fixed to the world have no contacts with half-spaces, because they cannot move.
    """
    # frames of the bodies and scratch
    t = tree(world.ints, world.floats)
    f = frames(work.W, t.parent.shape[0], t.dof_parent.shape[0])
    capacity = work.contact_int.shape[0]
    pose = work.scratch[0:12]
    p = work.scratch[12:15]
    motion = work.scratch[15:21]
    # moving bodies that have support points
    for b in range(t.body_link.shape[0]):
        link = t.body_link[b]
        first = world.point_start[b]
        last = world.point_start[b + 1]
        if link < 0 or first == last:
            continue
        # centers of the points in world axes
        origin = f.p[t.root[link]]
        body_pose(t, f.R, f.p, b, pose)
        for i in range(first, last):
            world_point(pose, world.points[i], work.centers[i])
        # each half-space with each point
        for s in range(world.offsets.shape[0]):
            normal = world.normals[s]
            ground = world.material[world.pair_mu.shape[0] + s]
            begin = count
            for i in range(first, last):
                # gap and normal speed
                gap = collide_point(work.centers[i], world.radii[i], normal, world.offsets[s], p)
                field_at(f.V[link], origin, p, motion)
                vn = normal[0] * motion[3] + normal[1] * motion[4] + normal[2] * motion[5]
                near = gap <= margin + h * max(0.0, -vn)
                # velocities seen earlier would make the contact deep
                for look in range(looks if not near else 0):
                    j = world.bodies[b, BODY_DOF]
                    velocity_of(world.dof_parent, work.S, j, origin, p, work.v_seen[look], motion[3:6])
                    seen = gap + h * (normal[0] * motion[3] + normal[1] * motion[4] + normal[2] * motion[5])
                    bounces = pair_restitution(world.restitution, ground, world.material[world.point_shape[i]], -vn)
                    near = near or seen < -seen_depth(bounces) * world.extent[world.point_shape[i]]
                # If a filter excludes the pair, it has no coefficient.
                if near and world.pair_mu[world.point_shape[i], s] >= 0.0:
                    if count < capacity:
                        shape = world.point_shape[i]
                        bounces = pair_restitution(world.restitution, ground, world.material[shape], -vn)
                        law = gap, world.pair_mu[shape, s], bounces, vn
                        write_contact(
                            work, count, -1, b, s, contact_id(b, s, i - first), -1, shape, p, normal, 1.0, law
                        )
                    count += 1
                # after the last point of a shape, keep at most four of its contacts
                if reduce and (i + 1 == last or world.point_shape[i + 1] != world.point_shape[i]):
                    if begin + 4 < count <= capacity:
                        # Rows of one shape and half-space differ only in point numbers and floats.
                        ids = work.contact_int[begin:count, CONTACT_ID]
                        count = begin + reduce_contacts(
                            count - begin, ContactBuffer(work.contact_float[begin:count], ids)
                        )
                    begin = count
    return count


@kernel(inner=True)
def add_external_contacts(world: PackedWorld, work: StepWork, h: float, margin: float, count: int) -> int:
    """List the external contacts with gap <= margin + h max(0, -N v), in the order given, after ``count``.

    Return the number of all, as `half_space_contacts` does.
    """
    moving = work.scratch[0:3]
    other = work.scratch[3:6]
    for i in range(work.external_int.shape[0]):
        from_int = work.external_int[i]
        from_float = work.external_float[i]
        point = from_float[POINT : POINT + 3]
        relative_velocity(world, work, from_int[BODY_A], from_int[BODY_B], point, work.v, other, moving)
        row = kinematic_index(world, from_int[BODY_A])
        if row >= 0:
            # a belt moves along its body; only the body's velocity closes the gap
            belt_velocity(work, row, point, other)
            for j in range(3):
                moving[j] += other[j]
        vn = from_float[NORMAL] * moving[0] + from_float[NORMAL + 1] * moving[1] + from_float[NORMAL + 2] * moving[2]
        if from_float[GAP] <= margin + h * max(0.0, -vn):
            if count < work.contact_int.shape[0]:
                copy_array(from_int, work.contact_int[count])
                copy_array(from_float, work.contact_float[count])
                work.contact_float[count, VN_MINUS] = vn
                work.contact_float[count, GAP_CORRECTION] = 0.0
            count += 1
    return count


@kernel(inner=True)
def match_previous(work: StepWork, n_contacts: int, n_previous: int) -> None:
    """Store in each contact the index of the same contact in the previous step, or -1.

    Both lists ascend in id, so one pass is enough.
    """
    j = 0
    for i in range(n_contacts):
        wanted = work.contact_int[i, CONTACT_ID]
        while j < n_previous and work.previous_id[j] < wanted:
            j += 1
        work.contact_int[i, PREVIOUS] = j if j < n_previous and work.previous_id[j] == wanted else -1
