"""On which line of a TOML document a key stands.

`tomllib` says so for documents it refuses only. A document it has read is known to be sound, so a scan of headers and
of keys before an equals sign is enough; strings and brackets are followed just to skip what stands inside them.
"""

from __future__ import annotations

import re

#: Where a value is: names of tables and keys, and numbers within arrays of tables.
Place = tuple[str | int, ...]

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
# What may begin or end something that goes on over lines, in the order in which it must be looked for.
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*|[\[\]{}]')


class LineIndex(dict[Place, int]):
    """Lines (from 1) by place."""

    def line(self, place: Place) -> int:
        """Return the line of a place, of what it stands in where the place itself has none, or 0."""
        return next((self[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self), 0)


def index_lines(text: str) -> LineIndex:
    """Return the index of a document that `tomllib` has read."""
    lines = LineIndex()
    counts: dict[Place, int] = {}
    table: Place = ()
    depth, quote = 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not depth and not quote:
            header, key = _HEADER.match(line), _KEY.match(line)
            if header is not None:
                table = _resolved(_parts(header[2]), counts)
                if header[1] == "[[":
                    # The array as a whole begins with its first entry.
                    lines.setdefault(table, number)
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, counts[table])
                lines[table] = number
                continue
            if key is not None:
                lines.setdefault((*table, *_parts(key[1])), number)
                line = line[key.end() :]
        depth, quote = _open_at_end(line, depth, quote)
    return lines


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))


def _resolved(names: tuple[str, ...], counts: dict[Place, int]) -> Place:
    """Return the place of a header: a name of an array of tables on the way stands for its last entry."""
    place: Place = ()
    for i, name in enumerate(names):
        place = (*place, name)
        if place in counts and i < len(names) - 1:
            place = (*place, counts[place])
    return place


def _open_at_end(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Return how many brackets are open after a line, and which long string, if any."""
    at = 0
    while at < len(line):
        if quote:
            end = line.find(quote, at)
            if end < 0:
                return depth, quote
            at, quote = end + 3, ""
            continue
        token = _TOKEN.search(line, at)
        if token is None:
            break
        at = token.end()
        if token[0] in ('"""', "'''"):
            quote = token[0]
        elif token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
    return depth, quote
