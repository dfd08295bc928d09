"""External forces at points of bodies, as the rows the dynamics take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
from contactlab.spatial.arrays import FloatArray, finite_array, read_only


@dataclass(frozen=True, eq=False, init=False)
class PointForce:
    """A force at a point of a body.

    Parameters
    ----------
    body
        Its name; fixed bodies have frames of their own. A force on "world" is borne by the world.
    point
        (3,) [m] where it acts, in body coordinates.
    force
        (3,) [N].
    frame
        Axes of the force: "world", or "body" for one that turns with the body.
    """

    body: str
    point: FloatArray
    force: FloatArray
    frame: Literal["world", "body"]

    def __init__(
        self, body: str, point: ArrayLike, force: ArrayLike, frame: Literal["world", "body"] = "world"
    ) -> None:
        if frame not in ("world", "body"):
            raise MultibodyError("PointForce.frame", f"must be 'world' or 'body', got {frame!r}")
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "point", read_only(finite_array(point, "PointForce.point", (3,), MultibodyError)))
        object.__setattr__(self, "force", read_only(finite_array(force, "PointForce.force", (3,), MultibodyError)))
        object.__setattr__(self, "frame", frame)


def external_forces(model: Model, q: Instant, forces: Iterable[PointForce]) -> FloatArray:
    """Rows (nb, 6), one per added body in the order added: moment about the world origin [N m], force [N], world axes.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    forces
        Any number of `PointForce`; those on one body add up.
    """
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    rows = np.zeros((model.nb, 6))
    for applied in forces:
        pose = body_pose(model, at, applied.body)
        i = model.index_or_world(applied.body)
        if i >= 0:
            force = applied.force if applied.frame == "world" else pose.R @ applied.force
            rows[i, :3] += np.cross(pose.apply(applied.point), force)
            rows[i, 3:] += force
    return rows
