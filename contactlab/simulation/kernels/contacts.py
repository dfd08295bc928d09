"""Stage 1: motion without contacts, and the contacts that take part in the step."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.kernels.half_space import collide_point
from contactlab.contact.kernels.rows import contact_row
from contactlab.multibody.kernels.free_body import free_momentum, rotation, solve_inertia_row
from contactlab.simulation.kernels.layout import (
    BODY_A,
    BODY_B,
    CONTACT_ID,
    GAP,
    HALF_SPACE,
    MU,
    NORMAL,
    POINT,
    PREVIOUS,
    RESTITUTION,
    VN_MINUS,
    Model,
    Work,
)
from lcp.kernels import kernel


@kernel(inline=True)
def contact_id(body: int, half_space: int, point: int) -> int:
    """Persistent number of a contact: it does not depend on which other contacts exist."""
    return (body << 42) | (half_space << 21) | point


@kernel
def free_motion(model: Model, work: Work, h: float) -> bool:
    """Fill R, Mv and v_free of every body; False when a velocity is not finite.

    Mv = M v + h (tau + gravity + gyroscopic terms), v_free = M^-1 Mv; v_plus starts as v_free.
    """
    for b in range(model.mass.shape[0]):
        q7 = work.q[7 * b : 7 * b + 7]
        v6 = work.v[6 * b : 6 * b + 6]
        tau6 = work.tau[6 * b : 6 * b + 6]
        Mv6 = work.Mv[6 * b : 6 * b + 6]
        free6 = work.v_free[6 * b : 6 * b + 6]
        R = work.R[b]
        rotation(q7, R)
        free_momentum(model.mass[b], model.com[b], model.inertia[b], model.gravity, q7, v6, tau6, h, Mv6)
        solve_inertia_row(model.mass[b], model.com[b], model.inertia_inv[b], R, Mv6, free6)
        for i in range(6):
            if not math.isfinite(free6[i]):
                return False
            work.v_plus[6 * b + i] = free6[i]
    return True


@kernel
def dot6(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Product of two 6-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def detect(model: Model, work: Work, h: float, margin: float) -> int:
    """List the contacts with gap <= margin + h max(0, -N v), in the order body, half-space, point.

    Returns their number; those beyond the capacity of the buffers are counted, not stored.
    """
    capacity = work.contact_int.shape[0]
    p = work.scratch[0:3]
    row = work.scratch[3:9]
    count = 0
    for b in range(model.mass.shape[0]):
        R = work.R[b]
        x = work.q[7 * b : 7 * b + 3]
        v6 = work.v[6 * b : 6 * b + 6]
        first = model.point_start[b]
        for s in range(model.offsets.shape[0]):
            normal = model.normals[s]
            for i in range(first, model.point_start[b + 1]):
                gap = collide_point(model.points[i], model.radii[i], R, x, normal, model.offsets[s], p)
                contact_row(R, x, p, normal, row)
                vn = dot6(row, v6)
                if gap <= margin + h * max(0.0, -vn):
                    if count < capacity:
                        ints = work.contact_int[count]
                        floats = work.contact_float[count]
                        ints[BODY_A] = -1
                        ints[BODY_B] = b
                        ints[HALF_SPACE] = s
                        ints[CONTACT_ID] = contact_id(b, s, i - first)
                        ints[PREVIOUS] = -1
                        for j in range(3):
                            floats[POINT + j] = p[j]
                            floats[NORMAL + j] = normal[j]
                        floats[GAP] = gap
                        floats[MU] = model.pair_mu[b, s]
                        floats[RESTITUTION] = model.pair_restitution[b, s]
                        floats[VN_MINUS] = vn
                    count += 1
    return count


@kernel
def match_previous(work: Work, n_contacts: int, n_previous: int) -> None:
    """Find every contact's row in the previous step. Both lists ascend in id, so one pass is enough."""
    j = 0
    for i in range(n_contacts):
        wanted = work.contact_int[i, CONTACT_ID]
        while j < n_previous and work.previous_id[j] < wanted:
            j += 1
        work.contact_int[i, PREVIOUS] = j if j < n_previous and work.previous_id[j] == wanted else -1
