"""Nonsmooth block Gauss-Seidel for contacts with Coulomb's cone, on a block-sparse W."""

from __future__ import annotations

import math
from typing import NamedTuple

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.cone_block import PROJECTED, solve_block


class ContactBlocks(NamedTuple):
    """Contacts and their W: row a has the blocks ``block[k]`` at contact ``column[k]``, k in pointer[a]:pointer[a + 1].

    Components that a contact lacks are zeros.
    """

    pointer: Ints  # (nc + 1,)
    column: Ints
    block: Floats  # (count, 3, 3) off the diagonal
    diagonal: Floats  # (nc, 3, 3)
    mu: Floats  # (nc,)
    dims: Ints  # (nc,)


@kernel
def friction_sweeps(
    contacts: ContactBlocks,
    shift: Floats,
    q: Floats,
    order: Ints,
    relaxation: float,
    r: Floats,
    work: Floats,
    moved: Floats,
) -> int:
    """As many sweeps of r (nc, 3) as ``moved`` has entries, which become the lengths of their steps.

    ``shift`` (nc,) is what a proximal term adds to the diagonal (q holds the rest of it). ``order`` is that of the
    contacts, ``work`` (5, 3). Returns how often a block had no mode that fitted, in the last sweep.
    """
    pointer, column, block, diagonal, mu, dims = contacts
    A = work[:3]
    b = work[3]
    new = work[4]
    projected = 0
    for sweep in range(moved.shape[0]):
        total = 0.0
        projected = 0
        for at in range(order.shape[0]):
            a = order[at]
            b0 = q[a, 0]
            b1 = q[a, 1]
            b2 = q[a, 2]
            for k in range(pointer[a], pointer[a + 1]):
                c = column[k]
                r0 = r[c, 0]
                r1 = r[c, 1]
                r2 = r[c, 2]
                b0 += block[k, 0, 0] * r0 + block[k, 0, 1] * r1 + block[k, 0, 2] * r2
                b1 += block[k, 1, 0] * r0 + block[k, 1, 1] * r1 + block[k, 1, 2] * r2
                b2 += block[k, 2, 0] * r0 + block[k, 2, 1] * r1 + block[k, 2, 2] * r2
            for i in range(3):
                for j in range(3):
                    A[i, j] = diagonal[a, i, j]
            for i in range(dims[a]):
                A[i, i] += shift[a]
            b[0] = b0
            b[1] = b1
            b[2] = b2
            new[0] = r[a, 0]
            new[1] = r[a, 1]
            new[2] = r[a, 2]
            if solve_block(A, b, mu[a], dims[a], new) == PROJECTED:
                projected += 1
            for i in range(3):
                step = relaxation * (new[i] - r[a, i])
                total += step * step
                r[a, i] += step
        moved[sweep] = math.sqrt(total)
    return projected
