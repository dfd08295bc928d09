"""Boxed rows on the Python side: the size of the LCP they bring, and its vector that stands for no force.

The kinds of rows and their variables x and y are tabled in `kernels.boxed_rows`.
"""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray
from problem_data import VelocityBlocks


def lcp_size(blocks: VelocityBlocks) -> int:
    """Number of variables n of the velocity-level LCP."""
    from lcp.contacts.kernels.boxed_rows import boxed_variables

    n = blocks.nc + 2 * blocks.nr + blocks.ncone + blocks.nl
    return n + sum(boxed_variables(blocks.lo, blocks.hi)) if blocks.nbox else n


def lcp_size_text(blocks: VelocityBlocks) -> str:
    """Formula of that number, for error messages."""
    own = "2 nc + 2 nr + nl" if blocks.ncone == blocks.nc else "nc + 2 nr + ncone + nl"
    return own + (" + variables x, y of the boxed rows" if blocks.nbox else "")


def zero_force_vector(blocks: VelocityBlocks) -> FloatArray:
    """The LCP vector (n,) of no unilateral force, and of boxed forces that are as small as their bounds allow."""
    z = np.zeros(lcp_size(blocks))
    lo, hi = blocks.lo, blocks.hi
    smallest = np.clip(np.zeros(blocks.nbox), lo, hi)
    x = np.zeros(blocks.nbox)
    below = np.isfinite(lo)
    above = np.isfinite(hi) & ~below
    x[below] = smallest[below] - lo[below]
    x[above] = hi[above] - smallest[above]
    x = x[lo != hi]
    first = blocks.nc + 2 * blocks.nr + blocks.ncone + blocks.nl
    z[first : first + len(x)] = x
    return z
