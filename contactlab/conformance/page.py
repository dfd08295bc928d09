"""The report as one HTML file: scores, the table, every reason; no other file, no network, every name escaped."""

from __future__ import annotations

from html import escape

from contactlab.conformance.suite import Report, Verdict, cell
from contactlab.lab.racing.html.page import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLASS = {Verdict.KEPT: "good", Verdict.LOST: "bad", Verdict.CRASHED: "bad"}


def page(report: Report) -> str:
    """Return the whole file."""
    names = report.engines
    versions = {row.engine: row.version for row in report.rows}
    heads = "".join(f"<th>{escape(name)}<br>{escape(versions[name])}</th>" for name in names)
    scores = "".join(f"<td>{kept} of {held}</td>" for kept, held in map(report.score, names))
    lines, parts = [f"<tr><td><b>kept</b></td>{scores}</tr>"], []
    for case in report.cases:
        rows = [report.row(name, case.name) for name in names]
        cells = "".join(f'<td class="{_CLASS.get(row.verdict, "")}">{escape(cell(row))}</td>' for row in rows)
        lines.append(f"<tr><td>{escape(case.name)}</td>{cells}</tr>")
        reasons = "".join(
            f'<tr><td>{escape(row.engine)}</td><td class="{_CLASS.get(row.verdict, "")}">{row.verdict.value}</td>'
            f"<td>{escape(row.reason)}</td></tr>"
            for row in rows
        )
        parts.append(
            f"<h3>{escape(case.name)}</h3><p>{escape(case.question)} "
            f'<span class="small">{escape(case.source)}.</span></p>'
            f'<div class="wide"><table><tbody>{reasons}</tbody></table></div>'
        )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Conformance</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main><h1>Conformance of engines</h1>"
        "<p>Every verdict is computed from figures and their limits. Lost x 3: the worst figure is three times its "
        "limit. Not told and not offered count neither way.</p>"
        f'<div class="wide"><table class="many"><thead><tr><th>case</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div><h2>Reasons</h2>{''.join(parts)}</main></body></html>\n"
    )
