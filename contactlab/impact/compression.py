"""All contacts of an impact compressed at once: stiffness decides who pushes how hard, work what comes back.

Between rigid bodies only ratios of the stiffnesses matter. What a contact gives back is e^2 of the work it took
(Stronge), and how much each took is a matter of the course, followed step by step: for steel balls, Hertz's.

C. Liu, Z. Zhao, B. Brogliato, Frictionless multiple impacts in multibody systems I and II, Proc. R. Soc. A 464 (2008)
and 465 (2009); V. Acary, B. Brogliato, Concurrent multiple impacts modelling, MIT Conf. Comput. Fluid Solid Mech.
(2003).
"""

from __future__ import annotations

import numpy as np

from contactlab.impact.collision import ImpactProblem
from contactlab.impact.outcome import ImpactOutcome, ImpactStatus, outcome
from contactlab.impact.restitution import Restitution, coefficients
from contactlab.spatial.arrays import FloatArray

# Part of a contact's own time that a step takes, chains of balls being good to 1e-7; and the energy's error with it.
_RESOLUTION, _ACCURACY = 1e-3, 1e-6
# Speed of approach, of the first, that counts as none; restitution whose work is lost in rounding.
_REST, _NO_RESTITUTION = 1e-12, 1e-4
_MOST_STEPS = 5_000_000


def solve_compressed(
    problem: ImpactProblem, restitution: Restitution, stiffness: FloatArray, exponent: float
) -> ImpactOutcome:
    """Outcome of compressing all contacts at once, each of a relative stiffness (nc,); limits are as the stiffest.

    Restitution that depends on speed is that of the speed before; a contact which does not approach then has that of
    the fastest.
    """
    from contactlab.impact.kernels.compression import DONE, JAMMED, compress

    b, collisions = problem.blocks, problem.collisions
    n = len(collisions)
    J, Y, u = (np.zeros((3 * n, b.J.shape[1])), np.zeros((3 * n, b.J.shape[1])), np.zeros(3 * n))
    for i, one in enumerate(collisions):
        rows = slice(3 * i, 3 * i + len(one.J))
        J[rows], Y[rows], u[rows] = one.J, one.Y, one.velocity(problem.v_minus)
    approach = np.maximum(0.0, -u[::3])
    fastest = float(approach.max(initial=0.0))
    speeds = np.where(approach > 0.0, approach, fastest)[: b.nc]
    e = np.concatenate((coefficients(restitution, speeds), np.zeros(b.nl)))
    e[e < _NO_RESTITUTION] = 0.0
    K = np.concatenate((stiffness, np.full(b.nl, stiffness.max(initial=1.0))))
    p, work = np.zeros(3 * n), np.zeros((n, 2))
    mu = np.array([one.mu for one in collisions])
    W = np.ascontiguousarray(J @ Y.T)
    code = DONE
    if fastest > 0.0:
        scratch = np.zeros((7, 3 * n))
        code = compress(W, mu, e, K, exponent, _RESOLUTION, _REST * fastest, _MOST_STEPS, u, p, work, scratch)
    f = np.zeros(b.nc + b.nr + b.nl)
    for i, one in enumerate(collisions):
        f += problem.rows_of(one, p[3 * i : 3 * i + len(one.J)])
    status, message = ImpactStatus.SOLVED, ""
    if code == JAMMED:
        status, message = ImpactStatus.JAMMED, "a contact approaches that no impulse moves"
    elif code != DONE:
        status, message = ImpactStatus.SEQUENCE_LIMIT, f"contacts still push after {_MOST_STEPS} steps of their course"
    return outcome(
        problem, f, status=status, work=(work[: b.nc, 0], work[: b.nc, 1]), message=message, accuracy=_ACCURACY
    )
