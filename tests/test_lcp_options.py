"""Every option of every solver has allowed values: a wrong value is a `ProblemError` at construction, never later."""

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pytest

import lcp
from lcp.method import replace_fields

KINDS = (
    *lcp.ALL_SOLVERS,
    *lcp.OPTIONAL_SOLVERS,
    lcp.Refined,
    lcp.Regularized,
    lcp.Cascade,
    lcp.BlockTriangular,
    lcp.Feasibility,
)
CASES = [(kind, option.name, option.type) for kind in KINDS for option in fields(kind)]
# No option admits these; a name in `NAMES` admits any text.
NEVER = (object(), [], {}, 1j, math.nan, -1.5, -(10**400))
NAMES = {(lcp.CVXPY, "engine")}


def bad_values(kind: type, name: str, annotation: str) -> list[object]:
    """Return values that the option must refuse, by its declared type."""
    bad: list[object] = list(NEVER)
    if (kind, name) == (lcp.Lemke, "covering_vector"):
        return [*("x", 1.0, True, 1j), ("a",), (math.nan,), (-1.0,), (0.0,)]
    if (kind, name) == (lcp.Murty, "order"):
        return ["x", 1, 1j, (1, 2), (0, 0), (0.5,), (-1, 0)]
    if (kind, name) not in NAMES:
        bad += ["x", ""]
    if "None" not in annotation:
        bad.append(None)
    if "bool" in annotation:
        bad += [0, 1, "no"]
    if annotation.startswith(("int", "float")):
        bad += [True, np.True_, "1"]
    if annotation.startswith("int"):
        bad += [2.5, math.inf, 10**400]
    if annotation.startswith("tuple"):
        bad += [(True,), ("1",), "12", (math.inf,), (10**400,), (None,)]
    return bad


@pytest.mark.parametrize(("kind", "name", "annotation"), CASES, ids=[f"{k.__name__}.{n}" for k, n, _ in CASES])
def test_wrong_values_are_refused_by_name(kind: type, name: str, annotation: str) -> None:
    """Solver and option stand in the text of the error."""
    for value in bad_values(kind, name, annotation):
        with pytest.raises(lcp.ProblemError) as refused:
            kind(**{name: value})
        assert f"{kind.__name__}.{name}" in str(refused.value), value


@pytest.mark.parametrize(("kind", "name", "annotation"), CASES, ids=[f"{k.__name__}.{n}" for k, n, _ in CASES])
def test_the_defaults_pass_their_own_checks(kind: type, name: str, annotation: str) -> None:
    """A default handed over explicitly, in numpy's types too, makes an equal solver."""
    value = getattr(kind(), name)
    assert kind(**{name: value}) == kind()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assert kind(**{name: np.asarray(value)[()]}) == kind()


@pytest.mark.parametrize("value", ["x", None, [], math.nan, 0.0, -1.0, True])
def test_the_limit_of_a_fallback_is_checked(value: object) -> None:
    """`Fallback` takes its solvers by position and the limit by name."""
    with pytest.raises(lcp.ProblemError, match=r"Fallback\.time_limit"):
        lcp.Fallback(lcp.Lemke(), time_limit=value)  # type: ignore[arg-type]


def test_solvers_that_hold_more_than_options_are_not_shared() -> None:
    """Subclasses that count, in a field or in an attribute, start from nothing each time."""

    @dataclass(frozen=True)
    class Notes(lcp.Lemke):
        """Counts in a field."""

        calls: list[int] = field(default_factory=list)

    @dataclass(frozen=True)
    class Keeps(lcp.Lemke):
        """A solver that counts in an attribute that is not a field."""

        def __post_init__(self) -> None:
            super().__post_init__()
            object.__setattr__(self, "calls", [])

    for kind in (Notes, Keeps):
        first: Any = kind()
        first.calls.append(1)
        again: Any = kind()
        assert again is not first
        assert again.calls == []


def test_a_copy_with_other_options_solves_by_them() -> None:
    """Stored kernel options are computed again for a changed copy."""
    problem = lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    solver = lcp.Lemke()
    assert lcp.solve(problem, solver).solved
    for short in (replace_fields(solver, {"max_pivots": 0}), replace(solver, max_pivots=0)):
        assert lcp.solve(problem, short).status is lcp.Status.ITERATION_LIMIT
    assert lcp.solve(problem, solver).solved
