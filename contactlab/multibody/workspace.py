"""Scratch memory for callers who run the kernels of this package in compiled loops of their own."""

from __future__ import annotations

import numpy as np

from contactlab.multibody.kernels.sizes import (
    aba_size,
    crba_size,
    derivatives_size,
    factor_size,
    head_size,
    point_size,
    rnea_size,
)
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray


def workspace(model: Model) -> FloatArray:
    """A buffer, flat and zeroed, long enough for every kernel of ``model``; one per thread.

    The public functions need none: they return values and keep nothing. A compiled loop that calls
    `contactlab.multibody.kernels` itself (``rnea``, ``crba``, ``aba``, ...) hands this buffer over at every call, with
    ``model.packed.ints`` and ``model.packed.floats``.
    """
    lengths = (head_size, rnea_size, crba_size, aba_size, derivatives_size, factor_size, point_size)
    return np.zeros(max(length(model.packed.nl, model.nv) for length in lengths))
