"""Newton's, Poisson's and Stronge's laws, for all contacts together or one after the other.

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

Stronge: the normal work of restitution is -e^2 times the normal work of compression.

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

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lcp
from contactlab.constraint_solver.discretized import form_impact_lcp, recover_forces
from contactlab.constraint_solver.forces import certify_forces
from contactlab.constraint_solver.solution import ConstraintSolveError, advice_on
from contactlab.constraint_solver.solver import ConstraintSolver
from contactlab.impact.collision import ImpactProblem, Restitution, coefficients, pyramid_tangents
from contactlab.impact.law import (
    ImpactOutcome,
    ImpactStatus,
    OrderedLaw,
    given_restitution,
    outcome,
    solve_if_decoupled,
    with_newtons_terms,
    with_normal_terms,
)
from contactlab.impact.single import Ending
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError, finite_number


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

    solver: lcp.Solver | None = None

    title: ClassVar[str] = "Newton"
    ending: ClassVar[Ending] = "newton"

    def _solve_simultaneous(self, problem: ImpactProblem) -> ImpactOutcome:
        """Solve one impact LCP with kN = e N v-, or with the kN of the data if the law has no coefficient."""
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

    solver: lcp.Solver | None = None
    tangential: ArrayLike = field(default=0.0, kw_only=True)

    title: ClassVar[str] = "Poisson"
    ending: ClassVar[Ending] = "poisson"

    def __post_init__(self) -> None:
        super().__post_init__()
        tangential = np.array(self.tangential, dtype=np.float64)
        if tangential.ndim > 1 or not ((tangential >= 0.0) & (tangential <= 1.0)).all():
            raise ImpactError("tangential", f"must lie between 0 and 1, got {self.tangential!r}")
        if tangential.any() and self.order != "simultaneous":
            raise ImpactError("tangential", "must be 0 for a sequential law: the path of an impact shears no spring")

    def _solve_simultaneous(self, problem: ImpactProblem) -> ImpactOutcome:
        """Solve the LCPs of compression and of restitution."""
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
            edges = pyramid_tangents(r)
            along = edges @ (push[first : first + r] @ edges)
            least = 1e-9 * float(np.abs(along).max(initial=0.0))
            held[first : first + r] = along < -least
            held[b.nr + first : b.nr + first + r] = along > least
            first += r
        return held


@dataclass(frozen=True, eq=False)
class Stronge(OrderedLaw):
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

    stiffness: ArrayLike = field(default=1.0, kw_only=True)
    exponent: float = field(default=1.5, kw_only=True)

    title: ClassVar[str] = "Stronge"
    ending: ClassVar[Ending] = "stronge"

    def __post_init__(self) -> None:
        super().__post_init__()
        stiffness = np.array(self.stiffness, dtype=np.float64)
        if stiffness.ndim > 1 or not (np.isfinite(stiffness).all() and (stiffness > 0.0).all()):
            raise ImpactError("stiffness", f"must be positive, a number or one per contact, got {self.stiffness!r}")
        object.__setattr__(self, "exponent", finite_number(self.exponent, "exponent", ImpactError, least=1.0))

    def _solve_simultaneous(self, problem: ImpactProblem) -> ImpactOutcome:
        """Return the outcome of the impulse paths of independent contacts, or of simultaneous compression."""
        restitution, nc = given_restitution(self.restitution, self.title), problem.blocks.nc
        stiffness = np.array(self.stiffness, dtype=np.float64)
        if stiffness.ndim and stiffness.size != nc:
            raise ImpactError("stiffness", f"has {stiffness.size} entries for {nc} contacts")
        relative = np.full(nc, float(stiffness)) if stiffness.ndim == 0 else stiffness / stiffness.max(initial=1e-300)
        alone = solve_if_decoupled(problem, restitution, self.collide, self.max_collisions)
        return solve_compressed(problem, restitution, relative, self.exponent) if alone is None else alone


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
    from contactlab.impact.kernels import DONE, JAMMED, compress

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
