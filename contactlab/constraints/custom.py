"""Constraints of the user's own making."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, TypeAlias

import numpy as np

from contactlab.constraints.baumgarte import Baumgarte
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

#: What is prescribed: phi(q, t) = 0, phi(q, v, t) = 0, or rows of the acceleration alone.
Level: TypeAlias = Literal["position", "velocity", "acceleration"]


class CustomConstraint(ABC):
    """Rows G a = gamma of your own: subclass, set ``rows``, and say what G and gamma are.

    A condition phi(q, t) = 0 on the positions is differentiated twice, one on the velocities, phi(q, v, t) = 0, once,
    until the accelerations a appear: G is their coefficient, and gamma is minus what is left at a = 0. At position
    level phi' = G v + phi_t and gamma = -(dG/dt) v - d(phi_t)/dt. Stabilisation is added by the package, from the
    errors. `check_constraint` compares all of this with finite differences.

    The methods get the model, q (nq,) and v (nv,), read-only, and return new arrays. Each may also take ``t``, the time
    [s], and ``jacobian`` may take ``v``, where the condition is not linear in the velocities: they are passed where the
    method declares a parameter of that name (``t: float = 0.0``). An object with ``rows``, ``jacobian`` and ``gamma``
    need not be a subclass.

    Optional methods, absent here:

    * ``assembly_position_error(model, q)`` (m,) with ``assembly_position_jacobian(model, q)`` (m, nv), and
      ``assembly_velocity_error(model, q, v)`` with ``assembly_velocity_jacobian(model, q)``: the conditions that
      `assemble_q` and `assemble_v` meet, where they differ from position_error and velocity_error with G. Rolling, for
      one, is a condition of the velocities, but a wheel is put together touching the ground.
    * ``wrenches(model, q, forces)``: what the rows' forces (rows,) do to the bodies, a sequence of `BodyWrench` whose
      frames are poses in the bodies; `group_wrenches` needs it.

    Attributes
    ----------
    rows
        How many rows, at least 1.
    name, id
        Group of the rows, as for `ContactConstraint`; without a name the rows of the object are a group.
    baumgarte
        None, a time constant [s], or a `Baumgarte` pair.
    level
        "position", "velocity" or "acceleration". Below position level there is no position error, at acceleration level
        no velocity error either: they count as zero.
    """

    rows: int
    name: str | None = None
    id: int | None = None
    baumgarte: float | Baumgarte | None = None
    level: Level = "position"

    @abstractmethod
    def jacobian(self, model: Model, q: FloatArray) -> FloatArray:
        """G (rows, nv)."""

    @abstractmethod
    def gamma(self, model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
        """gamma (rows,), without stabilisation."""

    def position_error(self, model: Model, q: FloatArray) -> FloatArray:
        """phi(q, t) (rows,); zeros unless overridden."""
        return np.zeros(self.rows)

    def velocity_error(self, model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
        """phi' = G v + phi_t (rows,), or phi(q, v, t) at velocity level; G v unless overridden."""
        return np.asarray(self.jacobian(model, q) @ v)
