"""Newton's and Poisson's laws, for all contacts together or one after the other.

Newton: u_n+ >= -e u_n- at every contact that approaches. Simultaneous: one impact LCP with kN = e N v- (Moreau 1988;
Anitescu and Potra 1997). Sequential: contact after contact, each by Routh's method until u_n = -e u_n-. With friction
both can increase the energy (Kane 1984), and the outcome reports it.

Poisson: the normal impulse of restitution is e times the normal impulse of compression. Simultaneous (Anitescu and
Potra 1997, section 5; Pfeiffer and Glocker 1996): the compression is the impact LCP with kN = 0. Then every contact
acts with e times its compression impulse. A second LCP adds the impulses that keep the bodies apart, with friction
within the cone of the whole impulse of restitution::

    0 <= x  _|_  N v+ >= 0        0 <= lambda  _|_  mu (e f_c + x) - E' (fF+ + fF-) >= 0

With tangential restitution (Glocker and Pfeiffer 1995) friction also returns e_T e times its impulse of compression,
like a sheared spring. Additional friction stays within the remaining cone and does not oppose the spring. Sequential:
contact after contact, each by Routh's method until p = (1 + e) p_c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lcp
from contactlab.constraint_solver import ConstraintSolver
from contactlab.formulation.discretized import form_impact_lcp, recover_forces
from contactlab.formulation.forces import certify_forces
from contactlab.formulation.solution import ConstraintSolveError, advice_on
from contactlab.impact.collision import ImpactProblem, coefficients
from contactlab.impact.law import (
    ImpactOutcome,
    OrderedLaw,
    check_law,
    given_restitution,
    outcome,
    with_newtons_terms,
    with_normal_terms,
)
from contactlab.impact.single import Ending
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import ImpactError


@dataclass(frozen=True, eq=False)
class Newton(OrderedLaw):
    """Kinematic restitution.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient; a contact that does not approach has none. Without it, and only simultaneously, the data's kN.
    order : {"simultaneous", "sequential"}
        All contacts simultaneously, or one after the other.
    solver : lcp.Solver, optional
        For the simultaneous law; default `lcp.default_solver()`.
    max_collisions : int
        Maximum number for the sequential law.

    Raises
    ------
    ImpactError
        A parameter is out of its range.

    References
    ----------
    J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics (1988); T. R. Kane, D. A. Levinson,
    Dynamics (1985); E. J. Routh, Dynamics of a System of Rigid Bodies (1905), art. 180 to 198.

    Examples
    --------
    Three equal balls in a row, the first arriving at 1 m/s. Simultaneous, and in sequence:

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

    def _solve_simultaneously(self, problem: ImpactProblem) -> ImpactOutcome:
        """Solve the impact of all contacts simultaneously, with kN = e N v-."""
        data = problem.data
        if self.restitution is not None:
            problem.refuse_soft_rows()
            data = with_newtons_terms(problem, self.restitution)
        solution = ConstraintSolver(self.solver).solve_impact_problem(data)
        f = solution.forces
        return outcome(problem, np.concatenate((f.fN, f.fF, f.fL, f.fB)), certificate=solution.certificate)


@dataclass(frozen=True, eq=False)
class Poisson(OrderedLaw):
    """Kinetic restitution; ``Poisson(e)`` is the impact law of Anitescu and Potra (1997).

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient. The simultaneous law applies it to every contact with an impulse of compression, also to one at
        rest before; in sequence, a contact that does not approach has none. Default the materials' coefficient, which
        event-driven runs supply. The data's kN is not used.
    order : {"simultaneous", "sequential"}
        All contacts simultaneously, or one after the other.
    solver : lcp.Solver, optional
        For the simultaneous law; default `lcp.default_solver()`.
    max_collisions : int
        Maximum number for the sequential law.
    tangential : float or (nc,)
        Coefficient of tangential restitution, 0 to 1, of the simultaneous law: 0 for dry bodies, about 0.5 to 0.9 for
        rubber balls, whose slip reverses.

    Raises
    ------
    ImpactError
        A parameter is out of its range.

    References
    ----------
    M. Anitescu, F. A. Potra, Nonlinear Dynamics 14 (1997); F. Pfeiffer, C. Glocker, Multibody Dynamics with Unilateral
    Contacts (1996), chapter 8; C. Glocker, F. Pfeiffer, Multiple impacts with friction in rigid multibody systems,
    Nonlinear Dynamics 7 (1995); R. L. Garwin, Kinematics of an ultraelastic rough ball, Am. J. Phys. 37 (1969).

    Examples
    --------
    A ball of rubber in the plane, inertia 2/5, that skids forward: its slip is reversed.

    >>> import numpy as np
    >>> from problem_data import ConstraintVelProblemData
    >>> M = np.diag([1.0, 1.0, 0.4])
    >>> ball = ConstraintVelProblemData(M=M, Mv=M @ [1, -1, 0], N=[[0, 1, 0]], F=[[1, 0, 1]], mu=[2.0], r=[1])
    >>> after = Poisson(1.0, tangential=1.0).solve(ball).v_plus
    >>> float((after[0] + after[2]).round(9))
    -1.0
    """

    tangential: ArrayLike = 0.0

    title: ClassVar[str] = "Poisson"
    ending: ClassVar[Ending] = "poisson"

    def __post_init__(self) -> None:
        check_law(self.restitution, self.order, self.max_collisions)
        tangential = np.array(self.tangential, dtype=np.float64)
        if tangential.ndim > 1 or not ((tangential >= 0.0) & (tangential <= 1.0)).all():
            raise ImpactError("tangential", f"must lie between 0 and 1, got {self.tangential!r}")
        if tangential.any() and self.order != "simultaneous":
            raise ImpactError("tangential", "must be 0 for a sequential law: the path of an impact shears no spring")

    def _solve_simultaneously(self, problem: ImpactProblem) -> ImpactOutcome:
        problem.refuse_soft_rows()
        data, b = problem.data, problem.blocks
        if data.friction != "pyramid" and b.mu.any():
            detail = (
                'friction="cone": Poisson\'s simultaneous law supports only pyramids: data.with_friction("pyramid")'
            )
            raise ImpactError("data", detail)
        u = b.J[: b.nc] @ problem.v_minus
        e = coefficients(given_restitution(self.restitution, self.title), np.maximum(0.0, -u))
        nothing = np.zeros(b.nc)
        compression = ConstraintSolver(self.solver).solve_impact_problem(with_normal_terms(data, nothing))
        pressed = compression.forces
        first = np.concatenate((pressed.fN, pressed.fF, pressed.fL))
        push = np.zeros(b.nc + b.nr + b.nl)
        push[: b.nc] = e * pressed.fN
        shear = np.array(self.tangential, dtype=np.float64)
        if shear.ndim and shear.size != b.nc:
            raise ImpactError("tangential", f"has {shear.size} entries for {b.nc} contacts")
        friction = slice(b.nc, b.nc + b.nr)
        push[friction] = np.repeat(shear * e * np.ones(b.nc), b.r) * pressed.fF
        if not push.any():
            return outcome(problem, first, certificate=compression.certificate)

        # The impulse is known: it is added to the momentum of the second LCP, and to the cones' right-hand side.
        given = first + push
        momentum = b.Mv + given @ b.J[: len(given)]
        velocity = b.v_free + given @ b.Y[: len(given)]
        second = with_normal_terms(data, nothing, momentum, velocity)
        formed = form_impact_lcp(second)
        qq = formed.qq.copy()
        cones = slice(b.nc + 2 * b.nr, 2 * b.nc + 2 * b.nr)
        sheared = np.bincount(np.repeat(np.arange(b.nc), b.r), np.abs(push[friction]), b.nc)
        qq[cones] = np.maximum(0.0, b.mu * push[: b.nc] - sheared)
        kept = np.flatnonzero(~self._restrained_edges(problem, push))
        noise = formed.problem.q_uncertainty
        restitution = lcp.LCP(formed.MM[np.ix_(kept, kept)], qq[kept], None if noise is None else noise[kept])
        result = lcp.solve(restitution, self.solver)
        z = np.zeros(formed.n)
        z[kept] = result.z
        packed, v_plus = recover_forces(1.0, formed.rows, second.blocks(), z.copy())
        if not result.solved:
            certificate = certify_forces(second, 1.0, z, packed, v_plus)
            message = f"restitution by Poisson's law was not solved: {result.status.name}. {advice_on(result, second)}"
            raise ConstraintSolveError(message, second, restitution, result, None, certificate)
        return outcome(problem, given + packed[: len(given)], certificate=compression.certificate)

    @staticmethod
    def _restrained_edges(problem: ImpactProblem, push: FloatArray) -> NDArray[np.bool_]:
        """Return a mask (n,) of unknowns of the second LCP that would oppose a sheared spring."""
        b = problem.blocks
        held = np.zeros(2 * b.nc + 2 * b.nr + b.nl, dtype=bool)
        first = b.nc
        for r in b.r.tolist():
            edges = np.column_stack((np.cos(np.pi * np.arange(r) / r), np.sin(np.pi * np.arange(r) / r)))
            along = edges @ (push[first : first + r] @ edges)
            least = 1e-9 * float(np.abs(along).max(initial=0.0))
            held[first : first + r] = along < -least
            held[b.nr + first : b.nr + first + r] = along > least
            first += r
        return held
