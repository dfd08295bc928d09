"""Nonsmooth block Gauss-Seidel: contact after contact, each solved exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcp.friction.blocks import blocks_of
from lcp.friction.problem import FrictionProblem
from lcp.friction.result import FrictionClaim
from lcp.friction.solvers.friction_base import FrictionSolverBase, IterateMonitor
from lcp.method import Request
from lcp.options import choice, positive, real, whole
from lcp.status import Status

SWEEPS = ("forward", "symmetric")

# Multiply-adds between two returns to Python, where Ctrl-C and the time limit are heeded.
_PORTION = 10_000_000
# A step this small against the force changes nothing that can be measured.
_STILL = 1e-16


@dataclass(frozen=True)
class NSGS(FrictionSolverBase):
    """Nonsmooth block Gauss-Seidel with an exact solve of each contact (Jean and Moreau; Jourdan, Alart, Jean 1998).

    The most dependable way to some digits, whatever the rank of W: each sweep solves one contact after the other for
    given forces of the others, by its modes (open, stick, slide, the last by its quartic), so that no block fails.
    Linear convergence, slow where many contacts share a load. Nothing is proven of it with friction.

    Parameters
    ----------
    sweep
        "forward", or "symmetric": forward and back, which counts as one iteration.
    relaxation
        Factor on each step, in (0, 2).
    max_iterations
        Limit on sweeps.
    time_limit
        Seconds, heeded between portions of some hundredths of a second.

    References
    ----------
    F. Jourdan, P. Alart, M. Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, Computer Methods
    in Applied Mechanics and Engineering 155 (1998).
    V. Acary, M. Bremond, O. Huber, INRIA RR-9118 (2018), section 4.2.
    """

    sweep: str = choice("forward", SWEEPS)
    relaxation: float = real(1.0, least=0.0, most=2.0, open_ends=True)
    max_iterations: int = whole(100_000)
    time_limit: float = positive(120.0)

    def _claim(self, problem: FrictionProblem, request: Request) -> FrictionClaim:
        from lcp.kernels.friction_sweeps import friction_sweeps

        z0, tolerance, trace = request
        monitor = IterateMonitor(problem, tolerance, self.time_limit, trace)
        units = monitor.units
        rows, blocks, work = units.start(z0), blocks_of(problem, units.W), np.empty((5, 3))
        order = np.arange(problem.nc, dtype=np.int64)
        if self.sweep == "symmetric":
            order = np.concatenate([order, order[::-1]])
        portion = max(1, _PORTION // max(1, 9 * blocks.block.shape[0] + 60 * problem.nc))
        iteration, moved, note = 0, np.inf, ""
        while monitor.record_iterate(rows, iteration) > 1.0 and monitor.finite:
            if iteration >= self.max_iterations or monitor.timed_out:
                break
            target = iteration + 1 if trace else min(self.max_iterations, _next_check(iteration))
            while iteration < target and not monitor.timed_out:
                steps = np.empty(min(portion, target - iteration))
                projected = friction_sweeps(blocks, units.q, order, self.relaxation, rows, work, steps)
                moved, note = float(steps[-1]), f"{projected} contacts by projected steps" if projected else ""
                iteration += steps.size
            if moved <= _STILL * float(np.linalg.norm(rows)):
                monitor.record_iterate(rows, iteration)
                said = "sweeps no longer move r"
                return monitor.claim(iteration, f"{said}; {note}" if note else said, Status.STALLED)
        return monitor.claim(iteration, note)


def _next_check(iteration: int) -> int:
    """1, 2, 4, 8, then an eighth more each time, at most 100."""
    return iteration + (max(1, iteration) if iteration < 8 else min(100, max(4, iteration // 8)))
