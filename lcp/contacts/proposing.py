"""The attempts at an island's forces called from Python: memory for them, and one after the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lcp.hearing import processor_seconds

if TYPE_CHECKING:
    from lcp.contacts.kernels.judging import Answer, Case


class Proposed(NamedTuple):
    """What the attempts came to."""

    answer: Answer
    attempt: int  # that answered, see `lcp.contacts.kernels.attempts`
    outcome: int
    systems: int  # that were solved


def propose_forces(case: Case, deadline: float = math.inf) -> Proposed:
    """Make the attempts of a case: those that most islands need, then the later ones.

    These are not begun when the processor's seconds have come to the ``deadline``.
    """
    from lcp.contacts.kernels.attempts import (
        NONE,
        UNFINISHED,
        propose,
        propose_later,
        propose_nearer,
    )
    from lcp.contacts.kernels.certify import CERT_SIZE
    from lcp.contacts.kernels.certify_boxed import BOXED_CERT_SIZE
    from lcp.contacts.kernels.judging import NEAREST, STATE, Answer
    from lcp.contacts.kernels.search import search_ints
    from lcp.contacts.kernels.ways import attempt_floats
    from lcp.kernels.residuals import SIZE

    rows = case.rows
    n, nv, joined = case.z0.shape[0], rows.v_free.shape[0], rows.nl + rows.lo.shape[0]
    wf = np.zeros(int(attempt_floats(rows.nc, rows.r.shape[0], rows.nr, joined, nv)))
    wi = np.zeros(int(search_ints(rows.r.shape[0], rows.nc + rows.nr + joined, case.starts.size - 1)), dtype=np.int64)
    answer = Answer(
        q=np.zeros(n),
        z=np.zeros(n),
        w=np.zeros(n),
        f=np.zeros(rows.nc + rows.nr + joined),
        v_plus=np.zeros(nv),
        measures=np.zeros(SIZE),
        certificate=np.zeros(CERT_SIZE + BOXED_CERT_SIZE),
        u=np.zeros(nv + 1),
        best=np.zeros(n),
        state=np.zeros(STATE),
    )
    found = propose(case, answer, wf, wi)
    systems = found.systems
    if found.outcome == UNFINISHED:
        found = propose_nearer(case, answer, wf, wi)
        systems += found.systems
    unsolved = found.attempt == NONE and case.selected and answer.state[NEAREST] >= 0.0
    if unsolved and processor_seconds() < deadline:
        found = propose_later(case, answer, wf, wi)
        systems += found.systems
    return Proposed(answer, found.attempt, found.outcome, systems)
