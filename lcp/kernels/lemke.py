"""Lemke's complementary pivoting on a condensed, equilibrated tableau.

Lemke (1965); Cottle, Pang and Stone (1992), algorithm 4.4.5. The augmented system w = q + M z + d t starts at large t.
t is reduced along the almost complementary path until it leaves (a solution) or the path ends in a ray. Every claim is
checked on the original data before it is returned. The final basis is solved again, refined once, and measured by the
backward error or by the rule of a step. A ray is accepted only after the dictionary has been formed again.

The ratio test has a tolerance for ties and the lexicographic rule. In contact problems degenerate dictionaries are
normal, because every slack of a friction cone starts at zero. A wrong choice among ties ends in a cycle or in a false
ray. Cottle, Pang and Stone (1992), section 4.9: of the tied rows take the lexicographically smallest of (rhs, B^-1)_i /
|T_ic|. The columns of B^-1 of basic slacks are unit vectors; the others are in the dictionary, with the opposite sign,
as columns of the nonbasic slacks.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import ITERATION_LIMIT, PORTION, RAY, RUNNING, SINGULAR_BASIS, SOLVED, STALLED, Floats, Ints, kernel
from lcp.kernels.basis_solve import solve_active
from lcp.kernels.equilibrate import balance, equilibrate, equilibrate_more, largest_of
from lcp.kernels.final_basis import (
    STRICTNESS,
    accept,
    final_basis,
    final_floats,
    forget_best,
    keep_best,
    meets,
    passes,
    polish,
    take_best,
)
from lcp.kernels.lemke_exchanges import in_eights
from lcp.kernels.lemke_starts import (
    balanced,
    cold_start,
    path_limit,
    pivot_threshold,
    rebuild,
    tie_threshold,
    warm_start,
)
from lcp.kernels.lemke_tableau import (
    MOST_PENDING,
    PENDING,
    WHOLE_KEPT,
    Tableau,
    entering_column,
    exchange,
    stored_column,
    tableau,
    tableau_floats,
    tableau_ints,
    update_columns,
)
from lcp.kernels.reductions import largest_size, least_of

# Indices in the vector of options. FREE_OF_UNITS: decided by the backward error, with every digit of q; otherwise by
# the rule of a step.
MAX_PIVOTS, PIVOT_TOLERANCE, TIE_TOLERANCE, TOLERANCE, RESTARTS, COVERED, FREE_OF_UNITS = range(7)
OPTIONS_SIZE: Final = 8

# Indices in the vector of information.
PIVOTS, WARM, RESTART, REBUILDS, STAGE, ENTERING, PATH_END, WARM_PIVOTS, INFO_SIZE = range(9)

# A budget that is never exhausted.
WHOLE: Final = 1 << 60

# Values of info[WARM]: start not used; its basis solved; pivots from its basis solved.
WARM_BASIS: Final = 1
WARM_PATH: Final = 2

# Stages of the resumable loop, stored in info[STAGE].
START: Final = 0
PIVOTING: Final = 1


@kernel(inline=True)
def pivots_at_once(n: int, most: int) -> int:
    """Return the pivots, each of up to n^2 multiply-adds, of one portion; ``most`` for small problems."""
    return max(1, min(most, PORTION // max(1, n * n)))


@kernel(inline=True)
def lemke_float_size(n: int) -> int:
    """Return the length of the float workspace."""
    return tableau_floats(n) + n + final_floats(n) + n


@kernel(inline=True)
def last_judged(wf: Floats, n: int) -> Floats:
    """Return the z of the last backward error, its w = M z + q, the error, and the largest entries of rows of M."""
    return view_1d(wf, tableau_floats(n) + n, 3 * n + 1)


@kernel(inline=True)
def lemke_int_size(n: int) -> int:
    """Return the length of the integer workspace."""
    return tableau_ints(n) + 3 * n + 1


@kernel
def lemke_drive(
    M: Floats,
    q: Floats,
    z0: Floats,
    has_z0: bool,
    options: Floats,
    wf: Floats,
    wi: Ints,
    z: Floats,
    info: Ints,
    budget: int,
) -> int:
    """Make at most ``budget`` pivots; on `RUNNING` call again with everything unchanged.

    If the budget is less than `WHOLE`, it also returns within an update of the whole tableau. The first call has
    ``info[STAGE] == START``. On `RAY`, wf[:2 n + 1] has the direction (w, z, t) of the ray.
    """
    # First call: nothing to do if q >= 0.
    n = q.shape[0]
    if info[STAGE] == START:
        info[PIVOTS] = 0
        info[WARM] = 0
        info[RESTART] = 0
        info[REBUILDS] = 0
        info[WARM_PIVOTS] = 0
        least = 0.0
        for i in range(n):
            z[i] = 0.0
            least = min(least, q[i])
        if least >= 0.0:
            return SOLVED
    # Views of the workspaces, and options.
    t = tableau(wf, wi, n)
    tolerance = options[TOLERANCE]
    # With rounding a right basis is far below the tolerance.
    strict = STRICTNESS * tolerance
    at = tableau_floats(n)
    end = final_basis(
        M, q, t.row, t.column, t.active, t.A, t.perm, z, view_1d(wf, at, n), view_1d(wf, at + n, final_floats(n)),
        options[FREE_OF_UNITS] != 0.0,
    )  # fmt: skip
    # The given covering vector, stored at the end so that callers need not know the layout.
    given = view_1d(wf, wf.shape[0] - n, n)
    at = tableau_ints(n)
    tied = view_1d(wi, at, n)
    wanted = view_1d(wi, at + n, 2 * n + 1)
    active = t.active
    covered = options[COVERED] != 0.0
    limit = options[MAX_PIVOTS]
    if np.isnan(limit):
        limit = max(1000, 50 * n)
    limit += info[WARM_PIVOTS]

    # First call: scales, the basis of the start, and the first path.
    spent = 0
    fresh = False
    r = -1
    if info[STAGE] == START:
        forget_best(end)
        largest_of(M, end.work)
        for i in range(n):
            end.judged[2 * n + 1 + i] = end.work[i]
        equilibrate_more(M, t.row, t.column, 4, end.work)
        if has_z0:
            k = 0
            for i in range(n):
                if z0[i] > 0.0:
                    active[k] = i
                    k += 1
            regular = solve_active(M, q, t.row, t.column, active, k, t.A, t.perm, end.work, z)
            if regular and passes(end, strict):
                info[WARM] = WARM_BASIS
                return SOLVED
            if k > 0:
                r = warm_start(t, M, q, z0, wanted, k, regular)
                info[RESTART] = -1
                info[ENTERING] = 2 * n
                info[PATH_END] = min(limit, max(16, k))
                fresh = r >= 0
        info[STAGE] = PIVOTING
        if not fresh:
            r = cold_start(t, M, q, 0, covered, given)
            info[RESTART] = 0
            info[ENTERING] = 2 * n
            info[PATH_END] = int(path_limit(limit, 0, options[RESTARTS], n, 0))
            fresh = True

    while True:
        # The path has ended, is at a limit, or continues with plain pivots.
        verdict = RUNNING
        if fresh:
            pivot(t, r, 0.0, info)
            spent += 1
            fresh = False
        if info[ENTERING] < 0:
            verdict = SOLVED
        elif info[PIVOTS] >= info[PATH_END]:
            verdict = ITERATION_LIMIT
        elif spent >= budget:
            return RUNNING
        elif t.counts[WHOLE_KEPT] == 1:
            made = follow(t, M, options, info, tied, budget - spent)
            spent += made
            if made > 0:
                continue
        # The next pivot.
        if verdict == RUNNING:
            pending = t.counts[PENDING]
            # In portions, unlike the update in `entering_column`.
            late = pending >= t.counts[MOST_PENDING] and budget < WHOLE
            if late and not update_columns(t, M, PORTION // (n * pending)):
                return RUNNING
            entering_column(t, M, info[ENTERING])
            threshold = pivot_threshold(options[PIVOT_TOLERANCE], info[RESTART])
            tie = tie_threshold(options[TIE_TOLERANCE], info[RESTART])
            r = leaving_row(t, M, threshold, tie, tied)
            if r >= 0:
                pivot(t, r, tie, info)
                spent += 1
                continue
            # A ray is accepted only from a dictionary without accumulated rounding.
            if info[REBUILDS] <= info[RESTART]:
                info[REBUILDS] = info[RESTART] + 1
                if rebuild(t, M, q, wanted):
                    continue
                verdict = SINGULAR_BASIS
            else:
                verdict = RAY
        # The final basis, solved from the data.
        if verdict == SOLVED:
            # In index order, so that the result depends only on the basis, not on the path to it.
            k = 0
            for i in range(n):
                if t.position[n + i] < 0:
                    active[k] = i
                    k += 1
            # A basis that barely meets the tolerance is stored, while the values of the dictionary, a few steps of
            # min-map Newton and then other paths search for the right one.
            right = accept(end, k, strict)
            if not right:
                keep_best(end)
                for i in range(n):
                    z[i] = 0.0
                for i in range(n):
                    if t.basis[i] >= n and t.basis[i] < 2 * n:
                        z[t.basis[i] - n] = max(t.x[i], 0.0) * t.column[t.basis[i] - n]
                right = polish(end, strict)
            if right:
                if info[RESTART] < 0:
                    info[WARM] = WARM_PATH
                    info[RESTART] = 0
                return SOLVED
            verdict = STALLED
        # No path is left: take the best candidate.
        if info[RESTART] >= 0 and (info[PIVOTS] >= limit or info[RESTART] >= options[RESTARTS]):
            take_best(end)
            if meets(end, tolerance):
                return SOLVED
            if verdict == RAY:
                ray_direction(t, info[ENTERING], wf)
            return verdict
        if info[RESTART] < 0:
            # The cold path keeps the whole limit: a start can cost pivots, but never a solution.
            info[WARM_PIVOTS] = info[PIVOTS]
            limit += info[PIVOTS]
        # The next path.
        info[RESTART] += 1
        if balanced(info[RESTART]):
            balance(M, t.row, t.column, end.work)
        elif info[RESTART] > 0 and balanced(info[RESTART] - 1):
            equilibrate(M, t.row, t.column, 4, end.work)
        info[PATH_END] = int(path_limit(limit, info[RESTART], options[RESTARTS], n, info[PIVOTS]))
        r = cold_start(t, M, q, info[RESTART], covered, given)
        info[ENTERING] = 2 * n
        fresh = True


@kernel(inline=True)
def pivot(t: Tableau, r: int, tie_tolerance: float, info: Ints) -> None:
    """Pivot on row r: set rounding to zero, and choose the next entering variable.

    ``size`` has, for each row, the largest magnitude that was added to x_i: the rounding in x_i is a multiple of it.
    With one scale for all rows small forces would count as rounding of large ones.
    """
    # Views of whole vectors of eight.
    n = t.basis.shape[0]
    width = in_eights(n)
    x = view_1d(t.x, 0, width)
    entry = view_1d(t.entry, 0, width)
    size = view_1d(t.size, 0, width)
    # Move the basic values.
    step = -x[r] / entry[r]
    length = abs(step)
    for i in range(x.shape[0]):
        value = x[i] + entry[i] * step
        s = max(max(size[i], abs(value)), abs(entry[i]) * length)
        size[i] = s
        x[i] = 0.0 if abs(value) <= tie_tolerance * s else value
    # The entering variable takes the row.
    x[r] = step
    size[r] = length
    # The complement of the leaving variable enters next.
    leaving = exchange(t, r, info[ENTERING])
    info[PIVOTS] += 1
    if leaving == 2 * n:
        info[ENTERING] = -1
    elif leaving >= n:
        info[ENTERING] = leaving - n
    else:
        info[ENTERING] = leaving + n


@kernel(inner=True, long_loops=True)
def follow(t: Tableau, M: Floats, options: Floats, info: Ints, tied: Ints, most: int) -> int:
    """Make at most ``most`` pivots; return the number made.

    It is smaller if the path has ended or has reached its limit, or if no row blocks, which may be a ray.
    """
    # Thresholds of this path.
    threshold = pivot_threshold(options[PIVOT_TOLERANCE], info[RESTART])
    tie = tie_threshold(options[TIE_TOLERANCE], info[RESTART])
    # Pivots.
    made = 0
    while info[ENTERING] >= 0 and info[PIVOTS] < info[PATH_END] and made < most:
        entering_column(t, M, info[ENTERING])
        r = leaving_row(t, M, threshold, tie, tied)
        if r < 0:
            break
        pivot(t, r, tie, info)
        made += 1
    return made


@kernel(inner=True)
def ray_direction(t: Tableau, entering: int, wf: Floats) -> None:
    """Write the secondary ray (w, z, t), in the units of the problem, to the start of the workspace."""
    # The direction in units of the tableau, after the basic values.
    n = t.basis.shape[0]
    direction = wf[wf.shape[0] - 2 * n - 1 :]
    for i in range(2 * n + 1):
        direction[i] = 0.0
    direction[entering] = 1.0
    for i in range(n):
        direction[t.basis[i]] = t.entry[i]
    # Units of the problem.
    for i in range(n):
        direction[i] /= t.row[i]
        direction[n + i] *= t.column[i]
    # Move it to the start.
    for i in range(2 * n + 1):
        wf[i] = direction[i]


@kernel(inline=True)
def leaving_row(t: Tableau, M: Floats, pivot_tolerance: float, tie_tolerance: float, tied: Ints) -> int:
    """Return the row that blocks the entering variable, with column ``entry``; -1 if no row does (a ray).

    ``pivot_tolerance`` is relative to the largest entry of the column, ``tie_tolerance`` to ``size``, the magnitudes of
    the terms of each right-hand side. ``tied`` (n,) is scratch.
    """
    # Views of whole vectors of eight.
    width = in_eights(t.basis.shape[0])
    x = view_1d(t.x, 0, width)
    column = view_1d(t.entry, 0, width)
    ratio = view_1d(t.ratio, 0, width)
    size = view_1d(t.size, 0, width)
    floor = -pivot_tolerance * largest_size(column)
    # Without branches: the signs of a column are nearly random, and a mispredicted branch costs more than a division.
    for i in range(width):
        ratio[i] = max(x[i], 0.0) / -column[i] if column[i] < floor else np.inf
    step = least_of(ratio)
    if step == np.inf:
        return -1
    # A row is tied if its variable, after the step, is zero to within its rounding.
    count = 0
    row = 0
    for i in range(width):
        rest = x[i] + step * column[i] - tie_tolerance * max(size[i], -column[i] * step)
        hit = 1 if rest <= 0.0 and column[i] < floor else 0
        count += hit
        row += hit * i
    if count == 1:
        return row
    return lexicographic_row(t, M, step, floor, tie_tolerance, tied)


@kernel(inner=True)
def lexicographic_row(t: Tableau, M: Floats, step: float, floor: float, tie_tolerance: float, tied: Ints) -> int:
    """Return the leaving row among the rows that tie with the least ``step``: the lexicographic minimum.

    The artificial variable leaves first. ``floor`` (negative) bounds admissible pivots; ``tied`` (n,) is scratch.
    """
    # The tied rows.
    column = t.entry
    n = t.basis.shape[0]
    count = 0
    for i in range(n):
        rest = t.x[i] + step * column[i] - tie_tolerance * max(t.size[i], -column[i] * step)
        if rest <= 0.0 and column[i] < floor:
            if t.basis[i] == 2 * n:
                return i
            tied[count] = i
            count += 1
    if count == 0:
        # Near the ends of double precision rounding can leave no row; use the row of the step.
        while t.ratio[count] != step:
            count += 1
        return count
    # Compare columns of the basis inverse until one row is left.
    k = 0
    while count > 1 and k < n:
        c = t.position[k]
        if c >= 0:
            stored_column(t, M, c)
        least = np.inf
        biggest = 0.0
        for s in range(count):
            value = inverse_entry(t, tied[s], k, c)
            least = min(least, value)
            biggest = max(biggest, abs(value))
        kept = 0
        for s in range(count):
            i = tied[s]
            if inverse_entry(t, i, k, c) - least <= tie_tolerance * biggest:
                tied[kept] = i
                kept += 1
        count = kept
        k += 1
    # Ties that remain after all columns come only from rounding: the largest pivot is the safest of them.
    best = tied[0]
    for s in range(1, count):
        if column[tied[s]] < column[best]:
            best = tied[s]
    return best


@kernel(inline=True)
def inverse_entry(t: Tableau, i: int, k: int, c: int) -> float:
    """Return entry (i, k) of the basis inverse over the size of row i's pivot; c is the column of slack k, or -1."""
    if c >= 0:
        return t.T[c, i] / t.entry[i]
    return -1.0 / t.entry[i] if t.basis[i] == k else 0.0
