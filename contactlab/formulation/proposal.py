"""The proposal of the compiled step on the public path: a start z0 that needs no solver, or hardly any correction."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import lcp
from contactlab.formulation.blocks import problem_rows
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData


@dataclass(frozen=True)
class Proposal:
    """Answer in place of a solver: the forces of z0, or forces for the modes of the contacts that they show.

    It is made before any solver is asked, of problems with contacts alone, and taken where it meets the LCP almost to
    rounding: see `contactlab.formulation.kernels.proposal`.
    """


def proposed(data: ConstraintVelProblemData, h: float, z0: FloatArray, tolerance: float) -> lcp.Result | None:
    """Return the result of a proposal from z0 (2 nc + 2 nr,), or None where the problem goes to the solver.

    The kernel, and with it every bit, is that of the compiled step.
    """
    blocks = data.blocks()
    if blocks.nc == 0 or blocks.nl + blocks.nb + blocks.nbox + blocks.ncone - blocks.nc > 0:
        return None
    from contactlab.formulation.kernels.proposal import proposal_floats, proposal_ints, propose
    from lcp.kernels.residuals import SIZE

    clock = time.perf_counter()
    n, m = z0.size, blocks.nc + blocks.nr
    q, z, w = np.zeros(n), np.zeros(n), np.zeros(n)
    out = np.zeros(SIZE)
    found = propose(
        problem_rows(h, blocks),
        np.full(blocks.nv, blocks.nv, dtype=np.int64),
        z0,
        tolerance,
        np.zeros(int(proposal_floats(blocks.nc, blocks.nr, blocks.nv))),
        np.zeros(int(proposal_ints(blocks.nc)), dtype=np.int64),
        q,
        z,
        w,
        np.zeros(m),
        np.zeros(blocks.nv),
        out,
    )
    if found == 0:
        return None
    natural, scaled, fischer, min_z, min_w, gap, limit, rounding = out.tolist()
    residual = lcp.Residuals(natural, scaled, fischer, min_z, min_w, gap, limit, bool(rounding))
    detail = "the forces of z0" if found == 1 else f"forces for the modes of z0, {found - 1} linear systems"
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
