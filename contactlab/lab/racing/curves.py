"""Time against residual for a few problems of a race, through the same workers as the trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contactlab.lab.racing.entrant import Entrant, entrant_of
from contactlab.lab.racing.kinds import kind_of, size_of
from contactlab.lab.racing.problem_files import read_problem
from contactlab.lab.racing.residual_curve import CurvePoint, ResidualCurve, residual_curve
from contactlab.lab.racing.row import Row
from contactlab.lab.sweeps import sweep

__all__ = ["curves_of", "pick_problems", "run_curve"]


def pick_problems(named: Sequence[tuple[str, Any]], rows: Sequence[Row], count: int) -> list[tuple[str, Any]]:
    """Problems spread over the sizes of those that somebody solved, the largest among them; ``count`` per league."""
    solved = {row.problem for row in rows if row.solved}
    leagues: dict[str, list[tuple[str, Any]]] = {}
    for name, problem in named:
        if name in solved:
            leagues.setdefault(kind_of(problem).league, []).append((name, problem))
    picked: list[tuple[str, Any]] = []
    for league in leagues.values():
        league.sort(key=lambda pair: (size_of(pair[1]), pair[0]))
        last = len(league) - 1
        places = sorted({round(last * (k + 1) / count) for k in range(count)})
        picked += [league[place] for place in places]
    return picked


def curves_of(
    picked: Sequence[tuple[str, Any]],
    files: dict[str, Path],
    entrants: Sequence[Entrant],
    tolerance: float | None,
    time_limit: float,
    out: Path,
    jobs: int | None,
    cluster: str | None,
    patience: float,
) -> tuple[ResidualCurve, ...]:
    """Curves of every entrant that suits; those whose process was ended have none."""
    tasks = [
        {
            "problem": name,
            "file": str(files[name]),
            "text": entrant.text,
            "tolerance": kind_of(problem).tolerance if tolerance is None else tolerance,
            "time_limit": time_limit,
        }
        for name, problem in picked
        for entrant in entrants
        if entrant.suits(kind_of(problem))
    ]
    if not tasks:
        return ()
    result = sweep(run_curve, tasks, out=out, jobs=jobs, cluster=cluster, time_limit=patience)
    return tuple(
        ResidualCurve(
            row["problem"],
            row["label"],
            row["by"],
            tuple(CurvePoint(*point) for point in zip(row["times"], row["residuals"], strict=True)),
        )
        for row in result.rows
        if row["outcome"] == "done"
    )


def run_curve(task: dict[str, Any]) -> dict[str, Any]:
    """A curve from the entries of a task; for the processes of a sweep."""
    entrant = entrant_of(task["text"])
    curve = residual_curve(
        task["problem"],
        read_problem(task["file"]),
        entrant,
        tolerance=task["tolerance"],
        time_limit=task["time_limit"],
    )
    return {
        "label": curve.label,
        "by": curve.by,
        "times": [point.seconds for point in curve.points],
        "residuals": [point.residual for point in curve.points],
    }
