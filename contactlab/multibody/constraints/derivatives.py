"""Derivatives of forward dynamics under constraints by configuration, velocity and force."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.configuration import integrate
from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.evaluation import RowValues, evaluated, fill_custom, time_of, tolerances
from contactlab.multibody.constraints.forward_dynamics import forward_dynamics_constraints
from contactlab.multibody.constraints.kernels import (
    BAUMGARTE,
    GAMMA,
    JACOBIAN,
    POSITION_ERROR,
    row_rates_size,
)
from contactlab.multibody.constraints.rows import ConstraintError
from contactlab.multibody.constraints.solve import row_space, unit_columns
from contactlab.multibody.derivatives import STENCIL, STEP, inverse_dynamics_derivatives, joint_rates
from contactlab.multibody.kinematics import Instant, at_state
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray

_ROWS = JACOBIAN | GAMMA | BAUMGARTE


class ConstrainedMotionDerivatives(NamedTuple):
    """Derivatives of a `ConstrainedMotion`: [i, j] is the derivative of entry i by entry j.

    Attributes
    ----------
    da_dq, da_dv, da_dtau
        (nv, nv) of the accelerations; by q along `integrate`: column j is d/de at ``integrate(model, q, e_j, e)``.
    dforces_dq, dforces_dv, dforces_dtau
        (nc, nv) of the constraint forces, the shortest ones if rows are redundant.
    """

    da_dq: FloatArray
    da_dv: FloatArray
    da_dtau: FloatArray
    dforces_dq: FloatArray
    dforces_dv: FloatArray
    dforces_dtau: FloatArray


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
    """Return the derivatives of `forward_dynamics_constraints`, by differentiating its equations.

    With the derivatives of `inverse_dynamics` at a::

        H da - G^T df = dtau - d(inverse dynamics) + (dG)^T f
        G da          = d(gamma) - (dG) a

    The result is exact except for rounding. Only derivatives of custom rows are fourth-order differences with a step of
    1e-3 and errors of about 1e-12. If rows are redundant, f stays the shortest solution (Golub and Pereyra 1973,
    theorem 4.3, on derivatives of pseudo-inverses). If they contradict each other, a stays the least-squares solution.

    Parameters
    ----------
    model, q, v, tau, cs, f_ext, t
        As for `forward_dynamics_constraints`; external forces are constant, as in `inverse_dynamics_derivatives`.

    Returns
    -------
    ConstrainedMotionDerivatives
        da_dq, da_dv, da_dtau (nv, nv), dforces_dq, dforces_dv, dforces_dtau (nc, nv). They assume that the rank of G is
        constant; at single configurations with a smaller rank, derivatives do not exist.

    Raises
    ------
    MultibodyError, ConstraintError
        As `forward_dynamics_constraints`.
    """
    motion = forward_dynamics_constraints(model, q, v, tau, cs, f_ext=f_ext, t=t)
    n, nv, time = cs.n_rows, model.nv, time_of(t)
    q_, v_ = at_state(model, q, v)[:2]
    rows = evaluated(model, q, v, cs, _ROWS | POSITION_ERROR, time)
    rows_by_q, rows_by_v, _, carried, wrenches = _moving(model, cs, q_, v_, motion.a, motion.forces)
    # Forces of the rows count as constant external forces; the remaining part is ``carried``.
    external = wrenches if f_ext is None else wrenches + np.asarray(f_ext)
    by_q, by_v, H = inverse_dynamics_derivatives(model, q, v, motion.a, external)
    pushed, wanted = np.hstack([carried - by_q, -by_v]), np.hstack([rows_by_q, rows_by_v])
    missed, y = np.zeros(n), np.zeros(nv)
    if motion.rank == n:
        if cs.packed.custom:
            own = _differenced(model, cs, q_, v_, time, (motion.a, motion.forces, missed, y))
            pushed, wanted = pushed + own[0], wanted + own[1]
        a, forces = _solve_blocks(H, rows.G, pushed, wanted)
    else:
        # If rows are redundant, use orthonormal rows in units of inertia, in which the rank is determined: G = B Q /
        # scale.
        scale = unit_columns(H)
        space = row_space(rows.G * scale, tolerances(rows.G, rows.scale, rows.phi))
        # The part of gamma that contradictory rows miss, and the shortest y with G y = forces.
        missed, y = rows.gamma - rows.G @ motion.a, scale * space.solve(motion.forces)
        lifted, shared = _others(model, cs, q_, missed, y)
        if cs.packed.custom:
            own = _differenced(model, cs, q_, v_, time, (motion.a, motion.forces, missed, y))
            pushed, wanted, lifted, shared = pushed + own[0], wanted + own[1], lifted + own[2], shared + own[3]
        wanted = wanted + space.multipliers(space.basis.T @ (scale[:, None] * lifted))
        a, forces = _solve_blocks(H, space.basis.T / scale, pushed, space.targets(wanted))
        forces = space.multipliers(forces)
        forces[:, : 2 * nv] += shared - space.U @ (space.U.T @ shared)
    if not (np.isfinite(a).all() and np.isfinite(forces).all()):
        raise ConstraintError("q", "the entries are finite but so large or so small that the derivatives are not")
    return ConstrainedMotionDerivatives(*np.split(a, 3, axis=1), *np.split(forces, 3, axis=1))


def _solve_blocks(
    H: FloatArray, G: FloatArray, pushed: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return da (nv, 3 nv) and dforces (m, 3 nv), the derivatives of a and forces by q, v and tau.

    The first 2 nv columns solve H da - G' dforces = pushed (nv, 2 nv), G da = wanted (m, 2 nv). In the columns by tau
    the right sides are 1 and 0. The rows G (m, nv) must be independent.
    """
    m, n = G.shape
    scale = unit_columns(H)[:, None]
    rows = G * scale.T
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / length
    K = np.block([[H * scale * scale.T, -rows.T], [rows, np.zeros((m, m))]])
    right = np.block([[scale * pushed, scale * np.eye(n)], [wanted / length, np.zeros((m, n))]])
    x = np.linalg.solve(K, right)
    return scale * x[:n], x[n:] / length


def _moving(
    model: Model, cs: ConstraintSet, q: FloatArray, v: FloatArray, a: FloatArray, forces: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the derivatives by q and v of the rows' accelerations and wrenches, at fixed a (nv,) and forces (nc,).

    They are by_q, by_v, speed and carried of `row_rates`, and the wrenches of the forces on bodies, (nb, 6). Rows of
    custom constraints are not included.
    """
    from contactlab.multibody.constraints.kernels.row_rates import row_rates

    nl, nv, n, packed = model.packed.nl, model.nv, cs.n_rows, cs.packed
    _, _, custom, work, ready = at_state(model, q, v, row_rates_size(nl, nv))
    by_q, by_v, speed, errors = np.zeros((4, n, nv))
    carried, wrenches, points = np.zeros((nv, nv)), np.zeros((model.nb, 6)), np.empty((2, 4, 6, nv))
    rates = joint_rates(model, q, v)
    row_rates(
        packed.model_ints, packed.model_floats, q, v, a, forces, custom, rates, work, points, ready,
        by_q, by_v, speed, errors, carried, wrenches,
    )  # fmt: skip
    return by_q, by_v, speed, carried, wrenches


def _others(
    model: Model, cs: ConstraintSet, q: FloatArray, missed: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return d(G^T missed) (nv, 2 nv) and d(G y) (nc, 2 nv) of contacts and loops, by q and v."""
    still = np.zeros(model.nv)
    _, _, speed, carried, wrenches = _moving(model, cs, q, y, still, missed)
    at_rest, pushed = (inverse_dynamics_derivatives(model, q, still, still, f)[0] for f in (None, wrenches))
    lifted = carried + at_rest - pushed
    return np.hstack([lifted, np.zeros_like(lifted)]), np.hstack([speed, np.zeros_like(speed)])


def _differenced(
    model: Model, cs: ConstraintSet, q: FloatArray, v: FloatArray, t: float, held: tuple[FloatArray, ...]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return d(G^T forces), d(gamma - G a), d(G^T missed), d(G y) of custom rows, by q and v: 2 nv columns each.

    ``held`` are a, forces, missed and y, which are constant here.
    """
    nv, n, none, (a, forces, missed, y) = model.nv, cs.n_rows, np.zeros(0), held
    rates = np.zeros((2 * nv, 2 * (nv + n)))
    for place, weight in STENCIL:
        ways = place * STEP * np.eye(nv)
        near = [(there, v) for there in integrate(model, q, ways, 1.0)] + [(q, v + way) for way in ways]
        for rate, (q_, v_) in zip(rates, near, strict=True):
            G, gamma, _, _, _ = out = RowValues(np.zeros((n, nv)), np.zeros(n), none, none, np.zeros(n))
            fill_custom(cs, model, q_, v_, t, _ROWS, out)
            parts = (forces @ G, gamma - G @ a, missed @ G, G @ y)
            rate += weight / (12.0 * STEP) * np.concatenate(parts)
    pushed, wanted, lifted, shared = np.split(rates.T, np.cumsum([nv, cs.n_rows, nv]))
    return pushed, wanted, lifted, shared
