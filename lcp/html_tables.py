"""Values as notebooks show them: tables of HTML that need nothing else, every word escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MAX_ROWS = 40


def html_table(title: str, rows: Sequence[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Return a table under a title; of more than 40 rows the first, and how many there are.

    Parameters
    ----------
    title
        Written above.
    rows
        A line each; what is in it is written as `str` has it.
    head
        Names of the columns.
    """
    lines = [f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>"] if head else []
    cell = '<td style="text-align:left">{}</td>'
    lines += [f"<tr>{''.join(cell.format(escape(str(value))) for value in row)}</tr>" for row in rows[:MAX_ROWS]]
    more = f"<div>{MAX_ROWS} of {len(rows)}</div>" if len(rows) > MAX_ROWS else ""
    return f"<div><b>{escape(title)}</b><table>{''.join(lines)}</table>{more}</div>"
