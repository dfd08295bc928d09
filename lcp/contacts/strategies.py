"""The strategies for an island's contact forces, by name; `docs/contact_solver.md` describes them.

The kernels are in `lcp.contacts.kernels.strategy_loop`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.interruptible import cpu_seconds
from lcp.status import ProblemError

if TYPE_CHECKING:
    from lcp.contacts.kernels.island_acceptance import IslandProblem, IslandSolution

#: The names of the strategies, in the order in which they are used.
STRATEGY_NAMES: tuple[str, ...] = ("reuse", "active_set", "interior_point", "proximal_point", "rest")
#: The names by the codes of records; names of removed strategies are for old records.
RECORDED: tuple[str, ...] = (
    "reuse", "active_set", "sweeps", "branch", "closer", "path", "shifts", "proximal_point", "interior_point",
    "rest",
)  # fmt: skip


def strategy_mask(names: Iterable[str]) -> int:
    """Return the bit mask of these strategies, as kernels need it.

    Raises
    ------
    ProblemError
        Naming one that does not exist.
    """
    bits = 0
    for name in names:
        if name not in STRATEGY_NAMES:
            raise ProblemError(f"no strategy is called {name!r}: there are {', '.join(STRATEGY_NAMES)}")
        bits |= 1 << RECORDED.index(name)
    return bits


def strategies_of(attempts: Iterable[str]) -> tuple[str, ...]:
    """Return the names of today's strategies for the attempts of an old record."""
    of = {
        "held": "reuse", "modes": "active_set", "sweeps": "active_set", "branch": "active_set",
        "points": "proximal_point",
    }  # fmt: skip
    found = {of.get(name, name if name in STRATEGY_NAMES else "interior_point") for name in attempts}
    return tuple(name for name in STRATEGY_NAMES if name in found)


Indices = NDArray[np.int64]


class IslandResult(NamedTuple):
    """Result of the strategies for one island."""

    answer: IslandSolution
    attempt: int  # code of the accepted strategy, see `lcp.contacts.kernels.strategy_loop`
    outcome: int
    systems: int  # linear systems solved


def solve_island(case: IslandProblem, deadline: float = math.inf) -> IslandResult:
    """Run the strategies for an island: first the usual ones, then the fallback strategies.

    The fallback strategies are not started after the ``deadline``, in CPU seconds.
    """
    from lcp.contacts.kernels.certify import BOXED_CERT_SIZE, CERT_SIZE
    from lcp.contacts.kernels.island_acceptance import BEST_RESIDUAL, STATE, IslandSolution
    from lcp.contacts.kernels.solver_state import state_int_size
    from lcp.contacts.kernels.strategies import workspace_float_size
    from lcp.contacts.kernels.strategy_loop import (
        NEEDS_SWEEPS,
        NO_STRATEGY,
        solve_fallback,
        solve_first,
        solve_from_sweeps,
    )
    from lcp.kernels.residuals import SIZE

    rows = case.rows
    n, nv, joined = case.z0.shape[0], rows.v_free.shape[0], rows.nl + rows.lo.shape[0]
    wf = np.zeros(int(workspace_float_size(rows.nc, rows.r.shape[0], rows.nr, joined, nv)))
    wi = np.zeros(
        int(state_int_size(rows.r.shape[0], rows.nc + rows.nr + joined, case.tree_starts.size - 1)), dtype=np.int64
    )
    answer = IslandSolution(
        q=np.zeros(n),
        z=np.zeros(n),
        w=np.zeros(n),
        f=np.zeros(rows.nc + rows.nr + joined),
        v_plus=np.zeros(nv),
        residuals=np.zeros(SIZE),
        certificate=np.zeros(CERT_SIZE + BOXED_CERT_SIZE),
        certificate_work=np.zeros(nv + 1),
        best_z=np.zeros(n),
        state=np.zeros(STATE),
    )
    found = solve_first(case, answer, wf, wi)
    systems = found.systems
    if found.outcome == NEEDS_SWEEPS:
        found = solve_from_sweeps(case, answer, wf, wi)
        systems += found.systems
    unsolved = found.attempt == NO_STRATEGY and case.equal_compliance and answer.state[BEST_RESIDUAL] >= 0.0
    if unsolved and cpu_seconds() < deadline:
        found = solve_fallback(case, answer, wf, wi)
        systems += found.systems
    return IslandResult(answer, found.attempt, found.outcome, systems)


def contact_column_ranges(starts: Indices, nc: int, contact: Indices, column: Indices) -> Indices | None:
    """Return the columns (nc, 4) of each contact's rows, see `lcp.contacts.kernels.contact_system`.

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
