"""Poisson's law: the normal impulse of restitution is e times that of compression.

Simultaneous (Anitescu and Potra 1997, section 5; Pfeiffer and Glocker 1996): the compression is the impact LCP with
kN = 0; then every contact pushes with e times its compression impulse, and a second LCP adds what keeps the bodies
apart, friction acting within the cone of the whole impulse of restitution::

    0 <= x  _|_  N v+ >= 0        0 <= lambda  _|_  mu (e f_c + x) - E' (fF+ + fF-) >= 0

Sequential: contact after contact, each followed by Routh's method until p = (1 + e) p_c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import lcp
from contactlab.constraint_solver import ConstraintSolver
from contactlab.formulation.discretized import form_impact_lcp, recover_forces
from contactlab.formulation.solution import ConstraintSolveError, advice_on
from contactlab.formulation.verdict import certify_forces
from contactlab.impact.collision import ImpactProblem
from contactlab.impact.law import OrderedLaw, check_law, given_restitution, with_normal_terms
from contactlab.impact.outcome import ImpactOutcome, outcome
from contactlab.impact.restitution import Restitution, coefficients
from contactlab.impact.single import Ending


@dataclass(frozen=True, eq=False)
class Poisson(OrderedLaw):
    """Kinetic restitution.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient; a contact that does not approach has none. Without it, that of the materials, which event-driven
        runs know. The data's kN is not used.
    order : {"simultaneous", "sequential"}
        All contacts at once, or one after the other.
    solver : lcp.Solver, optional
        For the simultaneous law; `lcp.default_solver()` if not given.
    max_collisions : int
        Of the sequential law.

    Raises
    ------
    ImpactError
        A parameter out of its range.

    References
    ----------
    M. Anitescu, F. A. Potra, Nonlinear Dynamics 14 (1997); F. Pfeiffer, C. Glocker, Multibody Dynamics with Unilateral
    Contacts (1996), chapter 8.
    """

    restitution: Restitution | None = None

    title: ClassVar[str] = "Poisson"
    ending: ClassVar[Ending] = "poisson"

    def __post_init__(self) -> None:
        check_law(self.restitution, self.order, self.max_collisions)

    def _at_once(self, problem: ImpactProblem) -> ImpactOutcome:
        problem.refuse_soft_rows()
        data, b = problem.data, problem.blocks
        u = b.J[: b.nc] @ problem.v_minus
        e = coefficients(given_restitution(self.restitution, self.title), np.maximum(0.0, -u))
        nothing = np.zeros(b.nc)
        compression = ConstraintSolver(self.solver).solve_impact_problem(with_normal_terms(data, nothing))
        pressed = compression.forces
        first = np.concatenate((pressed.fN, pressed.fF, pressed.fL))
        push = np.zeros(b.nc + b.nr + b.nl)
        push[: b.nc] = e * pressed.fN
        if not push.any():
            return outcome(problem, first, certificate=compression.certificate)

        # The push is known: it belongs to the momentum of the second LCP, and to the cones' right-hand side.
        given = first + push
        momentum = b.Mv + given @ b.J[: len(given)]
        velocity = b.v_free + given @ b.Y[: len(given)]
        second = with_normal_terms(data, nothing, momentum, velocity)
        formed = form_impact_lcp(second)
        qq = formed.qq.copy()
        cones = slice(b.nc + 2 * b.nr, 2 * b.nc + 2 * b.nr)
        qq[cones] += b.mu * push[: b.nc]
        restitution = lcp.LCP(formed.MM, qq, formed.problem.noise)
        result = lcp.solve(restitution, self.solver)
        packed, v_plus = recover_forces(1.0, formed.rows, second.blocks(), result.z.copy())
        if not result.solved:
            certificate = certify_forces(second, 1.0, result.z.copy(), packed, v_plus)
            message = (
                f"restitution by Poisson's law was not solved: {result.status.name}. {advice_on(result.status, second)}"
            )
            raise ConstraintSolveError(message, second, restitution, result, None, certificate)
        return outcome(problem, given + packed[: len(given)], certificate=compression.certificate)
