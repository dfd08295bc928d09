"""Proof that no contact forces prevent penetration, from a linear program and Farkas' lemma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lcp.arrays import Vector
from lcp.friction.problem import FrictionProblem
from lcp.linear_program import linear_program

# Contacts up to which the linear program is worth its time.
_MAX_CONTACTS = 3000
# A sum counts as zero up to this fraction of its terms.
_ZERO = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class NoAdmissibleMotion:
    """Weights d >= 0 (nc,) of the normal rows with d' W_N r <= 0 for every r in the cones, and d' q_N < 0.

    Then d' u_N < 0 for any forces: some contact penetrates. This is Farkas' lemma for u_N >= 0, r in K.
    """

    d: Vector
    value: float


def no_admissible_motion(problem: FrictionProblem, time_limit: float = 60.0) -> NoAdmissibleMotion | None:
    """Return such weights, or None if the linear program finds none that pass the check.

    The program replaces each cone by a pyramid of four facets; the check is on the cones. ``time_limit`` is in seconds.
    """
    if problem.nc == 0 or problem.nc > _MAX_CONTACTS:
        return None
    from scipy import sparse

    normal = problem._index[:, 0]
    unit = float(abs(problem._W).max()) or 1.0
    q_unit = float(np.abs(problem._q).max()) or 1.0
    # Row a: the factor of each force of contact a in d' W_N r, as a function of d.
    pull: Any = sparse.csr_matrix(problem._W)[normal].T / unit
    absent: Any = sparse.csr_matrix((1, problem.nc))
    padded: Any = sparse.vstack([pull, absent], format="csr")
    g = [padded[problem._index[:, k]] for k in range(3)]
    mu: Any = sparse.diags_array(problem._mu)
    facets: Any = sparse.vstack([g[0] + mu @ (s * g[1] + t * g[2]) for s in (1.0, -1.0) for t in (1.0, -1.0)])
    program = linear_program(
        problem._q[normal] / q_unit,
        facets,
        b_ub=np.zeros(4 * problem.nc),
        bounds=[(0.0, 1.0)] * problem.nc,
        time_limit=time_limit,
    )
    if program is None:
        return None
    d = np.maximum(program.x, 0.0)
    value = float(problem._q[normal] @ d)
    if not value < -_ZERO * float(np.abs(problem._q[normal]) @ d):
        return None
    factor = problem.contacts(np.asarray(pull @ d))
    size = problem.contacts(np.asarray(abs(pull) @ d)).max(axis=1)
    over = factor[:, 0] + problem._mu * np.hypot(factor[:, 1], factor[:, 2])
    return NoAdmissibleMotion(d, value) if (over <= _ZERO * size).all() else None
