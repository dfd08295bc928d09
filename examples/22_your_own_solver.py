"""A custom solver: thirty lines that pass the conformance tests, race, and run in a simulation.

No base class is needed. A solver is an object with `solve`, which returns a claim; `lcp` measures the claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import lcp
from contactlab import lab
from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import TimeStepping, WorldBuilder, simulate
from lcp import conformance
from lcp.catalog import entries


@dataclass(frozen=True)
class TextbookLemke:
    """Lemke's method on a full tableau (Cottle, Pang and Stone, algorithm 4.4.1), lexicographic to eight digits."""

    max_pivots: int = 1000
    traits: ClassVar[lcp.Traits] = lcp.Traits.POSITIVE_SEMIDEFINITE | lcp.Traits.P_MATRIX | lcp.Traits.COPOSITIVE

    def solve(self, problem, *, z0=None, tolerance=1e-9, trace=False):
        """Pivot until the artificial variable t leaves."""
        n = problem.n
        if (problem.q >= 0.0).all():
            return lcp.Claim(np.zeros(n), lcp.Status.SOLVED, 0)
        # w - M z - t 1 = q, columns w, z, t, q. The basis begins with w, and t enters in the row with the least q;
        # among several rows the last one is least lexicographically. Contacts with equal loads are ties from the start.
        T = np.hstack([np.eye(n), -problem.M, -np.ones((n, 1)), problem.q[:, None]])
        basis, row, column = np.arange(n), n - 1 - int(np.argmin(problem.q[::-1].round(8))), 2 * n
        for pivots in range(1, self.max_pivots + 1):
            T[row] /= T[row, column]
            T -= np.outer(np.where(np.arange(n) == row, 0.0, T[:, column]), T[row])
            left, basis[row] = basis[row], column
            if left == 2 * n:
                z = np.zeros(2 * n + 1)
                z[basis] = T[:, -1]
                return lcp.Claim(np.maximum(z[n : 2 * n], 0.0), lcp.Status.SOLVED, pivots)
            column = left + n if left < n else left - n  # its complement enters
            rows = np.flatnonzero(T[:, column] > 1e-9)
            if rows.size == 0:
                return lcp.Claim(np.zeros(n), lcp.Status.RAY_TERMINATION, pivots)
            ratios = T[rows][:, [-1, *range(n)]] / T[rows][:, [column]]
            row = min(zip(ratios.round(8).tolist(), rows, strict=True))[1]
        return lcp.Claim(np.zeros(n), lcp.Status.ITERATION_LIMIT, self.max_pivots)


def main() -> dict[str, float]:
    """Conformance, race, simulation; the figures."""
    # The tests of every solver of lcp: named problems, random problems of the classes of its traits, and the interface.
    report = conformance.check(TextbookLemke())
    print(report)
    report.raise_for_failures()

    # A race against lcp's Lemke. Files and folders work as well, and so does the command line: contactlab race
    # problems/ --solvers Lemke,examples/22_your_own_solver.py:TextbookLemke
    problems = [(entry.name, entry.problem) for entry in entries() if entry.problem.n > 0]
    race = lab.race(problems, [TextbookLemke(), lcp.Lemke()], time_limit=10.0, jobs=1, curves=0)
    print(race)
    solved = {one.label: one.solved for one in race.summary()}
    assert solved["TextbookLemke"] == solved["Lemke"]

    # A simulation: a block slides to rest, with certified steps. With warm_start, the default, this solver would be
    # called once in 250 steps, because the forces of the previous step already solve the next problem.
    builder, half = WorldBuilder(), (0.2, 0.2, 0.05)
    builder.add_half_space("table", HalfSpace((0.0, 0.0, 1.0), 0.0), Material(0.3))
    start = {"q": (0.0, 0.0, half[2], 1.0, 0.0, 0.0, 0.0), "v": (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)}
    builder.add_free_body("block", RigidInertia.solid_box(1.0, half), Box(half), Material(0.3), **start)
    recording = simulate(builder.build(), TimeStepping(2e-3, solver=TextbookLemke(), warm_start=False), 0.5)
    asked = int((recording.islands - recording.warm_start_solves).sum())
    print(f"{recording.statistics}; our solver was asked {asked} times")
    assert asked == 250
    travelled, worst = float(recording.q[-1, 0]), recording.worst_certificate().scaled
    print(f"the block slid {travelled:.4f} m, worst scaled residual {worst:.0e}")
    assert abs(travelled - 1.0 / (2.0 * 0.3 * 9.81)) < 2e-3
    assert worst <= 1e-9
    return {"travelled": travelled, "solved": solved["TextbookLemke"], "asked": asked}


if __name__ == "__main__":
    main()
