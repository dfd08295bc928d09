"""The page: summary first, then what it rests on, then what it does not show, written from the run, then every row.

A few lines of script filter its rows and sort its tables.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from html import escape

from contactlab.lab.racing.html.tables import (
    curve_charts,
    facts_table,
    family_table,
    growth_chart,
    growth_table,
    profile_chart,
    rows_table,
    summary_table,
)
from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.row import PROVED
from contactlab.lab.racing.statistics import NEAR, SHIFT, RaceGroup, seconds_text, summaries

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;margin:0}
main{max-width:1180px;margin:0 auto;padding:1.5rem}
h1,h2,h3{line-height:1.2;margin:1.6em 0 .5em}h1{margin-top:0}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;margin:.5em 0}
th,td{padding:.22em .6em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
th{background:#f3f3f3;position:sticky;top:0;cursor:pointer;white-space:nowrap}
td{overflow-wrap:anywhere}
td.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;overflow-wrap:normal}
td.good{color:#00693e;font-weight:600}td.bad{color:#a32c00}
table.many th{white-space:normal;font-size:11px;vertical-align:bottom;overflow-wrap:anywhere;min-width:3.6em}
table.many td{padding:.2em .4em}
table.many td:first-child,table.many th:first-child{position:sticky;left:0;background:#fff;white-space:nowrap}
table.upright th:not(:first-child){writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;
white-space:nowrap;min-width:0;position:static}
table.facts td:first-child,table.summary td:nth-child(-n+2){white-space:nowrap}
table.rows{font-size:12px}table.rows td.detail{max-width:24em;color:#555}
.small{font-size:13px;color:#444}
svg{width:100%;height:auto}
svg .series:hover path{stroke-width:4!important}
input{font:inherit;padding:.2em .4em}
@media print{th{position:static}.filter{display:none}}
"""

SCRIPT = """
(function(){
var input=document.getElementById('filter'),shown=document.getElementById('shown');
var rows=Array.prototype.slice.call(document.querySelectorAll('table.rows tbody tr'));
function filter(){
  var words=input.value.toLowerCase().split(/\\s+/).filter(Boolean),count=0;
  rows.forEach(function(row){
    var text=row.textContent.toLowerCase();
    var fits=words.every(function(word){return text.indexOf(word)>=0});
    row.style.display=fits?'':'none';count+=fits;
  });
  shown.textContent=count+' of '+rows.length+' rows';
}
input.addEventListener('input',filter);filter();
function value(row,i){
  var text=row.cells[i].textContent,match=/^(-?[\\d.]+(?:e[-+]?\\d+)?)\\s*(us|ms|s)?(?:$|[ /])/.exec(text);
  if(!match)return text==='-'||text==='inf'?Infinity:text;
  return parseFloat(match[1])*({us:1e-6,ms:1e-3}[match[2]]||1);
}
document.querySelectorAll('th').forEach(function(th){
  th.addEventListener('click',function(){
    var body=th.closest('table').tBodies[0],i=th.cellIndex,down=th.dataset.down!=='1';
    th.dataset.down=down?'1':'0';
    Array.prototype.slice.call(body.rows).sort(function(a,b){
      var x=value(a,i),y=value(b,i),order=typeof x===typeof y?(x>y)-(x<y):typeof x==='number'?-1:1;
      return down?order:-order;
    }).forEach(function(row){body.appendChild(row)});
  });
});
})();
"""


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
    return whole("Race", STYLE, "".join(body), SCRIPT)


def whole(title: str, style: str, body: str, script: str = "") -> str:
    """Return a file of HTML. The browser itself is told to fetch nothing."""
    policy, code = "default-src 'none'; style-src 'unsafe-inline'", ""
    if script:
        policy, code = f"{policy}; script-src 'unsafe-inline'", f"<script>{script}</script>"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style}</style></head><body><main>{body}</main>{code}</body></html>\n"
    )


def _field(report: RaceReport, field: RaceGroup) -> str:
    lines = summaries(field, report.time_limit)
    order = [one.label for one in lines]
    parts = [
        f"<h2>{escape(field.title.capitalize())}</h2>",
        summary_table(lines),
        f'<p class="small">Mean: shifted geometric mean over the {len(field.decided)} problems that somebody solved, '
        f"shift {seconds_text(SHIFT)}, failures counted as {seconds_text(report.time_limit)}. No solution: shown to "
        "have no solution, by a proof that was checked or by every basis. Wrong claims: said to be solved and not so. "
        "Cpu mean: the same of processor times, which others on the machine lengthen less. Median: of what it solved. "
        "Best on: least time, or within 10 % of it.</p>",
    ]
    try:
        parts += _charts(report, field, order)
    except ModuleNotFoundError as error:
        advice = f"{error.name} is missing: pip install '.[viz]', then the same race again, which runs nothing"
        parts.append(f"<p>No charts: {escape(advice)} twice.</p>")
    parts.append(f"<h3>Growth with n, family by family: fitted exponents</h3>{growth_table(report, field)}")
    parts.append(f"<h3>Family by family: solved of met</h3>{family_table(field, order)}")
    return "".join(parts)


def _charts(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> list[str]:
    parts = [
        f"<h3>Performance profiles</h3>{profile_chart(report, field, order)}",
        '<p class="small">Left: share of problems on which the solver was the fastest. Right end: share it '
        "solved within the largest ratio drawn (Dolan and Moré 2002).</p>",
    ]
    for heading, drawn in curve_charts(report, field, order):
        parts.append(f"<h3>Time against residual: {heading}</h3>{drawn}")
    if any(curve.problem in field.problems for curve in report.curves):
        parts.append(
            '<p class="small">Every point is a solve of its own: with 1, 2, 4 ... iterations where the solver has '
            "such a limit, with tolerances 1e-1, 1e-2 ... where not. Drawn is the error that decides whether an answer "
            "is solved: the backward error, of friction the largest of its measures. Horizontal line: the tolerance of "
            "the race.</p>"
        )
    if drawn := growth_chart(report, field, order):
        parts.append(
            f"<h3>Growth with n</h3>{drawn}"
            '<p class="small">All families together; the lines are fitted powers of n, over the sizes they rest on.</p>'
        )
    return parts


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
        ("tolerance", ", ".join(f"{field.tolerance:.0e} ({field.problem_class})" for field in report.fields)),
        ("time limit", f"{report.time_limit:g} s per problem and solver"),
        ("timed solves", f"up to {report.repeats} per trial, the least counts"),
        ("solvers", "; ".join(one.label for one in report.summary())),
        ("left out", "; ".join(report.skipped) or "nobody"),
    ]


_NAMED = 8


def limitations(report: RaceReport) -> list[str]:
    """Sentences, plain text."""
    bounds = " and ".join(f"{field.tolerance:.0e} ({field.problem_class})" for field in report.fields)
    return [
        f"Solved means: backward error (of friction: residuals) at most {bounds} on the problem's own data, "
        "measured after the solve, not by the solver. At another tolerance the order may "
        "differ: methods that end in a basis gain little from a looser one, first-order methods much.",
        f"Every solver had {seconds_text(report.time_limit)} per problem. A failure counts as that in the means, so "
        "their order depends on it. Those that take no time limit were ended from outside, later; what they would have "
        "found is not known.",
        _load(report),
        f"Times are the least of up to {report.repeats} solves of the same problem from nothing (no warm start), after "
        "a warm-up on problems of three unknowns; solves in which something was compiled do not count. They hold the "
        "solver's set-up, any conversion of the data, and for peers the passage from Python. Solves of more than a "
        "second were timed once or twice.",
        *(sentence for field in report.fields for sentence in _of_field(field)),
        *(["Left out: " + "; ".join(report.skipped) + "."] if report.skipped else []),
        "The problems are those that were given: no random sample of anything. Problems of one family resemble one "
        "another, and a family with many members weighs more in every total.",
    ]


def _load(report: RaceReport) -> str:
    before, after = report.load
    where = "the workers of a cluster" if report.cluster else f"{report.jobs} processes side by side"
    load = "The load of the machine is not known."
    if before is not None and after is not None:
        load = f"Its load was {before:.1f} before the race and {after:.1f} at its end"
        busy = before > 0.5 * report.machine.cores and not report.cluster
        load += ": others were computing there, and times may be too long." if busy else "."
    return (
        f"Trials ran on {where}, which share memory and caches ({report.machine.cores} cores). {load}"
        f"{_waiting(report)} Times of less than a tenth of a millisecond move by tens of percent from run to run."
    )


def _waiting(report: RaceReport) -> str:
    """Wall time over CPU time of solves longer than a time slice: how long they waited for a core."""
    ratios = sorted(row.time / row.cpu for row in report.rows if row.cpu > 1e-3 and row.runs)
    if not ratios or ratios[len(ratios) // 2] < 1.2:
        return ""
    return (
        f" Solves of more than a millisecond took {ratios[len(ratios) // 2]:.1f} times their processor time by the "
        "clock (median), shorter ones hardly more than theirs: the clock is unfair to the slower solvers here, and "
        "processor times are the ones to compare."
    )


def _of_field(field: RaceGroup) -> list[str]:
    sizes = sorted({row.n for row in field.rows.values()})
    kinds = sorted({row.kind for row in field.rows.values()})
    sentences = [
        f"{field.problem_class.capitalize()} ({', '.join(kinds)}): {len(field.problems)} problems with n from "
        f"{sizes[0]} to {sizes[-1]}; nothing is said about other sizes."
    ]
    undecided = [name for name in field.problems if name not in field.decided]
    if undecided:
        proved = {row.problem for row in field.rows.values() if row.status in PROVED}
        none = [name for name in undecided if name in proved]
        open_ones = [name for name in undecided if name not in proved]
        parts = []
        if none:
            parts.append(f"{len(none)} shown to have no solution ({_listed(none)})")
        if open_ones:
            parts.append(f"{len(open_ones)} that nobody solved ({_listed(open_ones)})")
        sentences.append(f"Profiles, means and medians leave out {' and '.join(parts)}.")
    times = field.times()
    if times.size:
        least = times.min(axis=1, keepdims=True)
        ties = int(((times <= NEAR * least).sum(axis=1) > 1).sum())
        sentences.append(
            f"On {ties} of {len(field.decided)} problems two or more solvers lie within {NEAR - 1:.0%} of the least "
            f"time; all of them count as best there. Below {seconds_text(SHIFT)} (the shift of the means) differences "
            "hardly count."
        )
    crashed = sorted({row.label for row in field.rows.values() if row.status == "CRASHED"})
    if crashed:
        sentences.append(f"Crashes (exceptions, or processes that died) count as failures: {_listed(crashed)}.")
    converted = sorted({row.kind for row in field.rows.values()} - {"LCP"})
    if converted and field.problem_class == "complementarity":
        sentences.append(
            f"Solvers of plain problems met {', '.join(converted)} reduced or converted, which is part of their time."
        )
    return sentences


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
