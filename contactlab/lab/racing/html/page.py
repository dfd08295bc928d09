"""The page: summary first, then what it rests on, then what it does not show, then every row."""

from __future__ import annotations

import datetime
from html import escape

from contactlab.lab.racing.html.charts import curve_charts, growth_chart, profile_chart
from contactlab.lab.racing.html.limitations import limitations
from contactlab.lab.racing.html.style import SCRIPT, STYLE
from contactlab.lab.racing.html.tables import facts_table, family_table, growth_table, rows_table, summary_table
from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.summary import SHIFT, Field, summaries
from contactlab.lab.racing.text_table import seconds_text

__all__ = ["page"]

# The browser itself is told to fetch nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(report: RaceReport) -> str:
    """Return the whole file."""
    when = datetime.datetime.fromtimestamp(report.began, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    problems = len({(row.kind, row.problem) for row in report.rows})
    solved = sum(row.solved for row in report.rows)
    head = (
        f"{len(report.summary())} solvers, {problems} problems, {len(report.rows)} trials, {solved} solved "
        f"within {seconds_text(report.time_limit)} each. {when}."
    )
    body = [f"<h1>Race</h1><p>{escape(head)}</p>"]
    body += [_field(report, field) for field in report.fields]
    body.append("<h2>Limitations</h2><p>" + " ".join(escape(one) for one in limitations(report)) + "</p>")
    body.append("<h2>Where and how</h2>" + facts_table(_facts(report, when)))
    body.append(
        "<h2>Every row</h2>"
        '<p><label>Filter: <input id="filter" type="search" placeholder="solver, problem, status" size="40"></label> '
        '<span id="shown"></span></p>' + rows_table(report.rows)
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Race</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _field(report: RaceReport, field: Field) -> str:
    lines = summaries(field, report.time_limit)
    order = [one.label for one in lines]
    parts = [
        f"<h2>{escape(field.league.capitalize())}</h2>",
        summary_table(field, lines),
        f'<p class="small">Mean: shifted geometric mean over the {len(field.decided)} problems that somebody solved, '
        f"shift {seconds_text(SHIFT)}, failures counted as {seconds_text(report.time_limit)}. No solution: shown to "
        "have no solution, by a proof that was checked or by every basis. Wrong claims: said to be solved and not so. "
        "Cpu mean: the same of processor times, which others on the machine lengthen less. Median: of what it solved. "
        "Best on: least time, or within 10 % of it.</p>",
        f"<h3>Performance profiles</h3>{profile_chart(report, field, order)}",
        '<p class="small">Left: share of problems on which the solver was the fastest. Right end: share it '
        "solved within the largest ratio drawn (Dolan and Moré 2002).</p>",
    ]
    for heading, drawn in curve_charts(report, field, order):
        parts.append(f"<h3>Time against residual: {heading}</h3>{drawn}")
    if any(curve.problem in field.problems for curve in report.curves):
        parts.append(
            '<p class="small">Every point is a solve of its own: with 1, 2, 4 ... iterations where the solver has '
            "such a limit, with tolerances 1e-1, 1e-2 ... where not. Horizontal line: the tolerance of the race.</p>"
        )
    drawn = growth_chart(report, field, order)
    if drawn:
        parts.append(f"<h3>Growth with n</h3>{drawn}")
        parts.append(
            '<p class="small">All families together; the lines are fitted powers of n, over the sizes they rest on. '
            "Family by family the exponents are:</p>"
        )
        parts.append(growth_table(report, field))
    parts.append(f"<h3>Family by family: solved of met</h3>{family_table(field, order)}")
    return "".join(parts)


def _facts(report: RaceReport, when: str) -> list[tuple[str, str]]:
    before, after = ("unknown" if load is None else f"{load:.2f}" for load in report.load)
    return [
        ("begun", when),
        ("took", f"{report.seconds:.1f} s for {report.computed} trials computed now, of {len(report.rows)}"),
        ("processes", "those of a cluster" if report.cluster else str(report.jobs)),
        ("processor", f"{report.machine.processor}, {report.machine.cores} cores"),
        ("system", report.machine.system),
        ("load average", f"{before} before, {after} after"),
        ("versions", ", ".join(f"{name} {version}" for name, version in report.machine.versions)),
        ("tolerance", ", ".join(f"{field.tolerance:.0e} ({field.league})" for field in report.fields)),
        ("time limit", f"{report.time_limit:g} s per problem and solver"),
        ("timed solves", f"up to {report.repeats} per trial, the least counts"),
        ("solvers", "; ".join(one.label for one in report.summary())),
        ("left out", "; ".join(report.skipped) or "nobody"),
    ]
