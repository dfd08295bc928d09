"""Named textbook problems with known solutions.

The tests give all of them to every solver; benchmarks and lectures can choose them by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.method import Traits, implied
from lcp.nonlinear.problem import MCP, NCP
from lcp.problem import LCP, MLCP
from lcp.status import Status

P = TypeVar("P")


@dataclass(frozen=True, eq=False)
class NamedProblem(Generic[P]):
    """Problem with its name and source."""

    name: str
    source: str
    problem: P


@dataclass(frozen=True, eq=False)
class Entry(NamedProblem[LCP]):
    """Named problem of the catalog."""

    outcome: Status = Status.SOLVED  # status if a solution exists; otherwise the true statement about the problem
    solutions: tuple[NDArray[np.float64], ...] = ()  # isolated solutions; all of them if ``complete``
    complete: bool = True  # whether ``solutions`` lists every solution
    matrix_class: Traits | None = None  # known classes of M, with the classes that contain them
    exponential: bool = False  # whether complementary pivoting can need about 2^n pivots


def murty(n: int) -> LCP:
    """Return Murty's problem, for which complementary pivoting visits 2^n bases; solution (2^n, 0, ..., 0).

    K. G. Murty, Computational complexity of complementary pivot methods, Mathematical Programming Study 7 (1978).
    """
    M = np.eye(n) + 2.0 * np.tril(np.ones((n, n)), -1)
    q = -np.array([2.0**n + sum(2.0 ** (n - k) for k in range(1, i + 1)) for i in range(n)])
    return LCP(M, q)


def fathi(n: int) -> LCP:
    """Return Fathi's positive definite problem with 2^n pivots; solution (4^n, 0, ..., 0).

    Y. Fathi, Computational complexity of LCPs associated with positive definite symmetric matrices, Mathematical
    Programming 17 (1979). M = L L^T with L the matrix of `murty`.
    """
    L = np.eye(n) + 2.0 * np.tril(np.ones((n, n)), -1)
    s = murty(n).q
    return LCP(L @ L.T, 2.0**n * np.asarray(s))


def obstacle(n: int) -> LCP:
    """Return a string of n nodes that a unit load presses onto a flat obstacle from above: tridiagonal K-matrix.

    The displacement solves -u'' = -1 + reaction, u >= -0.05 on (0, 1); z = u + 0.05. R. Glowinski, Numerical Methods
    for Nonlinear Variational Problems (1984), section II.2.
    """
    h = 1.0 / (n + 1)
    M = (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)) / h**2
    boundary = np.zeros(n)
    boundary[0] = boundary[-1] = 0.05 / h**2
    return LCP(M, np.ones(n) - boundary)


def _entry(
    name: str,
    source: str,
    M: Any,
    q: Any,
    *solutions: object,
    matrix_class: Traits | None = None,
    **known: Any,
) -> Entry:
    """Return an entry of the catalog from M, q and its solutions, with all classes that ``matrix_class`` implies."""
    kept = tuple(np.array(z, dtype=np.float64) for z in solutions)
    classes = None if matrix_class is None else implied(matrix_class)
    return Entry(name, source, LCP(M, q), solutions=kept, matrix_class=classes, **known)


_SPD = Traits.SYMMETRIC_POSITIVE_DEFINITE
_SPSD = Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE
_P = Traits.P_MATRIX
_COP = Traits.COPOSITIVE
_CPS = "Cottle, Pang and Stone, The Linear Complementarity Problem (1992)"
_SINE, _COSINE = math.sin(math.radians(60.0)), math.cos(math.radians(60.0))


def entries() -> tuple[Entry, ...]:
    """Return all entries, newly built."""
    first, second, third = murty(6), fathi(5), obstacle(40)
    return (
        _entry("empty", "a problem without unknowns", np.zeros((0, 0)), (), (), matrix_class=_P),
        _entry("one_pressed", "one contact pressed down", ((2.0,),), (-4.0,), (2.0,), matrix_class=_SPD),
        _entry("one_apart", "one contact moving apart", ((2.0,),), (3.0,), (0.0,), matrix_class=_SPD),
        _entry("zero_matrix", "M = 0 with q = 1: trivially z = 0", ((0.0,),), (1.0,), (0.0,),
               matrix_class=_SPSD),
        _entry("diagonal_nine", "diagonal 1..9 with q = -1: z_i = 1 / i", np.diag(np.arange(1.0, 10.0)), -np.ones(9),
               tuple(1.0 / i for i in range(1, 10)), matrix_class=_SPD),
        _entry("all_ones", "rank one, q = -1: a segment of solutions", np.ones((2, 2)), (-1.0, -1.0),
               (1.0, 0.0), (0.0, 1.0), complete=False, matrix_class=_SPSD),
        _entry("murty_3", "Murty, Linear Complementarity (1988), chapter 2", ((0, -1, 2), (2, 0, -2), (-1, 1, 0)),
               (-3, 6, -1), (0.0, 1.0, 3.0)),
        _entry("kostreva_cycle", "Kostreva 1979: cycles without a rule for ties", ((1, 2, 0), (0, 1, 2), (2, 0, 1)),
               (-1, -1, -1), (1 / 3, 1 / 3, 1 / 3), matrix_class=_P),
        _entry("two_solutions", _CPS + ", N-matrix: q > 0 has more than one solution", ((-1.0,),), (1.0,),
               (0.0,), (1.0,)),
        _entry("painleve_none", "rod in the Painleve region, pressed: infeasible", ((-0.4,),), (-9.81,),
               outcome=Status.INFEASIBLE),
        _entry("infeasible_psd", "positive semidefinite with contradicting rows", ((1.0, -1.0), (-1.0, 1.0)),
               (-1.0, -1.0), outcome=Status.INFEASIBLE, matrix_class=_SPSD),
        _entry("feasible_unsolvable", "feasible, none of its four bases is a solution", ((-2.0, 1.0), (-2.0, 2.0)),
               (-2.0, -2.0), outcome=Status.UNSOLVABLE),
        _entry("block_on_table", "a unit mass pressed and pushed along a line, mu = 0.5, stuck: fN, fF+, fF-, lambda",
               ((1, 0, 0, 0), (0, 1, -1, 1), (0, -1, 1, 1), (0.5, -1, -1, 0)), (-9.81, -2.0, 2.0, 0),
               (9.81, 2.0, 0.0, 0.0), complete=False, matrix_class=_COP),
        _entry("block_sliding", "the same pushed beyond mu fN = 4.905", ((1, 0, 0, 0), (0, 1, -1, 1), (0, -1, 1, 1),
               (0.5, -1, -1, 0)), (-9.81, -8.0, 8.0, 0), (9.81, 4.905, 0.0, 3.095), matrix_class=_COP),
        _entry("block_wedged", "a block between a floor and a 60 degree wall, frictionless",
               ((1.0, _COSINE), (_COSINE, 1.0)), (-9.81, -_SINE * 3.0), matrix_class=_SPD, complete=False),
        _entry("murty_exponential_6", "Murty 1978, n = 6", first.M, first.q, (64.0, 0, 0, 0, 0, 0),
               matrix_class=Traits.H_PLUS, exponential=True),
        _entry("fathi_exponential_5", "Fathi 1979, n = 5", second.M, second.q, (1024.0, 0, 0, 0, 0),
               matrix_class=_SPD, exponential=True),
        _entry("obstacle_40", "string on an obstacle, 40 nodes", third.M, third.q, complete=False, matrix_class=_SPD),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MixedEntry(NamedProblem[MLCP]):
    """Named mixed problem; as `Entry`, with solutions (u, y)."""

    outcome: Status = Status.SOLVED
    solutions: tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...] = ()
    complete: bool = True


def _mixed(name: str, source: str, blocks: tuple[Any, ...], *solutions: Any, **known: Any) -> MixedEntry:
    kept = tuple((np.array(u), np.array(y)) for u, y in solutions)
    return MixedEntry(name, source, MLCP(*blocks), solutions=kept, **known)


def mixed_entries() -> tuple[MixedEntry, ...]:
    """Return all mixed entries, newly built."""
    # A mass of 2 kg in the plane: a joint row, stated twice, fixes it along x, and a floor bounds it along z.
    held = ((2, 0, -1, -1), (0, 2, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0))
    floor = ((0,), (-1,), (0,), (0,))
    up = ((0, 1, 0, 0),)
    return (
        _mixed("no_free_unknowns", "an LCP written as a mixed problem", (np.zeros((0, 0)), np.zeros((0, 1)),
               np.zeros((1, 0)), ((2.0,),), np.zeros(0), (-4.0,)), ((), (2.0,))),
        _mixed("no_pairs", "a linear system", (((2.0, 1.0), (1.0, 3.0)), np.zeros((2, 0)), np.zeros((0, 2)),
               np.zeros((0, 0)), (-4.0, -7.0), np.zeros(0)), ((1.0, 2.0), ())),
        _mixed("mass_on_floor", "momentum equation and one contact: u = velocity, y = impulse",
               (((2.0,),), ((-1.0,),), ((1.0,),), ((0.0,),), (0.1962,), (0.0,)), ((0.0,), (0.1962,))),
        _mixed("joint_written_twice", "a mass on a floor, one joint row duplicated: A singular, multipliers shared",
               (held, floor, up, ((0,),), (-3.0, 0.5, 0, 0), (0,)), ((0.0, 0.0, -1.5, -1.5), (0.5,))),
        _mixed("joints_contradict", "the same, the joint moving at two speeds at once",
               (held, floor, up, ((0,),), (-3.0, 0.5, 0, -1.0), (0,)), outcome=Status.INCONSISTENT),
        _mixed("equation_binds_y", "A = 0: the equation gives y, the pair gives u", (((0.0,),), ((1.0,),), ((1.0,),),
               ((0.0,),), (-2.0,), (1.0,)), ((-1.0,), (2.0,))),
        _mixed("equation_binds_y_below_zero", "A = 0: the equation asks for y = -2", (((0.0,),), ((1.0,),), ((1.0,),),
               ((0.0,),), (2.0,), (1.0,)), outcome=Status.INFEASIBLE),
        _mixed("mixed_infeasible", "w = -1 whatever y is", (((1.0,),), ((0.0,),), ((1.0,),), ((0.0,),), (1.0,), (0.0,)),
               outcome=Status.INFEASIBLE),
        _mixed("mixed_two_solutions", "u = -y, w = u + 1", (((1.0,),), ((1.0,),), ((1.0,),), ((0.0,),), (0.0,),
               (1.0,)), ((0.0,), (0.0,)), ((-1.0,), (1.0,))),
        _mixed("free_unknown_only_in_w", "A = 0 and X1 = 0: any u >= 1 with y = 0, or u <= 1 with y = 1 - u",
               (((0.0,),), ((0.0,),), ((1.0,),), ((1.0,),), (0.0,), (-1.0,)), complete=False),
    )  # fmt: skip


def named(name: str) -> Entry:
    """Return the entry of this name; for another name raise a KeyError that lists the names."""
    by_name = {entry.name: entry for entry in entries()}
    if name not in by_name:
        raise KeyError(f"no catalog problem {name!r}; there are: {', '.join(sorted(by_name))}")
    return by_name[name]


@dataclass(frozen=True, eq=False)
class NonlinearEntry(NamedProblem[MCP]):
    """Named problem with starts of the literature, or other starts at which F is defined."""

    starts: tuple[tuple[float, ...], ...]
    solutions: tuple[Vector, ...]  # all solutions if ``complete``
    complete: bool = True
    outcome: Status = Status.SOLVED


def _quadratics(second: float, third: float, fourth: float, z: Vector) -> Vector:
    a, b, c, d = z
    return np.array([
        3 * a * a + 2 * a * b + 2 * b * b + c + 3 * d - 6,
        2 * a * a + a + b * b + second * c + 2 * d - 2,
        3 * a * a + a * b + 2 * b * b + 2 * c + third * d - fourth,
        a * a + 3 * b * b + 2 * c + 3 * d - 3,
    ])  # fmt: skip


def _quadratics_jacobian(second: float, third: float, z: Vector) -> Vector:
    a, b, _, _ = z
    return np.array([
        [6 * a + 2 * b, 2 * a + 4 * b, 1, 3],
        [4 * a + 1, 2 * b, second, 2],
        [6 * a + b, a + 4 * b, 2, third],
        [2 * a, 6 * b, 2, 3],
    ])  # fmt: skip


def _walras(x: Vector) -> Vector:
    """Return F (4,) of an exchange economy: the loss of its activity, and the excess supply of its three goods."""
    y, p1, p2, p3 = x
    income = 5.0 * p2 + 3.0 * p3
    return np.array([p2 + p3 - p1, y - 0.9 * income / p1, 5.0 - y - 0.1 * income / p2, 3.0 - y])


def _walras_without_poles(x: Vector) -> Vector:
    y, p1, p2, p3 = x
    return np.array([
        p2 + p3 - p1,
        y - (4.5 * p2 + 2.7 * p3) / (p1 + 1.0),
        5.0 - y - (0.5 * p2 + 0.3 * p3) / (p2 + 1.0),
        3.0 - y,
    ])  # fmt: skip


def _one(f: Callable[[float], float], slope: Callable[[float], float], lo: float, hi: float) -> MCP:
    return MCP(lambda z: [f(z[0])], lambda z: [[slope(z[0])]], [lo], [hi])


def nonlinear_entries() -> tuple[NonlinearEntry, ...]:
    """Return all nonlinear entries, newly built."""
    inf, half = np.inf, np.array([math.sqrt(1.5), 0.0, 0.0, 0.5])
    starts = ((0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0), (100.0, 100.0, 100.0, 100.0), (1.0, 0.0, 1.0, 0.0),
              (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 1.0, 0.0), (1.25, 0.0, 0.0, 0.5))  # fmt: skip
    return (
        NonlinearEntry("kojima_shindo", "M. Kojima, S. Shindo 1986; z_3 = F_3 = 0 at the second solution",
            NCP(partial(_quadratics, 10, 9, 9), partial(_quadratics_jacobian, 10, 9), 4), starts,
            (np.array([1.0, 0.0, 3.0, 0.0]), half)),
        NonlinearEntry("josephy", "N. H. Josephy 1979; one regular solution",
            NCP(partial(_quadratics, 3, 3, 1), partial(_quadratics_jacobian, 3, 3), 4), starts, (half,)),
        NonlinearEntry("walras", "L. Mathiesen 1987, good 2 as numeraire: endowments 0, 5, 3, shares 0.9 and 0.1; not "
            "defined where a price is zero. Good 3 is used up, y = 3, hence prices 6, 1, 5",
            MCP(_walras, None, [0.0, 0.0, 1.0, 0.0], [inf, inf, 1.0, inf]),
            ((1.0, 1.0, 1.0, 1.0), (0.0, 0.1, 1.0, 0.1), (5.0, 10.0, 1.0, 10.0), (0.0, 1e-3, 1.0, 0.0)),
            (np.array([3.0, 6.0, 1.0, 5.0]),)),
        NonlinearEntry("walras_without_poles", "the same with one added in denominators: (s, 0, 0, 0) for 0 <= s <= 3",
            NCP(_walras_without_poles, None, 4), ((0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0), (10.0,) * 4),
            (np.array([3.0, 0.0, 0.0, 0.0]),), complete=False),
        NonlinearEntry("root_between_bounds", "z = exp(-z): the omega constant",
            _one(lambda z: z - math.exp(-z), lambda z: 1.0 + math.exp(-z), 0.0, 1.0), ((0.0,), (1.0,)),
            (np.array([0.567143290409783873]),)),
        NonlinearEntry("at_upper_bound", "log z - 1 < 0 on (0, 2]; not defined at 0",
            _one(lambda z: math.log(z) - 1.0, lambda z: 1.0 / z, 0.0, 2.0), ((1e-8,), (1.0,)), (np.array([2.0]),)),
        NonlinearEntry("no_solution", "F = -1 - z^2", _one(lambda z: -1.0 - z * z, lambda z: -2.0 * z, 0.0, inf),
            ((0.0,), (1.0,)), (), outcome=Status.INFEASIBLE),
        NonlinearEntry("no_unknowns", "n = 0", NCP(lambda z: z, None, 0), ((),), (np.zeros(0),)),
    )  # fmt: skip
