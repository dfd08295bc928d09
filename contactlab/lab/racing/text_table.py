"""The summary of a race as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from contactlab.lab.racing.summary import SHIFT, Field, SolverSummary

__all__ = ["failures_text", "seconds_text", "summary_table"]


def seconds_text(seconds: float) -> str:
    """Seconds in a unit that reads well; "-" for none."""
    if not math.isfinite(seconds):
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2g} us"


def failures_text(one: SolverSummary) -> str:
    """Statuses other than solved, with counts."""
    return ", ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in one.failures) or "-"


def summary_table(field: Field, lines: Sequence[SolverSummary], time_limit: float) -> str:
    """One line per solver, with a heading."""
    width = max([len("solver"), *(len(one.label) for one in lines)])
    decided = len(field.decided)
    text = [
        f"{field.league}: {len(field.problems)} problems, {decided} of them solved by somebody; mean: shifted "
        f"geometric (shift {seconds_text(SHIFT)}) over those, failures at {seconds_text(time_limit)}",
        f"{'solver':{width}}  {'solved':>7}  {'proved':>6}  {'wrong':>5}  {'mean':>9}  {'cpu mean':>9}  "
        f"{'median':>9}  {'best on':>7}  "
        "failures",
    ]
    text += [
        f"{one.label:{width}}  {one.solved:3d}/{one.met:<3d}  {one.proved:6d}  {one.wrong:5d}  "
        f"{seconds_text(one.mean):>9}  {seconds_text(one.cpu_mean):>9}  "
        f"{seconds_text(one.median):>9}  {one.best:7d}  {failures_text(one)}"
        for one in lines
    ]
    return "\n".join(text)
