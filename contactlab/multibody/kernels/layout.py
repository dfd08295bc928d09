"""How a model lies in memory for the kernels: two flat buffers, and the views into them.

A call from Python costs about 0.1 us per array handed over, so a model travels as one buffer of integers and one of
floats; `tree` cuts them into views, which costs next to nothing in compiled code.

Links are the moving frames, one per elementary joint, parents before children; a body added to the model is fixed to
one link (or to the world, -1). Spatial vectors (angular part first) have world axes and refer to the origin of the root
link of their tree, so that nothing is lost far from the world origin.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.views import part_at, rows_at
from lcp.kernels import kernel

# Places in the head of the integer buffer.
LINKS: Final = 0
NQ: Final = 1
NV: Final = 2
BODIES: Final = 3
HEAD: Final = 8

# Length of the row that a custom joint's numbers take: R (9), p (3), S as up to six columns of six (36), c (6).
CUSTOM_ROW: Final = 54


class Tree(NamedTuple):
    """Views into the buffers of a model with nl links, nb added bodies."""

    parent: NDArray[np.int64]  # (nl,) parent link, -1 for the world
    root: NDArray[np.int64]  # (nl,) root link of the tree the link belongs to
    kind: NDArray[np.int64]  # (nl,) code of the joint
    iq: NDArray[np.int64]  # (nl + 1,) first entry of q
    iv: NDArray[np.int64]  # (nl + 1,) first entry of v
    custom: NDArray[np.int64]  # (nl,) row of the custom joint's numbers, -1
    dof_parent: NDArray[np.int64]  # (nv,) the degree of freedom next below, -1
    dof_link: NDArray[np.int64]  # (nv,) link the degree of freedom moves
    body_link: NDArray[np.int64]  # (nb,) link an added body is fixed to, -1 for the world
    R: NDArray[np.float64]  # (nl, 9) placement of the joint in the parent link: rotation by rows
    p: NDArray[np.float64]  # (nl, 3) and origin [m]
    axis: NDArray[np.float64]  # (nl, 6) direction of rotation and of shift, joint axes
    mass: NDArray[np.float64]  # (nl,) [kg] of all bodies fixed to the link
    com: NDArray[np.float64]  # (nl, 3) [m] their common centre of mass, link axes
    inertia: NDArray[np.float64]  # (nl, 6) [kg m^2] about it, link axes: xx, yy, zz, xy, xz, yz
    body_R: NDArray[np.float64]  # (nb, 9) added body in its link
    body_p: NDArray[np.float64]  # (nb, 3)
    gravity: NDArray[np.float64]  # (3,) [m/s^2] world axes


@kernel
def tree(I: NDArray[np.int64], F: NDArray[np.float64]) -> Tree:
    """The views. Order and sizes are those of `contactlab.multibody.packing.pack`."""
    nl = I[LINKS]
    nv = I[NV]
    nb = I[BODIES]
    a = HEAD
    b = 3
    return Tree(
        part_at(I, a, nl),
        part_at(I, a + nl, nl),
        part_at(I, a + 2 * nl, nl),
        part_at(I, a + 3 * nl, nl + 1),
        part_at(I, a + 4 * nl + 1, nl + 1),
        part_at(I, a + 5 * nl + 2, nl),
        part_at(I, a + 6 * nl + 2, nv),
        part_at(I, a + 6 * nl + 2 + nv, nv),
        part_at(I, a + 6 * nl + 2 + 2 * nv, nb),
        rows_at(F, b, nl, 9),
        rows_at(F, b + 9 * nl, nl, 3),
        rows_at(F, b + 12 * nl, nl, 6),
        part_at(F, b + 18 * nl, nl),
        rows_at(F, b + 19 * nl, nl, 3),
        rows_at(F, b + 22 * nl, nl, 6),
        rows_at(F, b + 28 * nl, nb, 9),
        rows_at(F, b + 28 * nl + 9 * nb, nb, 3),
        part_at(F, 0, 3),
    )
