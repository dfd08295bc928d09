"""Mass that no link carries: the bodies fixed to the world."""

from __future__ import annotations

import numpy as np

from contactlab.multibody.model import Model
from contactlab.multibody.structure import structure
from contactlab.spatial.arrays import FloatArray

__all__ = ["world_mass"]

_NONE = np.zeros(4)


def world_mass(model: Model) -> FloatArray:
    """Mass of the bodies fixed to the world and its first moment, (4,) [kg, kg m]."""
    nb = model.nb
    links = structure(model).body_link.tolist()
    if -1 not in links:
        return _NONE
    floats = model.packed.floats[-12 * nb :]  # `body_R` and `body_p`, last in theirs
    R, p = floats[: 9 * nb].reshape(nb, 3, 3), floats[9 * nb :].reshape(nb, 3)
    out = np.zeros(4)
    for i, body in enumerate(model.bodies):
        if links[i] < 0 and body.inertia is not None:
            out[0] += body.inertia.mass
            out[1:] += body.inertia.mass * (R[i] @ body.inertia.com + p[i])
    return out
