"""Many instants of one model, one after the other, for one thread.

Every kernel takes the model, the operands of its quantity, the instants start to stop, the workspace W of one instant,
the codes (B,) and the results to be filled. Operands that differ between instants have one row for each, or a single
row for all of them; results have B rows, zeroed by the caller.
"""

from __future__ import annotations

from typing import Any

from contactlab.multibody.kernels.articulated import aba, factor_inertia, solve_inertia
from contactlab.multibody.kernels.centroidal import body_sums, centroidal_columns
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.configurations import configuration_difference, integrate_configuration
from contactlab.multibody.kernels.crba import crba
from contactlab.multibody.kernels.derivatives import dynamics_derivatives
from contactlab.multibody.kernels.layout import LINKS, NV, model_and_workspace_views
from contactlab.multibody.kernels.newton_euler import rnea
from contactlab.multibody.kernels.point_rates import centroidal_rates, point_rates
from contactlab.multibody.kernels.points import body_pose, point_columns, point_motion
from contactlab.multibody.kernels.sizes import NOTHING, POSES
from contactlab.multibody.kernels.velocities import fill_frames
from contactlab.multibody.kernels.workspace import part_at, rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inline=True)
def at(rows: Any, b: int) -> Any:
    """Return the row of instant b."""
    return rows[b % rows.shape[0]]


@kernel
def inverse_dynamics(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, tau: FloatArray
) -> None:
    """`rnea`: tau (B, nv)."""
    q, v, a, f_ext, custom = operands
    for b in range(start, stop):
        codes[b] = rnea(I, F, at(q, b), at(v, b), at(a, b), at(f_ext, b), at(custom, b), W, NOTHING, tau[b])


@kernel
def forward_dynamics(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, a: FloatArray
) -> None:
    """`aba`: a (B, nv)."""
    q, v, tau, f_ext, custom = operands
    for b in range(start, stop):
        codes[b] = aba(I, F, at(q, b), at(v, b), at(tau, b), at(f_ext, b), at(custom, b), W, NOTHING, a[b])


@kernel(short_loops=True)
def derivatives(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """`dynamics_derivatives`: out (B, 3 + forward, nv, nv)."""
    q, v, x, f_ext, custom, rates, forward = operands
    for b in range(start, stop):
        codes[b] = dynamics_derivatives(
            I, F, at(q, b), at(v, b), at(x, b), at(f_ext, b), at(custom, b), at(rates, b), W, NOTHING, forward, out[b]
        )


@kernel
def rates_of_points(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """`point_rates`: out (B, 4, 6, nv)."""
    q, v, a, point, custom, rates, body = operands
    for b in range(start, stop):
        codes[b] = point_rates(
            I, F, at(q, b), at(v, b), at(a, b), at(custom, b), at(rates, b), W, NOTHING, body, at(point, b), out[b]
        )


@kernel
def rates_of_momentum(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """`centroidal_rates`: out (B, 4, 6, nv)."""
    q, v, a, custom, rates, fixed = operands
    for b in range(start, stop):
        codes[b] = centroidal_rates(
            I, F, at(q, b), at(v, b), at(a, b), fixed, at(custom, b), at(rates, b), W, NOTHING, out[b]
        )


@kernel
def mass_matrix(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, M: FloatArray
) -> None:
    """`crba`: M (B, nv, nv)."""
    q, custom = operands
    for b in range(start, stop):
        codes[b] = crba(I, F, at(q, b), at(custom, b), W, NOTHING, M[b])


@kernel
def solve_mass_matrix(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, x: FloatArray
) -> None:
    """x := M^-1 tau, (B, nv); W ends in the factor (13 nv,) and scratch (nl, 6) of `solve_inertia`."""
    q, tau, custom = operands
    scratch = W.shape[0] - 6 * I[LINKS]
    factor = part_at(W, scratch - 13 * I[NV], 13 * I[NV])
    P = rows_at(W, scratch, I[LINKS], 6)
    for b in range(start, stop):
        right = at(tau, b)
        for j in range(x.shape[1]):
            x[b, j] = right[j]
        codes[b] = factor_inertia(I, F, at(q, b), at(custom, b), W, NOTHING, factor)
        if codes[b] == GOOD:
            codes[b] = solve_inertia(I, F, factor, P, x[b : b + 1])


@kernel
def point_motions(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """`point_motion`: out (B, 3 or 6)."""
    q, v, a, point, custom, body, order = operands
    for b in range(start, stop):
        codes[b] = point_motion(
            I, F, at(q, b), at(v, b), at(a, b), at(custom, b), W, NOTHING, body, at(point, b), order, out[b]
        )


@kernel
def point_jacobians(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: Any
) -> None:
    """`point_columns`: the body's poses (B, 12) and Jacobians (B, 6 - first, nv)."""
    q, point, custom, body, first = operands
    poses, J = out
    for b in range(start, stop):
        codes[b] = point_columns(I, F, at(q, b), at(custom, b), W, NOTHING, body, at(point, b), first, poses[b], J[b])


@kernel
def poses_of(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Rotation by rows and origin of some bodies, given by number: out (B, n, 12)."""
    q, custom, bodies = operands
    t, f, _, _ = model_and_workspace_views(I, F, W)
    for b in range(start, stop):
        codes[b] = fill_frames(I, F, at(q, b), at(q, b), at(custom, b), NOTHING, POSES, W)
        for i in range(bodies.shape[0]):
            body_pose(t, f.R, f.p, bodies[i], out[b, i])


@kernel
def sums_over_bodies(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """`body_sums`: out (B, 17)."""
    q, v, a, custom, fixed, order = operands
    for b in range(start, stop):
        codes[b] = body_sums(I, F, at(q, b), at(v, b), at(a, b), fixed, at(custom, b), W, NOTHING, order, out[b])


@kernel
def centroidal_momentum_matrix(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, A: FloatArray
) -> None:
    """`centroidal_columns`: A (B, 6, nv)."""
    q, custom, fixed = operands
    for b in range(start, stop):
        codes[b] = centroidal_columns(I, F, at(q, b), fixed, at(custom, b), W, NOTHING, A[b])


@kernel
def integrate(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """`integrate_configuration`: out (B, nq)."""
    q, v, dt = operands
    for b in range(start, stop):
        integrate_configuration(I, F, at(q, b), at(v, b), at(dt, b), out[b])


@kernel
def difference(
    I: IntArray, F: FloatArray, operands: Any, start: int, stop: int, W: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """`configuration_difference`: out (B, nv)."""
    q0, q1 = operands
    for b in range(start, stop):
        configuration_difference(I, F, at(q0, b), at(q1, b), out[b])
