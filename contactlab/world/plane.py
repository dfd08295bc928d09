"""Planar worlds: motion in one plane, friction along one direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import BodySpec, Model, ModelBuilder, joints
from contactlab.multibody.points import point_jacobian_6d
from contactlab.spatial import RigidInertia, Transform, quaternion
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.world.errors import SimulationConfigError

#: Edges of the friction pyramid in a plane: one direction and its negative, the exact cone.
PLANAR_EDGES = 2

NEAR = 1e-9


def plane_normal(planar: ArrayLike | None) -> FloatArray | None:
    """Return the unit normal (3,) of the plane of motion, None for a world in space."""
    if planar is None:
        return None
    normal = finite_array(planar, "planar", (3,), SimulationConfigError)
    length = float(np.linalg.norm(normal))
    if length == 0.0:
        raise SimulationConfigError("planar", f"must be the normal of a plane, got {normal.tolist()}")
    # One of length 1 keeps its bits, from record to record.
    return read_only(normal if abs(length - 1.0) <= 1e-15 else normal / length)


def plane_axes(normal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two directions in the plane that positions are counted along: x and z for (0, 1, 0), x and y for z.

    The first is the part in the plane of the world axis most across the normal; the second stands across it, its
    largest entry positive.
    """
    first = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = first - (first @ normal) * normal
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    if second[int(np.argmax(np.abs(second)))] < 0.0:
        second = -second
    return first, second + 0.0


def planar_body(
    name: str, inertia: RigidInertia, gravity: ArrayLike, normal: FloatArray, q: ArrayLike | None, v: ArrayLike | None
) -> tuple[tuple[BodySpec, ...], Model, FloatArray, FloatArray]:
    """Return a free body in the plane: its specification, a model of it alone, and its start q (3,), v (3,).

    ``q`` and ``v`` are (3,), along `plane_axes` and about the normal, or those of a free body in space, (7,) and (6,),
    which must keep to the plane; its distance from the origin along the normal stays.
    """
    first, second = plane_axes(normal)
    start, depth = _start(q, normal, first, second)
    rates = _rates(v, normal, first, second)
    joint = joints.Composite([joints.Prismatic(first), joints.Prismatic(second), joints.Revolute(normal)])
    place = Transform(p=depth * normal)
    one = ModelBuilder(gravity).add_body(name, joint=joint, placement=place, inertia=inertia).build()
    return one.bodies, one, start, rates


def _start(q: ArrayLike | None, normal: FloatArray, first: FloatArray, second: FloatArray) -> tuple[FloatArray, float]:
    if q is None:
        return np.zeros(3), 0.0
    given = finite_array(q, "q", (None,), SimulationConfigError)
    if given.size == 3:
        return given, 0.0
    if given.size != 7:
        raise SimulationConfigError("q", f"must have 3 numbers in the plane or 7 in space, got {given.size}")
    length = float(np.linalg.norm(given[3:]))
    if abs(length - 1.0) > 1e-6:
        detail = f"the quaternion (w, x, y, z) = {given[3:].tolist()} must have length 1, has {length:.9g}"
        raise SimulationConfigError("q", detail)
    turn = np.asarray(quaternion.log(given[3:] / length))
    if np.linalg.norm(turn - (turn @ normal) * normal) > NEAR:
        raise SimulationConfigError("q", f"turns the body out of the plane by the rotation vector {turn.tolist()}")
    place = given[:3]
    return np.array([place @ first, place @ second, turn @ normal]), float(place @ normal)


def _rates(v: ArrayLike | None, normal: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    if v is None:
        return np.zeros(3)
    given = finite_array(v, "v", (None,), SimulationConfigError)
    if given.size == 3:
        return given
    if given.size != 6:
        raise SimulationConfigError("v", f"must have 3 numbers in the plane or 6 in space, got {given.size}")
    speed, spin = given[:3], given[3:]
    out = abs(float(speed @ normal)) + float(np.linalg.norm(spin - (spin @ normal) * normal))
    if out > NEAR * (1.0 + float(np.abs(given).max())):
        raise SimulationConfigError("v", f"{given.tolist()} leaves the plane")
    return np.array([speed @ first, speed @ second, spin @ normal])


def check_in_plane(field: str, direction: FloatArray, normal: FloatArray) -> None:
    """Refuse a direction that is not in the plane."""
    if abs(float(direction @ normal)) > NEAR:
        raise SimulationConfigError(field, f"{direction.tolist()} is not in the plane across {normal.tolist()}")


def check_moves_in_plane(model: Model, normal: FloatArray) -> None:
    """Refuse a model with a joint that leaves the plane.

    Turns about the normal and shifts across it keep all further axes where they are relative to the plane, so that the
    neutral configuration tells.
    """
    for body in model.bodies:
        J = point_jacobian_6d(model, model.neutral, body.name, np.zeros(3))
        turning, shifting = J[:3], J[3:]
        if np.abs(turning - np.outer(normal, normal @ turning)).max(initial=0.0) > NEAR or np.abs(
            normal @ shifting
        ).max(initial=0.0) > NEAR * (1.0 + np.abs(shifting).max(initial=0.0)):
            raise SimulationConfigError("model", f"body {body.name!r} can leave the plane across {normal.tolist()}")
