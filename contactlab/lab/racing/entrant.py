"""Who races: a solver, the text it comes back from, and the settings it was given."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lcp
from contactlab.lab.errors import RaceError
from contactlab.lab.racing.kinds import Kind, league_of
from contactlab.lab.racing.peers import ALL_PEERS, installed
from contactlab.lab.racing.specification import known_solvers, solver_from, split_list
from lcp.options import with_fields

OURS, PEER, OWN = "contactlab", "peer", "own"


@dataclass(frozen=True)
class Entrant:
    """One solver with its settings.

    Attributes
    ----------
    name
        Of its class.
    settings
        Fields that differ from their defaults, as ``field=value``; empty for none.
    text
        From which `solver_from` makes it again, in any process.
    solver
        The object.
    origin
        "contactlab", "peer" or "own".
    league
        Of the problems it is for.
    """

    name: str
    settings: str
    text: str
    solver: Any
    origin: str
    league: str

    @property
    def label(self) -> str:
        """Name and settings: what tells entrants apart."""
        return f"{self.name}({self.settings})" if self.settings else self.name

    def suits(self, kind: Kind) -> bool:
        """Whether it can be put to problems of this kind."""
        return self.league == kind.league


def entrant_of(given: Any) -> Entrant:
    """The entrant a text, a solver object or a solver class stands for."""
    if isinstance(given, str):
        return _entrant(solver_from(given), given.strip())
    if isinstance(given, type):
        given = given()
    if not callable(getattr(given, "solve", None)):
        raise RaceError(f"{given!r} is no solver: it has no method `solve`")
    return _entrant(given, _text_of(given))


def entrants_of(solvers: str | Iterable[Any], kinds: Iterable[Kind]) -> list[Entrant]:
    """Entrants from a list of names or of solvers; ``all`` stands for our solvers of these kinds.

    A `RaceError` for an unknown one, and for none; one named twice races once.
    """
    parts = split_list(solvers) if isinstance(solvers, str) else list(solvers)
    entrants: list[Entrant] = []
    for part in parts:
        if isinstance(part, str) and part.lower() == "all":
            ours = dict.fromkeys(solver for kind in kinds for solver in kind.solvers)
            entrants += [entrant_of(solver) for solver in ours]
        else:
            entrants.append(entrant_of(part))
    if not entrants:
        raise RaceError("no solver is named; write all, or names such as Lemke,OSQP")
    return list({entrant.label: entrant for entrant in entrants}.values())


def peers_of(peers: str | Iterable[str], kinds: Iterable[Kind]) -> tuple[list[Entrant], list[str]]:
    """Peers by name or ``all`` that suit one of the kinds, and a line on each that is left out."""
    leagues = {kind.league for kind in kinds}
    chosen: list[Any] = []
    for part in split_list(peers) if isinstance(peers, str) else peers:
        if part.lower() == "all":
            chosen += [entrant_of(peer) for peer in ALL_PEERS if league_of(peer) in leagues]
        else:
            chosen.append(entrant_of(part))
    racing, skipped = [], []
    for entrant in {entrant.label: entrant for entrant in chosen}.values():
        if entrant.origin != PEER:
            names = ", ".join(peer.__name__ for peer in ALL_PEERS)
            raise RaceError(f"{entrant.name} is no peer; there are: {names}; other solvers are named as such")
        if installed(type(entrant.solver)):
            racing.append(entrant)
        else:
            skipped.append(f"{entrant.label}: package {entrant.solver.package} is not installed")
    return racing, skipped


def limited(solver: Any, seconds: float) -> Any:
    """The solver with every time limit that was left at its default lowered to ``seconds``, within it too."""
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
    return with_fields(solver, changed) if changed else solver


def _entrant(solver: Any, text: str) -> Entrant:
    cls = type(solver)
    origin = OWN
    if known_solvers().get(cls.__name__) is cls:
        origin = PEER if cls in ALL_PEERS else OURS
    return Entrant(cls.__name__, settings_of(solver), text, solver, origin, league_of(solver))


def _named(cls: type[Any]) -> str:
    return cls.__name__


def settings_of(solver: Any, name: Callable[[type[Any]], str] = _named) -> str:
    """Fields that differ from their defaults; of a class of its own manner, nothing. ``name`` writes inner solvers."""
    if not dataclasses.is_dataclass(solver):
        return ""
    if isinstance(solver, lcp.Fallback):
        return ", ".join(_written(one, name) for one in solver.solvers)
    parts = []
    for field in dataclasses.fields(solver):
        value = getattr(solver, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if field.repr and (default is dataclasses.MISSING or value != default):
            parts.append(f"{field.name}={_written(value, name)}")
    return ", ".join(parts)


def _written(value: Any, name: Callable[[type[Any]], str]) -> str:
    if isinstance(value, tuple):
        inside = ", ".join(_written(one, name) for one in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{name(type(value))}({settings_of(value, name)})"
    return repr(value)


def _placed(cls: type[Any]) -> str:
    """The name of one of ours, and where another's class stands."""
    if known_solvers().get(cls.__name__) is cls:
        return cls.__name__
    module = cls.__module__
    if module == "__main__":
        file = inspect.getsourcefile(cls)
        module = str(Path(file).resolve()) if file else module
    return f"{module}:{cls.__qualname__}"


def _text_of(solver: Any) -> str:
    """A text that gives this solver again in another process."""
    cls = type(solver)
    text = f"{_placed(cls)}({settings_of(solver, _placed)})"
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
