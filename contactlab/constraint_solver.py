"""Constraint forces from problem data: form the LCP, solve it, unpack it, certify it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lcp
from contactlab.certificate import Certificate, Check
from contactlab.formulation.discretized import (
    BaseLCP,
    DiscretizedLCP,
    check_step,
    construct_base_discretized_time_lcp,
    form_discretized_lcp,
    populate_packed_constraint_forces_from_lcp_solution,
    recover_forces,
    update_discretized_time_lcp,
)
from problem_data import ConstraintForces, ConstraintVelProblemData, ProblemDataError

__all__ = ["ConstraintSolveError", "ConstraintSolver", "Solution"]

FloatArray = NDArray[np.float64]

# Scaled residual of G v+ + kG above which the equations are taken to contradict one another, not to be rounded.
_CONSISTENT = 1e-9


@dataclass(frozen=True, eq=False)
class Solution:
    """Certified constraint forces of one step.

    Parameters
    ----------
    forces : ConstraintForces
        Forces [N, N m] by class of constraint.
    result : lcp.Result
        The LCP solver's answer; ``result.z`` warm-starts the next, similar problem.
    certificate : Certificate
        The mechanical conditions, checked on the problem data.
    generalized_force : ndarray, shape (nv,)
        N' fN + F' fF + L' fL + G' fG [N, N m].
    v_plus : ndarray, shape (nv,)
        Velocity after the step.
    """

    forces: ConstraintForces
    result: lcp.Result
    certificate: Certificate
    generalized_force: FloatArray
    v_plus: FloatArray


class ConstraintSolveError(RuntimeError):
    """A constraint problem was not solved; everything needed to study it is attached.

    Parameters
    ----------
    message : str
        What went wrong and what to try.
    problem : ConstraintVelProblemData
        The problem; `problem_data.save` writes it to a file.
    lcp : lcp.LCP
        The LCP it was turned into.
    result : lcp.Result
        The LCP solver's answer.
    h : float
        Step [s].
    certificate : Certificate
        Mechanical conditions of the rejected answer.
    """

    def __init__(
        self,
        message: str,
        problem: ConstraintVelProblemData,
        lcp: lcp.LCP,
        result: lcp.Result,
        h: float,
        certificate: Certificate,
    ) -> None:
        # All of it in args: the error then survives pickling between processes.
        super().__init__(message, problem, lcp, result, h, certificate)
        self.message = message
        self.problem = problem
        self.lcp = lcp
        self.result = result
        self.h = h
        self.certificate = certificate

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class ConstraintSolver:
    """Solve constraint problems with one LCP solver.

    Parameters
    ----------
    lcp_solver : optional
        A solver of `lcp`, with its options; `lcp.default_solver()` if not given.

    Examples
    --------
    A particle of 2 kg on the ground, pulled sideways at 3 N with friction 0.5 (bound 9.81 N), sticks:

    >>> import problem_data
    >>> h, m = 0.01, 2.0
    >>> data = problem_data.ConstraintVelProblemData(
    ...     M=[[m, 0], [0, m]], Mv=[h * 3.0, -h * m * 9.81], N=[[0, 1]], F=[[1, 0]], mu=[0.5], r=[1]
    ... )
    >>> solution = ConstraintSolver().solve_discretized_problem(data, h)
    >>> solution.forces.fN.round(6), solution.forces.fF.round(6)
    (array([19.62]), array([-3.]))
    >>> solution.certificate.holds(1e-9)
    True
    """

    lcp_solver: lcp.Solver | None = None

    def solve_discretized_problem(
        self, data: ConstraintVelProblemData, h: float, *, z0: ArrayLike | None = None
    ) -> Solution:
        """Forces over one step: M (v+ - v) = h (tau + N' fN + F' fF + L' fL + G' fG), constraints at v+.

        Parameters
        ----------
        data : ConstraintVelProblemData
            Problem with Mv = M v + h tau, gammas in s/kg.
        h : float
            Step [s].
        z0 : array_like, shape (2 nc + 2 nr + nl,), optional
            LCP solution of a similar problem to start from.

        Raises
        ------
        ProblemDataError
            h is not positive or z0 does not fit.
        ConstraintSolveError
            The LCP solver failed, or the bilateral equations contradict one another.
        """
        discretized = form_discretized_lcp(data, h)
        n = len(discretized.qq)
        problem = lcp.LCP(discretized.MM, discretized.qq)
        result = lcp.solve(problem, self.lcp_solver, z0=None if z0 is None else _start(z0, n))

        # A copy: the result's z is read-only, which to the kernels is another type and another compilation.
        z = result.z.copy()
        packed, v_plus = recover_forces(discretized.h, discretized.rows, data.blocks(), z)
        certificate = certify_forces(data, discretized.h, z, packed, v_plus)
        if _CONSISTENT < certificate.bilateral.scaled < math.inf:  # infinite: the solver's z is not finite
            message = (
                f"the bilateral equations G v+ + kG = 0 are inconsistent: the best velocity leaves a residual of "
                f"{certificate.bilateral.violation:.3g} ({certificate.bilateral.scaled:.2g} of its terms); "
                f"{data.nb} rows of rank {discretized.rows.bilateral.rank if discretized.rows.bilateral else 0}"
            )
            raise ConstraintSolveError(message, data, problem, result, discretized.h, certificate)
        if not result.solved:
            message = (
                f"the contact problem was not solved over h = {discretized.h:g} s ({data!r}): "
                f"LCP of size {n} ended with {result.status.name} after {result.iterations} iterations. "
                f"{result.status.advice}"
            )
            raise ConstraintSolveError(message, data, problem, result, discretized.h, certificate)
        return Solution(
            forces=ConstraintForces.from_packed(data, packed),
            result=result,
            certificate=certificate,
            generalized_force=packed @ data.blocks().J,
            v_plus=v_plus,
        )

    @staticmethod
    def construct_base_discretized_time_lcp(data: ConstraintVelProblemData) -> BaseLCP:
        """State the LCP at h = 1 without softening: the part that every step size shares."""
        return construct_base_discretized_time_lcp(data)

    @staticmethod
    def update_discretized_time_lcp(base: BaseLCP, data: ConstraintVelProblemData, h: float) -> DiscretizedLCP:
        """State the LCP of a step h [s] with the operators of ``base`` and the vectors of ``data``."""
        return update_discretized_time_lcp(base, data, h)

    @staticmethod
    def populate_packed_constraint_forces_from_lcp_solution(
        data: ConstraintVelProblemData, discretized: DiscretizedLCP, zz: ArrayLike, h: float
    ) -> ConstraintForces:
        """Unpack an LCP solution into forces [N, N m], the bilateral ones included."""
        return populate_packed_constraint_forces_from_lcp_solution(data, discretized, zz, h)

    @staticmethod
    def compute_generalized_force_from_constraint_forces(
        data: ConstraintVelProblemData, forces: ConstraintForces | ArrayLike
    ) -> FloatArray:
        """N' fN + F' fF + L' fL + G' fG, shape (nv,): a force [N, N m] or an impulse, as ``forces`` are."""
        generalized: FloatArray = _packed(data, forces) @ data.blocks().J
        return generalized

    @staticmethod
    def compute_generalized_velocity_change(
        data: ConstraintVelProblemData, impulses: ConstraintForces | ArrayLike
    ) -> FloatArray:
        """M^-1 times the generalised impulse of ``impulses`` [N s, N m s], shape (nv,)."""
        change: FloatArray = _packed(data, impulses) @ data.blocks().Y
        return change

    @staticmethod
    def compute_generalized_acceleration_from_constraint_forces(
        data: ConstraintVelProblemData, forces: ConstraintForces | ArrayLike
    ) -> FloatArray:
        """M^-1 times the generalised force of ``forces`` [N, N m], shape (nv,)."""
        acceleration: FloatArray = _packed(data, forces) @ data.blocks().Y
        return acceleration

    @staticmethod
    def compute_generalized_acceleration(
        data: ConstraintVelProblemData, v: ArrayLike, forces: ConstraintForces | ArrayLike, h: float
    ) -> FloatArray:
        """Mean acceleration (v+ - v) / h over the step, shape (nv,), with v (nv,) the velocity at its start.

        External forces are in Mv already; ``forces`` are the constraint forces [N, N m].
        """
        step = check_step(h)
        start = np.asarray(v, dtype=np.float64)
        if start.shape != (data.nv,):
            raise ProblemDataError("v", f"shape {start.shape}, wanted ({data.nv},): one entry per velocity")
        blocks = data.blocks()
        acceleration: FloatArray = (blocks.v_free - start) / step + _packed(data, forces) @ blocks.Y
        return acceleration


def certify_forces(
    data: ConstraintVelProblemData, h: float, z: FloatArray, packed: FloatArray, v_plus: FloatArray
) -> Certificate:
    """Certificate of forces [fN | fF | fL | fG] and v+ over a step h, with the edge magnitudes in z."""
    from contactlab.formulation.kernels.certify import CERT_SIZE, certify

    blocks = data.blocks()
    cert = np.empty(CERT_SIZE)
    size = np.empty(blocks.nv)
    certify(
        h,
        blocks.nc,
        blocks.nr,
        blocks.nl,
        blocks.r,
        blocks.mu,
        blocks.J,
        blocks.Y,
        blocks.k,
        blocks.gamma,
        blocks.gammaE,
        blocks.v_free,
        z,
        packed,
        v_plus,
        size,
        cert,
    )
    if blocks.nb == 0:
        return Certificate.from_kernel(cert)
    nu = blocks.nc + blocks.nr + blocks.nl
    G, kG = blocks.J[nu:], blocks.k[nu:]
    rates = np.abs(G @ v_plus + kG)
    scales = np.abs(G) @ size + np.abs(kG)
    checks = [Check(float(rate), float(scale)) for rate, scale in zip(rates, scales, strict=True)]
    return Certificate.from_kernel(cert, max(checks, key=lambda check: check.scaled))


def _start(z0: ArrayLike, n: int) -> FloatArray:
    start = np.array(z0, dtype=np.float64, order="C")
    if start.shape != (n,):
        raise ProblemDataError("z0", f"shape {start.shape}, wanted ({n},): 2 nc + 2 nr + nl")
    if not np.isfinite(start).all():
        i = int(np.argmin(np.isfinite(start)))
        raise ProblemDataError("z0", f"z0[{i}] = {start[i]}, wanted a finite number")
    return start


def _packed(data: ConstraintVelProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    if not isinstance(forces, ConstraintForces):
        forces = ConstraintForces.from_packed(data, forces)
    packed = forces.packed()
    counts = (data.nc, data.nr, data.nl, data.nb)
    lengths = (len(forces.fN), len(forces.fF), len(forces.fL), len(forces.fG))
    if lengths != counts:
        raise ProblemDataError("forces", f"fN, fF, fL, fG of lengths {lengths}, wanted {counts} (nc, nr, nl, nb)")
    return packed
