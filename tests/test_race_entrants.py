"""Solvers by text: names, settings, combinations, one's own; and what is refused."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from refusals import assert_messages

import lcp
from contactlab.lab import RaceError
from contactlab.lab.racing import ALL_PEERS, entrant_of
from contactlab.lab.racing.entrant import limited, peers_of, solver_from
from contactlab.lab.racing.external_solvers import SiconosLCP
from contactlab.lab.racing.kinds import kind_of, problem_class_of

OWN = """
from dataclasses import dataclass
import lcp
from lcp import conformance

@dataclass(frozen=True)
class Mine:
    steps: int = 3
    def solve(self, problem, *, z0, tolerance, trace):
        return lcp.Claim(0.0 * problem.q, lcp.Status.STALLED, self.steps)

ready = Mine(9)
number = 7
"""


@dataclass(frozen=True)
class Local:
    steps: int = 3

    def solve(self, problem: lcp.LCP, **_: Any) -> lcp.Claim:
        return lcp.Claim(0.0 * problem.q, lcp.Status.STALLED, self.steps)


def test_names_do_not_mind_capitals() -> None:
    """lemke, LEMKE and Lemke() are one solver."""
    assert solver_from("lemke") == solver_from("LEMKE") == solver_from(" Lemke() ") == lcp.Lemke()
    assert solver_from("projectedgaussseidel") == lcp.ProjectedGaussSeidel()


def test_settings_are_literals_and_solvers() -> None:
    """Numbers, texts, tuples and None go into fields; solvers go into combinations."""
    assert solver_from("Lemke(max_pivots=10, covering_vector=(1.0, 2.0))") == lcp.Lemke(
        max_pivots=10, covering_vector=(1.0, 2.0)
    )
    assert solver_from("ProjectedGaussSeidel(relaxation=None, sweep='symmetric')").sweep == "symmetric"
    assert solver_from("Refined(OSQP(max_iter=50))") == lcp.Refined(lcp.OSQP(max_iter=50))
    assert solver_from("Fallback(lemke, InteriorPoint())") == lcp.Fallback(lcp.Lemke(), lcp.InteriorPoint())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Lemky", "no solver 'Lemky', did you mean Lemke? there are: Lemke, "),
        ("Lemke(pivots=3)", "no setting 'pivots'; it has: max_pivots"),
        ("Lemke(max_pivots=-1)", "max_pivots"),
        ("Lemke(max_pivots=print('x'))", "no solver 'print'"),
        ("Lemke(max_pivots=__import__('os').getpid())", "is no solver"),
        ("Lemke(max_pivots=1+1)", "neither a literal nor a solver"),
        ("Lemke(**{'max_pivots': 1})", "is not understood"),
        ("Lemke(", "never closed"),
        ("Lemke(3 3)", "is no solver"),
        ("not a name", "is no solver"),
        ("nowhere.py:Mine", "no file nowhere.py"),
        ("contactlab_nowhere:Mine", "contactlab_nowhere"),
        ("math:pi", "without a method `solve`"),
        ("math:nothing", "has no 'nothing'"),
    ],
)
def test_what_is_no_solver_says_what_would_be(text: str, words: str) -> None:
    """Nothing is evaluated, and the error names the fix."""
    with pytest.raises(RaceError, match=re.escape(words)):
        solver_from(text)


def test_a_solver_of_a_file(tmp_path: Path) -> None:
    """A class with settings, or an object that is ready; one without `solve` is refused."""
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    entrant = entrant_of(f"{file}:Mine(steps=5)")
    assert (entrant.name, entrant.settings, entrant.origin) == ("Mine", "steps=5", "own")
    assert entrant_of(f"{file}:ready").solver.steps == 9
    assert_messages(
        RaceError,
        ("no setting 'stops'; it has: steps", lambda: entrant_of(f"{file}:Mine(stops=5)")),
        ("without a method `solve`", lambda: entrant_of(f"{file}:number")),
        ("has no 'Yours'; with a method `solve` it has: Mine, ready", lambda: entrant_of(f"{file}:Yours")),
    )


def test_objects_become_texts_that_give_them_again() -> None:
    """The solver in another process is the given one."""
    for solver in (
        lcp.Lemke(max_pivots=7),
        lcp.Regularized(lcp.CottleDantzig(), exponents=(-8.0,)),
        lcp.Fallback(lcp.Refined(lcp.OSQP(max_iter=50)), lcp.Lemke()),
        lcp.ProjectedGaussSeidel(sweep="symmetric"),
    ):
        assert solver_from(entrant_of(solver).text) == solver
    module = ModuleType("race_module_of_a_test")
    module.Local = Local  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    try:
        Local.__module__ = module.__name__
        assert solver_from(entrant_of(Local(4)).text) == Local(4)
        within = lcp.Fallback(lcp.Refined(Local(4)), lcp.Lemke())
        assert solver_from(entrant_of(within).text) == within
    finally:
        del sys.modules[module.__name__]


def test_objects_that_cannot_travel_are_refused() -> None:
    """A class within a function, or a state its class does not give, cannot be made again elsewhere."""

    class Hidden:
        def solve(self, problem: lcp.LCP, **_: Any) -> lcp.Claim:
            raise NotImplementedError

    assert_messages(
        RaceError, ("top level of a module", lambda: entrant_of(Hidden())), ("no method `solve`", lambda: entrant_of(3))
    )


def test_peers_are_ours_to_skip_when_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Peers that are not installed are named; unknown names are refused."""
    kinds = [kind_of(lcp.LCP([[1.0]], [1.0]))]
    monkeypatch.setattr("contactlab.lab.racing.entrant.installed", lambda peer: peer.package == "quantecon")
    racing, skipped = peers_of("all", kinds)
    assert [entrant.name for entrant in racing] == ["QuantEconLemke"]
    assert len(skipped) == sum(problem_class_of(peer) == "complementarity" for peer in ALL_PEERS) - 1
    assert "SiconosLCP: package siconos is not installed" in skipped
    with pytest.raises(RaceError, match="Lemke is no peer; there are: "):
        peers_of("Lemke", kinds)


def test_the_time_limit_reaches_the_inmost_solver() -> None:
    """Defaults are lowered, within combinations too; a given limit is kept, and the given object is unchanged."""
    given = lcp.Fallback(lcp.Refined(lcp.ProjectedGaussSeidel()), lcp.Lemke(time_limit=0.5), lcp.Enumeration())
    short = limited(given, 2.0)
    assert short.time_limit == 2.0
    assert short.solvers[0].inner.time_limit == 2.0
    assert short.solvers[1].time_limit == 0.5
    assert limited(lcp.Lemke(time_limit=7.0), 2.0).time_limit == 7.0
    assert given.solvers[0].inner.time_limit == 300.0
    assert limited(Local(), 1.0) == Local()


def test_siconos_is_spoken_to_as_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of that interface in its place: data, tolerance and limit go in; z, code and iterations come out."""
    seen: dict[str, Any] = {}

    class Options:
        def __init__(self, identifier: int) -> None:
            seen["identifier"] = identifier
            self.iparam, self.dparam = [0] * 4, [0.0] * 4

    def driver(problem: Any, z: Any, w: Any, options: Options) -> int:
        seen.update(tolerance=options.dparam[0], most=options.iparam[0])
        z[:] = np.linalg.solve(problem.M, -problem.q)
        options.iparam[1] = 5
        return 0

    numerics = SimpleNamespace(
        SICONOS_LCP_LEMKE=200,
        SICONOS_DPARAM_TOL=0,
        SICONOS_IPARAM_MAX_ITER=0,
        SICONOS_IPARAM_ITER_DONE=1,
        SolverOptions=Options,
        LCP=lambda M, q: SimpleNamespace(M=M, q=q),
        linearComplementarity_driver=driver,
    )
    monkeypatch.setitem(sys.modules, "siconos", SimpleNamespace(numerics=numerics))
    problem = lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    result = lcp.solve(problem, SiconosLCP(max_iter=77), tolerance=1e-8)
    assert result.solved
    assert result.iterations == 5
    assert seen == {"identifier": 200, "tolerance": 1e-8, "most": 77}
    assert lcp.solve(problem, SiconosLCP(method="NOTHING")).status is lcp.Status.UNSUITABLE
