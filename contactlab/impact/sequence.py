"""Impacts of several contacts taken one after the other: always the one that approaches fastest.

Each collision is solved as if the other contacts were not there; it may set them, or itself, approaching again. The
sequence ends when nothing approaches. Which of several simultaneous contacts goes first can matter, and is part of the
law: the fastest, among equals the lowest number (Han and Gilmore 1993).
"""

from __future__ import annotations

import numpy as np

from contactlab.impact.collision import ImpactProblem
from contactlab.impact.impulse_path import Stopped
from contactlab.impact.outcome import ImpactOutcome, ImpactStatus, outcome
from contactlab.impact.restitution import Restitution, coefficients
from contactlab.impact.single import Ending, SingleImpact, single_impact

# Speed of approach below this part of the first one counts as rest: a ball between two others comes to rest only in
# infinitely many collisions.
_REST = 1e-13


def solve_in_sequence(
    problem: ImpactProblem, restitution: Restitution, ending: Ending, max_collisions: int
) -> ImpactOutcome:
    """Outcome of collision after collision, each up to its ``ending``, until no contact and no limit approaches."""
    b = problem.blocks
    collisions = problem.collisions
    v = problem.v_minus.copy()
    f = np.zeros(b.nc + b.nr + b.nl)
    work = np.zeros((2, b.nc + b.nl))
    # Checked before the first collision, and for laws of the speed with the speeds there are.
    approach = np.array([max(0.0, -float(c.velocity(v)[0])) for c in collisions])
    coefficients(restitution, approach[: b.nc])
    rest = _REST * float(approach.max(initial=0.0))
    done: list[SingleImpact] = []
    status, message = ImpactStatus.SOLVED, ""
    while collisions:
        speeds = np.array([float(c.velocity(v)[0]) for c in collisions])
        fastest = int(np.argmin(speeds))
        if speeds[fastest] >= -rest:
            break
        if len(done) >= max_collisions:
            status = ImpactStatus.SEQUENCE_LIMIT
            message = f"contact {fastest} still approaches at {-speeds[fastest]:.3g} m/s after {max_collisions}"
            break
        collision = collisions[fastest]
        e = coefficients(restitution, -np.minimum(0.0, speeds[: b.nc]))[fastest] if fastest < b.nc else 0.0
        try:
            single = single_impact(collision, collision.velocity(v), float(e), ending)
        except Stopped as error:
            status, message = ImpactStatus.JAMMED, f"contact {fastest}: {error}"
            break
        done.append(single)
        f += problem.rows_of(collision, single.impulse)
        work[:, fastest] += single.work_normal, single.work_tangential
        v = v + single.impulse @ collision.Y
    return outcome(
        problem,
        f,
        status=status,
        work=(work[0, : b.nc], work[1, : b.nc]),
        sequence=tuple(done),
        message=message,
    )
