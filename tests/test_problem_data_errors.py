"""Problem data at both levels: each kind of faulty field is refused by name, index and value. One table per class."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_fields import LEVELS, acceleration_fields, refuses, velocity_fields

from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError

VECTORS = [
    (level, name) for level, (_, make) in LEVELS.items() for name, value in make().items() if np.ndim(value) == 1
]
MATRICES = [(level, name) for level, (_, make) in LEVELS.items() for name in make() if name in "NQFLG"]


def refused(level: str, field: str, message: str, changes: dict[str, Any]) -> None:
    """The data of a level with these changes are refused."""
    kind, fields_of = LEVELS[level]
    refuses(field, message, lambda: kind(**fields_of() | changes))


@pytest.mark.parametrize(("level", "field"), VECTORS)
@pytest.mark.parametrize("extra", [-1, 1])
def test_wrong_length(level: str, field: str, extra: int) -> None:
    """The length found and the one wanted; those that define a count leave it to the rows to disagree."""
    size = len(LEVELS[level][1]()[field])
    if field in ("Mv", "tau", "mu") or field.endswith("contacts"):
        with pytest.raises(ProblemDataError):
            LEVELS[level][0](**LEVELS[level][1]() | {field: np.zeros(size + extra)})
        return
    refused(level, field, f"{field}: shape ({size + extra},), wanted ({size},)", {field: np.zeros(size + extra)})


@given(st.sampled_from(VECTORS), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 4))
def test_not_finite(where: tuple[str, str], value: float, position: int) -> None:
    """Any entry of any vector."""
    level, field = where
    entries = np.array(LEVELS[level][1]()[field], dtype=np.float64)
    position %= len(entries)
    entries[position] = value
    refused(level, field, f"{field}[{position}] = {value}, wanted a finite number", {field: entries})


@pytest.mark.parametrize(("level", "field"), MATRICES)
def test_faulty_matrices(level: str, field: str) -> None:
    """Entries, columns, dimensions."""
    matrix = LEVELS[level][1]()[field].copy()
    matrix[-1, 2] = np.inf
    refused(level, field, f"{field}[{len(matrix) - 1}, 2] = inf", {field: matrix})
    refused(level, field, f"shape ({len(matrix)}, 4), wanted", {field: matrix[:, :4]})
    refused(level, field, "shape (5,), wanted", {field: np.ones(5)})


@pytest.mark.parametrize(("level", "field"), [one for one in VECTORS if one[1].startswith(("mu", "gamma"))])
def test_negative(level: str, field: str) -> None:
    """Friction and softness."""
    entries = np.zeros(len(LEVELS[level][1]()[field]))
    entries[-1] = -0.25
    refused(level, field, f"{field}[{len(entries) - 1}] = -0.25, wanted >= 0", {field: entries})


@pytest.mark.parametrize(
    ("field", "message", "changes"),
    [
        ("r", "r[0] = 1.5, wanted a whole number", {"r": [1.5, 0, 3.5]}),
        ("r", "r[2] = -1.0, wanted a whole number", {"r": [6, 0, -1]}),
        ("r", "r[0] = 0, wanted at least 1 where mu is positive: mu[0] = ", {"r": [0, 2, 3]}),
        ("r", "r[0] = 1e+300", {"r": [1e300, 0, 1]}),
        ("r", "shape (), wanted (3,)", {"r": 2}),
        ("r", "wanted real numbers", {"r": ["2", "1", "2"]}),
        ("r", "dtype bool", {"r": [True, True, True]}),
        ("F", "F: shape (5, 5), wanted (4, 5): sum(r) rows", {"r": [2, 0, 2]}),
        ("F", "missing, wanted shape (5, 5): sum(r) rows", {"F": None}),
        ("N", "N: shape (3, 5), wanted (1, 5): one row per entry of mu", {"mu": [0.5], "r": [5]}),
        ("N", "missing, wanted shape (3, 5)", {"N": None}),
        ("mu", "missing", {"mu": None}),
        ("r", "F is given", {"r": None}),
        ("r", "mu[0] = 0.5 needs directions", {"mu": [0.5, 0.0, 0.0], "r": None, "F": None}),
        ("kL", "shape (1,), wanted (0,)", {"L": None, "gammaL": None, "kL": [1.0]}),
        ("gammaL", "shape (1,), wanted (0,)", {"L": None, "kL": None, "gammaL": [1.0]}),
        ("Mv", "NoneType", {"Mv": None}),
        *(("mu", "mu: ", {"mu": value}) for value in ("0.5", [None, 1.0], [1j, 0.0], [[1.0], [1.0, 2.0]], {}, 0.5)),
    ],
)
def test_velocity_level(field: str, message: str, changes: dict[str, Any]) -> None:
    """What was left out, does not fit, or is no number."""
    refused("velocity", field, message, changes)


@pytest.mark.parametrize(
    ("field", "message", "changes"),
    [
        (
            "sliding_contacts",
            "[1] = 0 after sliding_contacts[0] = 3, wanted an ascending",
            {"sliding_contacts": [3, 0]},
        ),
        ("sliding_contacts", "[1] = 0 after sliding_contacts[0] = 0", {"sliding_contacts": [0, 0]}),
        ("sliding_contacts", "[1] = 5, wanted a contact from 0 to 4", {"sliding_contacts": [0, 5]}),
        ("sliding_contacts", "[0] = -1.0, wanted the index of a contact", {"sliding_contacts": [-1, 3]}),
        ("sliding_contacts", "[0] = 0.5, wanted the index of a contact", {"sliding_contacts": [0.5, 3]}),
        ("sliding_contacts", "shape (1, 2), wanted (*,)", {"sliding_contacts": [[0, 3]]}),
        ("sliding_contacts", "dtype bool", {"sliding_contacts": [True, False]}),
        ("sliding_contacts", "wanted real numbers", {"sliding_contacts": ["0", "3"]}),
        ("non_sliding_contacts", "[2] = 3 is also sliding_contacts[1]", {"non_sliding_contacts": [1, 2, 3]}),
        ("non_sliding_contacts", "contact 4 is missing; it is not in slid", {"non_sliding_contacts": [1, 2]}),
        ("non_sliding_contacts", "[1] = 2 after non_sliding_contacts[0] = 4", {"non_sliding_contacts": [4, 2, 1]}),
        ("Q", "missing, wanted shape (2, 5): mu_sliding[0] = ", {"Q": None}),
        ("mu_sliding", "missing, wanted shape (2,): Q is given", {"mu_sliding": None}),
        ("Q", "shape (3, 5), wanted (2, 5): one row per sliding contact", {"Q": np.ones((3, 5))}),
        ("mu_non_sliding", "missing, wanted shape (3,): r has friction", {"mu_non_sliding": None}),
        ("r", "missing, wanted shape (3,): F is given", {"r": None}),
        ("r", "mu_non_sliding[0] = 0.5 needs directions", {"r": None, "F": None, "mu_non_sliding": [0.5, 0, 0]}),
        ("r", "wanted at least 1 where mu_non_sliding is positive", {"mu_non_sliding": [1.0, 1.0, 1.0]}),
        ("F", "shape (7, 5), wanted (5, 5): sum(r) rows, of non-sliding contacts only", {"F": np.ones((7, 5))}),
        ("M", "shape (4, 4), wanted (5, 5)", {"M": np.eye(4)}),
        ("solve_inertia", "M is missing too", {"M": None}),
        ("solve_inertia", "exactly one", {"solve_inertia": np.eye(5)}),
        ("use_complementarity_problem_solver", "1 of type int", {"use_complementarity_problem_solver": 1}),
    ],
)
def test_acceleration_level(field: str, message: str, changes: dict[str, Any]) -> None:
    """Lists of contacts that are none, and what was left out or does not fit."""
    refused("acceleration", field, message, changes)


def test_acceleration_level_without_rows() -> None:
    """Listed contacts need rows, rows of Q need sliding contacts, and a product may overflow."""
    few: dict[str, Any] = {"tau": [0.0, 0.0], "M": np.eye(2), "sliding_contacts": [0]}
    refuses("N", "missing, wanted shape (1, 2): one row per listed", lambda: ConstraintAccelProblemData(**few))
    none = few | {"N": np.zeros((0, 2))}
    refuses("sliding_contacts", "as there are no contacts", lambda: ConstraintAccelProblemData(**none))
    fields = acceleration_fields(sliding=()) | {"Q": np.ones((1, 5))}
    refuses("Q", "shape (1, 5), wanted (0, 5)", lambda: ConstraintAccelProblemData(**fields))
    large = acceleration_fields() | {"Q": np.full((2, 5), 1e300), "mu_sliding": [1e300, 1.0]}
    with pytest.raises(ProblemDataError, match=r"N_minus_muQ_T.T\[0, 0\] = -inf"):
        ConstraintAccelProblemData(**large).blocks()


def test_overflow_of_a_wider_float_is_refused() -> None:
    """A long double may be finite where a double is not."""
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("long double is float64 on this platform")
    wide = np.array([1, 0, 0], dtype=np.longdouble) * np.longdouble("1e400")
    refuses("mu", "mu[0] = inf", lambda: ConstraintVelProblemData(**velocity_fields() | {"mu": wide}))


def test_the_error_is_a_value_error_and_survives_pickling() -> None:
    """So that it comes back from other processes."""
    error = pickle.loads(pickle.dumps(ProblemDataError("mu", "mu[0] = -1")))
    assert isinstance(error, ValueError)
    assert (error.field, error.message, str(error)) == ("mu", "mu[0] = -1", "mu: mu[0] = -1")
