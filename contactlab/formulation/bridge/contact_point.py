"""One contact between two bodies of a model, as a user states it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact import PowerLaw
from contactlab.formulation.bridge.arguments import at_least_zero, number, share
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.spatial.arrays import FloatArray, finite_array, read_only

#: The body whose surface is flat at the contact: normal and tangents turn with it.
Surface = Literal["a", "b", "fixed"]

# A normal may be this far from unit length: more is a mistake, less is rounding and is removed.
_UNIT = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class ContactPoint:
    """A point of body B that touches body A, or is about to.

    Parameters
    ----------
    body_b
        Name of body B, on which the reported force acts.
    point
        (3,) [m] the point of B: in the world, or in B's coordinates with ``frame="body"``.
    normal
        (3,) unit vector in world axes, from A into B.
    body_a
        Name of body A.
    frame
        Coordinates of `point` and `point_a`: "world", or "body" for each body's own.
    point_a
        (3,) [m] a point of A's surface, such as any point of a plane: what bears on A is right opposite B's point, on
        the plane through it. Where B's point is if not given.
    gap
        [m], negative in penetration; normal . (x_B - point_a) if not given, 0 without `point_a`.
    mu
        Coefficient of friction, >= 0.
    mu_sliding, mu_non_sliding
        Kinetic and static coefficients where they differ; `mu` if not given. The velocity level, which knows one, uses
        that of the state the contact is in.
    restitution
        Coefficient of restitution, 0 to 1, or a `contactlab.contact.PowerLaw`; velocity level only.
    stiffness, dissipation
        k [N/m] and b [N s/m] of a contact that gives way, over a step; both 0 for a rigid one.
    radius
        [m] of a ball of B around `point`: what touches is then the ball's point nearest to A, not always the same one.
    torsional, rolling
        [m] radii of torsional and rolling friction: moments about the normal, and across it, up to the radius times the
        contact's load, which ``problem_data_from(loads=...)`` knows. Steps of the velocity level only.
    surface
        Whose surface is flat there: normal and tangents turn with A ("a"), with B ("b"), or not at all ("fixed"). It
        matters at acceleration level only, where such a body turns.
    name
        Label; "contact i" by the place in the list if not given.

    Raises
    ------
    BridgeError
        A value out of its range, or a normal that is not of unit length.
    """

    body_b: str
    point: FloatArray
    normal: FloatArray
    body_a: str
    frame: Literal["world", "body"]
    point_a: FloatArray | None
    gap: float | None
    mu_sliding: float
    mu_non_sliding: float
    restitution: float | PowerLaw
    stiffness: float
    dissipation: float
    radius: float
    torsional: float
    rolling: float
    surface: Surface
    name: str | None

    def __init__(
        self,
        body_b: str,
        point: ArrayLike,
        normal: ArrayLike,
        *,
        body_a: str = "world",
        frame: Literal["world", "body"] = "world",
        point_a: ArrayLike | None = None,
        gap: float | None = None,
        mu: float = 0.0,
        mu_sliding: float | None = None,
        mu_non_sliding: float | None = None,
        restitution: float | PowerLaw = 0.0,
        stiffness: float = 0.0,
        dissipation: float = 0.0,
        radius: float = 0.0,
        torsional: float = 0.0,
        rolling: float = 0.0,
        surface: Surface = "a",
        name: str | None = None,
    ) -> None:
        prefix = "ContactPoint."
        if frame not in ("world", "body"):
            raise BridgeError(prefix + "frame", f"must be 'world' or 'body', got {frame!r}")
        if surface not in get_args(Surface):
            raise BridgeError(prefix + "surface", f"must be one of {get_args(Surface)}, got {surface!r}")
        label: object = name  # whatever the caller's types say
        if label is not None and (not isinstance(label, str) or not label):
            raise BridgeError(prefix + "name", f"must be a non-empty string or None, got {name!r}")
        both = at_least_zero(mu, prefix + "mu")
        kinetic = both if mu_sliding is None else at_least_zero(mu_sliding, prefix + "mu_sliding")
        static = both if mu_non_sliding is None else at_least_zero(mu_non_sliding, prefix + "mu_non_sliding")
        if kinetic > static:
            raise BridgeError(prefix + "mu_sliding", f"{kinetic} exceeds mu_non_sliding, which is {static}")
        values = {
            "body_b": body_b,
            "point": _vector(point, prefix + "point"),
            "normal": _unit(normal),
            "body_a": body_a,
            "frame": frame,
            "point_a": None if point_a is None else _vector(point_a, prefix + "point_a"),
            "gap": None if gap is None else number(gap, prefix + "gap"),
            "mu_sliding": kinetic,
            "mu_non_sliding": static,
            "restitution": restitution
            if isinstance(restitution, PowerLaw)
            else share(restitution, prefix + "restitution"),
            "stiffness": at_least_zero(stiffness, prefix + "stiffness"),
            "dissipation": at_least_zero(dissipation, prefix + "dissipation"),
            "radius": at_least_zero(radius, prefix + "radius"),
            "torsional": at_least_zero(torsional, prefix + "torsional"),
            "rolling": at_least_zero(rolling, prefix + "rolling"),
            "surface": surface,
            "name": name,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)
        if self.restitution and (self.stiffness or self.dissipation):
            raise BridgeError(prefix + "restitution", "a contact that gives way has stiffness and dissipation instead")
        if self.radius and surface == "b":
            raise BridgeError(prefix + "surface", "a ball of B is not flat; 'a' or 'fixed' with a radius")

    def __repr__(self) -> str:
        label = "" if self.name is None else f"{self.name!r}, "
        return f"ContactPoint({label}{self.body_a!r} -> {self.body_b!r}, normal={self.normal.tolist()})"


def _vector(value: ArrayLike, field: str) -> FloatArray:
    return read_only(finite_array(value, field, (3,), BridgeError))


def _unit(value: ArrayLike) -> FloatArray:
    normal = finite_array(value, "ContactPoint.normal", (3,), BridgeError)
    length = float(np.linalg.norm(normal))
    if not abs(length - 1.0) <= _UNIT:
        raise BridgeError("ContactPoint.normal", f"has length {length:.9g}, wanted 1")
    return read_only(normal if abs(length - 1.0) <= 4.0 * np.finfo(np.float64).eps else normal / length)
