"""The tables of the report: who solved what, family by family, and every row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.row import Row
from contactlab.lab.racing.summary import Field, SolverSummary, failures_text, seconds_text


def _table(head: Sequence[str], lines: Iterable[Iterable[str]], kind: str = "") -> str:
    heading = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join("<tr>" + "".join(line) + "</tr>" for line in lines)
    table = f'<table class="{kind}"><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _table_of(lines: Sequence[dict[str, str]], kind: str) -> str:
    """A table of cells by their heads."""
    return _table(list(lines[0]) if lines else [], (line.values() for line in lines), kind)


def _text(value: object) -> str:
    return f"<td>{escape(str(value))}</td>"


def _number(value: object, *, good: bool = False, bad: bool = False) -> str:
    kind = "number good" if good else "number bad" if bad else "number"
    return f'<td class="{kind}">{escape(str(value))}</td>'


def summary_table(lines: Sequence[SolverSummary]) -> str:
    """One line per solver."""
    most, best = (max((getattr(one, name) for one in lines), default=0) for name in ("solved", "best"))
    means = [one.mean for one in lines if math.isfinite(one.mean)]
    cells = [
        {
            "solver": _text(one.label),
            "from": _text(one.origin),
            "solved": _number(f"{one.solved} / {one.met}", good=one.solved == most and most > 0),
            "no solution": _number(one.proved),
            "wrong claims": _number(one.wrong, bad=one.wrong > 0),
            "mean": _number(seconds_text(one.mean), good=bool(means) and one.mean == min(means)),
            "cpu mean": _number(seconds_text(one.cpu_mean)),
            "median": _number(seconds_text(one.median)),
            "best on": _number(one.best, good=one.best == best and best > 0),
            "failures": _text(failures_text(one)),
        }
        for one in lines
    ]
    return _table_of(cells, "summary")


def family_table(field: Field, order: Sequence[str]) -> str:
    """Solved of met: a line per family, a column per solver."""
    families = list(dict.fromkeys(row.family for row in field.rows.values()))

    def cell(family: str, label: str) -> str:
        rows = [row for row in field.rows.values() if row.label == label and row.family == family]
        solved = sum(row.solved for row in rows)
        return _number(f"{solved}/{len(rows)}", good=0 < len(rows) == solved, bad=bool(rows) and solved == 0)

    lines = ((_text(family), *(cell(family, label) for label in order)) for family in families)
    return _table(("family", *order), lines, "many upright")


def growth_table(report: RaceReport, field: Field) -> str:
    """Fitted exponents, family by family, each with its range."""
    fits = [(label, family, fit) for label, family, fit in report.growth(field, families=True)]
    if not fits:
        return "<p>No family has three sizes that differ by a factor of four: there is nothing to fit.</p>"
    families = list(dict.fromkeys(family for _, family, _ in fits))
    lines = []
    for label in dict.fromkeys(label for label, _, _ in fits):
        mine = {family: fit for name, family, fit in fits if name == label}
        cells = []
        for family in families:
            fit = mine.get(family)
            error = "" if fit is None or not math.isfinite(fit.standard_error) else f" ± {fit.standard_error:.1f}"
            cells.append(_number("" if fit is None else f"{fit.exponent:.2f}{error}"))
        lines.append((_text(label), *cells))
    ranges = {family: (fit.least_n, fit.largest_n, fit.points) for _, family, fit in fits}
    widest = "; ".join(f"{escape(f)}: n = {low} to {high}, {k} problems" for f, (low, high, k) in ranges.items())
    return _table(("solver", *families), lines, "many") + f'<p class="small">Widest fits: {widest}.</p>'


def rows_table(rows: Sequence[Row]) -> str:
    """Every row, with the attributes by which the page filters."""
    cells = [
        {
            "problem": _text(row.problem),
            "solver": _text(row.label),
            "status": f'<td class="{"good" if row.solved else "bad"}">{escape(row.status)}</td>',
            "residual": _number(f"{row.residual:.1e}"),
            "iterations": _number(row.iterations),
            "time": _number(seconds_text(row.time) if row.runs else "-"),
            "cpu": _number(seconds_text(row.cpu) if row.runs else "-"),
            "n": _number(row.n),
            "kind": _text(row.kind),
            "runs": _number(row.runs),
            "claim": f'<td class="bad">{escape(row.claim)}</td>' if row.wrong else _text(row.claim),
            "detail": f'<td class="detail">{escape(row.detail)}</td>',
        }
        for row in rows
    ]
    return _table_of(cells, "rows")


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """What was raced, where and how."""
    return _table(("what", "value"), ((_text(name), _text(value)) for name, value in facts), "facts")
