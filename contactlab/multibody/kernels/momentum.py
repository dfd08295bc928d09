"""Momentum, energy and centre of mass of the whole model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.layout import Tree, tree
from contactlab.multibody.kernels.workspace import frames
from lcp.kernels import kernel

# Places in the output of `momentum`.
MASS = 0
MOMENT = 1  # (3,) sum of m c
LINEAR = 4  # (3,) linear momentum
ANGULAR = 7  # (3,) angular momentum about the world origin
KINETIC = 10  # kinetic energy
MOMENTUM_SIZE = 11


@kernel
def momentum(
    t: Tree, R: NDArray[np.float64], p: NDArray[np.float64], V: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Fill out (11,): mass, its first moment, momenta about the world origin and kinetic energy of all moving bodies.

    Bodies fixed to the world, which no link carries, are not in it.
    """
    for k in range(11):
        out[k] = 0.0
    for i in range(t.parent.shape[0]):
        m = t.mass[i]
        if m == 0.0:
            continue
        Ri = R[i]
        com = t.com[i]
        o = p[t.root[i]]
        Vi = V[i]
        cx = p[i, 0] + (Ri[0] * com[0] + Ri[1] * com[1] + Ri[2] * com[2])
        cy = p[i, 1] + (Ri[3] * com[0] + Ri[4] * com[1] + Ri[5] * com[2])
        cz = p[i, 2] + (Ri[6] * com[0] + Ri[7] * com[1] + Ri[8] * com[2])
        wx = Vi[0]
        wy = Vi[1]
        wz = Vi[2]
        dx = cx - o[0]
        dy = cy - o[1]
        dz = cz - o[2]
        ux = Vi[3] + (wy * dz - wz * dy)
        uy = Vi[4] + (wz * dx - wx * dz)
        uz = Vi[5] + (wx * dy - wy * dx)
        bx = Ri[0] * wx + Ri[3] * wy + Ri[6] * wz
        by = Ri[1] * wx + Ri[4] * wy + Ri[7] * wz
        bz = Ri[2] * wx + Ri[5] * wy + Ri[8] * wz
        J = t.inertia[i]
        lx = J[0] * bx + J[3] * by + J[4] * bz
        ly = J[3] * bx + J[1] * by + J[5] * bz
        lz = J[4] * bx + J[5] * by + J[2] * bz
        out[0] += m
        out[1] += m * cx
        out[2] += m * cy
        out[3] += m * cz
        out[4] += m * ux
        out[5] += m * uy
        out[6] += m * uz
        out[7] += Ri[0] * lx + Ri[1] * ly + Ri[2] * lz + m * (cy * uz - cz * uy)
        out[8] += Ri[3] * lx + Ri[4] * ly + Ri[5] * lz + m * (cz * ux - cx * uz)
        out[9] += Ri[6] * lx + Ri[7] * ly + Ri[8] * lz + m * (cx * uy - cy * ux)
        out[10] += 0.5 * (m * (ux * ux + uy * uy + uz * uz) + (bx * lx + by * ly + bz * lz))


@kernel
def momentum_of_head(
    I: NDArray[np.int64], F: NDArray[np.float64], W: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """`momentum` from a workspace whose head holds poses and velocities."""
    t = tree(I, F)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    momentum(t, f.R, f.p, f.V, out)
