"""Friction backends: ways to contact forces other than an LCP, the law that each states, and whether forces meet it.

Only this module decides whether forces meet a law, and it does so from the data of the problem.

Coulomb's law over the pyramid of a contact, and Anitescu's relaxation of it, differ in the normal rows alone::

    "coulomb"   0 <= fN  _|_  N v+ + kN + gammaN fN              >= 0
    "relaxed"   0 <= fN  _|_  N v+ + kN + gammaN fN - mu lambda  >= 0,    lambda the largest sliding speed of an edge

Forces meet a law if two residuals are within a tolerance: the scaled residual of its LCP, and every mechanical
condition over its scale. The second is checked on J, Y, k and v_free, not on the LCP that was assembled from them. Of
the relaxed law these are Coulomb's conditions with kN - mu lambda in the place of kN.

A backend is given to `ConstraintSolver` in the place of the LCP solver. It works on the blocks of the LCP that
`discretized` states, in [fN | fF+ | fF- | lambda | fL, boxed rows], and states no row of its own. It may solve another
problem than Coulomb's; its result then has `FrictionAnswer.relaxed`, and the certificate, which has Coulomb's
conditions only, shows the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

import lcp
from contactlab.certificate import FORMULAS, Certificate
from contactlab.formulation.acceleration import AccelerationLCP
from contactlab.formulation.discretized import DiscretizedLCP, recover_forces
from contactlab.formulation.forces import certify_blocks, certify_forces
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData, ProblemDataError
from problem_data.validation import FRICTION

#: Laws that a backend may state, as the value of its attribute ``law``; without one it states Coulomb's.
LAWS = ("coulomb", "relaxed")
#: Up to here an answer is one of Coulomb's problem, or of the relaxed one: the bound of `lcp.solve`.
VERIFIED = 1e-9
# Share of the tolerance that residuals are kept within: a check in other arithmetic then agrees.
_SHARE = 0.9

#: Conditions of a certificate if the law is relaxed.
RELAXED_FORMULAS = {
    **FORMULAS,
    "normal_gap": "N v+ + kN + gammaN fN - mu lambda >= 0",
    "normal_complementarity": "fN (N v+ + kN + gammaN fN - mu lambda) = 0",
}


def law_of(solver: Any) -> str:
    """Return the law that a solver states: ``"coulomb"`` unless it has another one."""
    law: str = getattr(solver, "law", LAWS[0])
    return law


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
    """Certificate of the relaxed law, as `certify_forces` has it of Coulomb's."""
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
    """Residual of forces over a step in the law that their solver states.

    Parameters
    ----------
    law : str
        One of `LAWS`.
    residual : float
        The larger of the scaled residual of the law's LCP and of the worst condition of ``certificate``.
    certificate : Certificate
        The mechanical conditions of the law.
    coulomb : Certificate
        Those of Coulomb's law.
    """

    law: str
    residual: float
    certificate: Certificate
    coulomb: Certificate

    def holds(self, tolerance: float = VERIFIED) -> bool:
        """Return True if the residual is within the tolerance, with a tenth of it to spare."""
        return self.residual <= _SHARE * tolerance


def balanced_residual(problem: lcp.LCP, z: FloatArray) -> float:
    """Return the scaled residual of an LCP of bodies in units of its rows, as the compiled step measures it."""
    from lcp.kernels.residuals import SCALED, SIZE, balanced_residuals

    measures = np.zeros(SIZE)
    n = problem.n
    balanced_residuals(problem.M, problem.q, np.array(z), np.zeros(n), np.zeros(3 * n), measures)
    return float(measures[SCALED])


def check_law(formed: DiscretizedLCP, z: FloatArray, law: str) -> LawCheck:
    """Return how well a vector z (n,) of the LCP meets a law."""
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
    # The equations have a separate bound, because no forces help if they contradict one another.
    worst = max(check.scaled for name, check in certificate.checks().items() if name != "bilateral")
    return LawCheck(law, float(max(scaled, worst)), certificate, coulomb)


#: Scaled residual that is rounding.
ROUNDING = 1e-12
#: Scaled residual up to which a quadratic program's result is accepted without refinement.
CLOSE = 1e-10
# Backward errors that are asked for when an answer is sharpened.
_SHARP = (1e-13, 1e-11)


@dataclass(frozen=True, eq=False)
class FrictionAnswer:
    """Answer of a backend.

    Parameters
    ----------
    problem : lcp.LCP, lcp.FrictionProblem or None
        The problem that was solved; Coulomb's unless ``relaxed``. None if it was solved without being formed.
    result : lcp.Result or lcp.FrictionResult
        Verified on ``problem``, which has the unknowns of Coulomb's.
    relaxed : bool
        Whether ``problem`` is another one than Coulomb's.
    not_enforced : tuple of str
        Conditions of the certificate that ``problem`` does not impose.
    """

    problem: lcp.LCP | lcp.FrictionProblem | None
    result: lcp.Result | lcp.FrictionResult
    relaxed: bool
    not_enforced: tuple[str, ...] = ()


@runtime_checkable
class FrictionBackend(Protocol):
    """Anything with this method is a friction backend; nothing needs to be subclassed."""

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Forces over the step of ``formed`` (impulses at h = 1), perhaps started at z0 (n,)."""
        ...


@runtime_checkable
class AccelerationBackend(Protocol):
    """A friction backend that solves problems at one instant too."""

    def solve_accelerations(self, formed: AccelerationLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Forces at the instant of ``formed``, perhaps started at z0 (n,)."""
        ...


@dataclass(frozen=True)
class ContactLayout:
    """Places in the vector of a contact LCP: fN, both edges fF+ and fF-, lambda, and the rest (fL, boxed rows)."""

    normals: slice
    edges: slice
    slacks: slice
    rest: slice

    @classmethod
    def of(cls, formed: DiscretizedLCP) -> ContactLayout:
        """Places in the LCP of a step."""
        nc, nr = formed.data.nc, formed.data.nr
        if formed.data.ncone > nc:
            detail = "further cones, of moments, have no place in it; take an LCP solver"
            raise ProblemDataError("cone_contacts", f"{formed.data.ncone - nc} {detail}")
        edges, slacks = nc + 2 * nr, 2 * nc + 2 * nr
        return cls(slice(0, nc), slice(nc, edges), slice(edges, slacks), slice(slacks, formed.n))


@dataclass(frozen=True, eq=False)
class _BackendAdapter:
    """A backend's work on one problem in the form of a solver, so that `lcp.solve` times and verifies it."""

    run: Callable[[], lcp.Claim]

    def solve(self, problem: lcp.LCP, *, z0: FloatArray | None, tolerance: float, trace: bool) -> lcp.Claim:
        return self.run()


def verified(problem: lcp.LCP, backend: object, run: Callable[[], lcp.Claim], tolerance: float = 1e-9) -> lcp.Result:
    """Result of the claim that ``run`` returns, verified on ``problem`` like any solver's; it names the backend."""
    result = lcp.solve(problem, _BackendAdapter(run), tolerance=tolerance)
    attempts = tuple(replace(attempt, solver=backend) for attempt in result.attempts)
    return replace(result, solver=backend, attempts=attempts)


def sharpened(problem: lcp.LCP, z: FloatArray) -> FloatArray:
    """Return z with its active rows solved together, if this reduces the scaled residual.

    To rounding, whatever the problem's q is known to: its noise may excuse more than a step does. An answer whose
    active rows lead nowhere, and that is not within `CLOSE`, is the start of an LCP solver.
    """
    from lcp.polish.active_set import refine

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
    """Return an UNSUITABLE result, unless zero forces happen to solve the problem."""
    return verified(problem, backend, lambda: lcp.Claim(np.zeros(problem.n), lcp.Status.UNSUITABLE, 0, why))


def check_qp(qp: object) -> None:
    """Raise if the value is not a solver object of `lcp`."""
    if isinstance(qp, type) or not isinstance(qp, lcp.Solver):
        raise ProblemDataError("qp", f"{qp!r}, wanted a solver object of lcp such as OSQP() or CVXPY()")


def check_tolerance(tolerance: object) -> None:
    """Raise if the value is not a number between 0 and 1."""
    if not isinstance(tolerance, (int, float, np.floating)) or not 0.0 < tolerance < 1.0:
        raise ProblemDataError("tolerance", f"{tolerance!r}, wanted a number between 0 and 1")


def check_flag(field: str, value: object) -> None:
    """Raise if the value is neither True nor False."""
    if not isinstance(value, bool):
        raise ProblemDataError(field, f"{value!r}, wanted True or False")


#: Codes for quadratic programs, which solve no LCP with friction.
QP_CODES = (lcp.OSQP, lcp.CVXPY, lcp.Clarabel, lcp.PIQP, lcp.ProxQP)


def qp_code_objection(solver: object) -> str | None:
    """Reason why ``solver`` is no solver of a time stepper; None if it is no code for quadratic programs."""
    if not isinstance(solver, QP_CODES):
        return None
    qp = f"qp=lcp.{type(solver).__name__}()"
    return (
        f"{type(solver).__name__} solves quadratic programs, and the LCP of contacts with friction is none; write "
        f"ConvexRelaxation({qp}) or StaggeredProjections({qp}). Without friction (mu = 0) either is the one program of "
        "the normal forces"
    )


def friction_objection(friction: str, solver: object) -> tuple[str, str] | None:
    """Return field and reason if ``friction`` is unknown or ``solver`` does not solve it, otherwise None."""
    if friction not in FRICTION:
        return "friction", f"must be one of {', '.join(FRICTION)}, got {friction!r}"
    traits, name = getattr(solver, "traits", None), type(solver).__name__
    of_cones = traits is not None and bool(traits & lcp.Traits.CONE)
    if friction == "cone" and (isinstance(solver, FrictionBackend) or (traits is not None and not of_cones)):
        return "solver", f'{name} does not solve friction="cone"; lcp.ALL_FRICTION_SOLVERS do, or give none'
    if friction == "pyramid" and of_cones:
        return "solver", f'{name} solves cones alone: write friction="cone"'
    return None
