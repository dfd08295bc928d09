"""Impacts of several contacts taken one after the other: always the one that approaches fastest.

Each collision is solved as if the other contacts were not there; it may set them, or itself, approaching again. The
sequence ends when nothing approaches. Which of several simultaneous contacts goes first can matter, and is part of the
law: the fastest, among equals the lowest number (Han and Gilmore 1993). Where the highest number would lead elsewhere,
the outcome says so: the order then broke a symmetry.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from contactlab.impact.collision import Collision, ImpactProblem
from contactlab.impact.impulse_path import NoSeparationError
from contactlab.impact.outcome import ImpactOutcome, ImpactStatus, outcome
from contactlab.impact.restitution import Restitution, coefficients
from contactlab.impact.single import Ending, SingleImpact, single_impact
from contactlab.spatial.arrays import FloatArray

# Speed of approach below this part of the first one counts as rest: a ball between two others comes to rest only in
# infinitely many collisions.
_REST = 1e-13
# Speeds of approach, of the fastest, that are equal; and velocities after, of those before.
_EQUAL = 1e-9


#: Solver of a single collision from its velocity (1 + m,) and coefficient, for laws without Routh's impulse path.
Collide = Callable[[Collision, FloatArray, float], SingleImpact]


def solve_in_sequence(
    problem: ImpactProblem, restitution: Restitution, ending: Ending | Collide, max_collisions: int
) -> ImpactOutcome:
    """Outcome of collision after collision, each up to its ``ending``, until no contact and no limit approaches."""
    found, tied = _run_sequence(problem, restitution, ending, max_collisions, last=False)
    if not tied or not found.solved:
        return found
    other, _ = _run_sequence(problem, restitution, ending, max_collisions, last=True)
    off = problem.blocks.J[: problem.blocks.nc] @ (found.v_plus - other.v_plus)
    if other.solved and float(np.abs(off).max(initial=0.0)) <= _EQUAL * float(np.abs(found.u_minus).max(initial=0.0)):
        return found
    who = ", ".join(str(i) for i in tied)
    notice = (
        f"contacts {who} approached equally fast, and which of them went first decided the outcome: the order broke a "
        "symmetry of the data; `impact.outcome_set` has all orders, and simultaneous laws have none"
    )
    return replace(found, notice=notice)


def solve_if_decoupled(
    problem: ImpactProblem, restitution: Restitution, ending: Ending, max_collisions: int
) -> ImpactOutcome | None:
    """Return the outcome if contacts are independent, so that their order does not matter; otherwise None.

    Contacts of which none moves another, or one that approaches and sets no other approaching on its whole course.
    """
    collisions = problem.collisions
    responses = [float(np.abs(one.W).max(initial=0.0)) for one in collisions]
    size = max(responses, default=0.0)
    coupled = any(
        float(np.abs(a.J @ b.Y.T).max(initial=0.0)) > _EQUAL * size for a, b in itertools.combinations(collisions, 2)
    )
    approach = [float(one.velocity(problem.v_minus)[0]) for one in collisions]
    fastest = max(0.0, -min(approach, default=0.0))
    if coupled and sum(speed < -_REST * fastest for speed in approach) > 1:
        return None
    found, _ = _run_sequence(problem, restitution, ending, max_collisions, last=False)
    if not coupled:
        return found
    if len(found.sequence) > 1 or not found.solved:
        return None
    for single in found.sequence:
        others = [one for one in collisions if one.index != single.contact]
        for p in (state.p for segment in single.segments for state in segment.states):
            v = problem.v_minus + p @ collisions[single.contact].Y
            if any(float(one.velocity(v)[0]) < -_EQUAL * fastest for one in others):
                return None
    return found


def _run_sequence(
    problem: ImpactProblem, restitution: Restitution, ending: Ending | Collide, max_collisions: int, *, last: bool
) -> tuple[ImpactOutcome, tuple[int, ...]]:
    """Return the outcome of a sequence, of equal contacts the first before, or the last; and which tied at first."""
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
    tied: tuple[int, ...] = ()
    while collisions:
        speeds = np.array([float(c.velocity(v)[0]) for c in collisions])
        fastest = int(np.argmin(speeds))
        if speeds[fastest] >= -rest:
            break
        equal = np.flatnonzero(speeds <= speeds[fastest] * (1.0 - _EQUAL))
        if len(equal) > 1:
            tied = tied or tuple(equal.tolist())
            fastest = int(equal[-1 if last else 0])
        if len(done) >= max_collisions:
            status = ImpactStatus.SEQUENCE_LIMIT
            message = f"contact {fastest} still approaches at {-speeds[fastest]:.3g} m/s after {max_collisions}"
            break
        collision = collisions[fastest]
        e = coefficients(restitution, -np.minimum(0.0, speeds[: b.nc]))[fastest] if fastest < b.nc else 0.0
        try:
            u = collision.velocity(v)
            if callable(ending):
                single = ending(collision, u, float(e))
            else:
                single = single_impact(collision, u, float(e), ending)
        except NoSeparationError as error:
            status, message = ImpactStatus.JAMMED, f"contact {fastest}: {error}"
            break
        done.append(single)
        f += problem.rows_of(collision, single.impulse)
        work[:, fastest] += single.work_normal, single.work_tangential
        v = v + single.impulse @ collision.Y
    found = outcome(
        problem, f, status=status, work=(work[0, : b.nc], work[1, : b.nc]), sequence=tuple(done), message=message
    )
    return found, tied
