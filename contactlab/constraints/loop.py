"""One row of a loop closure: two frames that do not move against each other along an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.baumgarte import Baumgarte, baumgarte_of
from contactlab.constraints.contact import check_body, check_label
from contactlab.constraints.errors import ConstraintError
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.spatial.transform import Transform


@dataclass(frozen=True, eq=False, init=False)
class LoopConstraint:
    """Two frames, one on each of two bodies, do not move against each other along one axis.

    With R_p the orientation of the predecessor's frame in the world, x_p, x_s the frames' origins, point Jacobians
    J_p, J_s (6, nv) there, velocities u_p, u_s and accelerations at zero joint accelerations c_p, c_s (angular first),
    and A = (R_p w, R_p t) for the axis (w, t)::

        G              = A^T (J_s - J_p)
        gamma          = -A^T (c_s - c_p) - (omega_p x A)^T (u_s - u_p)
        position error = w . e + t . R_p^T (x_s - x_p),  e = sin(angle) times the axis of the turn R_p^T R_s
        velocity error = G v

    The force is positive where it pushes (turns) the successor along +axis; the predecessor bears the opposite.

    Notes
    -----
    The rotation error is zero at 180 degrees too: frames that point opposite ways are held there.

    As written, each body's motion is taken at its own frame's origin. While the origins lie on each other, as in hinges
    and ball joints, G v is the derivative of the translation errors. Where the loop lets them part (a slider) and the
    predecessor turns, it is not: ``sliding=True`` then takes the predecessor's motion at the successor's origin, so
    that translation rows are derivatives of their errors and both bodies feel the force along one line.

    A loop whose bodies do not move against each other (frames on one body, or on bodies fixed to the world) is legal:
    its rows are zero, but for translation rows of origins that lie apart on a body that turns, if not ``sliding``.

    Parameters
    ----------
    predecessor, successor
        Names of bodies, fixed ones and "world" included.
    X_p, X_s
        Pose of the constraint frame in each body: R maps constraint-frame axes to body axes. Identity by default.
    axis
        (6,) direction in the predecessor's frame, rotation (w) first. Its length scales the row; not all zero.
    baumgarte
        None, a time constant [s], or a `Baumgarte` pair.
    name, id
        As for `ContactConstraint`.
    sliding
        Whether translation is measured at the successor's origin on both bodies.

    Raises
    ------
    ConstraintError
        A zero axis, a time constant that is not > 0, an entry that is not finite.
    """

    predecessor: str
    successor: str
    X_p: Transform
    X_s: Transform
    axis: FloatArray
    baumgarte: Baumgarte | None
    name: str | None
    id: int | None
    sliding: bool

    def __init__(
        self,
        predecessor: str,
        successor: str,
        X_p: Transform | None = None,
        X_s: Transform | None = None,
        axis: ArrayLike | None = None,
        baumgarte: float | Baumgarte | None = None,
        *,
        name: str | None = None,
        id: int | None = None,
        sliding: bool = False,
    ) -> None:
        check_body("predecessor", predecessor)
        check_body("successor", successor)
        for field, pose in (("X_p", X_p), ("X_s", X_s)):
            if pose is not None and not isinstance(pose, Transform):
                raise ConstraintError(field, f"must be a Transform, got {pose!r}")
        if axis is None:
            raise ConstraintError("axis", "is needed: six numbers, rotation first")
        direction = finite_array(axis, "axis", (6,), ConstraintError)
        if not np.any(direction):
            raise ConstraintError("axis", "has no direction: all six entries are zero")
        check_label(name, id)
        object.__setattr__(self, "predecessor", predecessor)
        object.__setattr__(self, "successor", successor)
        object.__setattr__(self, "X_p", Transform() if X_p is None else X_p)
        object.__setattr__(self, "X_s", Transform() if X_s is None else X_s)
        object.__setattr__(self, "axis", read_only(direction))
        object.__setattr__(self, "baumgarte", baumgarte_of(baumgarte))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "sliding", bool(sliding))
