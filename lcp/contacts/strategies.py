"""The strategies for an island's contact forces, by name; `docs/contact_solver.md` describes them.

The kernels are in `lcp.contacts.kernels.strategy_loop`.
"""

from __future__ import annotations

from collections.abc import Iterable

import lcp

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
    lcp.ProblemError
        Naming one that does not exist.
    """
    bits = 0
    for name in names:
        if name not in STRATEGY_NAMES:
            raise lcp.ProblemError(f"no strategy is called {name!r}: there are {', '.join(STRATEGY_NAMES)}")
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
