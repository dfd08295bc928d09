"""Contacts of a step or a record, one row each."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.multibody.spatial.arrays import FloatArray, IntArray, close_names, finite_array
from contactlab.simulation.stepping.kernels.layout import OPEN, SLIDE, STICK
from contactlab.simulation.stepping.record_schema import Rows, StepTable
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import World

__all__ = [
    "OPEN",
    "SLIDE",
    "STICK",
    "ContactPair",
    "ContactContext",
    "ContactTable",
]


@dataclass(frozen=True, eq=False)
class ContactContext:
    """The names and step sizes that the numbers in a contact table refer to.

    Attributes
    ----------
    bodies, half_spaces
        Names.
    first
        Number of the first step of the table.
    h
        (n,) sizes of those steps [s], with contacts or without.
    """

    bodies: tuple[str, ...]
    half_spaces: tuple[str, ...]
    first: int
    h: FloatArray

    @classmethod
    def of(cls, world: World, h: FloatArray, first: int = 0) -> ContactContext:
        """Return the context of steps with sizes ``h`` (n,) in a world, where the first step has number ``first``."""
        return cls(world.model.names, world.half_space_names, first, h)


@dataclass(frozen=True, eq=False)
class ContactTable(StepTable):
    """Columns of contacts, one row each.

    Row order: step, then pair of shapes and feature, then body, half-space, support point, then external contacts by
    id.

    The normal points from A into B. Impulses [N s] over the step act on body B, and their opposites on body A. B moves;
    A is another body, which may be fixed to the world, or the world (-1) itself.

    Attributes
    ----------
    step, island
        The step (from state ``step`` to ``step + 1``) and the island of that step.
    body_a, body_b, half_space
        Numbers of the bodies (-1: the world) and of the half-space touched (-1: none).
    shape_a, shape_b
        Numbers of the shapes (`World.surfaces`); -1 for a half-space, and in external contacts.
    id
        Persistent number of the contact.
    mode
        `OPEN` (no impulse), `STICK` or `SLIDE`.
    point, normal
        (n, 3) world axes [m], [1], at the start of the step: the contact point on the body, or midway between the
        surfaces of two bodies; the unit normal.
    gap
        Distance at the start of the step [m].
    mu, restitution
        Coefficients of the pair; restitution at the approach speed before the step.
    impulse
        (n, 3) world axes, on body B [N s].
    impulse_normal, impulse_tangential
        (n,) along the normal, (n, 2) along t1, t2 (`contactlab.collision.tangent_frame` of the normal) [N s];
        in a planar world t1 is the direction in the plane.
    slip
        Tangential speed of the point, of B relative to A, at the end of the step, at the step's start configuration
        [m/s].
    projection_multiplier
        Multiplier of the position projection [kg m]: it moved the bodies by M^-1 (N^T projection_multiplier + T^T
        projection_multiplier_tangential) in addition to h v+; 0 if no contact was too deep.
    projection_multiplier_tangential
        (n, 2) the friction part of the position projection, along t1, t2 [kg m].
    gap_correction
        Change of gap + h N v by rotation of the bodies in the step [m], at most 0; the position projection corrects it.
        It is 0 unless a body turns fast.
    moment
        (n, 3) impulse of torsional and rolling friction, world axes, on body B [N m s]; 0 if the contact has none.
    scope
        Context of the numbers: names, and the steps of the table.
    """

    step: IntArray
    island: IntArray
    body_a: IntArray
    body_b: IntArray
    half_space: IntArray
    id: IntArray
    mode: IntArray
    point: FloatArray
    normal: FloatArray
    gap: FloatArray
    mu: FloatArray
    impulse: FloatArray
    impulse_normal: FloatArray
    impulse_tangential: FloatArray
    slip: FloatArray
    projection_multiplier: FloatArray
    projection_multiplier_tangential: FloatArray
    gap_correction: FloatArray
    shape_a: IntArray
    shape_b: IntArray
    restitution: FloatArray
    moment: FloatArray

    scope: ContactContext

    @classmethod
    def from_rows(cls, rows: Rows, scope: ContactContext) -> ContactTable:
        """Return the table with the contact columns of a record's arrays."""
        names = [field.name for field in fields(cls) if field.name != "scope"]
        return cls(**{name: rows[f"contact_{name}"] for name in names}, scope=scope)

    def __repr__(self) -> str:
        shares = [
            f"{np.count_nonzero(self.mode == m)} {said}"
            for m, said in ((OPEN, "open"), (STICK, "stick"), (SLIDE, "slide"))
        ]
        return f"ContactTable({len(self)} contacts: {', '.join(shares)})"

    def impulse_on(self, body: int) -> FloatArray:
        """Return the impulses (n, 3) on a body given by number, world axes [N s]; 0 in contacts of other bodies."""
        return self._sign_on(body) * self.impulse

    def moment_on(self, body: int) -> FloatArray:
        """Return the impulses (n, 3) of torsional and rolling friction on a body, world axes [N m s]."""
        return self._sign_on(body) * self.moment

    def _sign_on(self, body: int) -> FloatArray:
        """Return (n, 1) 1 for contacts whose B is the body, -1 for its contacts as A, 0 for others."""
        return np.asarray((self.body_b == body).astype(np.float64) - (self.body_a == body))[:, None]

    @property
    def names_a(self) -> NDArray[np.str_]:
        """(n,) the name of each contact's A: a half-space, a body, or "world"."""
        scope = self.scope
        names = np.array([*scope.half_spaces, *scope.bodies, "world"])
        own = np.where(self.body_a >= 0, len(scope.half_spaces) + self.body_a, names.size - 1)
        return names[np.where(self.half_space >= 0, self.half_space, own)]

    @property
    def names_b(self) -> NDArray[np.str_]:
        """(n,) the names of the bodies B, on which impulses act."""
        return np.array(self.scope.bodies)[self.body_b]

    def between(self, a: str, b: str | None = None) -> ContactPair:
        """Return the contacts of two bodies, or of a body and a half-space; "world" is every shape fixed to the world.

        Without ``b`` return all contacts of ``a``.

        Raises
        ------
        SimulationConfigError
            A name is unknown, or neither name is a body.
        """
        bodies, grounds = self.scope.bodies, self.scope.half_spaces
        for field, name in (("a", a), ("b", b)):
            if name is not None and name not in (*bodies, *grounds, "world"):
                hint = close_names(name, (*bodies, *grounds))
                raise SimulationConfigError(field, f"no body or half-space is called {name!r}{hint}")
        if b is not None and a not in bodies and b not in bodies:
            ground = a if a in grounds else b
            detail = f"neither {a!r} nor {b!r} is a body, and only bodies are touched: between({ground!r}) has all that"
            raise SimulationConfigError("b", f"{detail} touch {ground!r}")

        def touched(name: str) -> NDArray[np.bool_]:
            if name in bodies:
                return np.asarray((self.body_a == bodies.index(name)) | (self.body_b == bodies.index(name)))
            return np.asarray(self.body_a == -1 if name == "world" else self.half_space == grounds.index(name))

        own = touched(a) if b is None else touched(a) & touched(b) & (a != b)
        return ContactPair(a, b, self.rows(own))


@dataclass(frozen=True, eq=False)
class ContactPair:
    """The contacts between a and b; made by `ContactTable.between`.

    Forces act on b unless another body is named. They are means over each step, one row per step, 0 without contact.

    Attributes
    ----------
    a, b
        Names of two bodies, or of a body and a half-space, or "world"; b is None for all partners of a.
    table
        Their rows.
    """

    a: str
    b: str | None
    table: ContactTable

    def __len__(self) -> int:
        return len(self.table)

    @property
    def touching(self) -> NDArray[np.bool_]:
        """(n,) True in steps in which an impulse acted between them."""
        return self._sum(self.table.impulse_normal) > 0.0

    def force_on(self, body: str) -> FloatArray:
        """Return the force on ``body`` from the other of the two, world axes (n, 3) [N]."""
        return np.asarray(self._sum(self._acting_on(body)[0]) / self._h[:, None])

    def net_wrench(self, *, at: ArrayLike, on: str | None = None) -> FloatArray:
        """Return moment about the point ``at`` and force, world axes (n, 6) [N m, N].

        Parameters
        ----------
        at
            (3,), or one point per step (n, 3), world axes [m].
        on
            The body that the wrench acts on, a or b; by default b, or a if there is no b.
        """
        n = self._h.size
        point = np.asarray(at, dtype=np.float64)
        points = finite_array(at, "at", (3,) if point.ndim == 1 else (n, 3), SimulationConfigError)
        impulse, moment = self._acting_on((self.b or self.a) if on is None else on)
        arm = self.table.point - np.broadcast_to(points, (n, 3))[self._steps]
        wrench = self._sum(np.concatenate((np.cross(arm, impulse) + moment, impulse), axis=1))
        return np.asarray(wrench / self._h[:, None])

    @property
    def _h(self) -> FloatArray:
        return self.table.scope.h

    @property
    def _steps(self) -> NDArray[np.int64]:
        return np.asarray(self.table.step - self.table.scope.first)

    def _acting_on(self, body: str) -> tuple[FloatArray, FloatArray]:
        """Return impulses and moments (n, 3) on one of the two bodies."""
        if body not in (self.a, self.b):
            raise SimulationConfigError("body", f"must be {self.a!r} or {self.b!r}, got {body!r}")
        names = self.table.scope.bodies
        if body not in names:
            # A half-space or the world is always A.
            return -self.table.impulse, -self.table.moment
        return self.table.impulse_on(names.index(body)), self.table.moment_on(names.index(body))

    def _sum(self, values: FloatArray) -> FloatArray:
        """Return the sum of values (n, ...) of the pair's contacts for each step (n_steps, ...)."""
        total = np.zeros((self._h.size, *values.shape[1:]))
        np.add.at(total, self._steps, values)
        return total
