"""The attempts at an island's contact forces, by name; `docs/attempts.md` says when each is made and what for.

The kernels are walked by `lcp.contacts.kernels.attempts.walk`, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable

import lcp

#: The names of all attempts, in the order in which they are made.
NAMES: tuple[str, ...] = ("held", "modes", "sweeps", "branch", "closer", "path", "shifts", "points")


def bits_of(names: Iterable[str]) -> int:
    """Return the attempts of these names as the kernels take them.

    Raises
    ------
    lcp.ProblemError
        Naming one that does not exist.
    """
    bits = 0
    for name in names:
        if name not in NAMES:
            raise lcp.ProblemError(f"no attempt is called {name!r}: there are {', '.join(NAMES)}")
        bits |= 1 << NAMES.index(name)
    return bits
