"""The trees on which each contact acts, as ranges of velocity columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def contact_column_ranges(starts: Indices, nc: int, contact: Indices, column: Indices) -> Indices | None:
    """Return the columns (nc, 4) of each contact's rows, see `lcp.contacts.kernels.column_ranges`.

    Parameters
    ----------
    starts
        (nt + 1,) first velocity of each tree, ascending.
    nc
        Number of contacts.
    contact, column
        Entries of their rows that are not zero.

    Returns
    -------
    ndarray or None
        None if a contact acts on more than two trees.
    """
    tree = np.searchsorted(starts, column, side="right") - 1
    first, last = np.full(nc, starts.size - 2), np.zeros(nc, dtype=np.int64)
    np.minimum.at(first, contact, tree)
    np.maximum.at(last, contact, tree)
    if ((tree != first[contact]) & (tree != last[contact])).any():
        return None
    # A contact without entries has found no tree.
    lower, upper = np.minimum(first, last), np.maximum(first, last)
    spans: Indices = np.stack((starts[lower], starts[lower + 1], starts[upper], starts[upper + 1]), axis=1)
    spans[lower == upper, 2] = spans[lower == upper, 3]
    return spans
