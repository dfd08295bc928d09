"""All solutions of larger problems: block by block, by branching on the pairs, with a proof for each cut branch.

A node fixes z_i = 0 or w_i = 0 for some pairs. A linear program searches multipliers that contradict all points with
these zeros. If they pass a check on the data, all bases below the node are excluded; otherwise one more pair is fixed.
If all pairs are fixed, the basis itself is solved. The bases of excluded and of solved nodes sum to 2^n, or the number
of missing ones is reported.

F. A. Al-Khayyal, An implicit enumeration procedure for the general linear complementarity problem, Mathematical
Programming Study 31 (1987); D. Avis, G. Rosenberg, R. Savani, B. von Stengel, Enumeration of Nash equilibria for
two-player games, Economic Theory 42 (2010).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, graph_components
from lcp.conversions import box_to_mlcp, check_kind
from lcp.enumeration import BasisSearch, EnumerationResult
from lcp.farkas import MIN_MARGIN, ROUNDING, balanced, linear_program, relative_violation
from lcp.interruptible import interruptible
from lcp.polish import at_bounds
from lcp.problem import LCP, MLCP, BoxLCP, stacked
from lcp.residuals import DEFAULT_TOLERANCE, Problem
from lcp.scaling import balanced_scales
from lcp.status import ProblemError

# Pairs of a block whose bases have codes of 64 bits; value of the program below which multipliers can be a
# contradiction.
_MAX_PAIRS, _NEGATIVE = 62, -1e-9


@dataclass(frozen=True, slots=True, eq=False)
class BlockSolutions:
    """Solutions of one block of unknowns that is not coupled to the others.

    Attributes
    ----------
    unknowns
        Indices of its unknowns in z, of an `MLCP` in (u, y); of a `BoxLCP` in (u, y) of its `box_to_mlcp`.
    found
        Result of `enumerate_solutions`; ``complete`` is about the bases only.
    nodes, cut
        Numbers of nodes visited, and of nodes cut off by checked multipliers.
    searched, bases
        Number of bases that were solved or cut off, and of all bases, 2^n.
    """

    unknowns: NDArray[np.intp]
    found: EnumerationResult
    nodes: int
    cut: int
    searched: int
    bases: int

    @property
    def complete(self) -> bool:
        """Return True if every solution was found, apart from further points of continua."""
        return self.found.complete and self.searched == self.bases


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AllSolutions:
    """All solutions of a problem: one of each block in all combinations.

    If solutions form continua (``continuum``), there are infinitely many: their vertices are listed, and one point of a
    continuum without vertices. ``block.found.isolated`` marks the isolated ones.

    Attributes
    ----------
    blocks
        `BlockSolutions`, in the order of their first unknowns.
    count
        Number of solutions listed, the product over the blocks.
    """

    blocks: tuple[BlockSolutions, ...]
    count: int
    _size: int = field(repr=False)
    # The original problem and the tolerance of its bounds. A function could not be pickled.
    _box: tuple[BoxLCP, float] | None = field(repr=False)

    @property
    def complete(self) -> bool:
        """Return True if there are no other solutions: every block was searched completely, or one has no solution."""
        none = any(block.complete and not block.found.solutions for block in self.blocks)
        return none or all(block.complete for block in self.blocks)

    @property
    def continuum(self) -> bool:
        """Return True if solutions form continua and only single points of them are listed."""
        return self.count > 0 and any(block.found.continuum for block in self.blocks)

    def __iter__(self) -> Iterator[Vector]:
        """Iterate over the solutions z (n,), of an `MLCP` (u, y) in one vector; each is formed when it is requested."""
        recover = box_to_mlcp(self._box[0]).recover if self._box else None
        for parts in itertools.product(*(block.found.solutions for block in self.blocks)):
            z = np.zeros(self._size)
            for block, part in zip(self.blocks, parts, strict=True):
                z[block.unknowns] = np.concatenate(part) if isinstance(part, tuple) else part
            yield at_bounds(self._box[0], recover(z), self._box[1]) if self._box and recover else z

    def __repr__(self) -> str:
        return f"AllSolutions({self.describe()})"

    def describe(self) -> str:
        """Return one sentence: the number of solutions, whether these are all and why, or the part not searched."""
        bases, searched = (sum(getattr(block, name) for block in self.blocks) for name in ("bases", "searched"))
        nodes, cut = (sum(getattr(block, name) for block in self.blocks) for name in ("nodes", "cut"))
        what = f"{self.count} solution{'' if self.count == 1 else 's'}, {nodes} nodes, {cut} of them cut off"
        if self.continuum:
            listed = "vertices and points of continua"
            what = f"infinitely many solutions, {self.count} listed ({listed}), {nodes} nodes, {cut} of them cut off"
        if self.complete:
            return f"{what}; complete: all {bases} bases were solved or cut off with a proof."
        if searched < bases:
            return f"{what}; not complete: {bases - searched} of {bases} bases were not searched."
        return f"{what}; not complete: a basis lies within rounding of a solution, or too many are singular."


@interruptible
def all_solutions(problem: Problem, *, max_nodes: int = 20_000, tolerance: float = DEFAULT_TOLERANCE) -> AllSolutions:
    """Find all solutions if the structure allows it: independent blocks, games, problems with few feasible bases.

    Parameters
    ----------
    problem
        An `LCP`, `MLCP` or `BoxLCP`, M made dense; blocks of at most 62 pairs.
    max_nodes
        Nodes of all blocks together, each a linear program of the size of its block, a few milliseconds.
    tolerance
        Bound on the backward error of a solution.

    Raises
    ------
    ProblemError
        For a block of more pairs.
    """
    from scipy import sparse

    check_kind(problem)
    inner: LCP | MLCP = box_to_mlcp(problem).problem if isinstance(problem, BoxLCP) else problem
    box = (problem, tolerance) if isinstance(problem, BoxLCP) else None
    K, k, m = stacked(inner)
    blocks: list[BlockSolutions] = []
    # Blocks of unknowns that entries of K couple, in the order of their first unknowns.
    for unknowns in sorted(graph_components(sparse.csr_array(K != 0.0)), key=operator.itemgetter(0)):
        left = max_nodes - sum(block.nodes for block in blocks)
        free, pairs = unknowns[unknowns < m], unknowns[unknowns >= m]
        if pairs.shape[0] > _MAX_PAIRS:
            raise ProblemError(f"a block of {pairs.shape[0]} pairs that hang together; at most {_MAX_PAIRS}")
        part: LCP | MLCP = LCP(K[np.ix_(pairs, pairs)], k[pairs])
        if isinstance(inner, MLCP):
            A, X1, X2, X3 = (K[np.ix_(a, b)] for a in (free, pairs) for b in (free, pairs))
            part = MLCP(A, X1, X2, X3, k[free], k[pairs])
        blocks.append(_branched(part, unknowns, left, tolerance))
    count = math.prod(len(block.found.solutions) for block in blocks)
    return AllSolutions(tuple(blocks), count, k.shape[0], box)


class _Node(NamedTuple):
    """Pairs with z_i = 0 and pairs with w_i = 0, one bit each; the others are open."""

    at_zero: int
    tight: int


def _branched(problem: LCP | MLCP, unknowns: NDArray[np.intp], max_nodes: int, tolerance: float) -> BlockSolutions:
    """Branch depth first; the branch that the linear program prefers is visited first."""
    search, program = BasisSearch(problem, tolerance), _Program(problem)
    n, nodes, cut, searched = problem.n, 0, 0, 0
    waiting = [_Node(0, 0)]
    while waiting and nodes < max_nodes:
        node = waiting.pop()
        nodes += 1
        undecided = [i for i in range(n) if not (node.at_zero | node.tight) >> i & 1]
        if not undecided:
            for _ in search.regular_in_range(node.tight, node.tight + 1):
                pass
            searched += 1
            continue
        proven, doubt = program.evaluate(node)
        if proven:
            cut += 1
            searched += 1 << len(undecided)
            continue
        i = max(undecided, key=lambda j: doubt[j])
        waiting += [_Node(node.at_zero | 1 << i, node.tight), _Node(node.at_zero, node.tight | 1 << i)]
    for _ in search.singular():
        pass
    return BlockSolutions(unknowns, search.summary(), nodes, cut, searched, 1 << n)


class _Program:
    """Linear program of a node, in multipliers: min k . y, K^T y <= 0 for open z and for z of tight rows."""

    def __init__(self, problem: LCP | MLCP) -> None:
        self._K, self._k, self._m = stacked(problem)
        self._row, self._column = balanced_scales(self._K)
        self._scaled = (self._row[:, None] * self._K * self._column).T
        cost = self._row * self._k
        self._cost = cost / max(float(np.abs(cost).max(initial=0.0)), np.finfo(np.float64).tiny)

    def evaluate(self, node: _Node) -> tuple[bool, Vector]:
        """Return True if no point has these zeros, with proof; otherwise the violation of each pair."""
        m, size = self._m, self._k.shape[0]
        bits = np.arange(size - m)
        kept = np.concatenate([np.ones(m, dtype=bool), np.array([not node.at_zero >> i & 1 for i in bits.tolist()])])
        signed = np.concatenate([np.ones(m, dtype=bool), np.array([bool(node.tight >> i & 1) for i in bits.tolist()])])
        columns = self._scaled[kept]
        program = linear_program(
            self._cost,
            columns[m:] if columns.shape[0] > m else None,
            columns[:m] if m else None,
            b_ub=np.zeros(columns.shape[0] - m) if columns.shape[0] > m else None,
            b_eq=np.zeros(m) if m else None,
            bounds=[(-1.0 if sign else 0.0, 1.0) for sign in signed.tolist()],
        )
        if program is None:
            return False, np.zeros(size - m)
        if program.fun < _NEGATIVE and self._proven(program.x, kept, signed, columns):
            return True, np.zeros(0)
        x = np.zeros(size)
        x[kept] = -np.concatenate([program.eqlin.marginals, program.ineqlin.marginals])
        w = self._scaled.T @ x + self._cost
        return False, np.minimum(np.abs(x[m:]), np.abs(w[m:])) + 1e-6 * (np.abs(x[m:]) + np.abs(w[m:]))

    def _proven(self, y: Vector, kept: Vector, signed: Vector, columns: NDArray[np.float64]) -> bool:
        """Return True if multipliers near y prove a contradiction of the rows on the data, within a few roundings."""
        y = np.where(np.abs(y) > 1e-9, y, 0.0)
        for candidate in (y, balanced(columns, y, self._m)):
            multipliers = self._row * np.where(signed, candidate, np.maximum(candidate, 0.0))
            if not self._k @ multipliers < -MIN_MARGIN * (np.abs(self._k) @ np.abs(multipliers)):
                continue
            if (relative_violation(self._K, multipliers, self._m)[kept] <= ROUNDING).all():
                return True
        return False
