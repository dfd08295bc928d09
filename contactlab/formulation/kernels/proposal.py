"""An answer to a step's contact problem without a solver: the previous forces, or forces for the modes they show.

Between two steps most contacts go on as they were. So the forces of the previous step are tried as they are, and where
they do not fit any more, forces for given modes of the contacts (open, sticking, sliding along an edge) are computed
from velocities, the modes being chosen anew from every result (a primal-dual active set method, Alart and Curnier 1991,
Hintermueller, Ito and Kunisch 2002). What is found counts only if it meets the LCP almost to rounding, by the measures
that judge every solver; otherwise there is no proposal, and the solver is asked.

Rows are [N; F], the LCP that of `discretized_lcp` without limits and boxed rows. Neither M nor any product of two rows
of different contacts is formed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from contactlab.formulation.kernels.contact_modes import fill_turns
from contactlab.formulation.kernels.mode_choice import choose_modes, pair_rates, pair_rows, take_changes
from contactlab.formulation.kernels.mode_system import PAIRS, Pairs, factor_modes, form_modes, solve_modes
from contactlab.formulation.kernels.recover import recover
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.spans import columns, dot_within
from contactlab.multibody.kernels.views import rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel
from lcp.kernels.residuals import SCALED, is_solved, row_residuals

# Part of the tolerance that a proposal must meet: so far below it that what is left over adds up to nothing.
STRICTNESS: Final = 1e-5
# The same where contacts of one body contradict one another by the rounding of their gaps, so that no forces do better.
FLOOR: Final = 1e-2

# Most choices of modes.
MOST_CHOICES: Final = 12


@kernel
def proposal_floats(nc: int, nr: int, nv: int) -> int:
    """Length of the float workspace."""
    return 2 * PAIRS * nc * nv + nv * nv + 5 * PAIRS * nc + nv + 2 * (nc + nr) + (2 * nc + 2 * nr) + 2 * (2 * nr + 1)


@kernel
def proposal_ints(nc: int) -> int:
    """Length of the integer workspace."""
    return 2 * nc


@kernel(inner=True)
def fill_loads(rows: Rows, q: FloatArray, own: FloatArray, sizes: FloatArray) -> None:
    """Fill q of the LCP, the response of each row to its own force, and how large the entries of its LCP rows are."""
    nc = rows.nc
    nr = rows.nr
    J = rows.J
    for i in range(nc + nr):
        a, b, c, d = columns(rows.spans, i, J.shape[1])
        rate = dot_within(a, b, c, d, J[i], rows.v_free) + rows.k[i]
        response = rows.h * dot_within(a, b, c, d, J[i], rows.Y[i]) + rows.gamma[i]
        own[i] = response
        q[i] = rate
        if i < nc:
            sizes[i] = response
        else:
            q[i + nr] = -rate
            sizes[i] = max(1.0, response)
            sizes[i + nr] = sizes[i]
    for i in range(nc):
        cone = nc + 2 * nr + i
        q[cone] = 0.0
        sizes[cone] = max(rows.mu[i], rows.gammaE[i], 1.0 if rows.r[i] > 0 else 0.0)


@kernel(inner=True)
def evaluate(
    rows: Rows, own: FloatArray, z: FloatArray, f: FloatArray, v_plus: FloatArray, rate: FloatArray, w: FloatArray
) -> None:
    """Fill f, v+, the rates of the rows, lambda in z, and w from the forces in z."""
    recover(rows, z, f, v_plus)
    nc = rows.nc
    nr = rows.nr
    r = rows.r
    gamma = rows.gamma
    for i in range(nc + nr):
        a, b, c, d = columns(rows.spans, i, v_plus.shape[0])
        rate[i] = dot_within(a, b, c, d, rows.J[i], v_plus) + rows.k[i]
    first = nc
    for c in range(nc):
        w[c] = rate[c] + gamma[c] * z[c]
        last = first + r[c]
        spent = 0.0
        slack = 0.0
        for i in range(first, last):
            spent += z[i] + z[i + nr]
            slack = max(slack, -rate[i] - gamma[i] * z[i], rate[i] - gamma[i] * z[i + nr])
        left = rows.mu[c] * z[c] - spent
        cone = nc + 2 * nr + c
        # The slip speed belongs to a force on its bound; below it a slip is rounding, or no solution.
        speed = slack if r[c] == 0 or left * own[first] <= slack else 0.0
        z[cone] = speed
        w[cone] = left + rows.gammaE[c] * speed
        for i in range(first, last):
            w[i] = rate[i] + gamma[i] * z[i] + speed
            w[i + nr] = -rate[i] + gamma[i] * z[i + nr] + speed
        first = last


@kernel
def propose(
    rows: Rows,
    reach: IntArray,
    z0: FloatArray,
    tolerance: float,
    wf: FloatArray,
    wi: IntArray,
    q: FloatArray,
    z: FloatArray,
    w: FloatArray,
    f: FloatArray,
    v_plus: FloatArray,
    measures: FloatArray,
) -> int:
    """Look for a solution near z0; 0 where none is found, otherwise 1 and the number of linear systems solved for it.

    Parameters
    ----------
    rows
        The problem, [N; F] alone.
    reach
        For each column (nv,), ascending, the end of the columns with which the contacts join it or one before it.
    z0
        (n,) solution of the previous step, 0 for contacts that are new.
    tolerance
        Of the scaled residual.
    wf, wi
        Workspaces, of length `proposal_floats` and `proposal_ints`.
    q, z, w, f, v_plus, measures
        Output: the vector of the LCP; its solution, M z + q, the forces of the rows, the velocity, and the measures
        of `lcp.kernels.residuals`. All but q are of no use where nothing is found.
    """
    nc = rows.nc
    nv = v_plus.shape[0]
    m = nc + rows.nr
    n = 2 * m
    own = wf[:m]
    rate = wf[m : 2 * m]
    sizes = wf[2 * m : 2 * m + n]
    fill_loads(rows, q, own, sizes)
    for i in range(n):
        z[i] = max(z0[i], 0.0)
    evaluate(rows, own, z, f, v_plus, rate, w)
    row_residuals(q, sizes, z, w, measures)
    if is_solved(measures, STRICTNESS * tolerance):
        return 1
    # Directions of another number than the first contact's are no regular polygons of one kind.
    directions = 0
    for c in range(nc):
        if rows.r[c] > 0 and directions == 0:
            directions = rows.r[c]
        if rows.r[c] != directions:
            return 0

    at = 2 * m + n
    A = rows_at(wf, at, PAIRS * nc, nv)
    at += PAIRS * nc * nv
    C = rows_at(wf, at, PAIRS * nc, nv)
    at += PAIRS * nc * nv
    K = rows_at(wf, at, nv, nv)
    at += nv * nv
    of_pairs = rows_at(wf, at, 5, PAIRS * nc)
    at += 5 * PAIRS * nc
    x = wf[at : at + nv]
    at += nv
    turns = rows_at(wf, at, 2 * directions + 1, 2)
    mode = wi[:nc]
    pairs = Pairs(wi[nc : 2 * nc], A, C, of_pairs[0], of_pairs[1], of_pairs[2], of_pairs[3], of_pairs[4])
    if directions > 0:
        fill_turns(directions, turns)
    for c in range(nc):
        mode[c] = -1
    last = np.inf
    for solved in range(MOST_CHOICES):
        changed = choose_modes(rows, directions, turns, own, rate, z, mode)
        if changed:
            recover(rows, z, f, v_plus)
            pair_rows(rows, directions, own, mode, pairs)
            form_modes(rows, pairs, reach, K)
            if not factor_modes(K, reach):
                return 0
        pair_rates(rows, directions, mode, pairs, z, v_plus)
        solve_modes(rows, pairs, reach, K, x)
        take_changes(rows, directions, turns, mode, pairs.change, z)
        evaluate(rows, own, z, f, v_plus, rate, w)
        row_residuals(q, sizes, z, w, measures)
        if is_solved(measures, STRICTNESS * tolerance):
            return 2 + solved
        if not changed and not measures[SCALED] < 0.5 * last:
            return 2 + solved if is_solved(measures, FLOOR * tolerance) else 0
        last = measures[SCALED] if not changed else np.inf
    return 0
