"""Order of links, degrees of freedom and bodies, and mass on the world, read from a model without a compiler.

Scratch memory for callers who run the kernels of this package in compiled loops of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactlab.multibody.kernels.sizes import (
    aba_size,
    columns_start,
    crba_size,
    derivatives_size,
    factor_size,
    head_size,
    point_size,
    rnea_size,
)
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray

_NO_MASS = np.zeros(4)


class Structure(NamedTuple):
    """Views of the integer buffer; the same as in `contactlab.multibody.kernels.layout.Tree`. Not to be modified."""

    parent: IntArray  # (nl,) parent link, -1 for the world
    root: IntArray  # (nl,) root link of the link's tree
    iv: IntArray  # (nl + 1,) first entry of v
    dof_parent: IntArray  # (nv,) the degree of freedom next below, -1
    dof_link: IntArray  # (nv,)
    body_link: IntArray  # (nb,) link an added body is fixed to, -1 for the world


def structure(model: Model) -> Structure:
    """Cut the integer buffer as the kernels do."""
    ints, nl, nv, nb = model.packed.ints, model.packed.nl, model.nv, model.nb
    dofs = 8 + 6 * nl + 2
    return Structure(
        parent=ints[8 : 8 + nl],
        root=ints[8 + nl : 8 + 2 * nl],
        iv=ints[8 + 4 * nl + 1 : 8 + 5 * nl + 2],
        dof_parent=ints[dofs : dofs + nv],
        dof_link=ints[dofs + nv : dofs + 2 * nv],
        body_link=ints[dofs + 2 * nv : dofs + 2 * nv + nb],
    )


def motions(model: Model) -> tuple[IntArray, IntArray]:
    """Code of the motion of each link (nl,), and first entry of q of each (nl + 1,)."""
    ints, nl = model.packed.ints, model.packed.nl
    return ints[8 + 2 * nl : 8 + 3 * nl], ints[8 + 3 * nl : 8 + 4 * nl + 1]


def body_frames(model: Model) -> tuple[FloatArray, FloatArray]:
    """Poses of the added bodies in the links they are fixed to: R (nb, 3, 3) and p (nb, 3), last in their buffer."""
    nb = model.nb
    floats = model.packed.floats[model.packed.floats.size - 12 * nb :]
    return floats[: 9 * nb].reshape(nb, 3, 3), floats[9 * nb :].reshape(nb, 3)


def world_mass(model: Model) -> FloatArray:
    """Mass of the bodies fixed to the world and its first moment, (4,) [kg, kg m]."""
    links = structure(model).body_link.tolist()
    if -1 not in links:
        return _NO_MASS
    R, p = body_frames(model)
    out = np.zeros(4)
    for i, body in enumerate(model.bodies):
        if links[i] < 0 and body.inertia is not None:
            out[0] += body.inertia.mass
            out[1:] += body.inertia.mass * (R[i] @ body.inertia.com + p[i])
    return out


def head_views(W: FloatArray, model: Model) -> tuple[FloatArray, ...]:
    """Motion columns S (nv, 6), R (nl, 9), p (nl, 3), V (nl, 6) and C (nl, 6) of links in the head of a workspace.

    They are cut as `contactlab.multibody.kernels.workspace.frames` cuts them.
    """
    nl, nv = model.packed.nl, model.nv
    start, views = columns_start(nl), []
    for n, width in ((nv, 6), (nl, 9), (nl, 3), (nl, 6), (nl, 6)):
        views.append(W[start : start + n * width].reshape(n, width))
        start += n * width
    return tuple(views)


def workspace(model: Model) -> FloatArray:
    """Return a buffer, flat and zeroed, long enough for every kernel of ``model``; one per thread.

    The public functions need none: they return values and keep nothing. A compiled loop that calls
    `contactlab.multibody.kernels` itself (``rnea``, ``crba``, ``aba``, ...) hands this buffer over at every call, with
    ``model.packed.ints`` and ``model.packed.floats``.
    """
    lengths = (head_size, rnea_size, crba_size, aba_size, derivatives_size, factor_size, point_size)
    return np.zeros(max(length(model.packed.nl, model.nv) for length in lengths))
