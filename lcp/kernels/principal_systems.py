"""The systems M_aa x = (1, ..., 1) of all principal blocks, their signs verified against rounding.

Let every proper principal block of A be semimonotone, A itself not: some x > 0 has A x < 0. Then every y with A y <= 0
is nonnegative (the first point of x + t y, t >= 0, with a zero entry would violate a smaller block), so that A is
regular and A^-1 <= 0. One right-hand side b > 0 therefore decides each block: A^-1 b <= 0 is a violation, and a
positive entry in A^-1 b rules one out. With A x <= 0 in place of A x < 0, A may also be singular: the same argument
leaves multiples of x as its only null vectors, and the positive entry in A^-1 b rules that out as well.
"""

from __future__ import annotations

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.accurate_residual import EPS, TINY
from lcp.kernels.basis_solve import lu_factor, lu_solve, members


@kernel
def scan_systems(
    M: Floats, start: int, stop: int, A: Floats, work: Floats, index: Ints, codes: Ints, vector: Floats
) -> int:
    """Go through the blocks ``start <= code < stop``, bit i of a code putting i into the block.

    Entries of M may be off by one rounding. Returns -1 - code where x >= 0 with (M x)_a < 0 was verified, x being in
    ``vector``; else the number of ``codes`` written: blocks whose system could not be verified. ``A`` is n x n scratch,
    ``work`` and ``index`` have length 2 n.
    """
    n = M.shape[0]
    active = index[:n]
    perm = index[n:]
    b = work[:n]
    x = work[n:]
    kept = 0
    for i in range(n):
        b[i] = 1.0
    for code in range(start, stop):
        k = members(code, n, active)
        for i in range(k):
            for j in range(k):
                A[i, j] = M[active[i], active[j]]
        verified = lu_factor(A, k, perm)
        if verified:
            lu_solve(A, k, perm, b, x)
            for i in range(k):
                total = 0.0
                size = 0.0
                for j in range(k):
                    term = M[active[i], active[j]] * x[j]
                    total += term
                    size += abs(term)
                # Not-a-numbers fail this comparison too.
                if not total > (k + 4) * (EPS * size + TINY):
                    verified = False
                    break
        if not verified:
            codes[kept] = code
            kept += 1
            continue
        harmless = False
        for i in range(k):
            if x[i] > 0.0:
                harmless = True
                break
        if not harmless:
            for i in range(n):
                vector[i] = 0.0
            for i in range(k):
                vector[active[i]] = -x[i]
            return -1 - code
    return kept
