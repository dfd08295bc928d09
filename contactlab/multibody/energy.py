"""Kinetic and potential energy of the whole model."""

from __future__ import annotations

from numpy.typing import ArrayLike

from contactlab.multibody.centroidal import body_sums
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model

__all__ = ["kinetic_energy", "potential_energy"]


def kinetic_energy(model: Model, q: Instant, v: ArrayLike | None) -> float:
    """Kinetic energy v.M v / 2 [J], summed body by body.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    v
        (nv,) velocity.
    """
    return float(body_sums(model, q, v, None, 1)[10])


def potential_energy(model: Model, q: Instant) -> float:
    """Energy of all bodies in gravity, -m g.c [J], zero with the centre of mass c at the height of the world origin.

    Bodies fixed to the world count. Arguments as for `kinetic_energy`.
    """
    sums = body_sums(model, q, None, None, 0)
    return float(-sums[0] * (model.gravity @ sums[1:4]))
