"""How far one configuration is from another, and how that changes."""

from __future__ import annotations

import numpy as np

from contactlab.multibody.configuration import difference, integrate
from contactlab.multibody.joints import FloatingBase, Spherical
from contactlab.multibody.model import Model
from contactlab.spatial.algebra import cross_matrix
from contactlab.spatial.arrays import FloatArray

__all__ = ["difference_jacobian", "turn_jacobian"]

# Step of central differences, for joints whose formula is the user's.
_STEP = 1e-6


def turn_jacobian(turn: FloatArray) -> FloatArray:
    """J (3, 3): rate of the rotation vector (3,) of exp(turn) for an angular velocity in the turned axes.

    The inverse of the right Jacobian of the exponential, I + [r]/2 + (1/a^2 - (1 + cos a)/(2 a sin a)) [r]^2, a = |r|
    (Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, 2012, section 10.6); its transpose serves the
    axes before the turn.
    """
    angle = float(np.linalg.norm(turn))
    skew = cross_matrix(turn)
    if angle < 1e-3:
        factor = 1.0 / 12.0 + angle * angle / 720.0
    else:
        factor = 1.0 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
    return np.asarray(np.eye(3) + 0.5 * skew + factor * (skew @ skew))


def difference_jacobian(model: Model, q0: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """d = difference(q0, q), (nv,), and D (nv, nv): D x is its rate when q moves with velocity x."""
    d = difference(model, q0, q)
    D = np.eye(model.nv)
    for body in model.bodies:
        if isinstance(body.joint, Spherical | FloatingBase):
            last = model.v_slice(body.name).stop
            D[last - 3 : last, last - 3 : last] = turn_jacobian(d[last - 3 : last])
    for _, _, iv in model.packed.custom:
        for column in range(iv.start, iv.stop):
            move = np.zeros(model.nv)
            move[column] = _STEP
            ahead = difference(model, q0, integrate(model, q, move, 1.0))
            behind = difference(model, q0, integrate(model, q, move, -1.0))
            D[:, column] = (ahead - behind) / (2.0 * _STEP)
    return d, D
