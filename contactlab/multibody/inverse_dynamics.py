"""Forces from accelerations.

Every function takes leading axes, q (..., nq), v (..., nv), f_ext (..., nb, 6), which broadcast, and runs on threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked, checked_vector, failure
from contactlab.multibody.batch import inverse_dynamics_batch
from contactlab.multibody.entries import ON_STACK, kernels, quick
from contactlab.multibody.instants import batched
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import rnea_size
from contactlab.multibody.kinematics import Instant, at_state
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

_NO_FORCES = np.zeros((0, 6))
_NO_ACCELERATION = np.zeros(0)

# One look-up less, 30 ns, in a call of a microsecond.
_empty = np.empty

_quick = quick("quick_rnea", 1, 1, 1, 1, 1)


def inverse_dynamics(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, f_ext: ArrayLike | None = None
) -> FloatArray:
    """Generalised forces tau = M(q) a + h(q, v) - J^T f_ext that produce the accelerations a.

    The recursive Newton-Euler algorithm (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 5.3).

    Parameters
    ----------
    model, q
        The model, with its gravity, and a configuration (nq,), or a `Kinematics`.
    v, a
        (nv,) velocity and acceleration, its derivative entry by entry.
    f_ext
        (nb, 6) external forces, one row per added body, fixed ones included: moment about the world origin [N m], then
        force [N], world axes; see `external_forces`.

    Returns
    -------
    tau
        (nv,) [N m, N].

    Raises
    ------
    MultibodyError
        A wrong length, an entry that is not finite, a quaternion without unit length.
    """
    packed, nv = model.packed, model.nv
    if type(q) is np.ndarray and f_ext is None and not packed.custom:
        tau = _empty(nv)
        try:
            work = ON_STACK if packed.compact else np.empty(rnea_size(packed.nl, nv))
            if _quick.call(packed.ints, packed.floats, q, v, a, work, tau) == GOOD:
                return tau
        except (TypeError, ValueError):
            pass  # not plain arrays; of an empty list, even its type is unknown
    if batched(q, v, a, rows=f_ext):
        return inverse_dynamics_batch(model, q, v, a, f_ext)
    return _forces(model, q, v, checked_vector("a", a, nv), f_ext)


def nonlinear_effects(model: Model, q: Instant, v: ArrayLike | None, f_ext: ArrayLike | None = None) -> FloatArray:
    """h(q, v) - J^T f_ext (nv,): what the joints bear at zero acceleration, from velocity, gravity and f_ext.

    Arguments and errors are those of `inverse_dynamics`; at v = 0 and without f_ext this is the gravity torque.
    """
    if batched(q, v, rows=f_ext):
        return inverse_dynamics_batch(model, q, v, None, f_ext)
    return _forces(model, q, v, _NO_ACCELERATION, f_ext)


def _forces(model: Model, q: Instant, v: ArrayLike | None, a: FloatArray, f_ext: ArrayLike | None) -> FloatArray:
    packed = model.packed
    nv = model.nv
    q_, v_, custom, work, ready = at_state(model, q, v, rnea_size(packed.nl, nv))
    forces = _NO_FORCES if f_ext is None else checked("f_ext", f_ext, model.nb, 6)
    tau = np.empty(nv)
    code = kernels().rnea.rnea(packed.ints, packed.floats, q_, v_, a, forces, custom, work, ready, tau)
    if code != GOOD:
        raise failure(model, code, q_, ("v", v_), ("a", a), ("f_ext", forces))
    return tau
