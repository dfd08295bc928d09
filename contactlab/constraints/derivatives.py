"""Derivatives of forward dynamics under constraints by configuration, velocity and force."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import evaluated
from contactlab.constraints.forward_dynamics import forward_dynamics_constraints
from contactlab.constraints.kernels.kkt_codes import RANK_TOLERANCE
from contactlab.constraints.kernels.wanted import BAUMGARTE, GAMMA, JACOBIAN
from contactlab.constraints.solve.factorisations import row_basis, solve_square, unit_columns
from contactlab.multibody.configuration import integrate
from contactlab.multibody.derivatives import STENCIL, STEP, inverse_dynamics_derivatives
from contactlab.multibody.kernels.sizes import head_size
from contactlab.multibody.kinematics import Instant, at_state
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

_ROWS = JACOBIAN | GAMMA | BAUMGARTE


class ConstrainedMotionDerivatives(NamedTuple):
    """Derivatives of a `ConstrainedMotion`: [i, j] is that of entry i by entry j.

    Attributes
    ----------
    da_dq, da_dv, da_dtau
        (nv, nv) of the accelerations; by q along `integrate`: column j is d/de at ``integrate(model, q, e_j, e)``.
    dforces_dq, dforces_dv, dforces_dtau
        (nc, nv) of the constraint forces, the shortest ones where rows are redundant.
    """

    da_dq: FloatArray
    da_dv: FloatArray
    da_dtau: FloatArray
    dforces_dq: FloatArray
    dforces_dv: FloatArray
    dforces_dtau: FloatArray


class _Held(NamedTuple):
    """What rows are multiplied by while they move."""

    a: FloatArray  # accelerations
    forces: FloatArray
    #: missed, y: gamma - G a, zero where rows do not contradict each other; the shortest y with G y = forces.
    missed: FloatArray
    y: FloatArray


def forward_dynamics_constraints_derivatives(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    cs: ConstraintSet,
    *,
    f_ext: ArrayLike | None = None,
    t: float = 0.0,
) -> ConstrainedMotionDerivatives:
    """Derivatives of `forward_dynamics_constraints`, from its equations differentiated.

    With those of `inverse_dynamics` at a::

        H da - G^T df = dtau - d(inverse dynamics) + (dG)^T f
        G da          = d(gamma) - (dG) a

    The rows' own motion, (dG)^T f and d(gamma) - (dG) a, is from differences of fourth order at a step of 1e-3, good to
    some 1e-12; all else is exact but for rounding. Where rows are redundant, f stays the shortest (Golub and Pereyra
    1973, theorem 4.3, on pseudo-inverses of what moves), and where they contradict each other, a of least squares.

    Parameters
    ----------
    model, q, v, tau, cs, f_ext, t
        As for `forward_dynamics_constraints`; external forces are held, as in `inverse_dynamics_derivatives`.

    Returns
    -------
    ConstrainedMotionDerivatives
        da_dq, da_dv, da_dtau (nv, nv), dforces_dq, dforces_dv, dforces_dtau (nc, nv). They are of the rank that G has
        here: at configurations where alone it drops there are no derivatives.

    Raises
    ------
    MultibodyError, ConstraintError
        As `forward_dynamics_constraints`.
    """
    motion = forward_dynamics_constraints(model, q, v, tau, cs, f_ext=f_ext, t=t)
    by_q, by_v, H = inverse_dynamics_derivatives(model, q, v, motion.a, f_ext)
    rows = evaluated(model, q, v, cs, _ROWS, t)
    scale = unit_columns(H)
    basis = row_basis(rows.G * scale, RANK_TOLERANCE, "qr")
    y = scale * (basis.Q.T @ basis.targets(motion.forces))
    held = _Held(motion.a, motion.forces, rows.gamma - rows.G @ motion.a, y)
    q_, v_ = at_state(model, q, v, head_size(model.packed.nl, model.nv))[:2]
    pushed, wanted, lifted, shared = _rates(model, q_, v_, cs, t, held)

    # Columns in units of inertia, as the rank is judged in.
    nv = model.nv
    load = scale[:, None] * np.hstack([pushed - np.hstack([by_q, by_v]), np.eye(nv)])
    none = np.zeros((cs.n_rows, nv))
    inertia = H * scale * scale[:, None]
    x = basis.targets(np.hstack([wanted, none]))
    x[:, : 2 * nv] += basis.targets(basis.multipliers(basis.Q @ (scale[:, None] * lifted)))
    x = basis.Q.T @ x
    free = np.linalg.qr(basis.Q.T, mode="complete")[0][:, basis.rank :]
    x = x + free @ solve_square(free.T @ inertia @ free, free.T @ (load - inertia @ x), "lu")
    forces = basis.multipliers(basis.Q @ (inertia @ x - load))
    forces[:, : 2 * nv] += shared - basis.U @ (basis.U.T @ shared)
    a = scale[:, None] * x
    return ConstrainedMotionDerivatives(*np.split(a, 3, axis=1), *np.split(forces, 3, axis=1))


def _rates(
    model: Model, q: FloatArray, v: FloatArray, cs: ConstraintSet, t: float, held: _Held
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """d(G^T forces), d(gamma - G a), d(G^T missed) and d(G y) by q, then by v, with 2 nv columns each."""
    nv = model.nv
    sizes = np.cumsum([nv, cs.n_rows, nv])
    rates = np.zeros((2 * nv, 2 * (nv + cs.n_rows)))
    for place, weight in STENCIL:
        ways = place * STEP * np.eye(nv)
        near = [(there, v) for there in integrate(model, q, ways, 1.0)] + [(q, v + way) for way in ways]
        for rate, (q_, v_) in zip(rates, near, strict=True):
            G, gamma, _, _ = evaluated(model, q_, v_, cs, _ROWS, t)
            parts = (held.forces @ G, gamma - G @ held.a, held.missed @ G, G @ held.y)
            rate += weight / (12.0 * STEP) * np.concatenate(parts)
    pushed, wanted, lifted, shared = np.split(rates.T, sizes)
    return pushed, wanted, lifted, shared
