"""The mass matrix, and solving with it without forming it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked, failure
from contactlab.multibody.batch import mass_matrix_batch, solve_mass_matrix_batch
from contactlab.multibody.entries import ON_STACK, kernels, quick
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.instants import batched
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import crba_size, factor_size
from contactlab.multibody.kinematics import Instant, at_configuration
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

# One look-up less, 30 ns, in a call of a microsecond.
_empty = np.empty

_quick = quick("quick_crba", 1, 1, 2)


def mass_matrix(model: Model, q: Instant) -> FloatArray:
    """Mass matrix M(q), (nv, nv), symmetric: kinetic energy is v.M v / 2.

    The composite-rigid-body algorithm (Featherstone 2008, section 6.2). Entries between different branches are zero.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    """
    packed, nv = model.packed, model.nv
    if type(q) is np.ndarray and not packed.custom:
        M = _empty((nv, nv))
        try:
            work = ON_STACK if packed.compact else np.empty(crba_size(packed.nl, nv))
            if _quick.call(packed.ints, packed.floats, q, work, M) == GOOD:
                return M
        except (TypeError, ValueError):
            pass  # no plain array
    if batched(q):
        return mass_matrix_batch(model, q)
    q_, custom, work, ready = at_configuration(model, q, crba_size(packed.nl, nv))
    M = np.zeros((nv, nv))
    code = kernels().crba.crba(packed.ints, packed.floats, q_, custom, work, ready, M)
    if code != GOOD:
        raise failure(model, code, q_)
    return M


@dataclass(frozen=True, eq=False)
class MassMatrixFactor:
    """M(q) of one configuration, ready to solve with at O(nv) per right-hand side; from `factorize_mass_matrix`."""

    model: Model
    _factor: FloatArray = field(repr=False)

    def solve(self, b: ArrayLike) -> FloatArray:
        """M^-1 b for a vector (nv,) or the columns of a matrix (nv, m)."""
        model, packed = self.model, self.model.packed
        given = np.asarray(b)
        if given.ndim == 2:
            rows = checked("tau", given, model.nv, given.shape[1]).T.copy()
        else:
            rows = checked("tau", given, model.nv).reshape(1, model.nv).copy()
        code = kernels().minv.solve_inertia(packed.ints, packed.floats, self._factor, np.empty((packed.nl, 6)), rows)
        if code != GOOD:
            check_finite("tau", np.asarray(given, dtype=np.float64))
            raise MultibodyError("tau", "the entries are finite but so large that the result is not")
        return np.ascontiguousarray(rows.T) if given.ndim == 2 else rows[0]


def factorize_mass_matrix(model: Model, q: Instant) -> MassMatrixFactor:
    """The articulated-body inertias at q, with which `MassMatrixFactor.solve` applies M^-1 (Featherstone 2008, 7.3).

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.

    Raises
    ------
    MultibodyError
        The mass matrix is singular (Euler angles at their singularity); the joint is named.
    """
    packed = model.packed
    q_, custom, work, ready = at_configuration(model, q, factor_size(packed.nl, model.nv))
    factor = np.empty(13 * model.nv)
    code = kernels().minv.factor_inertia(packed.ints, packed.floats, q_, custom, work, ready, factor)
    if code != GOOD:
        raise failure(model, code, q_)
    return MassMatrixFactor(model, factor)


def solve_mass_matrix(model: Model, q: Instant, tau: ArrayLike) -> FloatArray:
    """M(q)^-1 tau, without velocity and gravity, for a vector (nv,) or the columns of a matrix (nv, m).

    O(nv) for each right-hand side; `factorize_mass_matrix` keeps the part that depends on q alone.
    """
    if batched(q):
        return solve_mass_matrix_batch(model, q, tau)
    return factorize_mass_matrix(model, q).solve(tau)
