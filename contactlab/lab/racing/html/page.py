"""The page: summary first, then what it rests on, then what it does not show, then every row.

A few lines of script filter its rows and sort its tables.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from html import escape

from contactlab.lab.racing.html.charts import curve_charts, growth_chart, profile_chart
from contactlab.lab.racing.html.limitations import limitations
from contactlab.lab.racing.html.tables import facts_table, family_table, growth_table, rows_table, summary_table
from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.summary import SHIFT, Field, seconds_text, summaries

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
    ]
    try:
        parts += _charts(report, field, order)
    except ModuleNotFoundError as error:
        advice = f"{error.name} is missing: pip install 'contactlab[viz]', then the same race again, which runs nothing"
        parts.append(f"<p>No charts: {escape(advice)} twice.</p>")
    parts.append(f"<h3>Growth with n, family by family: fitted exponents</h3>{growth_table(report, field)}")
    parts.append(f"<h3>Family by family: solved of met</h3>{family_table(field, order)}")
    return "".join(parts)


def _charts(report: RaceReport, field: Field, order: Sequence[str]) -> list[str]:
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
            "such a limit, with tolerances 1e-1, 1e-2 ... where not. Horizontal line: the tolerance of the race.</p>"
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
        ("tolerance", ", ".join(f"{field.tolerance:.0e} ({field.league})" for field in report.fields)),
        ("time limit", f"{report.time_limit:g} s per problem and solver"),
        ("timed solves", f"up to {report.repeats} per trial, the least counts"),
        ("solvers", "; ".join(one.label for one in report.summary())),
        ("left out", "; ".join(report.skipped) or "nobody"),
    ]
