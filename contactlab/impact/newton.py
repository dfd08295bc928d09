"""Newton's law: u_n+ >= -e u_n- at every contact that approaches.

Simultaneous: one impact LCP with kN = e N v- (Moreau 1988; Anitescu and Potra 1997). Sequential: contact after contact,
each followed by Routh's method until u_n = -e u_n-. With friction both may give the bodies energy (Kane 1984), and the
outcome says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

import lcp
from contactlab.constraint_solver import ConstraintSolver
from contactlab.impact.collision import ImpactProblem
from contactlab.impact.law import check_law, with_newtons_terms
from contactlab.impact.outcome import ImpactOutcome, outcome
from contactlab.impact.restitution import Restitution
from contactlab.impact.sequence import solve_in_sequence
from contactlab.impact.single import single_impact
from problem_data import ConstraintVelProblemData

__all__ = ["Newton"]


@dataclass(frozen=True, eq=False)
class Newton:
    """Kinematic restitution.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient; a contact that does not approach has none. Without it, simultaneous only: the data's kN as it is.
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
    J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics (1988); T. R. Kane, D. A. Levinson,
    Dynamics (1985); E. J. Routh, Dynamics of a System of Rigid Bodies (1905), art. 180 to 198.

    Examples
    --------
    Three equal balls in a row, the first arriving at 1 m/s. At once, and one after the other:

    >>> import numpy as np
    >>> from problem_data import ConstraintVelProblemData
    >>> row = ConstraintVelProblemData(M=np.eye(3), Mv=[1, 0, 0], N=[[-1, 1, 0], [0, -1, 1]], kN=[0, 0])
    >>> Newton(1.0).solve(row).v_plus.round(6), Newton(1.0, "sequential").solve(row).v_plus.round(6)
    (array([-0.333333,  0.666667,  0.666667]), array([0., 0., 1.]))
    """

    restitution: Restitution | None = None
    order: Literal["simultaneous", "sequential"] = "simultaneous"
    solver: lcp.Solver | None = None
    max_collisions: int = 10_000

    title: ClassVar[str] = "Newton"

    def __post_init__(self) -> None:
        check_law(self.restitution, self.order, self.max_collisions, optional=self.order == "simultaneous")

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises
        ------
        ImpactError
            Data that the law does not fit.
        ConstraintSolveError
            The impact LCP was not solved.
        """
        problem = ImpactProblem(data, f"{self.title}, {self.order}")
        if self.order == "sequential":
            assert self.restitution is not None
            return solve_in_sequence(
                problem, self.restitution, lambda c, u, e: single_impact(c, u, e, "newton"), self.max_collisions
            )
        if self.restitution is not None:
            problem.refuse_soft_rows()
            data = with_newtons_terms(problem, self.restitution)
        solution = ConstraintSolver(self.solver).solve_impact_problem(data)
        f = solution.forces
        return outcome(problem, np.concatenate((f.fN, f.fF, f.fL, f.fB)), certificate=solution.certificate)
