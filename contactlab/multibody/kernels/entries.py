"""Kernels that Python calls: the usual call with few arguments, and many instants of one model.

The fast entries serve calls without external forces, custom joints or kept kinematics. They compare lengths, which
costs a nanosecond each. A workspace ``W`` of length 0 stands for one on the stack, for models that are ``compact``. An
unusual or wrong call returns a code other than `GOOD`, and the caller then uses the general kernel and its errors.

Arguments of a batch kernel are the model, its operands, the instants start to stop, the workspace W of one instant, the
codes (B,) and the results. Operands that differ between instants have one row for each, others a single row. Results
have B rows, zeroed by the caller.
"""

from __future__ import annotations

from typing import Any

from contactlab.multibody.kernels import CUSTOM_RATES, CUSTOM_ROW, GOOD, NEEDS_GENERAL_ENTRY, NOTHING, POSES
from contactlab.multibody.kernels.centroidal import body_sums, centroidal_columns, centroidal_rates
from contactlab.multibody.kernels.derivatives import dynamics_derivatives
from contactlab.multibody.kernels.dynamics import aba, factor_inertia, rnea, solve_inertia
from contactlab.multibody.kernels.integration import configuration_difference, integrate_configuration
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import LINKS, NQ, NV, model_and_workspace_views, stack
from contactlab.multibody.kernels.mass_matrix import crba
from contactlab.multibody.kernels.points import body_pose, point_columns, point_motion, point_rates
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import copy, fill
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel
def fast_rnea(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, a: FloatArray, W: FloatArray, tau: FloatArray
) -> int:
    """Fill tau by `rnea`, zero for an ``a`` of length 0; return a code, `NEEDS_GENERAL_ENTRY` for a wrong length."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or a.shape[0] not in (0, I[NV]):
        return NEEDS_GENERAL_ENTRY
    work = W if W.shape[0] else stack()
    return rnea(I, F, q, v, a, view_2d(W, 0, 0, 6), view_2d(W, 0, 0, CUSTOM_ROW), work, NOTHING, tau)


@kernel
def fast_crba(I: IntArray, F: FloatArray, q: FloatArray, W: FloatArray, M: FloatArray) -> int:
    """Zero M and fill it by `crba`; return a code, `NEEDS_GENERAL_ENTRY` for a wrong length."""
    if q.shape[0] != I[NQ]:
        return NEEDS_GENERAL_ENTRY
    fill(0.0, view_1d(M, 0, M.size))
    work = W if W.shape[0] else stack()
    return crba(I, F, q, view_2d(W, 0, 0, CUSTOM_ROW), work, NOTHING, M)


@kernel
def fast_aba(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, tau: FloatArray, W: FloatArray, a: FloatArray
) -> int:
    """Fill ``a`` by `aba`; return a code, `NEEDS_GENERAL_ENTRY` for a wrong length."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return NEEDS_GENERAL_ENTRY
    work = W if W.shape[0] else stack()
    return aba(I, F, q, v, tau, view_2d(W, 0, 0, 6), view_2d(W, 0, 0, CUSTOM_ROW), work, NOTHING, a)


@kernel(short_loops=True)
def fast_derivatives(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    x: FloatArray,
    W: FloatArray,
    out: FloatArray,
    forward: int,
) -> int:
    """Fill ``out`` by `dynamics_derivatives`; return its code, or `NEEDS_GENERAL_ENTRY` for a wrong length."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or x.shape[0] != I[NV]:
        return NEEDS_GENERAL_ENTRY
    work = W if W.shape[0] else stack()
    none, no_row, no_rates = view_2d(W, 0, 0, 6), view_2d(W, 0, 0, CUSTOM_ROW), view_2d(W, 0, 0, CUSTOM_RATES)
    return dynamics_derivatives(I, F, q, v, x, none, no_row, no_rates, work, NOTHING, forward, out)


@kernel(inline=True)
def row(rows: Any, b: int) -> Any:
    """Return the row of instant b; a single row serves all instants."""
    return rows[b % rows.shape[0]]


@kernel
def inverse_dynamics(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, tau: FloatArray
) -> None:
    """Fill tau (B, nv) by `rnea`."""
    q, v, a, f_ext, custom = operands
    for b in range(start, stop):
        codes[b] = rnea(I, F, row(q, b), row(v, b), row(a, b), row(f_ext, b), row(custom, b), W, NOTHING, tau[b])


@kernel
def forward_dynamics(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, a: FloatArray
) -> None:
    """Fill a (B, nv) by `aba`."""
    q, v, tau, f_ext, custom = operands
    for b in range(start, stop):
        codes[b] = aba(I, F, row(q, b), row(v, b), row(tau, b), row(f_ext, b), row(custom, b), W, NOTHING, a[b])


@kernel(short_loops=True)
def derivatives(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, 3 + forward, nv, nv) by `dynamics_derivatives`."""
    q, v, x, f_ext, custom, rates, forward = operands
    for b in range(start, stop):
        codes[b] = dynamics_derivatives(
            I,
            F,
            row(q, b),
            row(v, b),
            row(x, b),
            row(f_ext, b),
            row(custom, b),
            row(rates, b),
            W,
            NOTHING,
            forward,
            out[b],
        )


@kernel
def rates_of_points(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, 4, 6, nv) by `point_rates`."""
    q, v, a, point, custom, rates, body = operands
    for b in range(start, stop):
        codes[b] = point_rates(
            I,
            F,
            row(q, b),
            row(v, b),
            row(a, b),
            row(custom, b),
            row(rates, b),
            W,
            NOTHING,
            body,
            row(point, b),
            out[b],
        )


@kernel
def rates_of_momentum(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, 4, 6, nv) by `centroidal_rates`."""
    q, v, a, custom, rates, fixed = operands
    for b in range(start, stop):
        codes[b] = centroidal_rates(
            I, F, row(q, b), row(v, b), row(a, b), fixed, row(custom, b), row(rates, b), W, NOTHING, out[b]
        )


@kernel
def mass_matrix(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, M: FloatArray
) -> None:
    """Fill M (B, nv, nv) by `crba`."""
    q, custom = operands
    for b in range(start, stop):
        codes[b] = crba(I, F, row(q, b), row(custom, b), W, NOTHING, M[b])


@kernel
def solve_mass_matrix(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, x: FloatArray
) -> None:
    """Fill x (B, nv) with M^-1 tau; W ends in the factor (13 nv,) and scratch (nl, 6) of `solve_inertia`."""
    q, tau, custom = operands
    # memory for the factor
    scratch = W.shape[0] - 6 * I[LINKS]
    factor = view_1d(W, scratch - 13 * I[NV], 13 * I[NV])
    P = view_2d(W, scratch, I[LINKS], 6)
    # factor and solve
    for b in range(start, stop):
        copy(row(tau, b), x[b])
        codes[b] = factor_inertia(I, F, row(q, b), row(custom, b), W, NOTHING, factor)
        if codes[b] == GOOD:
            codes[b] = solve_inertia(I, F, factor, P, x[b : b + 1])


@kernel
def point_motions(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, 3 or 6) by `point_motion`."""
    q, v, a, point, custom, body, order = operands
    for b in range(start, stop):
        codes[b] = point_motion(
            I, F, row(q, b), row(v, b), row(a, b), row(point, b), row(custom, b), W, NOTHING, body, order, out[b]
        )


@kernel
def point_jacobians(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: Any
) -> None:
    """Fill the body's poses (B, 12) and Jacobians (B, 6 - first, nv) by `point_columns`."""
    q, point, custom, body, first = operands
    poses, J = out
    for b in range(start, stop):
        codes[b] = point_columns(
            I, F, row(q, b), row(point, b), row(custom, b), W, NOTHING, body, first, poses[b], J[b]
        )


@kernel
def poses_of(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, n, 12) with rotation by rows and origin of n added bodies; their numbers are the last operand."""
    q, custom, bodies = operands
    t, f, _, _ = model_and_workspace_views(I, F, W)
    for b in range(start, stop):
        codes[b] = fill_frames(I, F, row(q, b), row(q, b), row(custom, b), NOTHING, POSES, W)
        for i in range(bodies.shape[0]):
            body_pose(t, f.R, f.p, bodies[i], out[b, i])


@kernel
def sums_over_bodies(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, 17) by `body_sums`."""
    q, v, a, fixed, custom, order = operands
    for b in range(start, stop):
        codes[b] = body_sums(
            I, F, row(q, b), row(v, b), row(a, b), row(fixed, b), row(custom, b), W, NOTHING, order, out[b]
        )


@kernel
def centroidal_momentum_matrix(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, A: FloatArray
) -> None:
    """Fill A (B, 6, nv) by `centroidal_columns`."""
    q, fixed, custom = operands
    for b in range(start, stop):
        codes[b] = centroidal_columns(I, F, row(q, b), row(fixed, b), row(custom, b), W, NOTHING, A[b])


@kernel
def integrate(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, nq) by `integrate_configuration`."""
    q, v, dt = operands
    for b in range(start, stop):
        integrate_configuration(I, F, row(q, b), row(v, b), row(dt, b), out[b])


@kernel
def difference(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Fill out (B, nv) by `configuration_difference`."""
    q0, q1 = operands
    for b in range(start, stop):
        configuration_difference(I, F, row(q0, b), row(q1, b), out[b])
