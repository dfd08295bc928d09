"""What passes between two bodies over the steps of a record: forces, wrenches, whether they touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.stepping.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.stepping.contact_table import ContactTable

__all__ = ["ContactPair", "ContactScope"]


@dataclass(frozen=True, eq=False)
class ContactScope:
    """What the numbers in a contact table refer to.

    Attributes
    ----------
    bodies, half_spaces
        Names.
    first
        Number of the first step that the table is about.
    h
        (n,) sizes of those steps [s], with contacts or without.
    """

    bodies: tuple[str, ...]
    half_spaces: tuple[str, ...]
    first: int
    h: FloatArray


@dataclass(frozen=True, eq=False)
class ContactPair:
    """The contacts between a and b; made by `ContactTable.between`.

    Forces act on b unless another is named, and are means over each step; n steps, one row each, also where they do not
    touch.

    Attributes
    ----------
    a, b
        Names of two bodies, or of a body and a half-space, or "world" for all that is the world's own.
    table
        Their rows.
    """

    a: str
    b: str
    table: ContactTable

    def __len__(self) -> int:
        return len(self.table)

    @property
    def touching(self) -> NDArray[np.bool_]:
        """Whether an impulse passed between them, (n,)."""
        return self._sum(self.table.impulse_normal) > 0.0

    def force_on(self, body: str) -> FloatArray:
        """Return the force of one on the other, world axes (n, 3) [N]."""
        return np.asarray(self._sum(self._impulse_on(body)) / self._h[:, None])

    def net_wrench(self, *, at: ArrayLike, on: str | None = None) -> FloatArray:
        """Return moment about the point ``at`` and force, world axes (n, 6) [N m, N].

        Parameters
        ----------
        at
            (3,), or one point per step (n, 3), world axes [m].
        on
            The body they act on: a or b, where not given b.
        """
        n = self._h.size
        point = np.asarray(at, dtype=np.float64)
        points = finite_array(at, "at", (3,) if point.ndim == 1 else (n, 3), SimulationConfigError)
        impulse = self._impulse_on(self.b if on is None else on)
        arm = self.table.point - np.broadcast_to(points, (n, 3))[self._steps]
        wrench = self._sum(np.concatenate((np.cross(arm, impulse), impulse), axis=1))
        return np.asarray(wrench / self._h[:, None])

    @property
    def _h(self) -> FloatArray:
        return self.table.scope.h

    @property
    def _steps(self) -> NDArray[np.int64]:
        return np.asarray(self.table.step - self.table.scope.first)

    def _impulse_on(self, body: str) -> FloatArray:
        if body not in (self.a, self.b):
            raise SimulationConfigError("body", f"must be {self.a!r} or {self.b!r}, got {body!r}")
        names = self.table.scope.bodies
        if body in names:
            return self.table.impulse_on(names.index(body))
        # A half-space or the world: what does not act on the other.
        other = self.a if body == self.b else self.b
        return np.asarray(-self.table.impulse_on(names.index(other)))

    def _sum(self, values: FloatArray) -> FloatArray:
        total = np.zeros((self._h.size, *values.shape[1:]))
        np.add.at(total, self._steps, values)
        return total
