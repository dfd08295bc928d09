"""The impulses of gravity and of the body's own rotation, as the steps of a record had them."""

from __future__ import annotations

from contactlab.multibody.kernels.free_body import apply_inertia
from contactlab.simulation.kernels.contacts import free_motion
from contactlab.simulation.kernels.layout import FloatArray, Model, Work
from lcp.kernels import kernel


@kernel
def bias_impulses(
    model: Model, work: Work, q: FloatArray, v: FloatArray, tau: FloatArray, h: FloatArray, out: FloatArray
) -> None:
    """Fill ``out`` (n, nv) with M v_free - M v - h tau of every step, through the stage that the steps used.

    Parameters
    ----------
    model, work
        Of the world; ``work`` is overwritten.
    q, v, h
        (n, nq), (n, nv), (n,): starts and sizes of the steps.
    tau
        (n, nv) applied generalized forces, or (0, nv) for none.
    """
    Mv = work.scratch[0:6]
    for i in range(h.shape[0]):
        for j in range(q.shape[1]):
            work.q[j] = q[i, j]
        for j in range(v.shape[1]):
            work.v[j] = v[i, j]
            work.tau[j] = tau[i, j] if tau.shape[0] > 0 else 0.0
        free_motion(model, work, h[i])
        for b in range(model.mass.shape[0]):
            v6 = work.v[6 * b : 6 * b + 6]
            apply_inertia(model.mass[b], model.com[b], model.inertia[b], work.R[b], v6, Mv)
            for j in range(6):
                out[i, 6 * b + j] = work.Mv[6 * b + j] - Mv[j] - h[i] * work.tau[6 * b + j]
