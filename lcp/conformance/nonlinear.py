"""The checks of solvers of nonlinear problems: every catalog problem from every start, and manners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lcp.asking import asked
from lcp.conformance.report import Check
from lcp.method import Request
from lcp.nonlinear.catalog import NonlinearEntry, entries
from lcp.nonlinear.result import MCPResult
from lcp.solve import solve
from lcp.status import Status


def nonlinear_checks(solver: Any, tolerance: float, solved: list[str]) -> Iterator[Check]:
    """A solver of nonlinear problems promises nothing: what it claims must be so, and a failure must be a status."""
    for entry in entries():
        results, wrong = [], ""
        for start in entry.starts:
            result, wrong = _solved(solver, entry, start, tolerance)
            if wrong:
                break
            results.append(result)
        if not wrong and results and all(result.solved for result in results):
            solved.append(entry.name)
        yield Check(f"catalog: {entry.name}", not wrong, wrong or ", ".join(r.status.name for r in results))
    josephy, fixed = entries()[1].problem, np.array([1.0, 0.0, 1.0, 0.0])
    given = fixed.copy()
    claims, wrong = [], ""
    try:
        claims = [asked(josephy, solver, Request(given, tolerance, False)) for _ in range(2)]
    except Exception as error:  # noqa: BLE001  whatever a solver raises is a finding
        wrong = f"raised {type(error).__name__}: {error}"
    yield Check("manners: answers with a claim", not wrong, wrong)
    if claims:
        same = np.array_equal(claims[0].z, claims[1].z)
        yield Check("manners: gives the same answer twice", same, "" if same else f"{claims[0].z}, {claims[1].z}")
    kept = np.array_equal(given, fixed)
    yield Check("manners: leaves the start alone", kept, "" if kept else "z0 was changed")


def _solved(solver: Any, entry: NonlinearEntry, start: tuple[float, ...], tolerance: float) -> tuple[MCPResult, str]:
    """The result, and what is wrong with it: an exception, an answer that is none, or a point outside the bounds."""
    try:
        result = solve(entry.problem, solver, z0=start, tolerance=tolerance)
    except Exception as error:  # noqa: BLE001  whatever a solver raises is a finding
        return None, f"from {start} raised {type(error).__name__}: {error}"  # type: ignore[return-value]
    z = result.z
    if not np.isfinite(z).all():
        return result, f"from {start}: z is not finite, {result.status.name}"
    if result.solved and entry.outcome is not Status.SOLVED:
        return result, f"from {start}: has no solution, came back SOLVED"
    bound = max(1e-7, 1e3 * tolerance)
    if result.solved and entry.complete and not any(np.allclose(z, one, bound, bound) for one in entry.solutions):
        return result, f"from {start}: z = {z} is none of its solutions"
    return result, ""
