"""Newton's law: u_n+ >= -e u_n- at every contact that approaches.

Simultaneous: one impact LCP with kN = e N v- (Moreau 1988; Anitescu and Potra 1997). Sequential: contact after contact,
each followed by Routh's method until u_n = -e u_n-. With friction both may give the bodies energy (Kane 1984), and the
outcome says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contactlab.constraint_solver import ConstraintSolver
from contactlab.impact.collision import ImpactProblem
from contactlab.impact.law import OrderedLaw, check_law, with_newtons_terms
from contactlab.impact.outcome import ImpactOutcome, outcome
from contactlab.impact.single import Ending


@dataclass(frozen=True, eq=False)
class Newton(OrderedLaw):
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

    title: ClassVar[str] = "Newton"
    ending: ClassVar[Ending] = "newton"

    def __post_init__(self) -> None:
        check_law(self.restitution, self.order, self.max_collisions)

    def _at_once(self, problem: ImpactProblem) -> ImpactOutcome:
        data = problem.data
        if self.restitution is not None:
            problem.refuse_soft_rows()
            data = with_newtons_terms(problem, self.restitution)
        solution = ConstraintSolver(self.solver).solve_impact_problem(data)
        f = solution.forces
        return outcome(problem, np.concatenate((f.fN, f.fF, f.fL, f.fB)), certificate=solution.certificate)
