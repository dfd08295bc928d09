"""Friction backends: solvers of contact forces other than LCP solvers, their laws, and tests of forces against a law.

Only this module decides whether forces satisfy a law, from the data of the problem.

Coulomb's law over the pyramid of a contact, and Anitescu's relaxation of it, differ only in the normal rows::

    "coulomb"   0 <= fN  _|_  N v+ + kN + gammaN fN              >= 0
    "relaxed"   0 <= fN  _|_  N v+ + kN + gammaN fN - mu lambda  >= 0,    lambda the largest sliding speed of an edge

Forces satisfy a law if two residuals are within a tolerance: the scaled residual of its LCP, and every mechanical
condition divided by its scale. The second is computed from J, Y, k and v_free, not from the assembled LCP. For the
relaxed law, kN - mu lambda replaces kN in Coulomb's conditions.

`ConstraintSolver` accepts a backend in place of an LCP solver. A backend works on the blocks of the LCP of
`discretized`, in [fN | fF+ | fF- | lambda | fL, boxed rows], and adds no rows. If it solves another problem than
Coulomb's, `FrictionAnswer.relaxed` is True. The certificate, which always has Coulomb's conditions, shows the
difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import numpy as np

import lcp
from contactlab.constraint_solver.acceleration import AccelerationLCP
from contactlab.constraint_solver.certificate import FORMULAS, Certificate
from contactlab.constraint_solver.discretized import DiscretizedLCP, recover_forces
from contactlab.constraint_solver.forces import certify_blocks, certify_forces
from contactlab.multibody.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData, ProblemDataError
from problem_data.validation import FRICTION

#: Laws that a backend can state by its attribute ``law``; the default is Coulomb's.
LAWS = ("coulomb", "relaxed")
#: Largest residual at which forces solve Coulomb's or the relaxed problem: the bound of `lcp.solve`.
VERIFIED = 1e-9
# Fraction of the tolerance that residuals must not exceed, so that a check in other arithmetic agrees.
_SHARE = 0.9

#: Conditions of a certificate if the law is relaxed.
RELAXED_FORMULAS = {
    **FORMULAS,
    "normal_gap": "N v+ + kN + gammaN fN - mu lambda >= 0",
    "normal_complementarity": "fN (N v+ + kN + gammaN fN - mu lambda) = 0",
}


def law_of(solver: Any) -> str:
    """Return the law of a solver: ``"coulomb"`` unless its attribute ``law`` names another one."""
    return str(getattr(solver, "law", LAWS[0]))


def relaxed_lcp(formed: DiscretizedLCP) -> lcp.LCP:
    """Return the LCP of the relaxed law: Coulomb's, with -mu in the rows fN and columns lambda."""
    nc, nr = formed.data.nc, formed.data.nr
    slacks = slice(nc + 2 * nr, 2 * nc + 2 * nr)
    MM = formed.MM.copy()
    MM[:nc, slacks] = -MM[slacks, :nc].T
    return lcp.LCP(MM, formed.qq, formed.problem.q_uncertainty)


def certify_relaxed_forces(
    data: ConstraintVelProblemData, h: float, z: FloatArray, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Return the certificate of the relaxed law, as `certify_forces` does for Coulomb's law."""
    blocks = data.blocks()
    nc, nr = blocks.nc, blocks.nr
    rows = slice(nc, nc + nr)
    rates = blocks.J[rows] @ v_plus + blocks.k[rows]
    softening = blocks.gamma[rows]
    least = np.maximum(-rates - softening * z[rows], rates - softening * z[nc + nr : nc + 2 * nr])
    slip = np.zeros(nc)
    np.maximum.at(slip, np.repeat(np.arange(nc), blocks.r), least)
    k = blocks.k.copy()
    k[:nc] -= blocks.mu * slip
    certificate = certify_blocks(blocks._replace(k=k), h, z, packed, v_plus)
    return replace(certificate, formulas=RELAXED_FORMULAS)


@dataclass(frozen=True, eq=False)
class LawCheck:
    """Residual of forces over a step in the law of their solver.

    Parameters
    ----------
    law : str
        One of `LAWS`.
    residual : float
        The larger of the scaled residual of the law's LCP and of the worst condition of ``certificate``.
    certificate : Certificate
        The mechanical conditions of the law.
    coulomb : Certificate
        The mechanical conditions of Coulomb's law.
    """

    law: str
    residual: float
    certificate: Certificate
    coulomb: Certificate

    def holds(self, tolerance: float = VERIFIED) -> bool:
        """Return True if the residual is at most nine tenths of the tolerance."""
        return self.residual <= _SHARE * tolerance


def balanced_residual(problem: lcp.LCP, z: FloatArray) -> float:
    """Return the scaled residual of an LCP in units of its rows, as the compiled step measures it."""
    from lcp.kernels.residuals import SCALED, SIZE, balanced_residuals

    measures = np.zeros(SIZE)
    n = problem.n
    balanced_residuals(problem.M, problem.q, np.array(z), np.zeros(n), np.zeros(3 * n), measures)
    return float(measures[SCALED])


def check_law(formed: DiscretizedLCP, z: FloatArray, law: str) -> LawCheck:
    """Check z (n,) of the LCP against a law: return its largest scaled residual and both certificates."""
    h, data = formed.h, formed.data
    if not np.isfinite(z).all():
        z = np.where(np.isfinite(z), z, np.inf)
    packed, v_plus = recover_forces(h, formed.rows, data.blocks(), z)
    coulomb = certify_forces(data, h, z, packed, v_plus)
    if law == LAWS[0]:
        certificate, problem = coulomb, formed.problem
    else:
        certificate, problem = certify_relaxed_forces(data, h, z, packed, v_plus), relaxed_lcp(formed)
    scaled = balanced_residual(problem, z) if np.isfinite(z).all() else np.inf
    # The equations have a separate bound, because forces cannot satisfy contradictory equations.
    worst = max(check.scaled for name, check in certificate.checks().items() if name != "bilateral")
    return LawCheck(law, float(max(scaled, worst)), certificate, coulomb)


#: Scaled residual that counts as rounding.
ROUNDING = 1e-12
#: Scaled residual up to which a quadratic program's result is accepted without refinement.
CLOSE = 1e-10
# Backward errors requested when a result is refined.
_SHARP = (1e-13, 1e-11)


@dataclass(frozen=True, eq=False)
class FrictionAnswer:
    """Result of a backend.

    Parameters
    ----------
    problem : lcp.LCP, lcp.FrictionProblem or None
        The solved problem; Coulomb's unless ``relaxed``. None if it was solved without being formed.
    result : lcp.Result or lcp.FrictionResult
        Verified on ``problem``, which has the unknowns of Coulomb's problem.
    relaxed : bool
        Whether ``problem`` differs from Coulomb's problem.
    not_enforced : tuple of str
        Conditions of the certificate that ``problem`` does not impose.
    """

    problem: lcp.LCP | lcp.FrictionProblem | None
    result: lcp.Result | lcp.FrictionResult
    relaxed: bool
    not_enforced: tuple[str, ...] = ()


@runtime_checkable
class FrictionBackend(Protocol):
    """Protocol of friction backends: any object with this method."""

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Return forces over the step of ``formed`` (impulses at h = 1); z0 (n,) is an optional start."""
        ...


@runtime_checkable
class AccelerationBackend(Protocol):
    """A friction backend that also solves problems at one instant."""

    def solve_accelerations(self, formed: AccelerationLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Return forces at the instant of ``formed``; z0 (n,) is an optional start."""
        ...


@dataclass(frozen=True)
class ContactLayout:
    """Indices in the vector of a contact LCP: fN, both edges fF+ and fF-, lambda, and the rest (fL, boxed rows)."""

    normals: slice
    edges: slice
    slacks: slice
    rest: slice

    @classmethod
    def of(cls, formed: DiscretizedLCP) -> ContactLayout:
        """Return the indices in the LCP of a step."""
        nc, nr = formed.data.nc, formed.data.nr
        if formed.data.ncone > nc:
            detail = "further cones, of moments, have no place in it; take an LCP solver"
            raise ProblemDataError("cone_contacts", f"{formed.data.ncone - nc} {detail}")
        edges, slacks = nc + 2 * nr, 2 * nc + 2 * nr
        return cls(slice(0, nc), slice(nc, edges), slice(edges, slacks), slice(slacks, formed.n))


def verified(problem: Any, backend: object, run: Callable[[], Any], tolerance: float = 1e-9) -> Any:
    """Return the result of the claim of ``run``, verified on ``problem`` like a solver's; it names the backend.

    The problem is an LCP or a friction problem, with a claim and a result of its kind.
    """
    solver: Any = SimpleNamespace(solve=lambda problem, **options: run())
    result: Any = lcp.solve(problem, solver, tolerance=tolerance)
    attempts = tuple(replace(attempt, solver=backend) for attempt in result.attempts)
    return replace(result, solver=backend, attempts=attempts)


def sharpened(problem: lcp.LCP, z: FloatArray) -> FloatArray:
    """Return z after solving its active rows together, if this reduces the scaled residual.

    The accuracy is rounding, even if the problem's q is less accurate, because the uncertainty of q may permit larger
    residuals than a step does. If the active rows do not help and the residual exceeds `CLOSE`, an LCP solver continues
    from z.
    """
    from lcp.polish import refine

    before = balanced_residual(problem, z)
    if before <= ROUNDING:
        return z
    plain = lcp.LCP(problem.M, problem.q)
    for wanted in _SHARP:
        better = refine(plain, z, wanted)
        if better is not None and balanced_residual(problem, better) < before:
            return better
    if before <= CLOSE:
        return z
    pivoted = lcp.solve(plain, z0=z)
    return pivoted.z if pivoted.solved and balanced_residual(problem, pivoted.z) < before else z


def refuse(problem: lcp.LCP, backend: object, why: str) -> lcp.Result:
    """Return an UNSUITABLE result, unless zero forces solve the problem."""
    claim = lcp.Claim(np.zeros(problem.n), lcp.Status.UNSUITABLE, 0, why)
    result: lcp.Result = verified(problem, backend, lambda: claim)
    return result


def check_options(qp: object, tolerance: object, polish: object) -> None:
    """Raise for options that a backend by quadratic programs does not support."""
    if isinstance(qp, type) or not isinstance(qp, lcp.Solver):
        raise ProblemDataError("qp", f"{qp!r}, wanted a solver object of lcp such as OSQP() or CVXPY()")
    if not isinstance(tolerance, (int, float, np.floating)) or not 0.0 < tolerance < 1.0:
        raise ProblemDataError("tolerance", f"{tolerance!r}, wanted a number between 0 and 1")
    if not isinstance(polish, bool):
        raise ProblemDataError("polish", f"{polish!r}, wanted True or False")


#: Solvers of quadratic programs, which cannot solve an LCP with friction.
QP_CODES = (lcp.OSQP, lcp.CVXPY, lcp.Clarabel, lcp.PIQP, lcp.ProxQP)


def qp_code_objection(solver: object) -> str | None:
    """Return the reason why ``solver`` cannot be the solver of a time stepper, or None."""
    if not isinstance(solver, QP_CODES):
        return None
    qp = f"qp=lcp.{type(solver).__name__}()"
    return (
        f"{type(solver).__name__} solves quadratic programs, and the LCP of contacts with friction is none; write "
        f"ConvexRelaxation({qp}) or StaggeredProjections({qp}). Without friction (mu = 0) either is the one program of "
        "the normal forces"
    )


def friction_objection(friction: str, solver: object) -> tuple[str, str] | None:
    """Return field and reason of an error if ``friction`` is unknown or not solved by ``solver``, otherwise None."""
    if friction not in FRICTION:
        return "friction", f"must be one of {', '.join(FRICTION)}, got {friction!r}"
    traits, name = getattr(solver, "traits", None), type(solver).__name__
    of_cones = traits is not None and bool(traits & lcp.Traits.CONE)
    if friction == "cone" and (isinstance(solver, FrictionBackend) or (traits is not None and not of_cones)):
        return "solver", f'{name} does not solve friction="cone"; lcp.ALL_FRICTION_SOLVERS do, or give none'
    if friction == "pyramid" and of_cones:
        return "solver", f'{name} solves cones alone: write friction="cone"'
    return None
