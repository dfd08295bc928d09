"""Lemke's method and the verdict on its result in one call: for one small LCP, and for many, one after another."""

from __future__ import annotations

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import RUNNING, Floats, kernel
from lcp.kernels.backward_error import BACKWARD_ERROR, WORK, fill_measures, verdict
from lcp.kernels.lemke import (
    INFO_SIZE,
    PIVOTS,
    RESTART,
    STAGE,
    START,
    TOLERANCE,
    WARM,
    WARM_PIVOTS,
    WHOLE,
    last_judged,
    lemke_drive,
    lemke_float_size,
    lemke_int_size,
)
from lcp.kernels.residuals import residuals_of

# Indices after z and w in an answer: the measures of `lcp.Residuals`, then the account of the pivots. CLAIMED is the
# code before the verdict.
CODE, ALL_PIVOTS, USED_START, RESTARTS, IN_VAIN, CLAIMED, ANSWER_SIZE = range(BACKWARD_ERROR + 1, BACKWARD_ERROR + 8)


@kernel(inline=True)
def judged_size(n: int) -> int:
    """Return the length of the workspace, including integers."""
    return lemke_float_size(n) + WORK * n + lemke_int_size(n) + INFO_SIZE


@kernel
def lemke_judged(
    M: Floats,
    q: Floats,
    z0: Floats,
    has_z0: bool,
    options: Floats,
    work: Floats,
    answer: Floats,
    begins: bool,
    budget: int,
) -> int:
    """Solve LCP(M, q) and measure the result on its data; on `RUNNING` call again with ``begins`` False.

    ``answer`` (2 n + `ANSWER_SIZE`) is z, w, the measures and the account; ``work`` has length `judged_size` and begins
    with the workspace of `lemke_drive`.
    """
    # Views of the workspace.
    n = q.shape[0]
    floats = lemke_float_size(n)
    ints = lemke_int_size(n)
    whole = view_1d(work, floats + WORK * n, ints + INFO_SIZE).view(np.int64)
    info = view_1d(whole, ints, INFO_SIZE)
    z, w = view_1d(answer, 0, n), view_1d(answer, n, n)
    account = view_1d(answer, 2 * n, ANSWER_SIZE)
    # Pivot.
    if begins:
        info[STAGE] = START
    code = lemke_drive(M, q, z0, has_z0, options, view_1d(work, 0, floats), view_1d(whole, 0, ints), z, info, budget)
    account[ALL_PIVOTS] = info[PIVOTS]
    if code == RUNNING:
        return code
    # The backward error depends only on data and z: it is already known for the z for which it was last computed.
    last = last_judged(work, n)
    known = info[STAGE] != START
    for i in range(n):
        known = known and z[i] == last[i]
    # Measures.
    if known:
        for i in range(n):
            w[i] = last[n + i]
        residuals_of(M, q, z, w, account, True, view_1d(last, 2 * n + 1, n))
        account[BACKWARD_ERROR] = last[2 * n]
    else:
        fill_measures(M, q, view_1d(work, 0, 0), z, w, account, view_1d(work, floats, WORK * n))
    # The account of the solve.
    account[CLAIMED] = code
    code = verdict(code, account, options[TOLERANCE])
    account[CODE] = code
    account[USED_START] = info[WARM]
    account[RESTARTS] = info[RESTART]
    account[IN_VAIN] = info[WARM_PIVOTS]
    return code


@kernel
def lemke_batch(
    M: Floats,
    q: Floats,
    z0: Floats,
    has_z0: bool,
    options: Floats,
    start: int,
    stop: int,
    work: Floats,
    answers: Floats,
) -> None:
    """Solve problems ``start`` to ``stop`` of M (B or 1, n, n), q (B, n); each row of ``answers`` is one answer.

    ``work`` and rows of ``answers`` are as for `lemke_judged`.
    """
    for b in range(start, stop):
        matrix = M[0] if M.shape[0] == 1 else M[b]
        lemke_judged(matrix, q[b], z0[b] if has_z0 else q[b], has_z0, options, work, answers[b], True, WHOLE)
