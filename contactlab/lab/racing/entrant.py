"""Competitors of a race: a solver with its settings, and the text from which any process can construct it.

Texts are ``Lemke``, ``OSQP(max_iter=1000)``, ``Fallback(mine.py:Mine(), OSQP())``, ``mine.py:Mine``. Names of this
package's solvers and of peers are case-insensitive. Settings are literals and solvers for fields of the solver's
dataclass; nothing else is evaluated. ``module:Name`` and ``path.py:Name`` name the user's solvers: their module is
imported, or their file executed.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import importlib
import inspect
import itertools
import re
import runpy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import lcp
from contactlab.lab.racing.external_solvers import ALL_PEERS, installed
from contactlab.lab.racing.kinds import KINDS, Kind, RaceError, problem_class_of
from lcp.method import replace_fields

OURS, PEER, OWN = "contactlab", "peer", "own"


@dataclass(frozen=True)
class Competitor:
    """One solver with its settings.

    Attributes
    ----------
    name
        Name of the solver class.
    settings
        Fields that differ from their defaults, as ``field=value``; empty for none.
    text
        Text from which `solver_from` constructs the solver, in any process.
    solver
        The solver object.
    origin
        "contactlab", "peer" or "own".
    problem_class
        Class of the problems it solves.
    """

    name: str
    settings: str
    text: str
    solver: Any
    origin: str
    problem_class: str

    @property
    def label(self) -> str:
        """Name and settings, by which entrants are distinguished."""
        return f"{self.name}({self.settings})" if self.settings else self.name

    def supports(self, kind: Kind) -> bool:
        """Return True if it can solve problems of this kind."""
        return self.problem_class == kind.problem_class


def entrant_of(given: Any) -> Competitor:
    """Return the entrant for a text, a solver object or a solver class."""
    if isinstance(given, str):
        return _to_competitor(solver_from(given), given.strip())
    if isinstance(given, type):
        given = given()
    if not callable(getattr(given, "solve", None)):
        raise RaceError(f"{given!r} is no solver: it has no method `solve`")
    return _to_competitor(given, _text_of(given))


def entrants_of(solvers: str | Iterable[Any], kinds: Iterable[Kind]) -> list[Competitor]:
    """Return entrants from a list of names or of solvers; ``all`` stands for this package's solvers.

    An unknown name or an empty list raises a `RaceError`. A solver that is named twice races once.
    """
    entrants = _listed(solvers, dict.fromkeys(solver for kind in kinds for solver in kind.solvers))
    if not entrants:
        raise RaceError("no solver is named; write all, or names such as Lemke,OSQP")
    return entrants


def peers_of(peers: str | Iterable[str], kinds: Iterable[Kind]) -> tuple[list[Competitor], list[str]]:
    """Return peers, by name or ``all``, for at least one of the kinds, and a line on each that is left out."""
    leagues = {kind.problem_class for kind in kinds}
    racing, skipped = [], []
    for entrant in _listed(peers, [peer for peer in ALL_PEERS if problem_class_of(peer) in leagues]):
        if entrant.origin != PEER:
            names = ", ".join(peer.__name__ for peer in ALL_PEERS)
            raise RaceError(f"{entrant.name} is no peer; there are: {names}; other solvers are named as such")
        if installed(type(entrant.solver)):
            racing.append(entrant)
        else:
            skipped.append(f"{entrant.label}: package {entrant.solver.package} is not installed")
    return racing, skipped


def _listed(given: str | Iterable[Any], everyone: Iterable[type[Any]]) -> list[Competitor]:
    """Return the entrants of a list, each once; ``all`` stands for ``everyone``."""
    entrants: dict[str, Competitor] = {}
    for part in split_list(given) if isinstance(given, str) else given:
        together = isinstance(part, str) and part.lower() == "all"
        entrants |= {entrant.label: entrant for entrant in map(entrant_of, everyone if together else (part,))}
    return list(entrants.values())


def limited(solver: Any, seconds: float) -> Any:
    """Return the solver with all default time limits reduced to ``seconds``, also of inner solvers."""
    if isinstance(solver, tuple):
        return tuple(limited(one, seconds) for one in solver)
    if not (dataclasses.is_dataclass(solver) and hasattr(solver, "solve")):
        return solver
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(solver):
        value = getattr(solver, field.name)
        if field.name == "time_limit":
            if isinstance(value, float) and field.default in (value, dataclasses.MISSING):
                changed[field.name] = min(value, seconds)
        elif isinstance(value, tuple) or hasattr(value, "solve"):
            inner = limited(value, seconds)
            if inner != value:
                changed[field.name] = inner
    return replace_fields(solver, changed) if changed else solver


def _to_competitor(solver: Any, text: str) -> Competitor:
    """Return the competitor of a solver instance, with its class, settings, text and origin."""
    cls = type(solver)
    origin = PEER if cls in ALL_PEERS else OURS if known_solvers().get(cls.__name__) is cls else OWN
    return Competitor(cls.__name__, settings_of(solver), text, solver, origin, problem_class_of(solver))


def settings_of(solver: Any, name: Callable[[type[Any]], str] = lambda cls: cls.__name__) -> str:
    """Return the fields of a dataclass that differ from their defaults, else ""; ``name`` names inner solvers."""
    if not dataclasses.is_dataclass(solver):
        return ""
    if isinstance(solver, lcp.Fallback):
        return ", ".join(_python_text(one, name) for one in solver.solvers)
    parts = []
    for field in dataclasses.fields(solver):
        value = getattr(solver, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if field.repr and (default is dataclasses.MISSING or value != default):
            parts.append(f"{field.name}={_python_text(value, name)}")
    return ", ".join(parts)


def _python_text(value: Any, name: Callable[[type[Any]], str]) -> str:
    """Return the expression of a setting as Python text; ``name`` gives the name of a class."""
    if isinstance(value, tuple):
        inside = ", ".join(_python_text(one, name) for one in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{name(type(value))}({settings_of(value, name)})"
    return repr(value)


def _class_location(cls: type[Any]) -> str:
    """Return the name of a solver of this package, or the location of another class."""
    if known_solvers().get(cls.__name__) is cls:
        return cls.__name__
    module = cls.__module__
    if module == "__main__":
        file = inspect.getsourcefile(cls)
        module = str(Path(file).resolve()) if file else module
    return f"{module}:{cls.__qualname__}"


def _text_of(solver: Any) -> str:
    """Return a text from which another process can construct this solver."""
    cls = type(solver)
    text = f"{_class_location(cls)}({settings_of(solver, _class_location)})"
    try:
        again = solver_from(text)
    except RaceError as error:
        raise RaceError(
            f"{cls.__name__} cannot be made again in another process ({error}); let it be a frozen dataclass at the "
            "top level of a module or script, with fields of numbers and texts, or name it by text, path.py:Name"
        ) from None
    if not dataclasses.is_dataclass(solver) and getattr(solver, "__dict__", {}) != getattr(again, "__dict__", {}):
        raise RaceError(f"{cls.__name__} has a state that its class does not give; make it a dataclass with fields")
    return text


_COMBINED = (
    lcp.BlockTriangular,
    lcp.Cascade,
    lcp.Fallback,
    lcp.Refined,
    lcp.Regularized,
    lcp.Feasibility,
)
_NO_SOLVER = " is no solver; write a name, with settings Name(field=value), or path.py:Name"
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|['"].*""", re.DOTALL)
#: Quoted text, which is skipped, or a user's solver, ``path.py:Name`` or ``module:Name``.
_OWN = re.compile(r"""'[^']*'|"[^"]*"|(?P<own>[^\s()\[\]{},='"]+:[A-Za-z_]\w*)""")


def known_solvers() -> dict[str, type[Any]]:
    """Return the class of every named solver, by name: this package's first, then the peers."""
    ours = dict.fromkeys(solver for kind in KINDS for solver in kind.solvers)
    everyone: tuple[type[Any], ...] = (*ours, *lcp.OPTIONAL_SOLVERS, *_COMBINED, *ALL_PEERS)
    return {solver.__name__: solver for solver in everyone}


def split_list(text: str) -> list[str]:
    """Return the parts of a list, split at commas outside brackets and quotes."""
    bare = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)
    depths = itertools.accumulate((letter in "([{") - (letter in ")]}") for letter in bare)
    commas = [i for i, (letter, depth) in enumerate(zip(bare, depths, strict=True)) if letter == "," and depth == 0]
    parts = (text[before + 1 : comma].strip() for before, comma in itertools.pairwise((-1, *commas, len(text))))
    return [part for part in parts if part]


def solver_from(text: str) -> Any:
    """Return the solver object for a text.

    A `RaceError` is raised for an unknown name (the text lists the names) and for an unknown setting (it lists the
    fields). It is also raised for a setting that is not a literal or out of range, and for a user's solver that cannot
    be imported or has no ``solve``.
    """
    whole, own = _stand_ins(text)
    try:
        parsed = ast.parse(whole, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise RaceError(f"{text!r}{_NO_SOLVER} ({error})") from None
    made = _build_solver(parsed, text, own)
    if not callable(getattr(made, "solve", None)):
        raise RaceError(f"{text!r} gives a {type(made).__name__} without a method `solve`")
    return made


def own_files(text: str) -> list[str]:
    """Return the files of users' solvers in a text."""
    _, own = _stand_ins(text)
    return [place for where in own.values() if (place := where.rpartition(":")[0]).endswith(".py")]


def _stand_ins(text: str) -> tuple[str, dict[str, str]]:
    """Return a text with an identifier for each user's solver, and the locations of these by identifier."""
    head, bracket, rest = text.strip().partition("(")
    own: dict[str, str] = {}

    def stand_in(found: re.Match[str]) -> str:
        return found[0] if found["own"] is None else own.setdefault(found["own"], f"_own{len(own)}_")

    if ":" in head:  # as it is: a path may hold spaces
        head = own.setdefault(head.strip(), "_own0_")
    return _OWN.sub(stand_in, head + bracket + rest), {short: where for where, short in own.items()}


def _build_solver(node: ast.expr, text: str, own: Mapping[str, str]) -> Any:
    """Return a known or user-defined solver with its settings; ``own`` has the location for each identifier.

    Without settings, a class is constructed with its defaults, and a user's object is returned unchanged.
    """
    head = node.func if isinstance(node, ast.Call) else node
    if not isinstance(head, ast.Name):
        raise RaceError(f"{text!r}{_NO_SOLVER}")
    maker = _load_user_object(own[head.id]) if head.id in own else _known_solver(head.id)
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return _construct(maker, text) if isinstance(maker, type) else maker
    if not isinstance(maker, type):
        raise RaceError(f"{text!r}: settings are for a class, this is a finished {type(maker).__name__}")

    def value(part: ast.expr) -> Any:
        if isinstance(part, ast.Call | ast.Name):
            return _build_solver(part, text, own)
        try:
            return ast.literal_eval(part)
        except ValueError:
            raise RaceError(f"{text!r}: {ast.unparse(part)} is neither a literal nor a solver with brackets") from None

    named = {str(keyword.arg): value(keyword.value) for keyword in node.keywords if keyword.arg is not None}
    if len(named) < len(node.keywords):
        raise RaceError(f"{text!r}: ** is not understood; write field=value")
    return _construct(maker, text, *map(value, node.args), **named)


def _known_solver(name: str) -> type[Any]:
    """Return the solver of a name, case-insensitive; an error lists the names and suggests a close one."""
    known = known_solvers()
    by_name = {one.lower(): one for one in known}
    if name.lower() not in by_name:
        near = difflib.get_close_matches(name.lower(), by_name, 1)
        meant = f", did you mean {by_name[near[0]]}?" if near else ";"
        raise RaceError(f"no solver {name!r}{meant} there are: {', '.join(known)}; or your own as path.py:Name")
    return known[by_name[name.lower()]]


def _construct(maker: type[Any], text: str, *positional: Any, **named: Any) -> Any:
    """Call a class or function; an unknown setting or an invalid value raises a `RaceError` with the text."""
    if dataclasses.is_dataclass(maker):
        fields = [field.name for field in dataclasses.fields(maker) if field.init]
        unknown = [name for name in named if name not in fields]
        if unknown:
            raise RaceError(f"{maker.__name__} has no setting {unknown[0]!r}; it has: {', '.join(fields) or 'none'}")
    try:
        return maker(*positional, **named)
    except (TypeError, ValueError) as error:
        raise RaceError(f"{text!r}: {error}") from error


def _load_user_object(where: str) -> Any:
    """Return the object named by ``module:Name`` or ``path.py:Name``."""
    place, _, name = where.rpartition(":")
    if not name.isidentifier():
        raise RaceError(f"{where!r}: after the colon stands the name of a class or object")
    space = _load_namespace(place, where)
    if name not in space:
        offered = [
            key
            for key, value in space.items()
            if hasattr(value, "solve") and not key.startswith("_") and not isinstance(value, ModuleType)
        ]
        raise RaceError(f"{place} has no {name!r}; with a method `solve` it has: {', '.join(offered) or 'nothing'}")
    return space[name]


@functools.lru_cache(maxsize=32)
def _load_namespace(place: str, where: str) -> dict[str, Any]:
    """Return the names of a .py file, which is run, or of an imported module."""
    if place.endswith(".py"):
        file = Path(place)
        if not file.is_file():
            raise RaceError(f"{where!r}: there is no file {place}")
        # Run under another name than __main__, so that the main part of the script is not executed.
        return runpy.run_path(str(file), run_name=file.stem)
    try:
        return vars(importlib.import_module(place))
    except ImportError as error:
        raise RaceError(f"{where!r}: {error}; a file is given as path.py:Name") from error
