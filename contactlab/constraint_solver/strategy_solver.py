"""Island strategies in the public functions: they compute contact forces without a complementarity solver.

`distance_from_selected` measures the distance of a step's forces from the equal-compliance forces
(`docs/theory/load_sharing.md`). The step's kernels compute these again, starting without forces; if the continuation
fails, they start from the initial forces of the step. `contactlab.simulation.verification.equal_compliance_check`
checks a record by another method.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import lcp
from contactlab.constraint_solver.blocks import ALL_COLUMNS
from contactlab.constraint_solver.certificate import ForceChoice
from contactlab.constraint_solver.discretized import (
    ConeProblem,
    DiscretizedLCP,
    cone_problem,
    form_discretized_lcp,
    recover_forces,
)
from contactlab.constraint_solver.friction_backend import friction_objection, verified
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from lcp.contacts.strategies import RECORDED, STRATEGY_NAMES, contact_column_ranges, solve_island, strategy_mask
from problem_data import ConstraintForces, ConstraintVelProblemData, VelocityBlocks

if TYPE_CHECKING:
    from lcp.contacts.kernels.contact_system import ContactSystem

# Number of unknowns above which a sparse matrix may cost less than a dense one, and its largest fraction of nonzeros.
_LARGE = 150
_SPARSE = 0.25
#: Processor time [s] of the default solvers for the problem of an island.
MAX_SECONDS = 30.0


@dataclass(frozen=True)
class StrategySolver:
    """Stand-in for a solver: the forces of z0, forces near them, or the selected forces.

    The forces are computed before any solver is called, and accepted if they solve the LCP well within the tolerance:
    see `lcp.contacts.kernels.strategy_loop`.

    Parameters
    ----------
    choice
        Selection among the force solutions.
    attempt
        Name of the strategy that found the forces: see `lcp.contacts.strategies`.
    """

    choice: ForceChoice = ForceChoice.ANY
    attempt: str = "held"


@dataclass(frozen=True)
class EqualCompliance:
    """Default solver of a step: the equal-compliance forces of redundant contacts.

    If contacts are redundant, the rigid problem has many solutions, and a pivoting method returns a vertex of their
    set. One corner of a face then carries all of its load, and a gripped box does not move like a real one. This solver
    selects the forces of contacts with a compliance eps, equal for all contacts and directions, in the limit of
    zero compliance. They solve the rigid problem. They are computed in the space of the velocities: from large to small
    eps, then by proximal points (`lcp.contacts.kernels.active_set`). Rows of joints stay rigid.

    Parameters
    ----------
    fallback
        Solver of the LCP if no forces were found: for softened friction, contacts with different numbers of directions,
        and problems on which all strategies failed. By default Lemke's method, then the methods of
        `lcp.default_solver`, for 30 s of processor time. With ``friction="cone"`` the methods of
        `lcp.default_friction_solver`, for the same time.
    strategies
        Names of the enabled strategies: see `lcp.contacts.strategies`.

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
            raise lcp.ProblemError(f"fallback must be a solver object such as lcp.Lemke(), got {solver!r}")
        objection = friction_objection("pyramid", self.fallback)
        if objection is not None:
            raise lcp.ProblemError(objection[1])

    @property
    def lcp_solver(self) -> lcp.Solver:
        """Solver that is called if the strategies find no forces."""
        if self.fallback is not None:
            return self.fallback
        return lcp.Fallback(lcp.Lemke(), lcp.default_solver(), time_limit=MAX_SECONDS)

    @property
    def cone_solver(self) -> lcp.FrictionSolver:
        """Solver that is called if the strategies find no forces for contacts with the exact cone."""
        return replace(lcp.default_friction_solver(), time_limit=MAX_SECONDS)


def _trees(blocks: VelocityBlocks) -> tuple[IntArray, IntArray]:
    """Return first velocities of the trees, after joining trees by rows of joints, and the spans of [N; F; L; B]."""
    from contactlab.constraint_solver.kernels.discretized_lcp import place_joint_spans
    from lcp.contacts.kernels.contact_system import SPAN_INTS

    one = np.array([0, blocks.nv], dtype=np.int64), ALL_COLUMNS
    starts = blocks.tree_starts
    if starts.size == 2:
        return one
    contacts = np.arange(blocks.nc)
    contact = np.concatenate((contacts, np.repeat(blocks.cone_contacts, blocks.r)))
    nu = contact.size
    row, column = np.nonzero((blocks.J != 0.0) | (blocks.Y != 0.0))
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


def solve_cones_with_strategies(
    formed: DiscretizedLCP, z0: FloatArray | None, tolerance: float, attempts: tuple[str, ...] = STRATEGY_NAMES
) -> tuple[ConeProblem, lcp.FrictionResult] | None:
    """Return selected forces of contacts with the exact cone, and their problem.

    z0 (n,) is as in `solve_with_strategies`.
    """
    found = _solve_by_strategies(formed, z0, tolerance, True, True, attempts)
    if found is None:
        return None
    blocks, (z, _, _, solver, detail, rows) = formed.data.blocks(), found
    cone = cone_problem(lcp_matrix(formed, rows), formed.qq, blocks.r, blocks.mu)
    claim = lcp.FrictionClaim(cone.from_lcp(z), lcp.Status.SOLVED, 0, detail)
    return cone, verified(cone.problem, solver, lambda: claim, tolerance)


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
    found = _solve_by_strategies(formed, z0, tolerance, selected, False, attempts)
    if found is None:
        return None
    z, w, out, solver, detail, rows = found
    # The kernel has tested the result in the step's units; the backward error is added.
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


#: Accepted forces: z, w, residuals, the strategy, its description, and the rows.
_StrategyResult: TypeAlias = "tuple[FloatArray, FloatArray, FloatArray, StrategySolver, str, ContactSystem]"


def _solve_by_strategies(
    formed: DiscretizedLCP,
    z0: FloatArray | None,
    tolerance: float,
    selected: bool,
    exact: bool,
    attempts: tuple[str, ...],
) -> _StrategyResult | None:
    """Solve the contact problem by the strategies of the compiled step; None if none applies or succeeds."""
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
    kind, choice = "forces near z0", ForceChoice.ANY
    if selected:
        kind, choice = "forces selected", ForceChoice.EQUAL_COMPLIANCE
        if found.outcome == OTHER_FORCES:
            kind, choice = "forces that are not those selected", ForceChoice.OTHER_SOLUTION
    name = RECORDED[found.attempt]
    detail = "the forces of z0" if name == "reuse" and systems == 0 else f"{kind}, {name}: {systems} linear systems"
    return answer.z, answer.w, answer.residuals, StrategySolver(choice, name), detail, rows


def _posed(formed: DiscretizedLCP, spans: IntArray) -> FloatArray:
    """Return the original rows, for verification after elimination of bilateral rows; see `IslandProblem`."""
    from contactlab.constraint_solver.kernels.bilateral import fill_posed

    blocks = formed.data.blocks()
    if blocks.nb == 0:
        return np.zeros(0)
    posed = np.zeros(2 * (blocks.k.size - blocks.nb))
    nu = blocks.nc + blocks.nr + blocks.nl
    fill_posed(blocks.J, blocks.Y, blocks.k, blocks.v_free, spans, nu, blocks.nb, posed)
    return posed


def lcp_matrix(formed: DiscretizedLCP, rows: ContactSystem) -> Any:
    """Return M of the LCP, sparse if this costs less; entries couple rows that act on the same velocities."""
    nc, m, cones = rows.nc, rows.nc + rows.nr, len(rows.r)
    if rows.J.shape[0] > m or formed.n < _LARGE:
        return formed.MM
    from scipy import sparse

    J, Y = sparse.csr_array(rows.J), sparse.csr_array(rows.Y)
    if max(J.nnz, Y.nnz) > _SPARSE * rows.J.size:
        return formed.MM
    # W_ij is summed once, for j >= i, and mirrored, as in the dense matrix.
    upper = sparse.triu(J @ Y.T, format="csr") * rows.h
    W, soft = (upper + sparse.triu(upper, 1).T).tocsr(), sparse.diags_array(rows.gamma, format="csr")
    E = sparse.csr_array(
        (np.ones(rows.nr), (np.arange(rows.nr), np.repeat(np.arange(cones), rows.r))), (rows.nr, cones)
    )
    mu = sparse.csr_array((rows.mu, (np.arange(cones), rows.cone_contacts)), (cones, nc))
    NF, FN, FF, own = W[:nc, nc:], W[nc:, :nc], W[nc:, nc:], (W + soft).tocsr()
    M = sparse.block_array(
        [
            [own[:nc, :nc], NF, -NF, None],
            [FN, own[nc:, nc:], -FF, E],
            [-FN, -FF, own[nc:, nc:], E],
            [mu, -E.T, -E.T, sparse.diags_array(rows.gammaE)],
        ],
        format="csr",
    )
    return formed.MM if M.nnz > _SPARSE * formed.n**2 else M


# Smallest eigenvalue of a regular W, relative to the largest one, and largest singular value of dependent joint rows.
REGULAR, DEPENDENT = 1e-9, 1e-10
# Rate of an open contact without load, relative to the largest rate by loads; distance of a force at its bound.
CLOSED, WITHIN = 1e-8, 1e-9


def distance_from_selected(
    data: ConstraintVelProblemData,
    h: float,
    forces: ConstraintForces,
    *,
    z0: FloatArray | None = None,
    tolerance: float = 1e-9,
) -> float:
    """Return the largest difference of contact forces from the selected ones, relative to the largest force.

    Parameters
    ----------
    data, h, forces
        Problem of a step of h [s] with its friction directions, and forces that solve it.
    z0
        (n,) start of the step's solve.
    tolerance
        Tolerance of `ConstraintSolver`.

    Returns
    -------
    float
        0 if no other forces cause the same velocities, infinite if no forces were selected.
    """
    blocks = data.blocks()
    formed = form_discretized_lcp(data, h)
    if _unique(formed, blocks, forces):
        return 0.0
    for start in (None,) if z0 is None else (None, z0):
        selected = _equal_compliance_forces(formed, start, data.friction, tolerance)
        if selected is not None:
            size = np.abs(_along_axes(blocks, forces)).max()
            off = float(np.abs(_along_axes(blocks, selected) - _along_axes(blocks, forces)).max())
            return off / float(size) if size > 0.0 else (math.inf if off > 0.0 else 0.0)
    return math.inf


def _equal_compliance_forces(
    formed: DiscretizedLCP, z0: FloatArray | None, friction: str, tolerance: float
) -> ConstraintForces | None:
    """Return the equal-compliance forces computed by the strategies from z0, or None if others or none are found."""
    found = _solve_by_strategies(formed, z0, tolerance, True, friction == "cone", STRATEGY_NAMES)
    if found is None:
        return None
    z, _, _, solver, _, _ = found
    if solver.choice is not ForceChoice.EQUAL_COMPLIANCE:
        return None
    packed, _ = recover_forces(formed.h, formed.rows, formed.data.blocks(), z.copy())
    return ConstraintForces.from_packed(formed.data, packed)


def _along_axes(blocks: VelocityBlocks, forces: ConstraintForces) -> FloatArray:
    """Return normal forces, then friction of each cone along two axes (n,), from forces along r directions."""
    cones = np.repeat(np.arange(blocks.ncone), blocks.r)
    place = np.arange(blocks.nr) - np.repeat(np.cumsum(blocks.r) - blocks.r, blocks.r)
    angle = np.pi * place / blocks.r[cones]
    axes = [np.bincount(cones, forces.fF * along(angle), blocks.ncone) for along in (np.cos, np.sin)]
    return np.concatenate((forces.fN, *axes))


def _unique(formed: DiscretizedLCP, blocks: VelocityBlocks, forces: ConstraintForces) -> bool:
    """Return True if no other forces of the active contacts cause the same velocities."""
    nc, nr, nl = blocks.nc, blocks.nr, blocks.nl
    rows = formed.rows.problem(formed.h, blocks)
    W = formed.h * (rows.J @ rows.Y.T) + np.diag(rows.gamma)
    f = np.concatenate((forces.fN, forces.fF, forces.fL, forces.fB))
    rates = rows.J[:nc] @ rows.v_free + rows.k[:nc] + W[:nc] @ f
    loads = np.diagonal(W)[:nc] * forces.fN
    act = (forces.fN > 0.0) | (rates <= CLOSED * (loads + np.abs(rates)).max(initial=0.0))
    first = nc + np.cumsum(blocks.r) - blocks.r
    tangents = [
        first[c] + j
        for c in np.flatnonzero(act[blocks.cone_contacts] & (blocks.mu > 0.0) & (blocks.r > 0))
        for j in {0, int(blocks.r[c]) // 2}
    ]
    own = np.concatenate((np.flatnonzero(act), np.array(tangents, dtype=np.int64)))
    slack = WITHIN * (1.0 + np.abs(forces.fB))
    held = (forces.fL > WITHIN * (1.0 + np.abs(forces.fL))) if nl else np.zeros(0, dtype=bool)
    held = np.concatenate((held, (forces.fB > blocks.lo + slack) & (forces.fB < blocks.hi - slack)))
    joints = nc + nr + np.flatnonzero(held)
    if not own.size:
        return True
    A, C = W[np.ix_(own, own)], W[np.ix_(own, joints)]
    if joints.size:
        A = A - C @ np.linalg.pinv(W[np.ix_(joints, joints)], rcond=DEPENDENT, hermitian=True) @ C.T
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(A), np.finfo(float).tiny))
    values = np.linalg.eigvalsh(unit[:, None] * A * unit)
    return bool(values[0] > REGULAR * values[-1])
