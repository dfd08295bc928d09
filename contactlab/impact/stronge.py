"""Stronge's law: the normal work of restitution is -e^2 times the normal work of compression.

One contact follows its impulse path; several are compressed simultaneously, by their stiffness, or collide one after
the other. The law never gains energy, for any friction and geometry, because restitution returns only energy that
compression has absorbed.

Simultaneous: for rigid bodies only ratios of the stiffnesses matter. A contact returns e^2 of its absorbed work. This
work depends on the path, which is integrated step by step: for steel balls, with Hertz's law.

C. Liu, Z. Zhao, B. Brogliato, Frictionless multiple impacts in multibody systems I and II, Proc. R. Soc. A 464 (2008)
and 465 (2009); V. Acary, B. Brogliato, Concurrent multiple impacts modelling, MIT Conf. Comput. Fluid Solid Mech.
(2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.impact.collision import ImpactProblem, Restitution, coefficients
from contactlab.impact.law import (
    ImpactOutcome,
    ImpactStatus,
    RestitutedLaw,
    check_law,
    given_restitution,
    outcome,
    solve_if_decoupled,
    solve_in_sequence,
)
from contactlab.spatial.arrays import FloatArray, finite_number
from contactlab.spatial.errors import ImpactError
from problem_data import ConstraintVelProblemData


@dataclass(frozen=True, eq=False)
class Stronge(RestitutedLaw):
    """Energetic restitution.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient; default the materials' coefficient, which event-driven runs supply. The data's kN is not used.
    order : {"simultaneous", "sequential"}
        All contacts are compressed simultaneously and share the work by their stiffness (Liu, Zhao and Brogliato); or
        they collide one after the other, the fastest first, which breaks symmetries of the contacts.
    max_collisions : int
        Maximum number for the sequential law.
    stiffness : float or (nc,)
        Relative stiffness of the contacts, for the simultaneous law.
    exponent : float
        Exponent of force over compression: 3/2 for round bodies (Hertz), 1 for springs. A chain of steel balls is
        ``Stronge(1.0)``.

    Raises
    ------
    ImpactError
        A parameter is out of its range.

    References
    ----------
    W. J. Stronge, Rigid body collisions with friction, Proc. R. Soc. A 431 (1990); Impact Mechanics (2000), chapter 3.
    C. Liu, Z. Zhao, B. Brogliato, Frictionless multiple impacts in multibody systems, Proc. R. Soc. A 464 (2008).

    Examples
    --------
    Three steel balls in a row, the first arriving at 1 m/s: it bounces back slightly, and the second follows the third.

    >>> import numpy as np
    >>> from problem_data import ConstraintVelProblemData
    >>> row = ConstraintVelProblemData(M=np.eye(3), Mv=[1, 0, 0], N=[[-1, 1, 0], [0, -1, 1]], kN=[0, 0])
    >>> Stronge(1.0).solve(row).v_plus.round(6)
    array([-0.070952,  0.076403,  0.994549])
    """

    order: Literal["simultaneous", "sequential"] = "simultaneous"
    max_collisions: int = 10_000
    stiffness: ArrayLike = 1.0
    exponent: float = 1.5

    title: ClassVar[str] = "Stronge"

    def __post_init__(self) -> None:
        check_law(self.restitution, self.order, self.max_collisions)
        stiffness = np.array(self.stiffness, dtype=np.float64)
        if stiffness.ndim > 1 or not (np.isfinite(stiffness).all() and (stiffness > 0.0).all()):
            raise ImpactError("stiffness", f"must be positive, a number or one per contact, got {self.stiffness!r}")
        object.__setattr__(self, "exponent", finite_number(self.exponent, "exponent", ImpactError, least=1.0))

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises
        ------
        ImpactError
            The law does not support the data.
        """
        restitution = given_restitution(self.restitution, self.title)
        problem = ImpactProblem(data, f"{self.title}, {self.order}")
        if self.order == "sequential":
            return solve_in_sequence(problem, restitution, "stronge", self.max_collisions)
        stiffness = self._stiffness(problem.blocks.nc)
        alone = solve_if_decoupled(problem, restitution, "stronge", self.max_collisions)
        return solve_compressed(problem, restitution, stiffness, self.exponent) if alone is None else alone

    def _stiffness(self, nc: int) -> FloatArray:
        """Return the relative stiffness of each contact (nc,); raise for another number of entries."""
        stiffness = np.array(self.stiffness, dtype=np.float64)
        if stiffness.ndim and stiffness.size != nc:
            raise ImpactError("stiffness", f"has {stiffness.size} entries for {nc} contacts")
        return np.full(nc, float(stiffness)) if stiffness.ndim == 0 else stiffness / stiffness.max(initial=1e-300)


# Step as a fraction of a contact's time, accurate to 1e-7 for chains of balls; and the accepted energy error.
_RESOLUTION, _ACCURACY = 1e-3, 1e-6
# Approach speed, relative to the first, that counts as zero; restitution so small that its work is rounding.
_REST, _NO_RESTITUTION = 1e-12, 1e-4
_MAX_STEPS = 5_000_000


def solve_compressed(
    problem: ImpactProblem, restitution: Restitution, stiffness: FloatArray, exponent: float
) -> ImpactOutcome:
    """Return the outcome of simultaneous compression of all contacts, with relative stiffness (nc,).

    Restitution that depends on speed is evaluated at the initial speed; a contact that does not approach has the
    restitution of the fastest.
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
        code = compress(W, mu, e, K, exponent, _RESOLUTION, _REST * fastest, _MAX_STEPS, u, p, work, scratch)
    f = np.zeros(b.nc + b.nr + b.nl)
    for i, one in enumerate(collisions):
        f += problem.rows_of(one, p[3 * i : 3 * i + len(one.J)])
    status, message = ImpactStatus.SOLVED, ""
    if code == JAMMED:
        status, message = ImpactStatus.JAMMED, "a contact approaches that no impulse moves"
    elif code != DONE:
        status, message = ImpactStatus.SEQUENCE_LIMIT, f"contacts still push after {_MAX_STEPS} steps of their course"
    return outcome(
        problem, f, status=status, work=(work[: b.nc, 0], work[: b.nc, 1]), message=message, accuracy=_ACCURACY
    )
