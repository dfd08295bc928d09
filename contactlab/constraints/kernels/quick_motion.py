"""The usual call from Python in as few arguments as it needs: no external forces, no rows or joints of the user's own.

Whatever is unusual or wrong is only reported, by `UNUSUAL` or another code < 0: the caller then takes the long way,
which says what it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.constraints.kernels.constrained_motion import by_mass_matrix, by_test_forces
from contactlab.multibody.kernels.layout import NQ, NV
from contactlab.multibody.kernels.outcomes import UNUSUAL
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING
from contactlab.multibody.kernels.views import rows_at
from lcp.kernels import kernel


@kernel
def quick_mass_matrix(
    I: NDArray[np.int64],
    CI: NDArray[np.int64],
    order: NDArray[np.int64],
    F: NDArray[np.float64],
    CF: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    tau: NDArray[np.float64],
    W: NDArray[np.float64],
    a: NDArray[np.float64],
    forces: NDArray[np.float64],
    dense: int,
    method: int,
) -> tuple[int, float]:
    """`by_mass_matrix`."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return UNUSUAL, 0.0
    f_ext = rows_at(W, 0, 0, 6)
    custom = rows_at(W, 0, 0, CUSTOM_ROW)
    return by_mass_matrix(I, CI, order, F, CF, q, v, tau, f_ext, custom, f_ext, W, NOTHING, dense, method, a, forces)


@kernel
def quick_test_forces(
    I: NDArray[np.int64],
    CI: NDArray[np.int64],
    F: NDArray[np.float64],
    CF: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    tau: NDArray[np.float64],
    W: NDArray[np.float64],
    a: NDArray[np.float64],
    forces: NDArray[np.float64],
) -> tuple[int, float]:
    """`by_test_forces`."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return UNUSUAL, 0.0
    f_ext = rows_at(W, 0, 0, 6)
    custom = rows_at(W, 0, 0, CUSTOM_ROW)
    # The last resort of this method, elimination in the null space, takes no pivots in ``order``.
    return by_test_forces(I, CI, I[:0], F, CF, q, v, tau, f_ext, custom, f_ext, W, NOTHING, a, forces)
