"""The law that a friction backend states, and whether forces meet it: decided here alone, from the data of the problem.

Coulomb's law over the pyramid of a contact, and Anitescu's relaxation of it, differ in the normal rows alone::

    "coulomb"   0 <= fN  _|_  N v+ + kN + gammaN fN              >= 0
    "relaxed"   0 <= fN  _|_  N v+ + kN + gammaN fN - mu lambda  >= 0,    lambda the largest sliding speed of an edge

Forces meet a law where two residuals are within a tolerance: the scaled residual of its LCP, and every mechanical
condition over its scale. The second is checked on J, Y, k and v_free, not on the LCP that was assembled from them. Of
the relaxed law these are Coulomb's conditions with kN - mu lambda in the place of kN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lcp
from contactlab.certificate import FORMULAS, Certificate
from contactlab.formulation.certificates import certify_blocks, certify_forces
from contactlab.formulation.discretized import DiscretizedLCP, recover_forces
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData

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
    """Return the law that a solver states: ``"coulomb"`` unless it says otherwise."""
    law: str = getattr(solver, "law", LAWS[0])
    return law


def relaxed_lcp(formed: DiscretizedLCP) -> lcp.LCP:
    """Return the LCP of the relaxed law: Coulomb's, with -mu in the rows fN and columns lambda."""
    nc, nr = formed.data.nc, formed.data.nr
    slacks = slice(nc + 2 * nr, 2 * nc + 2 * nr)
    MM = formed.MM.copy()
    MM[:nc, slacks] = -MM[slacks, :nc].T
    return lcp.LCP(MM, formed.qq, formed.problem.noise)


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
