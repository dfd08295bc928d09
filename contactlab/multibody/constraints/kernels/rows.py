"""Rows of contacts, loops and distances: Jacobian, bias and errors. These numbers are computed only here.

``constraint_rows(I, F, W, weight, want, w, G, gamma, phi, phid, scale)``

* ``I, F``: ``cs.packed.model_ints``, ``cs.packed.model_floats``.
* ``W``: a workspace; its head must hold poses, and velocities if ``want`` has a bit of `MOVING`. After the
  head are the accelerations (nl, 6) of the links at zero joint accelerations (`accelerations` with a of length 0),
  read only if ``want`` has `GAMMA`; ``weight``: the g they were computed with, 0.0 or 1.0 (as left behind by
  Newton-Euler).
* ``want``: sum of the bits of `contactlab.multibody.constraints.kernels.kkt_codes`. Arrays of other quantities are not
  touched
  and can have length 0.
* ``w`` (SCRATCH,): scratch.
* ``G`` (n, nv), zeroed by the caller; ``gamma, phi, phid`` (n,): bias, position and velocity errors.
* ``scale`` (n,), or of length 0: sizes of the terms that the entries of rows of G are made of, for the rank rule
  (`contactlab.multibody.constraints.kernels.factorizations`), filled with ``JACOBIAN``.

Entries of custom rows are not changed. Rows of G that are zero by the rank rule become exactly zero. Their bias and
position error become zero if they are only rounding of their own terms.

A row of axis (w, t), given in the predecessor's frame, is the wrench a = (R_p w, R_p t) in world axes; for a contact it
is (0, n). With point Jacobians, velocities and accelerations (6,) at each frame's origin (angular first):

    G     = a^T (J_s - J_p)
    gamma = -a^T (acc_s - acc_p) - (omega_p x a)^T (vel_s - vel_p) + acceleration - 2 alpha phid - beta^2 phi
    phi   = w . e + t . R_p^T (x_s - x_p),   e = sin(angle) axis of R_p^T R_s
    phid  = G v

For a `SLIDING_LOOP`, the predecessor's point is its material point at x_s, which adds the Coriolis term of the point
moving over the predecessor. G v is then the derivative of t . R_p^T (x_s - x_p), and the forces on both bodies are
along one line.

A `DISTANCE` has the axis (0, n), n = (x_s - x_p) / |x_s - x_p| in world axes. It turns with the line, at omega = n x u
/ |x_s - x_p|, u = vel_s - vel_p, in place of omega_p:

    gamma = -a^T (acc_s - acc_p) - |u - (n . u) n|^2 / |x_s - x_p| - 2 alpha phid - beta^2 phi
    phi   = |x_s - x_p| - length

Rows of a point or pair are computed together, because they depend on the same motion.
"""

from __future__ import annotations

from contactlab.multibody.constraints.kernels.factorizations import is_zero_row
from contactlab.multibody.constraints.kernels.kkt_codes import (
    BAUMGARTE,
    GAMMA,
    JACOBIAN,
    MOVING,
    POSITION_ERROR,
    RANK_TOLERANCE,
    SCRATCH,
    VELOCITY_ERROR,
)
from contactlab.multibody.constraints.kernels.layout import (
    ACCELERATION,
    ALPHA,
    BETA,
    DISTANCE,
    LENGTH,
    SLIDING_LOOP,
    add_cross,
    bias_at,
    block_frames,
    block_of,
    dot6,
    fill_row,
    length_of,
    line_between,
    line_turn,
    relative_pose,
    rotate,
    rows_view,
)
from contactlab.multibody.kernels.codes import GOOD, POSES, VELOCITIES
from contactlab.multibody.kernels.dynamics import accelerations
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import model_and_workspace_views
from contactlab.multibody.kernels.points import velocity_at
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def settle_row(G: FloatArray, scale: FloatArray, i: int, size: float) -> bool:
    """Return True if row i is only rounding of terms of this size, and set it to zero; store the size in ``scale``.

    If ``scale`` has length 0, the size is not stored.
    """
    if scale.shape[0] > 0:
        scale[i] = size
    if not is_zero_row(G[i], size):
        return False
    for j in range(G.shape[1]):
        G[i, j] = 0.0
    return True


@kernel(inline=True)
def settled(value: float, terms: float) -> float:
    """Return the value, or 0 if it is only rounding of its terms."""
    return value if abs(value) > RANK_TOLERANCE * terms else 0.0


@kernel
def constraint_rows(
    I: IntArray,
    F: FloatArray,
    W: FloatArray,
    weight: float,
    want: int,
    w: FloatArray,
    G: FloatArray,
    gamma: FloatArray,
    phi: FloatArray,
    phid: FloatArray,
    scale: FloatArray,
) -> None:
    """Fill the wanted quantities of the rows of contacts, loops and distances; see the head of this file."""
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    r = rows_view(I, F)
    A = view_2d(W, f.start, nl, 6)
    a = w[0:6]  # the row's wrench
    u = w[6:12]  # relative velocity
    c = w[12:18]  # relative acceleration
    e = w[18:24]  # rotation error and shift, predecessor's axes
    other = w[24:30]
    Rs = w[30:39]
    Rp = w[39:48]
    xs = w[48:51]
    xp = w[51:54]
    turn = w[54:57]  # angular velocity of the axis: of the predecessor, or of the line of a distance
    for block in range(r.frame.shape[0]):
        kind, one, two, first, last = block_of(r, block)
        # Relative pose of the two frames; a contact has no error, because its frame has no rotation.
        block_frames(r, block, f, Rs, xs, Rp, xp)
        span = 0.0
        if kind == DISTANCE:
            span = line_between(xs, xp, a)
        else:
            relative_pose(Rs, xs, Rp, xp, e)
        for k in range(3):
            if kind == SLIDING_LOOP:
                xp[k] = xs[k]
        # Relative velocity, and angular velocity of the axis.
        turns = moves = 0.0
        if want & MOVING:
            velocity_at(t, f.p, f.V, one, xs, u)
            velocity_at(t, f.p, f.V, two, xp, other)
            for k in range(6):
                u[k] -= other[k]
            for k in range(3):
                turn[k] = other[k]
            if kind == DISTANCE:
                line_turn(a, u, span, turn)
        # Relative acceleration, with the terms of an axis that turns; turns, moves: sizes of its terms.
        if want & GAMMA:
            bias_at(t, f, A, weight, one, xs, c)
            bias_at(t, f, A, weight, two, xp, other)
            turning = length_of(turn, 0)
            turns = length_of(c, 0) + length_of(other, 0) + turning * length_of(u, 0)
            moves = length_of(c, 3) + length_of(other, 3) + turning * length_of(u, 3) + weight * length_of(t.gravity, 0)
            for k in range(6):
                c[k] -= other[k]
            # (omega_p x a) . u = a . (u x omega_p), both halves of a; twice for a point that moves over the other.
            add_cross(u, 0, turn, 0, 1.0, c, 0)
            add_cross(u, 3, turn, 0, 2.0 if kind == SLIDING_LOOP else 1.0, c, 3)
        # Each row of the block: axis and error, Jacobian, rate and bias.
        for place in range(first, last):
            i = r.order[place]
            s = r.row[i]
            angular = 0.0
            linear = 1.0
            if kind == DISTANCE:
                error = span - s[LENGTH]
            else:
                angular = length_of(s, 0)
                linear = length_of(s, 3)
                rotate(Rp, s, 0, a)
                rotate(Rp, s, 3, a)
                error = dot6(s, e)
            zero = False
            if want & JACOBIAN:
                size = fill_row(t, f, one, two, xs, xp, a, angular, linear, G[i])
                zero = settle_row(G, scale, i, size)
                if zero:
                    error = settled(error, size)
            if want & POSITION_ERROR:
                phi[i] = error
            if want & MOVING:
                rate = dot6(a, u)
                if want & VELOCITY_ERROR:
                    phid[i] = rate
                if want & GAMMA:
                    bias = dot6(a, c)
                    if zero:
                        bias = settled(bias, angular * turns + linear * moves)
                    gamma[i] = s[ACCELERATION] - bias
                    if want & BAUMGARTE:
                        gamma[i] -= 2.0 * s[ALPHA] * rate + s[BETA] * s[BETA] * error


@kernel
def evaluate_rows(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    want: int,
    G: FloatArray,
    gamma: FloatArray,
    phi: FloatArray,
    phid: FloatArray,
    scale: FloatArray,
) -> int:
    """Evaluate `constraint_rows` at q and v; return `GOOD`, or the place in q of an invalid quaternion."""
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES if want & MOVING else POSES, W)
    if code != GOOD:
        return code
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    A = view_2d(W, f.start, nl, 6)
    if want & GAMMA:
        accelerations(t, f.S, f.C, W[0:0], 0.0, A)
    constraint_rows(I, F, W, 0.0, want, W[f.start + 6 * nl : f.start + 6 * nl + SCRATCH], G, gamma, phi, phid, scale)
    return GOOD
