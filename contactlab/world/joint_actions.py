"""Actions on the joints of a world: limits, damping, dry friction, drives, mimics, loops."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from contactlab.constraints import ContactConstraint, LoopConstraint, PointPair
from contactlab.formulation.model_problem.options import Drive, JointLimit, PositionDrive


@dataclass(frozen=True)
class Coefficient:
    """A number of one coordinate of a joint: viscous damping [N m s/rad, N s/m] or dry friction [N m, N]."""

    # The body that the joint moves, and which of its degrees of freedom.
    body: str
    coordinate: int
    value: float  # the number, at least 0


@dataclass(frozen=True)
class MimicJoint:
    """A joint of one coordinate that follows another: multiplier times that one's, plus offset."""

    # The bodies that the two joints move.
    body: str
    followed: str
    # Of the relation.
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Loop:
    """A constraint that holds both ways, or a spring."""

    #: A `LoopConstraint`, `DistanceConstraint`, `ContactConstraint`, `CustomConstraint` or `PointSpring` between bodies
    #: of the world.
    constraint: Any
    erp: float | None  # share of its position error taken back in a step, None for the stepper's
    # Of a custom constraint: the bodies it is about, None for those that its Jacobian tells.
    bodies: tuple[str, ...] | None = None

    @property
    def joined(self) -> tuple[str, ...] | None:
        """Names of the bodies it is about, the world included; None if only its Jacobian tells."""
        if isinstance(self.constraint, LoopConstraint):
            return self.constraint.predecessor, self.constraint.successor
        if isinstance(self.constraint, PointPair):
            return self.constraint.body_a, self.constraint.body_b
        return (self.constraint.body,) if isinstance(self.constraint, ContactConstraint) else self.bodies


@dataclass(frozen=True, eq=False)
class JointActions:
    """All of it; joints go by the bodies they move, numbers of drives by their order.

    Attributes
    ----------
    limits
        Ranges of coordinates.
    damping, friction
        Viscous and dry, by coordinate.
    drives
        Motors, each with a name of its own.
    mimics
        Joints that follow others.
    loops
        Further equations, and springs between points.
    """

    limits: tuple[JointLimit, ...] = ()
    damping: tuple[Coefficient, ...] = ()
    friction: tuple[Coefficient, ...] = ()
    drives: tuple[Drive, ...] = ()
    mimics: tuple[MimicJoint, ...] = ()
    loops: tuple[Loop, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the world has no joint actions."""
        return not any(getattr(self, field.name) for field in fields(self))

    @property
    def springs(self) -> dict[int, PositionDrive]:
        """Position drives without a bound, which act within the mass matrix, by their numbers."""
        drives = enumerate(self.drives)
        return {i: one for i, one in drives if isinstance(one, PositionDrive) and one.row_kind is None}

    def drive_number(self, name: str) -> int:
        """Return the number of a drive; -1 for an unknown name."""
        return next((i for i, drive in enumerate(self.drives) if drive.name == name), -1)
