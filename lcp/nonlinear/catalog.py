"""Named small nonlinear problems with known solutions; the tests run every nonlinear solver on each of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from lcp.arrays import Vector
from lcp.catalog import NamedProblem
from lcp.nonlinear.problem import MCP, NCP
from lcp.status import Status


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


def entries() -> tuple[NonlinearEntry, ...]:
    """Build all entries."""
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
