"""Problem data at both levels: the fields, their defaults, the block layout, sliding contacts and packed forces."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from problem_fields import LEVELS, acceleration_fields, each_level, pair, refuses, velocity_fields
from scipy.sparse.linalg import aslinearoperator

from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData, ProblemDataError


def full_size_Q(fields: dict[str, Any]) -> np.ndarray:
    """Return mu times Q at the rows of the sliding contacts, zeros elsewhere."""
    rows = np.zeros(np.shape(fields["N"]))
    for row, contact in enumerate(fields["sliding_contacts"]):
        rows[contact] = fields["mu_sliding"][row] * fields["Q"][row]
    return rows


@each_level
def test_fields_are_those_given_and_missing_ones_are_zeros(kind: Any, fields_of: Callable[..., dict[str, Any]]) -> None:
    """Counts follow from the fields; classes of rows may be missing, alone or all of them."""
    fields = fields_of()
    data = kind(**fields)
    counts = {"nv": 5, "nr": 5, "nl": 2, "nb": 1, "nc": 3 if kind is ConstraintVelProblemData else 5}
    for name, value in (fields | counts).items():
        np.testing.assert_array_equal(getattr(data, name), value, err_msg=name)
    bare = kind(**{name: value for name, value in fields.items() if not name.startswith(("k", "gamma"))})
    for name in fields:
        if name.startswith(("k", "gamma")):
            np.testing.assert_array_equal(getattr(bare, name), np.zeros_like(fields[name]))
    push = "Mv" if kind is ConstraintVelProblemData else "tau"
    empty = kind(**{push: [1.0, 2.0]}, M=np.eye(2))
    assert (empty.nc, empty.nr, empty.nl, empty.nb) == (0, 0, 0, 0)
    for linear_map in (empty.N, empty.F, empty.L, empty.G):
        assert (linear_map @ np.ones(2)).shape == (0,)
        np.testing.assert_array_equal(linear_map.T @ np.zeros(0), [0.0, 0.0])
    assert empty.blocks().J.shape == (0, 2)
    with pytest.raises(TypeError):
        kind([1.0])


@each_level
def test_blocks_follow_the_layout(kind: Any, fields_of: Callable[..., dict[str, Any]]) -> None:
    """J stacks N, F, L, G; Y is M^-1 times its transpose; arrays suit compiled code and are made once."""
    fields = fields_of()
    data = kind(**fields)
    blocks, J = data.blocks(), np.vstack([fields[name] for name in "NFLG"])
    assert data.blocks() is blocks
    np.testing.assert_array_equal(blocks.J, J)
    np.testing.assert_array_equal(blocks.k, np.concatenate([fields["k" + name] for name in "NFLG"]))
    np.testing.assert_allclose(blocks.Y, np.linalg.solve(fields["M"], J.T).T, rtol=1e-11)
    free, push = ("v_free", "Mv") if kind is ConstraintVelProblemData else ("a_free", "tau")
    np.testing.assert_allclose(getattr(blocks, free), np.linalg.solve(fields["M"], fields[push]), rtol=1e-11)
    whole = ("r", "cone_contacts", "tree_starts", "sliding", "non_sliding")
    for name, array in blocks._asdict().items():
        if isinstance(array, np.ndarray):
            assert array.flags.c_contiguous, name
            assert array.flags.writeable, name
            assert array.dtype == (np.int64 if name in whole else np.float64), name
    if kind is ConstraintVelProblemData:
        gamma = np.concatenate([fields["gammaN"], fields["gammaF"], fields["gammaL"], [0.0]])
        np.testing.assert_array_equal(blocks.gamma, gamma)
        return
    R = fields["N"] - full_size_Q(fields)
    np.testing.assert_array_equal(blocks.Q, fields["Q"])
    np.testing.assert_array_equal(blocks.R, R)
    np.testing.assert_allclose(blocks.YR, np.linalg.solve(fields["M"], R.T).T, rtol=1e-11)
    np.testing.assert_array_equal(blocks.YR[blocks.non_sliding], blocks.Y[blocks.non_sliding])
    assert blocks[:7] == (5, 5, 2, 3, 5, 2, 1)


@each_level
def test_data_are_frozen_and_own_their_arrays(kind: Any, fields_of: Callable[..., dict[str, Any]]) -> None:
    """Neither the caller's arrays nor the blocks' can change the data."""
    fields = fields_of()
    data, mu = kind(**fields), "mu" if kind is ConstraintVelProblemData else "mu_sliding"
    before = getattr(data, mu).copy()
    fields[mu][:] = -1.0
    fields["N"][:] = np.nan
    np.testing.assert_array_equal(getattr(data, mu), before)
    assert np.isfinite(data.N @ np.ones(5)).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.kN = before
    for name in fields:
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0] = 1
    getattr(data.blocks(), mu)[0] = 7.0
    np.testing.assert_array_equal(getattr(data, mu), before)


def test_forces_are_packed_in_order() -> None:
    """The order is fN, fF, fL, fG; an array of them is a copy."""
    data, cf = ConstraintVelProblemData(**velocity_fields()), np.arange(11.0)
    forces = ConstraintForces.from_packed(data, cf)
    for found, first, last in ((forces.fN, 0, 3), (forces.fF, 3, 8), (forces.fL, 8, 10), (forces.fG, 10, 11)):
        np.testing.assert_array_equal(found, cf[first:last])
    np.testing.assert_array_equal(forces.packed(), cf)
    assert np.asarray(forces, dtype=np.float32).dtype == np.float32
    np.asarray(forces)[:] = 0.0
    np.testing.assert_array_equal(np.abs(forces), np.abs(cf))
    with pytest.raises(ValueError, match="is a copy"):
        np.array(forces, copy=False)


def test_faulty_forces_are_refused() -> None:
    """Shapes and entries that are not finite."""
    data = ConstraintVelProblemData(**velocity_fields())
    for cf, message in ((np.zeros((11, 1)), "cf: shape (11, 1)"), (np.full(11, np.nan), "cf: cf[0] = nan")):
        refuses("cf", message, lambda cf=cf: ConstraintForces.from_packed(data, cf))
    refuses("fL", "fL[1] = inf", lambda: ConstraintForces(fN=[1.0], fL=[0.0, np.inf]))


def test_a_missing_list_of_contacts_is_the_complement() -> None:
    """Contacts slide or do not; all of them may slide."""
    fields = acceleration_fields()
    for missing in ("sliding_contacts", "non_sliding_contacts"):
        data = ConstraintAccelProblemData(**fields | {missing: None})
        np.testing.assert_array_equal(getattr(data, missing), fields[missing])
    data = ConstraintAccelProblemData(tau=[0.0], M=[[1.0]], N=[[1.0], [1.0]])
    np.testing.assert_array_equal(data.non_sliding_contacts, [0, 1])
    fields = acceleration_fields(sliding=(0, 1), r=()) | {"F": None, "kF": None, "mu_non_sliding": None, "r": None}
    data = ConstraintAccelProblemData(**fields)
    assert (data.ns, data.nns, data.nr) == (2, 0, 0)


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda a: a.tolist(),
    "csr_array": scipy.sparse.csr_array,
    "LinearOperator": aslinearoperator,
    "pair": pair,
}


@pytest.mark.parametrize("q_form", FORMS)
@pytest.mark.parametrize("n_form", FORMS)
def test_N_minus_muQ_T_for_every_form(n_form: str, q_form: str) -> None:
    """The map, its transposes and its rows equal those of dense arrays; wrong shapes are named."""
    fields = acceleration_fields()
    dense = fields["N"] - full_size_Q(fields)
    forms = {"N": FORMS[n_form](fields["N"]), "Q": FORMS[q_form](fields["Q"])}
    data = ConstraintAccelProblemData(**fields | forms)
    derived, random = data.N_minus_muQ_T, np.random.default_rng(1)
    for f in (random.standard_normal(5), random.standard_normal((5, 4)), np.zeros((5, 0))):
        np.testing.assert_allclose(derived @ f, dense.T @ f, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(derived.T @ f, dense @ f, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(derived.T.T @ f, dense.T @ f, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(np.asarray(derived), dense.T, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(data.blocks().R, dense, rtol=1e-13, atol=1e-13)
    with pytest.raises(ProblemDataError, match=r"N_minus_muQ_T: applied to shape \(4,\), wanted \(5,\)"):
        derived @ np.ones(4)


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
    """Missing arguments, wrong shapes and values that are not numbers raise."""
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
