"""Dynamics of many instants of one model in one call, on threads.

Every vector may have leading axes, (B, nq) or more, which broadcast against each other; results have them too. Numbers
are those of the functions for one instant, to the last bit, whatever the number of threads.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.instants import Instants, operand, optional, velocity
from contactlab.multibody.kernels.sizes import aba_size, crba_size, factor_size, rnea_size
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray

__all__ = [
    "forward_dynamics_batch",
    "inverse_dynamics_batch",
    "mass_matrix_batch",
    "nonlinear_effects_batch",
    "solve_mass_matrix_batch",
]


@functools.cache
def _kernels() -> Any:
    from contactlab.multibody.kernels import batch_dynamics

    return batch_dynamics


def inverse_dynamics_batch(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a: ArrayLike | None,
    f_ext: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Generalised forces (..., nv) of `inverse_dynamics` for many instants.

    Parameters
    ----------
    model
        The model.
    q
        (..., nq) configurations.
    v, a
        (..., nv) velocities and accelerations; a = None stands for zero, v = None for those of a `Kinematics` q.
    f_ext
        (..., nb, 6) external forces.
    threads
        Number of threads, None for one per core; short batches run on the caller's.

    Raises
    ------
    MultibodyError
        As `inverse_dynamics`, saying which instant is at fault.
    """
    nv, packed = model.nv, model.packed
    many = Instants.of(
        model,
        operand("q", q, model.nq),
        velocity(q, v, nv),
        optional("a", a, nv),
        optional("f_ext", f_ext, model.nb, 6),
    )
    custom = many.custom(moving=True)
    tau = np.empty((many.count, nv))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().rnea_batch(packed.ints, packed.floats, *many.rows, custom, start, stop, W, tau, codes)

    many.run(work, rnea_size(packed.nl, nv), threads)
    return many.shaped(tau)


def nonlinear_effects_batch(
    model: Model, q: Instant, v: ArrayLike | None, f_ext: ArrayLike | None = None, *, threads: int | None = None
) -> FloatArray:
    """`nonlinear_effects` (..., nv) for many instants; arguments as for `inverse_dynamics_batch`."""
    return inverse_dynamics_batch(model, q, v, None, f_ext, threads=threads)


def forward_dynamics_batch(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Accelerations (..., nv) of `forward_dynamics` for many instants; arguments as for `inverse_dynamics_batch`."""
    nv, packed = model.nv, model.packed
    many = Instants.of(
        model,
        operand("q", q, model.nq),
        velocity(q, v, nv),
        operand("tau", tau, nv),
        optional("f_ext", f_ext, model.nb, 6),
    )
    custom = many.custom(moving=True)
    a = np.empty((many.count, nv))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().aba_batch(packed.ints, packed.floats, *many.rows, custom, start, stop, W, a, codes)

    many.run(work, aba_size(packed.nl, nv), threads)
    return many.shaped(a)


def mass_matrix_batch(model: Model, q: Instant, *, threads: int | None = None) -> FloatArray:
    """Mass matrices (..., nv, nv) of configurations q (..., nq)."""
    nv, packed = model.nv, model.packed
    many = Instants.of(model, operand("q", q, model.nq))
    custom = many.custom(moving=False)
    M = np.zeros((many.count, nv, nv))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().crba_batch(packed.ints, packed.floats, *many.rows, custom, start, stop, W, M, codes)

    many.run(work, crba_size(packed.nl, nv), threads)
    return many.shaped(M)


def solve_mass_matrix_batch(model: Model, q: Instant, tau: ArrayLike, *, threads: int | None = None) -> FloatArray:
    """M(q)^-1 tau for configurations q (..., nq) and one vector tau (..., nv) each."""
    nv, packed = model.nv, model.packed
    many = Instants.of(model, operand("q", q, model.nq), operand("tau", tau, nv))
    custom = many.custom(moving=False)
    q_, right = many.rows
    x = np.broadcast_to(right, (many.count, nv)).copy()

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        factor, P = np.empty(13 * nv), np.empty((packed.nl, 6))
        _kernels().minv_batch(packed.ints, packed.floats, q_, custom, start, stop, W, factor, P, x, codes)

    many.run(work, factor_size(packed.nl, nv), threads)
    return many.shaped(x)
