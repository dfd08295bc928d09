"""Kinetic and potential energy of the whole model: a float, or an array for leading axes, q (..., nq), v (..., nv)."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from contactlab.multibody.centroidal import body_sums
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray


def kinetic_energy(model: Model, q: Instant, v: ArrayLike | None) -> Any:
    """Kinetic energy v.M v / 2 [J], summed body by body: a float.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    v
        (nv,) velocity.
    """
    return _number(body_sums(model, q, v, None, 1)[..., 10])


def potential_energy(model: Model, q: Instant) -> Any:
    """Energy of all bodies in gravity, -m g.c [J], zero with the centre of mass c at the height of the world origin.

    Bodies fixed to the world count. Arguments as for `kinetic_energy`.
    """
    sums, g = body_sums(model, q, None, None, 0), model.gravity
    # Term by term: a matrix product may round in another order than the kernel `energies`.
    return _number(-sums[..., 0] * (sums[..., 1] * g[0] + sums[..., 2] * g[1] + sums[..., 3] * g[2]))


def _number(energy: FloatArray) -> Any:
    """A float where there are no leading axes."""
    return float(energy) if energy.ndim == 0 else energy
