"""The island in progress, seen from Python: its problem, its bodies, and its solution by the public path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.constraint_solver.discretized import ConeProblem, cone_problem, form_discretized_lcp, stated_lcp
from contactlab.constraint_solver.friction_backend import LawCheck, check_law
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.step_buffers import StepBuffers
from problem_data import ConstraintVelProblemData, VelocityBlocks


class IslandAnswer(NamedTuple):
    """The result of an external solver; for a friction backend also the check against the law that it states."""

    result: lcp.Result | lcp.FrictionResult
    law: LawCheck | None = None


class ViewedContact(NamedTuple):
    """A contact of the island: numbers of bodies and half-space (-1: none), point (3,) [m], gap [m], mu."""

    body_a: int
    body_b: int
    half_space: int
    point: FloatArray
    gap: float
    mu: float


@dataclass(frozen=True, eq=False)
class IslandView:
    """View of a driver's buffers, valid until the loop is entered again."""

    memory: StepBuffers  # of the run

    @property
    def number(self) -> int:
        """Number of the island in the step."""
        return int(self.memory.control.island)

    def trees(self) -> NDArray[np.int64]:
        """Return the numbers of its trees."""
        start, i = self.memory.work.tree_start, self.number
        return np.array(self.memory.work.island_trees[int(start[i]) : int(start[i + 1])])

    def contacts(self) -> Iterator[ViewedContact]:
        """Yield its contacts in the order of its rows."""
        start, i = self.memory.work.contact_start, self.number
        for index in self.memory.work.island_contacts[int(start[i]) : int(start[i + 1])]:
            ints, floats = self.memory.work.contact_int[index], self.memory.work.contact_float[index]
            yield ViewedContact(
                body_a=int(ints[layout.BODY_A]),
                body_b=int(ints[layout.BODY_B]),
                half_space=int(ints[layout.HALF_SPACE]),
                point=floats[layout.POINT : layout.POINT + 3].copy(),
                gap=float(floats[layout.GAP]),
                mu=float(floats[layout.MU]),
            )

    def joint_errors(self) -> dict[int, float]:
        """Return the errors [rad or m] of its joint rows by number."""
        if self.memory.joints is None:
            return {}
        start, i = self.memory.joints.row_start, self.number
        numbers = self.memory.joints.island_rows[int(start[i]) : int(start[i + 1])]
        return {int(number): float(self.memory.joints.error[number]) for number in numbers}

    def contradictions(self) -> list[int]:
        """Return the numbers of the joint rows whose equations have about the largest residual."""
        if self.memory.joints is None or self.memory.progress.ng == 0:
            return []
        nv, nb = int(self.memory.progress.nv), int(self.memory.progress.ng)
        first = int(self.memory.progress.nc) + int(self.memory.progress.nr) + int(self.memory.progress.nl)
        G = self.memory.island.J[first * nv : (first + nb) * nv].reshape(nb, nv)
        rates = np.abs(G @ self.memory.island.v_plus[:nv] + self.memory.island.k[first : first + nb])
        start = int(self.memory.joints.row_start[self.number]) + int(self.memory.progress.nl)
        numbers = self.memory.joints.island_rows[start : start + nb]
        return [int(number) for number in numbers[rates > 0.1 * rates.max()]]

    def problem(self) -> ConstraintVelProblemData:
        """Return its problem data, as copies."""
        progress, island = self.memory.progress, self.memory.island
        nc, nv, nl, nb, nbox = (int(n) for n in (progress.nc, progress.nv, progress.nl, progress.ng, progress.nbox))
        nr, ncone = int(progress.nr), int(progress.ncone)
        m = nc + nr + nl + nb + nbox
        lo, hi, equations = np.zeros(0), np.zeros(0), {}
        if self.memory.joints is not None:
            lo, hi = self.memory.joints.lo, self.memory.joints.hi
            equations = {
                "scaleG": self.memory.joints.G_scale[:nb].copy(),
                "errorG": self.memory.joints.G_error[:nb].copy(),
            }
        blocks = VelocityBlocks(
            nv=nv,
            nc=nc,
            nr=nr,
            nl=nl,
            nb=nb,
            r=island.r[:ncone].copy(),
            mu=island.mu[:ncone].copy(),
            cone_contacts=island.cone_contacts[:ncone].copy(),
            J=island.J[: m * nv].reshape(m, nv).copy(),
            Y=island.Y[: m * nv].reshape(m, nv).copy(),
            k=island.k[:m].copy(),
            gamma=island.gamma[:m].copy(),
            gammaE=island.gammaE[:ncone].copy(),
            Mv=island.Mv[:nv].copy(),
            v_free=island.v_free[:nv].copy(),
            nbox=nbox,
            lo=lo[:nbox].copy(),
            hi=hi[:nbox].copy(),
            # The first velocity of each tree, and nv.
            tree_starts=np.append(self.memory.work.tree_offset[self.trees()], nv),
            **equations,
        )
        law = self.memory.prepared.stepper.friction
        return ConstraintVelProblemData.from_blocks(blocks, solve_inertia=self._inertia(), friction=law)

    def warm_start(self) -> FloatArray | None:
        """Return the initial value of its solver, as a copy; None for a cold start."""
        return self.memory.island.z0[: int(self.memory.progress.n)].copy() if self.memory.progress.has_z0 else None

    def solve(self) -> IslandAnswer:
        """Solve the island by the stepper's LCP solver, friction solver or backend, from the warm start."""
        stepper, n = self.memory.prepared.stepper, int(self.memory.progress.n)
        if stepper.asks_backend and int(self.memory.progress.nc):
            solver: Any = stepper.solver
            formed = form_discretized_lcp(self.problem(), self.memory.h)
            found = solver.solve_contacts(formed, z0=self.warm_start()).result
            return IslandAnswer(found, check_law(formed, np.array(found.z), stepper.law))
        M, q = self.memory.island.M[: n * n].reshape(n, n), self.memory.island.q[:n]
        if stepper.friction == "cone":
            cones, z0 = self._cones(), self.warm_start()
            start = None if z0 is None else cones.from_lcp(z0)
            return IslandAnswer(lcp.solve(cones.problem, stepper.lcp_solver, z0=start, tolerance=stepper.tolerance))
        nbox = int(self.memory.progress.nbox)
        lo, hi = (
            (q[:0], q[:0])
            if self.memory.joints is None
            else (self.memory.joints.lo[:nbox], self.memory.joints.hi[:nbox])
        )
        first_cone = int(self.memory.progress.nc) + 2 * int(self.memory.progress.nr)
        problem = stated_lcp(M, q, lo, hi, first_cone, int(self.memory.progress.ncone))
        result = lcp.solve(problem, stepper.lcp_solver, z0=self.warm_start(), tolerance=stepper.tolerance)
        return IslandAnswer(result)

    def write(self, answer: IslandAnswer) -> None:
        """Write z, iterations and verdict of a solution into the buffers of the loop, where VERIFY checks them.

        Residuals of exact cones, or of a backend's law, take the places of the LCP's residuals.
        """
        from lcp.kernels.residuals import NATURAL_LIMIT, NATURAL_MAP, ROUNDING_DECIDED, SCALED

        result, law = answer
        progress, measures, numbers = self.memory.progress, self.memory.island.residuals, dict[int, float]()
        progress.pivots = result.iterations
        if isinstance(result, lcp.FrictionResult):
            progress.answered = layout.ANSWERED if result.solved else layout.REFUSED
            z, cones = self._cones().to_lcp(result.r, result.u), result.residual
            numbers = {NATURAL_MAP: cones.fclib, SCALED: cones.scaled}
            numbers[NATURAL_LIMIT] = max(result.tolerance, cones.fclib_rounding)
            numbers[ROUNDING_DECIDED] = cones.rounding_decided(result.tolerance)
        else:
            z, residual = result.z, result.residual
            if law is not None:
                answers = law.holds(self.memory.prepared.stepper.law_tolerance)
                nearly = law.residual <= layout.UNCERTIFIED_TOLERANCE and residual.finite
                progress.answered = layout.ANSWERED if answers else layout.NEARLY if nearly else layout.REFUSED
                numbers = {NATURAL_MAP: residual.natural_map, SCALED: law.residual}
                numbers[NATURAL_LIMIT] = residual.natural_map if answers else 0.0
        self.memory.island.z[: z.size] = z
        if numbers:
            measures[:] = 0.0
            measures[list(numbers)] = list(numbers.values())

    def _cones(self) -> ConeProblem:
        """Return the LCP of the island, already formed, as a `ConeProblem` with circular friction cones."""
        nc, n = int(self.memory.progress.nc), int(self.memory.progress.n)
        island = self.memory.island
        M, q = island.M[: n * n].reshape(n, n), island.q[:n]
        return cone_problem(M, q, island.r[:nc].copy(), island.mu[:nc])

    def _inertia(self) -> IslandInertia:
        """Return an operator that applies M^-1 of the island, from copies of the factors of its trees."""
        starts, packed = self.memory.prepared.world.tree_starts, self.memory.prepared.arrays.packed
        parts = []
        for tree in self.trees():
            n = int(starts[tree + 1] - starts[tree])
            block = int(packed.trees[tree, layout.TREE_BLOCK])
            # Copies: the operator outlives the buffers.
            factor = self.memory.work.L[block : block + n * n].reshape(n, n).copy()
            parts.append((packed.branch[starts[tree] : starts[tree + 1]], factor))
        return IslandInertia(tuple(parts))


@dataclass(frozen=True, eq=False)
class IslandInertia:
    """B -> M^-1 B of the trees of an island at one configuration, through the kernels that the time step uses."""

    # For each tree, in the order of the island's velocities: the next degree of freedom towards the root (n,), -1 for
    # none, and L (n, n) of M = L^T L.
    factors: tuple[tuple[NDArray[np.int64], FloatArray], ...]

    def __call__(self, B: FloatArray) -> FloatArray:
        """Return M^-1 B for B (nv,) or (nv, columns)."""
        from contactlab.multibody.kernels.mass_matrix import solve_vector_l, solve_vector_lt

        # Row-contiguous right-hand sides: the kernels take one contiguous vector at a time.
        rows = np.array(np.atleast_2d(np.asarray(B, dtype=np.float64).T), order="C")
        for row in rows:
            at = 0
            for branch, L in self.factors:
                own = row[at : at + branch.size]
                solve_vector_lt(branch, L, own)
                solve_vector_l(branch, L, own)
                at += branch.size
        return rows[0] if np.ndim(B) == 1 else np.ascontiguousarray(rows.T)
