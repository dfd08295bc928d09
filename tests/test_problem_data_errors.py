"""Problem data: each kind of faulty vector or count is refused by name, index and value."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problem_data import ConstraintVelProblemData, ProblemDataError

GOOD = {
    "M": np.eye(4),
    "Mv": np.zeros(4),
    "N": np.ones((2, 4)),
    "F": np.ones((3, 4)),
    "L": np.ones((1, 4)),
    "G": np.ones((2, 4)),
    "mu": [0.5, 0.0],
    "r": [2, 1],
}
SIZES = {
    "Mv": 4,
    "mu": 2,
    "r": 2,
    "kN": 2,
    "kF": 3,
    "kL": 1,
    "kG": 2,
    "gammaN": 2,
    "gammaF": 3,
    "gammaE": 2,
    "gammaL": 1,
}


def refused(field, message, **changes):
    """Assert that the good problem with these changes is refused for this field."""
    with pytest.raises(ProblemDataError, match=re.escape(message)) as caught:
        ConstraintVelProblemData(**(GOOD | changes))
    assert caught.value.field == field


def test_the_good_problem_is_accepted():
    """The starting point of the faulty variants has no fault of its own."""
    ConstraintVelProblemData(**GOOD)


@pytest.mark.parametrize("field", [name for name in SIZES if name not in ("Mv", "mu")])
@pytest.mark.parametrize("extra", [-1, 1])
def test_wrong_length(field, extra):
    """A vector one entry short or long is refused with both shapes."""
    size = SIZES[field] + extra
    refused(field, f"{field}: shape ({size},), wanted ({SIZES[field]},)", **{field: np.zeros(size)})


@given(st.sampled_from(sorted(SIZES)), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 3))
def test_not_finite(field, value, position):
    """NaN and infinities are named with their index wherever they stand."""
    entries = np.zeros(SIZES[field])
    position %= SIZES[field]
    entries[position] = value
    refused(
        field, f"{field}[{position}] = {value}, wanted a finite number (shape ({SIZES[field]},)", **{field: entries}
    )


@pytest.mark.parametrize("field", ["N", "F", "L", "G"])
def test_faulty_matrices(field):
    """A Jacobian with a wrong shape or an entry that is not finite is named."""
    matrix = GOOD[field].copy()
    matrix[-1, 2] = np.inf
    refused(field, f"{field}[{len(matrix) - 1}, 2] = inf", **{field: matrix})
    refused(field, f"shape ({len(matrix)}, 3), wanted", **{field: matrix[:, :3]})
    refused(field, "shape (4,), wanted", **{field: np.ones(4)})


@pytest.mark.parametrize("field", ["mu", "gammaN", "gammaF", "gammaE", "gammaL"])
def test_negative(field):
    """Negative friction and softening are refused with index and value."""
    entries = np.zeros(SIZES[field])
    entries[-1] = -0.25
    refused(field, f"{field}[{SIZES[field] - 1}] = -0.25, wanted >= 0", **{field: entries})


@pytest.mark.parametrize(
    ("r", "message"),
    [
        ([1.5, 1.5], "r[0] = 1.5, wanted a whole number"),
        ([4, -1], "r[1] = -1.0, wanted a whole number"),
        ([0, 3], "r[0] = 0, wanted at least 1 where mu is positive: mu[0] = 0.5"),
        ([1e300, 1], "r[0] = 1e+300"),
        (2, "shape (), wanted (2,)"),
        (["2", "1"], "wanted real numbers"),
        ([True, True], "dtype bool"),
    ],
)
def test_faulty_direction_counts(r, message):
    """Direction counts that are not whole, are negative, or are 0 under friction are named."""
    refused("r", message, r=r)


def test_rows_of_F_must_add_up():
    """sum(r) and the rows of F must agree."""
    refused("F", "F: shape (3, 4), wanted (4, 4): sum(r) rows", r=[2, 2])
    refused("F", "missing, wanted shape (3, 4): sum(r) rows", F=None)


def test_mu_defines_the_number_of_contacts():
    """A mu of another length faults the contact rows, not itself."""
    refused("N", "N: shape (2, 4), wanted (1, 4): one row per entry of mu", mu=[0.5], r=[3])
    refused("N", "missing, wanted shape (2, 4)", N=None)


def test_friction_that_was_left_out():
    """Where mu or r is missing although friction is described, the missing one is named."""
    refused("mu", "missing", mu=None)
    refused("r", "F is given", r=None)
    refused("r", "mu[0] = 0.5 needs directions", r=None, F=None)


@pytest.mark.parametrize("field", ["kL", "gammaL"])
def test_vectors_of_a_missing_class(field):
    """A vector of a class that has no rows must be empty."""
    refused(field, "shape (1,), wanted (0,)", L=None, **{field: [1.0]})
    ConstraintVelProblemData(**(GOOD | {"L": None, field: []}))


@pytest.mark.parametrize(
    "value", ["0.5", [None, 1.0], [1j, 0.0], [[1.0], [1.0, 2.0]], [object(), 1.0], {}, [True, False], 0.5, [[0.5, 0.5]]]
)
def test_what_is_not_a_vector_of_real_numbers(value):
    """Text, gaps, complex numbers, ragged lists, truth values and wrong dimensions are refused by type."""
    refused("mu", "mu: ", mu=value)


def test_momentum_is_required():
    """None in place of the momentum is refused by name."""
    refused("Mv", "NoneType", Mv=None)


def test_overflow_of_a_wider_float_is_refused():
    """A long double beyond float64 does not become infinite in silence."""
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("long double is float64 on this platform")
    wide = np.array([1, 0], dtype=np.longdouble) * np.longdouble("1e400")
    refused("mu", "mu[0] = inf", mu=wide)


def test_the_error_is_a_value_error_and_survives_pickling():
    """The error type crosses process borders with its field."""
    error = pickle.loads(pickle.dumps(ProblemDataError("mu", "mu[0] = -1")))
    assert isinstance(error, ValueError)
    assert (error.field, error.message, str(error)) == ("mu", "mu[0] = -1", "mu: mu[0] = -1")
