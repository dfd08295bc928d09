"""Kinds of problems that a solver meets converted: bounds set by other unknowns, and horizontal problems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lcp.arrays import Vector
from lcp.catalog import NamedProblem
from lcp.conformance.report import Check
from lcp.coupled import CoupledBoxLCP
from lcp.horizontal import HorizontalLCP
from lcp.solve import solve

Converted = NamedProblem[CoupledBoxLCP | HorizontalLCP]


def converted_entries() -> tuple[tuple[Converted, Vector | None], ...]:
    """Named problems with the z of their one solution, None where there is none; built anew."""
    M, block = [[2.0, 1.0], [1.0, 2.0]], "a mass of 1 kg pressed with 9.81 and pushed along a line, mu = 0.5"

    def coupled(matrix: Any, q: list[float]) -> CoupledBoxLCP:
        return CoupledBoxLCP(matrix, q, 0.0, np.inf, [-1, 0], 0.5)

    return (
        (Converted("coupled_sticks", block, coupled(np.eye(2), [-9.81, 2.0])), np.array([9.81, -2.0])),
        (Converted("coupled_slides", block, coupled(np.eye(2), [-9.81, -8.0])), np.array([9.81, 4.905])),
        (Converted("coupled_apart", "no contact, no friction", coupled(np.eye(2), [1.0, -8.0])), np.zeros(2)),
        (Converted("coupled_both_ways", "friction adds to the load: 2 n + n / 2 = 4", coupled(M, [-4.0, -9.0])),
         np.array([1.6, 0.8])),
        (Converted("coupled_jammed", "always sliding, n - 4 mu n - 1 < 0 for every n: as Painleve's rod, pressed",
                   coupled([[1.0, -4.0], [0.0, 0.0]], [-1.0, -1.0])), None),
        (Converted("horizontal_column_w", "N^-1 M = [[2, 1], [1, 2]]",
                   HorizontalLCP([[2.0, 0.0], [0.0, 4.0]], [[4.0, 2.0], [4.0, 8.0]], [-10.0, -24.0])),
         np.array([4.0, 7.0]) / 3.0),
        (Converted("horizontal_row_without_w", "N singular: its second row is z_2 = 2",
                   HorizontalLCP([[1.0, 0.0], [0.0, 0.0]], np.eye(2), [1.0, -2.0])), np.array([0.0, 2.0])),
        (Converted("horizontal_contradicts", "N = M = 0 with q = 1",
                   HorizontalLCP([[0.0]], [[0.0]], [1.0])), None),
    )  # fmt: skip


def converted_checks(solver: Any, tolerance: float, solved: list[str]) -> Iterator[Check]:
    """What has no solution is never solved, what is solved is at the listed solution; nothing is promised."""
    bound = max(1e-7, 1e3 * tolerance)
    for entry, answer in converted_entries():
        name = f"catalog: {entry.name}"
        try:
            result = solve(entry.problem, solver, tolerance=tolerance)
        except Exception as error:  # noqa: BLE001  whatever a solver raises is a finding
            yield Check(name, False, f"raised {type(error).__name__}: {error}")
            continue
        if not result.solved:
            yield Check(name, True, result.status.name)
        elif answer is None or not np.allclose(result.z, answer, bound, bound):
            yield Check(name, False, f"z = {result.z} is none of its solutions")
        else:
            solved.append(entry.name)
            yield Check(name, True)
