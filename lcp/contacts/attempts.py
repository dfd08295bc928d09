"""The attempts at an island's contact forces, by name: what each is for, and when it is made.

The kernels are walked by `lcp.contacts.kernels.attempts.walk`, in this order; what each is worth is measured
in `docs/attempts.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import lcp


@dataclass(frozen=True)
class Attempt:
    """One way to the forces of an island.

    Parameters
    ----------
    name
        As records and ``attempts=`` have it.
    condition
        When it is made, the ones before it having failed.
    good_for
        Which islands it is for.
    reference
        Where the method stands.
    """

    name: str
    condition: str
    good_for: str
    reference: str


#: All attempts, in the order in which they are made.
ATTEMPTS: tuple[Attempt, ...] = (
    Attempt(
        "held",
        "nothing approaches, or there are forces of the step before; once more before any forces are looked for",
        "forces that solve the problem still, or nearly: single contacts, bodies at rest, jams, solvers that are named",
        "Rockafellar 1976 (proximal points)",
    ),
    Attempt(
        "modes",
        "there are forces of the step before",
        "islands whose contacts hardly changed what they do",
        "Hintermueller, Ito and Kunisch 2002 (primal-dual active set)",
    ),
    Attempt(
        "sweeps",
        "there are forces of the step before, or more than 64 contacts",
        "contacts that are new, or open, or begin to slide",
        "Jourdan, Alart and Jean 1998 (block Gauss-Seidel)",
    ),
    Attempt(
        "branch",
        "at most 64 contacts, or rows of joints, or exact cones",
        "small islands from nothing",
        "Katzenelson 1965; Fujisawa and Kuh 1972 (lines over pieces)",
    ),
    Attempt(
        "closer",
        "the end of the branch is known, and its forces do not solve the rigid problem",
        "gaps of one body that contradict one another",
        "Alart and Curnier 1991 (augmented Lagrangian, Newton)",
    ),
    Attempt(
        "path",
        "contacts alone",
        "many contacts in impact, where the active set goes round in circles; with exact cones any forces",
        "Mehrotra 1992 (interior point)",
    ),
    Attempt(
        "shifts",
        "nothing before has led anywhere",
        "where the branch turns back for good, or gaps contradict one another: any forces that solve the problem",
        "De Saxce and Feng 1998; Acary, Cadoux, Lemarechal and Malick 2011",
    ),
    Attempt(
        "points",
        "contacts of polygons, forces are at hand that come near",
        "gaps that contradict one another, jams: from forces that come near to ones that hold",
        "Rockafellar 1976; Katzenelson 1965; Lemke 1965",
    ),
)
#: Their names.
NAMES: tuple[str, ...] = tuple(attempt.name for attempt in ATTEMPTS)


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
