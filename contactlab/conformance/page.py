"""The report as one HTML file: scores, the table, every reason; no other file, no network, every name escaped."""

from __future__ import annotations

import re
from html import escape

from contactlab.conformance.case import CaseResult, CaseVerdict
from contactlab.conformance.suite import Report, cell
from contactlab.lab.racing.html.page import STYLE, whole

_CLASS = {
    CaseVerdict.PASSED: "good",
    CaseVerdict.FAILED: "bad",
    CaseVerdict.CRASHED: "bad",
    CaseVerdict.TIMED_OUT: "bad",
}
_ISSUE = re.compile(r"(MuJoCo issue (\d+))")
_LINK = r'<a href="https://github.com/google-deepmind/mujoco/issues/\2">\1</a>'
_LOOKS = """
th{cursor:default}.wide th,.wide td{overflow-wrap:normal}
table.many th,table.many td,table.reasons td:nth-child(-n+2){white-space:nowrap}
table.many td.none,table.reasons td.none{color:#666}
table.reasons td:last-child{min-width:9em}
@media (max-width:600px){main{padding:1rem}table.many td:first-child{white-space:normal;min-width:7em}}
a{color:#0b4f8a}h3 a{font-size:13px;font-weight:400;margin-left:.5em}
"""


def page(report: Report) -> str:
    """Return the whole file."""
    names = report.engines
    versions = {row.engine: row.version for row in report.rows}
    heads = "".join(f"<th>{escape(name)}<br>{escape(versions[name])}</th>" for name in names)
    scores = "".join(f"<td><b>{kept} of {held}</b></td>" for kept, held in map(report.score, names))
    lines, parts = [f"<tr><td><b>kept</b></td>{scores}</tr>"], []
    for i, case in enumerate(report.cases):
        rows = [report.row(name, case.name) for name in names]
        cells = "".join(f'<td class="{_class(row)}">{escape(cell(row))}</td>' for row in rows)
        lines.append(f'<tr><td><a href="#case-{i}">{escape(case.name)}</a></td>{cells}</tr>')
        # Failed cases come first, with the worst at the top.
        rows.sort(key=lambda row: (_class(row) != "bad", -row.times if _class(row) == "bad" else 0.0))
        reasons = "".join(
            f'<tr><td>{escape(row.engine)}</td><td class="{_class(row)}">{escape(cell(row))}</td>'
            f"<td>{escape(row.reason)}</td></tr>"
            for row in rows
        )
        source = _ISSUE.sub(_LINK, escape(case.source))
        parts.append(
            f'<h3 id="case-{i}">{escape(case.name)}<a href="#scores">scores</a></h3>'
            f'<p>{escape(case.question)} <span class="small">{source}.</span></p>'
            f'<div class="wide"><table class="reasons"><tbody>{reasons}</tbody></table></div>'
        )
    body = (
        '<h1 id="scores">Conformance of engines</h1>'
        "<p>Every verdict is computed from figures and their limits. Lost x 3: the worst figure is three times its "
        "limit. Not told and not offered count neither way.</p>"
        f'<div class="wide"><table class="many"><thead><tr><th>case</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div><h2>Reasons</h2>{''.join(parts)}"
    )
    return whole("Conformance", STYLE + _LOOKS, body)


def _class(row: CaseResult) -> str:
    return _CLASS.get(row.verdict, "none")
