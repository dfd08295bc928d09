"""The tables of the report: who solved what, family by family, and every row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.row import Row
from contactlab.lab.racing.summary import Field, SolverSummary, failures_text, seconds_text

__all__ = ["facts_table", "family_table", "growth_table", "rows_table", "summary_table"]


def _table(head: Sequence[str], lines: Iterable[Sequence[str]], kind: str = "") -> str:
    heading = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join("<tr>" + "".join(line) + "</tr>" for line in lines)
    table = f'<table class="{kind}"><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _text(value: object) -> str:
    return f"<td>{escape(str(value))}</td>"


def _number(value: object, *, good: bool = False, bad: bool = False) -> str:
    kind = "number good" if good else "number bad" if bad else "number"
    return f'<td class="{kind}">{escape(str(value))}</td>'


def summary_table(field: Field, lines: Sequence[SolverSummary]) -> str:
    """One line per solver."""
    most = max((one.solved for one in lines), default=0)
    means = [one.mean for one in lines if math.isfinite(one.mean)]
    head = (
        "solver",
        "from",
        "solved",
        "no solution",
        "wrong claims",
        "mean",
        "cpu mean",
        "median",
        "best on",
        "failures",
    )
    return _table(
        head,
        (
            (
                _text(one.label),
                _text(one.origin),
                _number(f"{one.solved} / {one.met}", good=one.solved == most and most > 0),
                _number(one.proved),
                _number(one.wrong, bad=one.wrong > 0),
                _number(seconds_text(one.mean), good=bool(means) and one.mean == min(means)),
                _number(seconds_text(one.cpu_mean)),
                _number(seconds_text(one.median)),
                _number(one.best, good=one.best == max(two.best for two in lines) and one.best > 0),
                _text(failures_text(one)),
            )
            for one in lines
        ),
        "summary",
    )


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
    said = "; ".join(f"{escape(f)}: n = {low} to {high}, {k} problems" for f, (low, high, k) in ranges.items())
    return _table(("solver", *families), lines, "many") + f'<p class="small">Widest fits: {said}.</p>'


def rows_table(rows: Sequence[Row]) -> str:
    """Every row, with the attributes by which the page filters."""
    head = (
        "problem",
        "solver",
        "status",
        "residual",
        "iterations",
        "time",
        "cpu",
        "n",
        "kind",
        "runs",
        "claim",
        "detail",
    )
    lines = []
    for row in rows:
        wrong = row.wrong
        status = f'<td class="{"good" if row.solved else "bad"}">{escape(row.status)}</td>'
        lines.append(
            (
                _text(row.problem),
                _text(row.label),
                status,
                _number(f"{row.residual:.1e}"),
                _number(row.iterations),
                _number(seconds_text(row.time) if row.runs else "-"),
                _number(seconds_text(row.cpu) if row.runs else "-"),
                _number(row.n),
                _text(row.kind),
                _number(row.runs),
                f'<td class="bad">{escape(row.claim)}</td>' if wrong else _text(row.claim),
                f'<td class="detail">{escape(row.detail)}</td>',
            )
        )
    return _table(head, lines, "rows")


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """What was raced, where and how."""
    return _table(("what", "value"), ((_text(name), _text(value)) for name, value in facts), "facts")
