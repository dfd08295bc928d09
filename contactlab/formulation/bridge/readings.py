"""Forces of a solution as what they physically are: contact forces in the world, and what bears on a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from contactlab.constraints import BodyWrench, group_wrenches
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.formulation.bridge.inputs import Inputs, Level
from contactlab.formulation.bridge.rows import Row
from contactlab.formulation.bridge.spin_rows import SPINNING
from contactlab.multibody.points import body_pose
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintForces


@dataclass(frozen=True, eq=False)
class ContactLoad:
    """Load of a contact: newtons, or newton seconds from an impact problem.

    Attributes
    ----------
    name, body_a, body_b
        Of the contact.
    point
        (3,) [m] where B touches, world axes, like the vectors below.
    normal
        (3,) from A into B.
    normal_force
        Along the normal, >= 0.
    friction
        (3,) on B.
    moment
        (3,) on B [N m]: of torsional and rolling friction.
    slides
        Whether the contact slides, by the velocity at the instant.
    """

    name: str
    body_a: str
    body_b: str
    point: FloatArray
    normal: FloatArray
    normal_force: float
    friction: FloatArray
    moment: FloatArray
    slides: bool

    @property
    def force(self) -> FloatArray:
        """(3,) on B: normal and friction together."""
        return self.normal_force * self.normal + self.friction

    def force_on(self, body: str) -> FloatArray:
        """(3,) on one of the two bodies."""
        if body == self.body_b:
            return self.force
        if body == self.body_a:
            return -self.force
        raise BridgeError(
            "body", f"{body!r} is not part of {self.name!r}, which is between {self.body_a!r} and {self.body_b!r}"
        )


class BodyLoad(NamedTuple):
    """Load on a body by contacts and loops: a moment about `point`, and a force; world axes."""

    moment: FloatArray
    force: FloatArray
    point: FloatArray


def row_force(level: Level[Any], forces: ConstraintForces, row: Row) -> float:
    """Force along a row; of a sliding row, the friction that the normal force of its contact brings."""
    if row.operator == "Q":
        contact = int(level.data.sliding_contacts[row.index])
        return -float(level.data.mu_sliding[row.index] * forces.fN[contact])
    return float(getattr(forces, f"f{row.operator}")[row.index])


def contact_forces(p: Inputs, level: Level[Any], forces: ConstraintForces) -> tuple[ContactLoad, ...]:
    """Loads of all contacts in the order given; those without rows bear nothing."""
    normal_force, friction = np.zeros(len(p.contacts)), np.zeros((len(p.contacts), 3))
    moment = np.zeros((len(p.contacts), 3))
    normal_force[level.contacts] = forces.fN
    place = {name: i for i, name in enumerate(p.geometry.names)}
    for row in (*level.rows.F, *level.rows.Q):
        if row.direction is not None:
            friction[place[row.source]] += row_force(level, forces, row) * row.direction
    for row in level.rows.B:
        if row.kind in SPINNING and row.direction is not None:
            moment[place[row.source]] += row_force(level, forces, row) * row.direction
    return tuple(
        ContactLoad(
            name=p.geometry.names[i],
            body_a=contact.body_a,
            body_b=contact.body_b,
            point=p.geometry.x_b[i].copy(),
            normal=contact.normal,
            normal_force=float(normal_force[i]),
            friction=friction[i],
            moment=moment[i],
            slides=bool(p.slides[i]),
        )
        for i, contact in enumerate(p.contacts)
    )


def load_on(p: Inputs, level: Level[Any], forces: ConstraintForces, body: str, about: FloatArray | None) -> BodyLoad:
    """Sum of what acts on a body by contacts and loops, about a point, its origin if not given."""
    p.model.index_or_world(body)
    point = body_pose(p.model, p.kin, body).p.copy() if about is None else about
    moment, force = np.zeros(3), np.zeros(3)

    for i, contact in enumerate(contact_forces(p, level, forces)):
        if body in (contact.body_a, contact.body_b):
            push = contact.force_on(body)
            at = p.geometry.x_b[i] if body == contact.body_b else p.geometry.x_a[i]
            turning = contact.moment if body == contact.body_b else -contact.moment
            moment, force = moment + turning + np.cross(at - point, push), force + push
    for wrench in _loop_wrenches(p, level, forces):
        if wrench.body == body:
            push = wrench.wrench[3:]
            moment, force = moment + wrench.wrench[:3] + np.cross(wrench.frame.p - point, push), force + push
    return BodyLoad(moment, force, point)


def _loop_wrenches(p: Inputs, level: Level[Any], forces: ConstraintForces) -> list[BodyWrench]:
    """Moments and forces of all loops, in world axes; rows that give way stand among the boxed ones."""
    if p.constraint_set is None:
        return []
    values = [row_force(level, forces, row) for row in (*level.rows.G, *level.rows.B) if row.kind == "loop"]
    if not values:
        return []
    wrenches: list[BodyWrench] = []
    for group in p.constraint_set.groups:
        wrenches += group_wrenches(p.model, p.kin, p.constraint_set, values, group.name, frame="world", t=p.t)
    return wrenches
