"""Lemke's complementary pivoting on a condensed, equilibrated tableau.

Lemke (1965); Cottle, Pang and Stone (1992), algorithm 4.4.5. The augmented system w = q + M z + d t starts at t large;
t is driven down along the almost complementary path until it leaves (a solution) or a ray is met. Every claim is
checked on the original data before it is returned: the final basis is solved anew, refined once, and judged by the
same rule that the public `lcp.solve` applies; a ray is believed only after the dictionary has been formed anew.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcp.kernels import kernel
from lcp.kernels.codes import ITERATION_LIMIT, RAY, RUNNING, SINGULAR_BASIS, SOLVED, STALLED
from lcp.kernels.equilibrate import equilibrate
from lcp.kernels.exchange import exchange, first_dictionary, rebuild, take_column
from lcp.kernels.final_basis import accept, keep_best, polish
from lcp.kernels.lemke_restarts import cover_vector, path_limit, pivot_threshold, tie_threshold
from lcp.kernels.ratio_test import leaving_row
from lcp.kernels.residuals import is_solved, lcp_residuals

# Places in the vector of options.
MAX_PIVOTS: Final = 0
PIVOT_TOLERANCE: Final = 1
TIE_TOLERANCE: Final = 2
TOLERANCE: Final = 3
RESTARTS: Final = 4
COVERED: Final = 5
OPTIONS_SIZE: Final = 8

# Places in the vector of information.
PIVOTS: Final = 0
WARM: Final = 1
RESTART: Final = 2
REBUILDS: Final = 3
STAGE: Final = 4
ENTERING: Final = 5
PATH_END: Final = 6
INFO_SIZE: Final = 8

# Part of the tolerance within which a basis is accepted at once; a right one is at full accuracy.
STRICTNESS: Final = 1e-3

# Stages of the resumable drive, kept in info[STAGE].
START: Final = 0
PIVOTING: Final = 1


@kernel(inline=True)
def lemke_float_size(n: int) -> int:
    """Length of the float workspace."""
    return 2 * n * n + 18 * n + 16


@kernel(inline=True)
def values_place(n: int) -> int:
    """Where in the float workspace the values of the basic variables stand: behind T, A and nine vectors."""
    return n * (n + 1) + n * n + 9 * n + 1


@kernel(inline=True)
def lemke_int_size(n: int) -> int:
    """Length of the integer workspace."""
    return 10 * n + 16


@kernel
def lemke_drive(
    M: NDArray[np.float64],
    q: NDArray[np.float64],
    z0: NDArray[np.float64],
    has_z0: bool,
    options: NDArray[np.float64],
    wf: NDArray[np.float64],
    wi: NDArray[np.int64],
    z: NDArray[np.float64],
    info: NDArray[np.int64],
    budget: int,
) -> int:
    """Run at most ``budget`` pivots; `RUNNING` asks to be called again with everything left as it is.

    A first call has ``info[STAGE] == START``. On `RAY`, wf[:2 n + 1] holds the direction (w, z, t) of the ray.
    """
    n = q.shape[0]
    tolerance = options[TOLERANCE]
    T = wf[: n * (n + 1)].reshape((n, n + 1))
    at = n * (n + 1)
    A = wf[at : at + n * n].reshape((n, n))
    at += n * n
    row = wf[at : at + n]
    column = wf[at + n : at + 2 * n]
    cover = wf[at + 2 * n : at + 3 * n]
    w = wf[at + 3 * n : at + 4 * n]
    work = wf[at + 4 * n : at + 7 * n]
    pivot_row = wf[at + 7 * n : at + 8 * n + 1]
    at += 8 * n + 1
    best_z = wf[at : at + n]
    x = wf[values_place(n) : values_place(n) + n]
    entry = wf[at + 2 * n : at + 3 * n]
    size = wf[at + 3 * n : at + 4 * n]
    measures = wf[at + 4 * n : at + 4 * n + 8]
    best_scaled = wf[at + 4 * n + 8 : at + 4 * n + 9]
    # The covering vector handed in, kept at the very end so that callers need not know the layout.
    given = wf[wf.shape[0] - n :]
    covered = options[COVERED] != 0.0
    limit = options[MAX_PIVOTS]
    if np.isnan(limit):
        limit = max(1000, 50 * n)
    basis = wi[:n]
    nonbasis = wi[n : 2 * n + 1]
    position = wi[2 * n + 1 : 4 * n + 2]
    wanted = wi[4 * n + 2 : 6 * n + 3]
    active = wi[6 * n + 3 : 7 * n + 3]
    perm = wi[7 * n + 3 : 8 * n + 3]
    tied = wi[8 * n + 3 : 9 * n + 3]

    spent = 0
    if info[STAGE] == START:
        info[PIVOTS] = 0
        info[WARM] = 0
        info[RESTART] = 0
        info[REBUILDS] = 0
        best_scaled[0] = np.inf
        for i in range(n):
            z[i] = 0.0
            best_z[i] = 0.0
        least = 0.0
        for i in range(n):
            least = min(least, q[i])
        if least >= 0.0:
            return SOLVED
        equilibrate(M, row, column, 4, work)
        if has_z0:
            k = 0
            for i in range(n):
                if z0[i] > 0.0:
                    active[k] = i
                    k += 1
            if accept(M, q, row, column, active, k, A, perm, work, z, w, measures, STRICTNESS * tolerance):
                info[WARM] = 1
                return SOLVED
        begin(M, q, row, column, covered, given, cover, T, x, size, basis, nonbasis, position, entry, pivot_row, info)
        info[PATH_END] = int(path_limit(limit, 0, options[RESTARTS], n, 0))
        info[STAGE] = PIVOTING
        spent = 1

    while True:
        verdict = RUNNING
        if info[ENTERING] < 0:
            verdict = SOLVED
        elif info[PIVOTS] >= info[PATH_END]:
            verdict = ITERATION_LIMIT
        elif spent >= budget:
            return RUNNING
        if verdict == RUNNING:
            c = position[info[ENTERING]]
            threshold = pivot_threshold(options[PIVOT_TOLERANCE], info[RESTART])
            take_column(T, c, entry)
            tie = tie_threshold(options[TIE_TOLERANCE], info[RESTART])
            r = leaving_row(T, x, entry, basis, position, threshold, tie, size, work[:n], tied)
            if r >= 0:
                pivot(T, x, size, r, c, basis, nonbasis, position, entry, pivot_row, tie, info)
                spent += 1
                continue
            # A ray: believe it only from a dictionary free of accumulated rounding.
            if info[REBUILDS] <= info[RESTART]:
                info[REBUILDS] = info[RESTART] + 1
                for i in range(2 * n + 1):
                    wanted[i] = 0
                for i in range(n):
                    wanted[basis[i]] = 1
                if rebuild(M, q, cover, row, column, T, x, basis, nonbasis, wanted, entry, pivot_row):
                    index_columns(basis, nonbasis, position)
                    continue
                verdict = SINGULAR_BASIS
            else:
                verdict = RAY
        if verdict == SOLVED:
            # In index order, so that the answer depends on the basis alone and not on the way to it.
            k = 0
            for i in range(n):
                if position[n + i] < 0:
                    active[k] = i
                    k += 1
            # Rounding leaves a right basis far below the tolerance. One that only just meets it is kept, while the
            # dictionary's own values, a few steps of min-map Newton and then other paths look for the right one.
            strict = STRICTNESS * tolerance
            if accept(M, q, row, column, active, k, A, perm, work, z, w, measures, strict):
                return SOLVED
            keep_best(z, measures, best_z, best_scaled)
            for i in range(n):
                z[i] = 0.0
            for i in range(n):
                if basis[i] >= n and basis[i] < 2 * n:
                    z[basis[i] - n] = max(x[i], 0.0) * column[basis[i] - n]
            if polish(M, q, row, column, active, A, perm, work, z, w, measures, strict, best_z, best_scaled):
                return SOLVED
            verdict = STALLED
        if info[PIVOTS] >= limit or info[RESTART] >= options[RESTARTS]:
            for i in range(n):
                z[i] = best_z[i]
            lcp_residuals(M, q, z, w, measures)
            if is_solved(measures, tolerance):
                return SOLVED
            if verdict == RAY:
                ray_direction(entry, basis, info[ENTERING], row, column, wf)
            return verdict
        info[RESTART] += 1
        info[PATH_END] = int(path_limit(limit, info[RESTART], options[RESTARTS], n, info[PIVOTS]))
        begin(M, q, row, column, covered, given, cover, T, x, size, basis, nonbasis, position, entry, pivot_row, info)


@kernel
def index_columns(basis: NDArray[np.int64], nonbasis: NDArray[np.int64], position: NDArray[np.int64]) -> None:
    """position[variable] = column of a nonbasic variable, -1 for a basic one."""
    for i in range(basis.shape[0]):
        position[basis[i]] = -1
    for j in range(nonbasis.shape[0]):
        position[nonbasis[j]] = j


@kernel
def begin(
    M: NDArray[np.float64],
    q: NDArray[np.float64],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    covered: bool,
    given: NDArray[np.float64],
    cover: NDArray[np.float64],
    T: NDArray[np.float64],
    x: NDArray[np.float64],
    size: NDArray[np.float64],
    basis: NDArray[np.int64],
    nonbasis: NDArray[np.int64],
    position: NDArray[np.int64],
    entry: NDArray[np.float64],
    pivot_row: NDArray[np.float64],
    info: NDArray[np.int64],
) -> None:
    """Fill the first dictionary and bring the artificial variable into the basis."""
    n = q.shape[0]
    cover_vector(info[RESTART], covered, given, row, cover)
    first_dictionary(M, q, cover, row, column, T, x, basis, nonbasis)
    index_columns(basis, nonbasis, position)
    # Lexicographically smallest (q, I)_i / d_i: of equal ratios the last row.
    r = 0
    for i in range(1, n):
        if x[i] * cover[r] <= x[r] * cover[i]:
            r = i
    take_column(T, n, entry)
    for i in range(n):
        size[i] = abs(x[i])
    pivot(T, x, size, r, n, basis, nonbasis, position, entry, pivot_row, 0.0, info)


@kernel
def pivot(
    T: NDArray[np.float64],
    x: NDArray[np.float64],
    size: NDArray[np.float64],
    r: int,
    c: int,
    basis: NDArray[np.int64],
    nonbasis: NDArray[np.int64],
    position: NDArray[np.int64],
    entry: NDArray[np.float64],
    pivot_row: NDArray[np.float64],
    tie_tolerance: float,
    info: NDArray[np.int64],
) -> None:
    """Exchange row r and column c, set to zero what is zero but for rounding, name the next entering variable.

    ``size`` carries, row by row, the largest magnitude that has gone into x_i: the rounding in x_i is a multiple of
    it. One scale for all rows would take small forces for rounding beside large ones.
    """
    n = x.shape[0]
    step = abs(x[r] / entry[r])
    exchange(T, x, r, c, entry, pivot_row)
    for i in range(n):
        s = max(max(size[i], abs(x[i])), abs(entry[i]) * step)
        size[i] = s
        x[i] = 0.0 if abs(x[i]) <= tie_tolerance * s else x[i]
    size[r] = step
    leaving = basis[r]
    entering = nonbasis[c]
    basis[r] = entering
    nonbasis[c] = leaving
    position[entering] = -1
    position[leaving] = c
    info[PIVOTS] += 1
    if leaving == 2 * n:
        info[ENTERING] = -1
    elif leaving >= n:
        info[ENTERING] = leaving - n
    else:
        info[ENTERING] = leaving + n


@kernel
def ray_direction(
    entry: NDArray[np.float64],
    basis: NDArray[np.int64],
    entering: int,
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    wf: NDArray[np.float64],
) -> None:
    """Write the secondary ray (w, z, t), in the problem's own units, over the head of the workspace."""
    n = row.shape[0]
    direction = wf[wf.shape[0] - 2 * n - 1 :]
    for i in range(2 * n + 1):
        direction[i] = 0.0
    direction[entering] = 1.0
    for i in range(n):
        direction[basis[i]] = entry[i]
    for i in range(n):
        wf[i] = direction[i] / row[i]
        wf[n + i] = direction[n + i] * column[i]
    wf[2 * n] = direction[2 * n]


@kernel
def artificial_value(wf: NDArray[np.float64], wi: NDArray[np.int64], n: int) -> float:
    """Present value of the artificial variable, for traces."""
    for i in range(n):
        if wi[i] == 2 * n:
            return wf[values_place(n) + i]
    return 0.0


@kernel
def lemke(
    M: NDArray[np.float64],
    q: NDArray[np.float64],
    z0: NDArray[np.float64],
    has_z0: bool,
    options: NDArray[np.float64],
    wf: NDArray[np.float64],
    wi: NDArray[np.int64],
    z: NDArray[np.float64],
    info: NDArray[np.int64],
) -> int:
    """Solve LCP(M, q) to the end; see `lemke_drive`. Returns a code of `lcp.kernels.codes`."""
    info[STAGE] = START
    return lemke_drive(M, q, z0, has_z0, options, wf, wi, z, info, 1 << 60)
