"""Principal pivoting on the set of positive unknowns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.farkas import Farkas
from lcp.kernels import RUNNING
from lcp.method import (
    SYMMETRIC_MONOTONE,
    SolverBase,
    SolveRequest,
    Traits,
    integer_option,
    positive_option,
    real_option,
)
from lcp.problem import LCP, kernel_arrays
from lcp.residuals import DEFAULT_TOLERANCE, measure
from lcp.result import Claim
from lcp.solvers.frame import PivotSearch
from lcp.solvers.principal_pivoting import TOO_LONG
from lcp.status import STATUS_OF_CODE, Status

# Rounds between two returns to Python, which check Ctrl-C and the time limit.
_BUDGET = 16


@dataclass(frozen=True)
class ActiveSetPivoting(SolverBase[LCP]):
    """Principal pivoting on a factored active set, at a cost of k^3 for k positive unknowns (Drumwright 2017).

    For problems with few positive z, especially boxes at rest: only the columns of M that become active are read. The
    method starts like Drake's fast solver: from z = 0 it exchanges infeasible pairs and solves the active block.
    Factors are updated at a cost of k^2 per pivot, all infeasible pairs are exchanged together while this helps, and
    redundant contacts are left out. The end is proven: for symmetric M by the primal active set method, whose energy
    decreases in every step, for other M by Murty's least-index rule. If M is symmetric positive semidefinite, every
    feasible problem is solved, and for the others a Farkas vector is returned. P matrices always have a solution.

    Friction couples pairs whose diagonal entries vanish, and pivots of single indices may not reach a solution with
    sliding contacts. The status then reports this after a few rounds, and `Lemke` is the method to use.

    Parameters
    ----------
    max_pivots
        Limit on insertions and removals; None for max(1000, 50 n).
    zero_tolerance
        Relative size that counts as zero: for z_i relative to the largest z, for w_i to |q_i| + max_j |M_ij| max_j z_j.
        The method reduces it if a solution is not accepted.
    time_limit
        Seconds, checked between calls of 16 rounds.

    References
    ----------
    E. Drumwright and others, `SolveLcpFast` of Moby and Drake (2016-2019); A. Chang, R. W. Cottle, Least-index
    resolution of degeneracy in quadratic programming, Mathematical Programming 18 (1980); J. J. Judice, F. M. Pires,
    A block principal pivoting algorithm for large-scale strictly monotone linear complementarity problems, Computers
    and Operations Research 21 (1994); K. G. Murty, Opsearch 11 (1974).
    """

    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.P_MATRIX | Traits.WARM_START

    def kernel_options(self, tolerance: float = DEFAULT_TOLERANCE) -> NDArray[np.float64]:
        """Return the options as the kernel takes them; see `lcp.kernels.active_set_pivoting`."""
        from lcp.kernels import active_set_pivoting as k

        options = np.zeros(k.OPTIONS_SIZE)
        options[k.MAX_PIVOTS] = math.nan if self.max_pivots is None else self.max_pivots
        options[k.ZERO_TOLERANCE] = self.zero_tolerance
        options[k.TOLERANCE] = tolerance
        return options

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        """Call the kernel until it ends or the time is over; a ray that proves infeasibility becomes evidence."""
        from lcp.kernels import active_set_pivoting as k

        z0, n = request.z0, problem.n
        M, q = kernel_arrays(problem)
        # A round may end with indices that have entered but have no values yet; a trace must not read random numbers.
        wf = np.zeros(k.active_set_float_size(n))
        wi = np.empty(k.active_set_int_size(n), dtype=np.int64)
        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        options = self.kernel_options(request.tolerance)
        options[k.FREE_OF_UNITS] = problem._q_uncertainty is None
        search = PivotSearch(problem, request, self.time_limit)
        z = search.best
        start = z if z0 is None else z0

        def record() -> None:
            search.iterations = int(info[k.PIVOTS])
            if request.trace:
                search.recorder.add(search.iterations, measure(problem, z)[0].natural_map)

        code = search.run(
            lambda budget: k.active_set_drive(M, q, start, z0 is not None, options, wf, wi, z, info, budget),
            _BUDGET, record,
        )  # fmt: skip
        status, evidence = STATUS_OF_CODE[code], None
        if status is Status.RAY_TERMINATION:
            # Of a semidefinite M the direction is in the null space, and adds the rows up to a contradiction.
            proof = Farkas(y=np.maximum(wf[:n], 0.0), v=np.zeros(0))
            if proof.proves(problem):
                status, evidence = Status.INFEASIBLE, proof
        if status is Status.SOLVED and info[k.WARM] and search.iterations == 0:
            return search.claim(status, "warm basis accepted")
        return search.claim(status, "time limit" if code == RUNNING else _DETAIL.get(status, ""), evidence)


_DETAIL = {
    Status.ITERATION_LIMIT: TOO_LONG,
    Status.SINGULAR_BASIS: "no exchange of single indices leads on",
    Status.RAY_TERMINATION: "the energy falls for ever along a direction",
}
