"""The island strategies on the public path: they find contact forces without a complementarity solver."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

import lcp
from contactlab.certificate import Choice
from contactlab.formulation.blocks import ALL_COLUMNS
from contactlab.formulation.cone import ConeProblem, cone_problem
from contactlab.formulation.discretized import DiscretizedLCP
from contactlab.formulation.friction_backend import friction_objection
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.contacts.island_solver import solve_island
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.strategies import RECORDED, STRATEGY_NAMES, strategy_mask
from lcp.contacts.trees import contact_column_ranges
from problem_data import VelocityBlocks

# Unknowns from which on a sparse matrix may cost less than a dense one, and the part of it that it may fill.
_LARGE = 150
_SPARSE = 0.25
#: Seconds of the processor for the problem of an island that the default solvers are given.
MAX_SECONDS = 30.0


@dataclass(frozen=True)
class StrategySolver:
    """Answer in place of a solver: the forces of z0, or forces near them, or the forces selected.

    It is made before any solver is asked, and taken where it meets the LCP well within the tolerance: see
    `lcp.contacts.kernels.strategy_loop`.

    Parameters
    ----------
    choice
        Which of several force solutions was found.
    attempt
        Name of the strategy that found it: see `lcp.contacts.strategies`.
    """

    choice: Choice = Choice.ANY
    attempt: str = "held"


@dataclass(frozen=True)
class EqualCompliance:
    """Default solver of a step: the equal-compliance forces of redundant contacts.

    Where contacts are redundant, the rigid problem has many solutions, and a pivoting method returns a corner of their
    set: one corner of a face carries all of its load, and what such forces do to a gripped box is not what it does.
    Selected are the forces of contacts with a compliance eps, the same for all of them and in every direction, in the
    limit of eps = 0. They solve the rigid problem, and are found in the space of the velocities: from large to small
    eps, then by proximal points (`lcp.contacts.kernels.compliance_continuation`). Rows of joints are rigid throughout.

    Parameters
    ----------
    fallback
        Solver of the LCP where nothing was found: softness of friction, contacts of different numbers of directions,
        and where all attempts were without success. By default Lemke's method, then what
        `lcp.default_solver` would try, for half a minute of the processor; with ``friction="cone"`` what
        `lcp.default_friction_solver` would try, for as long.
    strategies
        Names of the strategies that may be used: see `lcp.contacts.strategies`.

    Notes
    -----
    A backend of `ConstraintSolver` for impacts and steps, and the method of ``TimeStepping(solver=None)``.
    """

    fallback: lcp.Solver | None = None
    strategies: tuple[str, ...] = STRATEGY_NAMES

    def __post_init__(self) -> None:
        object.__setattr__(self, "strategies", tuple(self.strategies))
        strategy_mask(self.strategies)
        solver = self.fallback
        if solver is not None and (isinstance(solver, type) or not hasattr(solver, "solve")):
            raise lcp.ProblemError(f"otherwise must be a solver object such as lcp.Lemke(), got {solver!r}")
        objection = friction_objection("pyramid", self.fallback)
        if objection is not None:
            raise lcp.ProblemError(objection[1])

    @property
    def lcp_solver(self) -> lcp.Solver:
        """Solver that is called if no forces were selected."""
        if self.fallback is not None:
            return self.fallback
        return lcp.Fallback(lcp.Lemke(), lcp.default_solver(), time_limit=MAX_SECONDS)

    @property
    def cone_solver(self) -> lcp.FrictionSolver:
        """Solver that is called if no forces were selected for contacts with the exact cone."""
        return replace(lcp.default_friction_solver(), time_limit=MAX_SECONDS)


def _rows_and_ranges(rows: VelocityBlocks | ContactSystem) -> tuple[IntArray, IntArray]:
    """Rows, and the columns that each of them acts on."""
    row, column = np.nonzero((rows.J != 0.0) | (rows.Y != 0.0))
    return row, column


def _trees(blocks: VelocityBlocks) -> tuple[IntArray, IntArray]:
    """First velocities of the trees, those joined that rows of joints join, and the spans of [N; F; L; B]."""
    from contactlab.formulation.kernels.joint_spans import place_joint_spans
    from lcp.contacts.kernels.column_ranges import SPAN_INTS

    one = np.array([0, blocks.nv], dtype=np.int64), ALL_COLUMNS
    starts = blocks.tree_starts
    if starts.size == 2:
        return one
    contacts = np.arange(blocks.nc)
    contact = np.concatenate((contacts, np.repeat(blocks.cone_contacts, blocks.r)))
    nu = contact.size
    row, column = _rows_and_ranges(blocks)
    end = np.searchsorted(row, nu)
    spans = contact_column_ranges(starts, blocks.nc, contact[row[:end]], column[:end])
    if spans is None:
        return one
    if len(blocks.J) == nu:
        return starts, spans[contact]
    starts = starts.copy()
    spans = np.concatenate((spans[contact], np.zeros((blocks.nl + blocks.nbox, SPAN_INTS), dtype=np.int64)))
    left = place_joint_spans(nu, blocks.nl, blocks.nb, blocks.J.copy(), blocks.Y.copy(), starts, spans)
    return starts[: left + 1], spans


@dataclass(frozen=True, eq=False)
class _SolverAdapter:
    """Forces found as a solver's answer, so that `lcp.solve` verifies them."""

    r: FloatArray
    solver: StrategySolver
    detail: str

    def solve(
        self, problem: lcp.FrictionProblem, *, z0: FloatArray | None, tolerance: float, trace: bool
    ) -> lcp.FrictionClaim:
        return lcp.FrictionClaim(self.r, lcp.Status.SOLVED, 0, self.detail, solver=self.solver)


def solve_cones_with_strategies(
    formed: DiscretizedLCP, z0: FloatArray | None, tolerance: float, attempts: tuple[str, ...] = STRATEGY_NAMES
) -> tuple[ConeProblem, lcp.FrictionResult] | None:
    """Return selected forces of contacts with the exact cone, and their problem.

    Z0 (n,) as in `solve_with_strategies`.
    """
    found = _found(formed, z0, tolerance, True, True, attempts)
    if found is None:
        return None
    blocks = formed.data.blocks()
    cone = cone_problem(lcp_matrix(formed, found.rows), formed.qq, blocks.r, blocks.mu)
    return cone, lcp.solve(
        cone.problem, _SolverAdapter(cone.start(found.z), found.solver, found.detail), tolerance=tolerance
    )


def solve_with_strategies(
    formed: DiscretizedLCP,
    z0: FloatArray | None,
    tolerance: float,
    selected: bool,
    attempts: tuple[str, ...] = STRATEGY_NAMES,
) -> lcp.Result | None:
    """Return the result of the strategies, near z0 (n,) or selected, or None if the problem needs the solver.

    It calls the kernels of the compiled step, so the results agree in every bit.
    """
    from lcp.kernels.residuals import GAP

    clock = time.perf_counter()
    found = _found(formed, z0, tolerance, selected, False, attempts)
    if found is None:
        return None
    z, w, out, solver, detail, rows = found
    # The kernel has judged in the step's own units; the backward error is told beside.
    problem = formed.with_matrix(lcp_matrix(formed, rows))
    measures: list[float] = [*out[: GAP + 1].tolist(), lcp.residuals(problem, z).backward_error]
    residual = lcp.Residuals(*measures)
    z.flags.writeable = False
    w.flags.writeable = False
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


class _StrategyResult(NamedTuple):
    """Accepted forces: variables, residuals, the strategy, and the rows."""

    z: FloatArray
    w: FloatArray
    out: FloatArray
    solver: StrategySolver
    detail: str
    rows: ContactSystem


def _found(
    formed: DiscretizedLCP,
    z0: FloatArray | None,
    tolerance: float,
    selected: bool,
    exact: bool,
    attempts: tuple[str, ...],
) -> _StrategyResult | None:
    blocks = formed.data.blocks()
    with_joints = blocks.nl + blocks.nb + blocks.nbox > 0
    asked = selected or (z0 is not None and not with_joints)
    if blocks.nc == 0 or not asked or (exact and blocks.ncone != blocks.nc):
        return None
    from lcp.contacts.kernels.island_acceptance import IslandProblem
    from lcp.contacts.kernels.strategy_loop import NO_STRATEGY, OTHER_FORCES

    starts, spans = _trees(blocks)
    rows = formed.kernel_rows._replace(column_ranges=spans)
    start = np.zeros(formed.n) if z0 is None else z0
    asked_of = selected, z0 is not None, exact, strategy_mask(attempts), start, tolerance
    found = solve_island(IslandProblem(rows, starts, *asked_of, _posed(formed, spans)))
    if found.attempt == NO_STRATEGY:
        return None
    answer, systems = found.answer, found.systems
    kind, choice = "forces near z0", Choice.ANY
    if selected:
        kind, choice = "forces selected", Choice.SELECTED
        if found.outcome == OTHER_FORCES:
            kind, choice = "forces that are not those selected", Choice.NOT_SELECTED
    name = RECORDED[found.attempt]
    detail = "the forces of z0" if name == "reuse" and systems == 0 else f"{kind}, {name}: {systems} linear systems"
    return _StrategyResult(answer.z, answer.w, answer.residuals, StrategySolver(choice, name), detail, rows)


def _posed(formed: DiscretizedLCP, spans: IntArray) -> FloatArray:
    """Original rows, for verification after bilateral rows were eliminated; see `lcp.contacts.kernels.island_acceptance.Case`."""
    from contactlab.formulation.kernels.bilateral import fill_posed

    blocks = formed.data.blocks()
    if blocks.nb == 0:
        return np.zeros(0)
    posed = np.zeros(2 * (blocks.k.size - blocks.nb))
    nu = blocks.nc + blocks.nr + blocks.nl
    fill_posed(blocks.J, blocks.Y, blocks.k, blocks.v_free, spans, nu, blocks.nb, posed)
    return posed


def lcp_matrix(formed: DiscretizedLCP, rows: ContactSystem) -> Any:
    """Return M of the LCP, sparse if this costs less. Rows that act on the same velocities have entries."""
    m = rows.nc + rows.nr
    if rows.J.shape[0] > m or formed.n < _LARGE:
        return formed.MM
    row, column = _rows_and_ranges(rows)
    if row.size > _SPARSE * rows.J.size:
        return formed.MM
    from scipy import sparse

    from contactlab.formulation.kernels.discretized_lcp import assemble_sparse_lcp

    acting = sparse.csr_array((np.ones(row.size), (row, column)), shape=rows.J.shape)
    # Softness is on the diagonal, whatever a row acts on.
    shared = (acting @ acting.T + sparse.eye_array(m)).tocsr()
    friction = np.arange(m) >= rows.nc
    # A row F stands in the LCP twice, as itself and negated, and meets its lambda.
    width = np.add.reduceat((1 + friction)[shared.indices], shared.indptr[:-1]) + friction
    widths = np.concatenate((width, width[rows.nc :], 2 + 2 * rows.r))
    indptr = np.concatenate(([0], np.cumsum(widths)))
    if indptr[-1] > _SPARSE * formed.n**2:
        return formed.MM
    indices, data = np.empty(indptr[-1], dtype=np.int64), np.empty(indptr[-1])
    first, near = shared.indptr.astype(np.int64), shared.indices.astype(np.int64)
    assemble_sparse_lcp(rows, first, near, indptr[:-1].copy(), indices, data)
    return sparse.csr_array((data, indices, indptr), shape=(formed.n, formed.n))
