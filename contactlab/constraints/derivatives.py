"""Derivatives of forward dynamics under constraints by configuration, velocity and force."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import RowValues, evaluated, fill_custom, time_of
from contactlab.constraints.forward_dynamics import forward_dynamics_constraints
from contactlab.constraints.kernels.kkt_codes import RANK_TOLERANCE
from contactlab.constraints.kernels.wanted import BAUMGARTE, GAMMA, JACOBIAN, row_rates_size
from contactlab.constraints.solve.factorisations import row_basis, solve_square, unit_columns
from contactlab.multibody.configuration import integrate
from contactlab.multibody.derivatives import STENCIL, STEP, inverse_dynamics_derivatives, joint_rates
from contactlab.multibody.kernels.sizes import head_size
from contactlab.multibody.kinematics import Instant, at_state
from contactlab.multibody.model import Model
from contactlab.multibody.structure import structure
from contactlab.spatial.arrays import FloatArray

_ROWS = JACOBIAN | GAMMA | BAUMGARTE


@functools.cache
def _row_rates() -> Any:
    from contactlab.constraints.kernels.row_rates import row_rates

    return row_rates


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

    All is exact but for rounding, custom rows apart: how these move is from differences of fourth order at a step of
    1e-3, good to some 1e-12. Where rows are redundant, f stays the shortest (Golub and Pereyra 1973, theorem 4.3, on
    pseudo-inverses of what moves), and where they contradict each other, a of least squares.

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
    nv, q_, v_ = model.nv, *at_state(model, q, v, head_size(model.packed.nl, model.nv))[:2]
    rows = evaluated(model, q, v, cs, _ROWS, t)
    moving = _moving(model, cs, q_, v_, motion.a, motion.forces)
    # Forces of the rows count as external ones, which stand still, and what is left is `moving.carried`.
    external = moving.wrenches if f_ext is None else moving.wrenches + np.asarray(f_ext)
    by_q, by_v, H = inverse_dynamics_derivatives(model, q, v, motion.a, external)
    pushed = np.hstack([moving.carried - by_q, -by_v])
    wanted = np.hstack([moving.by_q, moving.by_v])
    scale = unit_columns(H)
    basis = row_basis(rows.G * scale, RANK_TOLERANCE, "qr")
    y = scale * (basis.Q.T @ basis.targets(motion.forces))
    held = _Held(motion.a, motion.forces, rows.gamma - rows.G @ motion.a, y)
    lifted, shared = np.zeros((nv, 2 * nv)), np.zeros((cs.n_rows, 2 * nv))
    if basis.rank < cs.n_rows:
        still = np.zeros(nv)
        other = _moving(model, cs, q_, y, still, held.missed)
        shared[:, :nv] = other.speed
        lifted[:, :nv] = other.carried
        for sign, wrenches in ((-1.0, other.wrenches), (1.0, None)):
            lifted[:, :nv] += sign * inverse_dynamics_derivatives(model, q_, still, still, wrenches).dtau_dq
    if cs.packed.custom:
        for total, part in zip(
            (pushed, wanted, lifted, shared), _differenced(model, q_, v_, cs, time_of(t), held), strict=True
        ):
            total += part

    # Columns in units of inertia, as the rank is judged in.
    load = scale[:, None] * np.hstack([pushed, np.eye(nv)])
    inertia = H * scale * scale[:, None]
    x = basis.targets(np.hstack([wanted, np.zeros((cs.n_rows, nv))]))
    x[:, : 2 * nv] += basis.targets(basis.multipliers(basis.Q @ (scale[:, None] * lifted)))
    x = basis.Q.T @ x
    free = np.linalg.qr(basis.Q.T, mode="complete")[0][:, basis.rank :]
    x = x + free @ solve_square(free.T @ inertia @ free, free.T @ (load - inertia @ x), "lu")
    forces = basis.multipliers(basis.Q @ (inertia @ x - load))
    forces[:, : 2 * nv] += shared - basis.U @ (basis.U.T @ shared)
    a = scale[:, None] * x
    return ConstrainedMotionDerivatives(*np.split(a, 3, axis=1), *np.split(forces, 3, axis=1))


class _Moving(NamedTuple):
    """What `row_rates` fills, custom rows left out, and the wrenches of the forces on bodies, (nb, 6)."""

    by_q: FloatArray
    by_v: FloatArray
    speed: FloatArray
    carried: FloatArray
    wrenches: FloatArray


def _moving(
    model: Model, cs: ConstraintSet, q: FloatArray, v: FloatArray, a: FloatArray, forces: FloatArray
) -> _Moving:
    """How contacts and loops move at accelerations a (nv,) and forces (nc,)."""
    nl, nv, n, packed = model.packed.nl, model.nv, cs.n_rows, cs.packed
    _, _, custom, work, ready = at_state(model, q, v, row_rates_size(nl, nv))
    by_q, by_v, speed = np.zeros((3, n, nv))
    carried, on_links, points = np.zeros((nv, nv)), np.zeros((nl, 6)), np.empty((2, 4, 6, nv))
    rates = joint_rates(model, q, v)
    _row_rates()(
        packed.model_ints, packed.model_floats, q, v, a, forces, custom, rates, work, points, ready,
        by_q, by_v, speed, carried, on_links,
    )  # fmt: skip
    wrenches = np.zeros((model.nb, 6))
    links, first = np.unique(structure(model).body_link, return_index=True)
    wrenches[first[links >= 0]] = on_links[links[links >= 0]]
    return _Moving(by_q, by_v, speed, carried, wrenches)


def _differenced(
    model: Model, q: FloatArray, v: FloatArray, cs: ConstraintSet, t: float, held: _Held
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Of custom rows: d(G^T forces), d(gamma - G a), d(G^T missed), d(G y) by q, then by v, with 2 nv columns each."""
    nv, none = model.nv, np.zeros(0)
    rates = np.zeros((2 * nv, 2 * (nv + cs.n_rows)))
    for place, weight in STENCIL:
        ways = place * STEP * np.eye(nv)
        near = [(there, v) for there in integrate(model, q, ways, 1.0)] + [(q, v + way) for way in ways]
        for rate, (q_, v_) in zip(rates, near, strict=True):
            G, gamma, _, _ = out = RowValues(np.zeros((cs.n_rows, nv)), np.zeros(cs.n_rows), none, none)
            fill_custom(cs, model, q_, v_, t, _ROWS, out)
            parts = (held.forces @ G, gamma - G @ held.a, held.missed @ G, G @ held.y)
            rate += weight / (12.0 * STEP) * np.concatenate(parts)
    pushed, wanted, lifted, shared = np.split(rates.T, np.cumsum([nv, cs.n_rows, nv]))
    return pushed, wanted, lifted, shared
