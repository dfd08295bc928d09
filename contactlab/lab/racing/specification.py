"""Solvers by text: ``Lemke``, ``OSQP(max_iter=1000)``, ``Fallback(mine.py:Mine(), OSQP())``, ``mine.py:Mine``.

Names stand for our solvers and the peers, capitals or not. Settings are literals and solvers, put into the fields of
the solver's dataclass; nothing else is evaluated. ``module:Name`` and ``path.py:Name`` are the user's own: their module
is imported, their file executed, as asked for.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import importlib
import re
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import lcp
from contactlab.lab.errors import RaceError
from contactlab.lab.racing.kinds import KINDS
from contactlab.lab.racing.peers import ALL_PEERS

_COMBINED = (
    lcp.BlockTriangular,
    lcp.Cascade,
    lcp.Fallback,
    lcp.Refined,
    lcp.Regularized,
    lcp.Feasibility,
    lcp.FrictionCascade,
)
#: A text in quotes, which is passed over, or one's own solver, ``path.py:Name`` or ``module:Name``.
_OWN = re.compile(r"""'[^']*'|"[^"]*"|(?P<own>[^\s()\[\]{},='"]+:[A-Za-z_]\w*)""")


class _Read(NamedTuple):
    """A text as given, and one's own solvers in it by the identifiers that stand for them while it is parsed."""

    text: str
    own: dict[str, str]


def known_solvers() -> dict[str, type[Any]]:
    """Class by name of every solver a text can name, ours first, then the peers."""
    ours = dict.fromkeys(solver for kind in KINDS for solver in kind.solvers)
    everyone: tuple[type[Any], ...] = (*ours, *lcp.OPTIONAL_SOLVERS, *_COMBINED, *ALL_PEERS)
    return {solver.__name__: solver for solver in everyone}


def split_list(text: str) -> list[str]:
    """Parts of a list at its commas, those within brackets or quotes apart."""
    parts, depth, quote, start = [], 0, "", 0
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def solver_from(text: str) -> Any:
    """The solver object a text stands for.

    A `RaceError` for an unknown name (the text lists the names), an unknown setting (it lists the fields), a setting
    that is no literal or out of range, or an own solver that cannot be imported or has no ``solve``.
    """
    whole = text.strip()
    head, bracket, _ = whole.partition("(")
    if bracket and not whole.endswith(")"):
        raise RaceError(f"{text!r}: the bracket is not closed")
    own: dict[str, str] = {}

    def stand_in(found: re.Match[str]) -> str:
        if found["own"] is None:
            return found[0]
        return own.setdefault(found["own"], f"_own{len(own)}_")

    if ":" in head:  # as it is: a path may hold spaces
        own[head.strip()] = "_own0_"
        whole = "_own0_" + whole[len(head) :]
    parsed = _parsed(_OWN.sub(stand_in, whole), text)
    made = _built(parsed, _Read(text, {short: where for where, short in own.items()}))
    if not callable(getattr(made, "solve", None)):
        raise RaceError(f"{text!r} gives a {type(made).__name__} without a method `solve`")
    return made


def own_files(text: str) -> list[str]:
    """Files of one's own solvers that a text names."""
    head = text.partition("(")[0]
    named = [head] if ":" in head else []
    named += [found["own"] for found in _OWN.finditer(text, len(head)) if found["own"]]
    return [place for where in named if (place := where.strip().rpartition(":")[0]).endswith(".py")]


def _parsed(source: str, text: str) -> ast.expr:
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        raise RaceError(
            f"{text!r} is no solver; write a name, with settings Name(field=value), or path.py:Name"
        ) from None


def _values(call: ast.Call, read: _Read) -> tuple[list[Any], dict[str, Any]]:
    if any(keyword.arg is None for keyword in call.keywords):
        raise RaceError(f"{read.text!r}: ** is not understood; write field=value")
    return [_value(node, read) for node in call.args], {
        str(keyword.arg): _value(keyword.value, read) for keyword in call.keywords
    }


def _value(node: ast.expr, read: _Read) -> Any:
    if isinstance(node, ast.Call | ast.Name):
        return _built(node, read)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise RaceError(f"{read.text!r}: {ast.unparse(node)} is neither a literal nor a solver with brackets") from None


def _built(node: ast.expr, read: _Read) -> Any:
    """A solver of a known name or of one's own, with its settings; one's own class by itself is made as it comes."""
    head = node.func if isinstance(node, ast.Call) else node
    if not isinstance(head, ast.Name):
        raise RaceError(f"{read.text!r} is no solver; write a name, with settings Name(field=value), or path.py:Name")
    known = known_solvers()
    if head.id in read.own:
        maker = _users_own(read.own[head.id])
    else:
        maker = {name.lower(): solver for name, solver in known.items()}.get(head.id.lower())
    if maker is None:
        near = difflib.get_close_matches(head.id.lower(), [name.lower() for name in known], 1)
        meant = "".join(f", did you mean {name}?" for name in known if name.lower() in near) or ";"
        raise RaceError(f"no solver {head.id!r}{meant} there are: {', '.join(known)}; or your own as path.py:Name")
    return _made(maker, _values(node, read) if isinstance(node, ast.Call) else ([], {}), read.text)


def _made(maker: Any, arguments: tuple[list[Any], dict[str, Any]], text: str) -> Any:
    positional, named = arguments
    if not isinstance(maker, type):
        if positional or named:
            raise RaceError(f"{text!r}: settings are for a class, this is a finished {type(maker).__name__}")
        return maker
    if dataclasses.is_dataclass(maker):
        fields = [field.name for field in dataclasses.fields(maker) if field.init]
        unknown = [name for name in named if name not in fields]
        if unknown:
            raise RaceError(f"{maker.__name__} has no setting {unknown[0]!r}; it has: {', '.join(fields) or 'none'}")
    try:
        return maker(*positional, **named)
    except (TypeError, ValueError) as error:
        raise RaceError(f"{text!r}: {error}") from error


def _users_own(where: str) -> Any:
    """What ``module:Name`` or ``path.py:Name`` names."""
    place, _, name = where.rpartition(":")
    if not name.isidentifier():
        raise RaceError(f"{where!r}: after the colon stands the name of a class or object")
    space = _space_of(place, where)
    if name not in space:
        offered = [
            key
            for key, value in space.items()
            if hasattr(value, "solve") and not key.startswith("_") and not isinstance(value, ModuleType)
        ]
        raise RaceError(f"{place} has no {name!r}; with a method `solve` it has: {', '.join(offered) or 'nothing'}")
    return space[name]


@functools.lru_cache(maxsize=32)
def _space_of(place: str, where: str) -> dict[str, Any]:
    if place.endswith(".py"):
        file = Path(place)
        if not file.is_file():
            raise RaceError(f"{where!r}: there is no file {place}")
        # Under a name of its own, so that what the script does when it is run is not done here.
        return runpy.run_path(str(file), run_name=file.stem)
    try:
        return vars(importlib.import_module(place))
    except ImportError as error:
        raise RaceError(f"{where!r}: {error}; a file is given as path.py:Name") from error
