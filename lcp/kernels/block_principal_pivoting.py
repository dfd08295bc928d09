"""Groups of neighbours in a sparse matrix.

P. Vanek, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation, Computing 56 (1996), section 4.
"""

from __future__ import annotations

from lcp.kernels import Floats, Ints, kernel


@kernel
def aggregate(indptr: Ints, indices: Ints, data: Floats, least: Floats, kind: Ints, group: Ints, first: Ints) -> int:
    """Fill ``group`` with the number of each unknown's group, and return the number of groups.

    Neighbours of an unknown are of the same kind and have an entry of at least ``least[i]``. An unknown and all its
    neighbours form a group if none of them is in one. A remaining unknown joins the neighbour with the largest entry.
    ``first`` is scratch.
    """
    n = group.shape[0]
    count = 0
    group[:n] = -1
    # Unknowns whose neighbours are all free form groups with them.
    for i in range(n):
        alone = group[i] < 0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            near = kind[j] == kind[i] and abs(data[e]) >= least[i]
            alone = alone and not (near and group[j] >= 0)
        if alone:
            group[i] = count
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                if kind[j] == kind[i] and abs(data[e]) >= least[i]:
                    group[j] = count
            count += 1
    # The others join the neighbour with the largest entry.
    for i in range(n):
        first[i] = group[i]
    for i in range(n):
        most = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if first[i] < 0 <= first[j] and kind[j] == kind[i] and abs(data[e]) > most:
                most = abs(data[e])
                group[i] = first[j]
        if group[i] < 0:
            group[i] = count
            count += 1
    return count
