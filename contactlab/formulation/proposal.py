"""The compiled step's proposal on the public path: forces that need no complementarity solver."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import lcp
from contactlab.formulation.discretized import DiscretizedLCP
from contactlab.formulation.friction_backend import friction_objection
from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True)
class Proposal:
    """Answer in place of a solver: the forces of z0, or forces near them, or the forces selected.

    It is made before any solver is asked, and taken where it meets the LCP well within the tolerance: see
    `contactlab.formulation.kernels.proposal`.
    """


@dataclass(frozen=True)
class EqualCompliance:
    """What a step asks for by default: among the forces of redundant contacts, those that give way alike.

    Where contacts are redundant, the rigid problem has many solutions, and a pivoting method returns a corner of their
    set: one corner of a face carries all of its load, and what such forces do to a gripped box is not what it does.
    Selected are the forces of contacts with a compliance eps, the same for all of them and in every direction, in the
    limit of eps = 0. They solve the rigid problem, and are found in the space of the velocities: from large to small
    eps, then by proximal points (`contactlab.formulation.kernels.selection`). Rows of joints are rigid throughout.

    Parameters
    ----------
    otherwise
        Solver of the LCP where nothing was selected: softness of friction, torsional or rolling friction, contacts of
        different numbers of directions, a branch that ends before eps does, a residual of more than a third of the
        tolerance. By default Lemke's method, then what `lcp.default_solver` would try.

    Notes
    -----
    A backend of `ConstraintSolver` for impacts and steps, and what ``TimeStepping(solver=None)`` does.
    """

    otherwise: lcp.Solver | None = None

    def __post_init__(self) -> None:
        solver = self.otherwise
        if solver is not None and (isinstance(solver, type) or not hasattr(solver, "solve")):
            raise lcp.ProblemError(f"otherwise must be a solver object such as lcp.Lemke(), got {solver!r}")
        objection = friction_objection("pyramid", self.otherwise)
        if objection is not None:
            raise lcp.ProblemError(objection[1])

    @property
    def lcp_solver(self) -> lcp.Solver:
        """The solver that is asked where nothing was selected."""
        return lcp.Fallback(lcp.Lemke(), lcp.default_solver()) if self.otherwise is None else self.otherwise


def proposed(formed: DiscretizedLCP, z0: FloatArray | None, tolerance: float, selected: bool) -> lcp.Result | None:
    """Return the result of a proposal, near z0 (n,) or selected, or None where the problem goes to the solver.

    The kernels, and with them every bit, are those of the compiled step.
    """
    blocks = formed.data.blocks()
    with_joints = blocks.nl + blocks.nb + blocks.nbox > 0
    asked = selected or (z0 is not None and not with_joints)
    if blocks.nc == 0 or blocks.ncone != blocks.nc or not asked:
        return None
    from contactlab.formulation.kernels.proposal import propose, select_with_joints
    from contactlab.formulation.kernels.search import search_floats, search_ints
    from lcp.kernels.residuals import GAP, SIZE

    clock = time.perf_counter()
    n, joined = len(formed.qq), blocks.nl + blocks.nbox
    start, z, w, out = np.zeros(n) if z0 is None else z0, np.zeros(n), np.zeros(n), np.zeros(SIZE)
    rows = formed.rows.problem(formed.h, blocks)
    reach = np.full(blocks.nv, blocks.nv, dtype=np.int64)
    wf = np.zeros(int(search_floats(blocks.nc, blocks.nr, joined, blocks.nv)))
    wi = np.zeros(int(search_ints(blocks.nc)), dtype=np.int64)
    warm = z0 is not None
    if with_joints:
        found = select_with_joints(rows, reach, warm, start, tolerance, wf, wi, formed.MM, formed.qq, z, w, out)
    else:
        q, f, v_plus = np.zeros(n), np.zeros(blocks.nc + blocks.nr), np.zeros(blocks.nv)
        found = propose(rows, reach, selected, warm, start, tolerance, wf, wi, q, z, w, f, v_plus, out)
    if found == 0:
        return None
    # The kernel has judged in the step's own units; the backward error is told beside.
    measures: list[float] = [*out[: GAP + 1].tolist(), lcp.residuals(formed.problem, z).backward_error]
    residual = lcp.Residuals(*measures)
    kind = "forces selected" if selected else "forces near z0"
    detail = "the forces of z0" if found == 1 else f"{kind}, {found - 1} linear systems"
    z.flags.writeable = False
    w.flags.writeable = False
    solver = Proposal()
    return lcp.Result(
        z=z,
        w=w,
        status=lcp.Status.SOLVED,
        iterations=0,
        residual=residual,
        solver=solver,
        attempts=(lcp.Attempt(solver, lcp.Status.SOLVED, 0, residual, detail),),
        solve_time=time.perf_counter() - clock,
        regularization=0.0,
        evidence=None,
        tolerance=tolerance,
        trace=None,
    )
