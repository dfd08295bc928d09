"""Rows of contacts, loops and distances: Jacobian, bias and errors. These numbers are computed only here.

``constraint_rows(I, F, W, weight, want, w, G, gamma, phi, phid, scale)``

* ``I, F``: ``cs.packed.model_ints``, ``cs.packed.model_floats``.
* ``W``: a workspace; its head must hold poses, and velocities if ``want`` has a bit of `MOVING`. After the
  head are the accelerations (nl, 6) of the links at zero joint accelerations (`accelerations` with a of length 0),
  read only if ``want`` has `GAMMA`; ``weight``: the g they were computed with, 0.0 or 1.0 (as left behind by
  Newton-Euler).
* ``want``: sum of the bits of `contactlab.multibody.constraints.kernels`. Arrays of other quantities are not
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

from contactlab.multibody.constraints.kernels import (
    BAUMGARTE,
    GAMMA,
    JACOBIAN,
    MOVING,
    POSITION_ERROR,
    RANK_TOLERANCE,
    SCRATCH,
    VELOCITY_ERROR,
)
from contactlab.multibody.constraints.kernels.factorizations import is_zero_row
from contactlab.multibody.constraints.kernels.layout import (
    ACCELERATION,
    ALPHA,
    BETA,
    DISTANCE,
    LENGTH,
    SLIDING_LOOP,
    axis_of_row,
    bias_at,
    block_frames,
    block_of,
    fill_row,
    line_between,
    line_turn,
    relative_pose,
    rows_view,
    turned,
)
from contactlab.multibody.kernels import GOOD, POSES, VELOCITIES
from contactlab.multibody.kernels.dynamics import accelerations
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import model_and_workspace_views
from contactlab.multibody.kernels.points import velocity_at
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import (
    add_pairs,
    copy,
    dot_pairs,
    fill,
    norm,
    pair_of,
    subtract_pairs,
    vector,
)
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
    fill(0.0, G[i])
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
    motion, other = w[0:6], w[6:12]
    Rs, Rp, xs, xp = w[12:21], w[21:30], w[30:33], w[33:36]
    for block in range(r.frame.shape[0]):
        kind, one, two, first, last = block_of(r, block)
        # Relative pose of the two frames; a contact has no error, because its frame has no rotation.
        block_frames(r, block, f, Rs, xs, Rp, xp)
        span, line = 0.0, (0.0, 0.0, 0.0)
        e = line, line
        if kind == DISTANCE:
            span, line = line_between(xs, xp)
        else:
            e = relative_pose(Rs, xs, Rp, xp)
        # Twice the angular velocity of the axis for a point that moves over the other body.
        more = 1.0
        if kind == SLIDING_LOOP:
            copy(xs, xp)
            more = 2.0
        # Relative velocity, and angular velocity of the axis: of the predecessor, or of the line of a distance.
        turns = moves = 0.0
        u, c, turn = e, e, line
        if want & MOVING:
            velocity_at(t, f.p, f.V, one, xs, motion)
            velocity_at(t, f.p, f.V, two, xp, other)
            u, turn = subtract_pairs(pair_of(motion), pair_of(other)), vector(other)
            if kind == DISTANCE:
                turn = line_turn(line, u[1], span)
        # Relative acceleration, with the terms of an axis that turns; turns, moves: sizes of its terms.
        if want & GAMMA:
            bias_at(t, f, A, weight, one, xs, motion)
            bias_at(t, f, A, weight, two, xp, other)
            a_s, a_p, turning = pair_of(motion), pair_of(other), norm(turn)
            turns = norm(a_s[0]) + norm(a_p[0]) + turning * norm(u[0])
            moves = norm(a_s[1]) + norm(a_p[1]) + turning * norm(u[1]) + weight * norm(vector(t.gravity))
            # (omega_p x a) . u = a . (u x omega_p), both halves of a.
            c = add_pairs(subtract_pairs(a_s, a_p), turned(u, turn, more))
        # Each row of the block: axis and error, Jacobian, rate and bias.
        for place in range(first, last):
            i = r.order[place]
            s = r.row[i]
            a, axis = axis_of_row(s, kind, Rp, line), pair_of(s)
            angular, extent, error = norm(axis[0]), norm(axis[1]), dot_pairs(axis, e)
            if kind == DISTANCE:
                angular, extent, error = 0.0, 1.0, span - s[LENGTH]
            zero = False
            if want & JACOBIAN:
                size = fill_row(t, f, one, two, xs, xp, a, angular, extent, G[i])
                zero = settle_row(G, scale, i, size)
                if zero:
                    error = settled(error, size)
            if want & POSITION_ERROR:
                phi[i] = error
            if want & MOVING:
                rate = dot_pairs(a, u)
                if want & VELOCITY_ERROR:
                    phid[i] = rate
                if want & GAMMA:
                    bias = dot_pairs(a, c)
                    if zero:
                        bias = settled(bias, angular * turns + extent * moves)
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
