"""Acceleration-level problem data: fields, lists of contacts, sliding friction, blocks, and every kind of bad input."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData, ProblemDataError


def random_fields(seed=0, nv=5, sliding=(0, 3), r=(2, 0, 3), nl=2, nb=1):
    """Keyword arguments of a well-formed random problem; r has one entry per non-sliding contact."""
    random = np.random.default_rng(seed)
    ns, nns, nr = len(sliding), len(r), sum(r)
    nc = ns + nns
    root = random.standard_normal((nv, nv))
    return {
        "M": root @ root.T + nv * np.eye(nv),
        "tau": random.standard_normal(nv),
        "N": random.standard_normal((nc, nv)),
        "Q": random.standard_normal((ns, nv)),
        "F": random.standard_normal((nr, nv)),
        "L": random.standard_normal((nl, nv)),
        "G": random.standard_normal((nb, nv)),
        "kN": random.standard_normal(nc),
        "kF": random.standard_normal(nr),
        "kL": random.standard_normal(nl),
        "kG": random.standard_normal(nb),
        "mu_sliding": random.uniform(0.1, 1.0, ns),
        "mu_non_sliding": np.where(np.array(r) > 0, random.uniform(0.1, 1.0, nns), 0.0),
        "sliding_contacts": list(sliding),
        "non_sliding_contacts": [i for i in range(nc) if i not in sliding],
        "r": list(r),
    }


def full_size_Q(fields):
    """Q with a row for every contact, zero for those that do not slide, already multiplied by mu."""
    rows = np.zeros(np.shape(fields["N"]))
    for row, contact in enumerate(fields["sliding_contacts"]):
        rows[contact] = fields["mu_sliding"][row] * fields["Q"][row]
    return rows


def pair(matrix):
    """A (forward, transpose) pair of callables of one vector."""
    return (lambda v: matrix @ v, lambda f: matrix.T @ f)


def refused(field, message, **fields):
    """Assert that these fields are refused, for this one."""
    with pytest.raises(ProblemDataError, match=re.escape(message)) as caught:
        ConstraintAccelProblemData(**fields)
    assert caught.value.field == field


def test_counts_and_fields_are_those_given():
    """Every field is kept with its values, and the counts follow from the shapes."""
    fields = random_fields()
    data = ConstraintAccelProblemData(**fields)
    assert (data.nv, data.nc, data.ns, data.nns, data.nr, data.nl, data.nb) == (5, 5, 2, 3, 5, 2, 1)
    assert data.use_complementarity_problem_solver is True
    for name, value in fields.items():
        np.testing.assert_array_equal(getattr(data, name), value, err_msg=name)
    for name in ("sliding_contacts", "non_sliding_contacts", "r"):
        assert getattr(data, name).dtype == np.int64
    assert repr(data) == (
        "ConstraintAccelProblemData(nv=5, contacts=5 (2 sliding), friction rows=5, limits=2, bilaterals=1)"
    )


def test_missing_classes_vanish():
    """A problem of forces and inertia alone has maps of 0 rows that give zero generalised force."""
    data = ConstraintAccelProblemData(tau=[1.0, 2.0], M=np.eye(2))
    assert (data.nc, data.ns, data.nns, data.nr, data.nl, data.nb) == (0, 0, 0, 0, 0, 0)
    for linear_map in (data.N, data.Q, data.F, data.L, data.G, data.N_minus_muQ_T.T):
        assert (linear_map @ np.ones(2)).shape == (0,)
        np.testing.assert_array_equal(linear_map.T @ np.zeros(0), [0.0, 0.0])
    blocks = data.blocks()
    assert (blocks.J.shape, blocks.R.shape, blocks.YR.shape) == ((0, 2), (0, 2), (0, 2))


def test_missing_k_are_zeros():
    """Missing acceleration terms are zero vectors of full length."""
    fields = {name: value for name, value in random_fields().items() if not name.startswith("k")}
    data = ConstraintAccelProblemData(**fields)
    for name, size in (("kN", 5), ("kF", 5), ("kL", 2), ("kG", 1)):
        np.testing.assert_array_equal(getattr(data, name), np.zeros(size))


def test_a_missing_list_is_the_complement():
    """Either list of contacts follows from the other; without both, no contact slides."""
    fields = random_fields()
    for missing in ("sliding_contacts", "non_sliding_contacts"):
        data = ConstraintAccelProblemData(**(fields | {missing: None}))
        np.testing.assert_array_equal(getattr(data, missing), fields[missing])
    data = ConstraintAccelProblemData(tau=[0.0], M=[[1.0]], N=[[1.0], [1.0]])
    np.testing.assert_array_equal(data.sliding_contacts, [])
    np.testing.assert_array_equal(data.non_sliding_contacts, [0, 1])


def test_all_contacts_may_slide():
    """With every contact sliding there are no friction rows."""
    fields = random_fields(sliding=(0, 1), r=())
    data = ConstraintAccelProblemData(**(fields | {"F": None, "kF": None, "mu_non_sliding": None, "r": None}))
    assert (data.ns, data.nns, data.nr) == (2, 0, 0)
    np.testing.assert_array_equal(data.non_sliding_contacts, [])


def test_sliding_without_friction_needs_no_direction():
    """Where mu_sliding is 0 or missing Q may be missing: it counts as zero."""
    for mu in (None, [0.0]):
        data = ConstraintAccelProblemData(
            tau=[0.0, 1.0], M=np.eye(2), N=[[0.0, 1.0]], sliding_contacts=[0], mu_sliding=mu
        )
        np.testing.assert_array_equal(data.mu_sliding, [0.0])
        np.testing.assert_array_equal(data.Q, [[0.0, 0.0]])
        np.testing.assert_array_equal(data.N_minus_muQ_T @ np.ones(1), [0.0, 1.0])


def test_friction_of_a_sliding_contact_opposes_its_motion():
    """A block sliding along +x with mu 0.5: 10 N of normal force comes with 5 N along -x."""
    data = ConstraintAccelProblemData(
        tau=[0.0, -10.0], M=np.eye(2), N=[[0.0, 1.0]], Q=[[1.0, 0.0]], mu_sliding=[0.5], sliding_contacts=[0]
    )
    np.testing.assert_array_equal(data.N_minus_muQ_T @ np.array([10.0]), [-5.0, 10.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(data.N_minus_muQ_T)) @ np.array([10.0]), [-5.0, 10.0])
    assert repr(data.N_minus_muQ_T) == "FunctionMap(N_minus_muQ_T, shape=(2, 1))"


FORMS = {
    "array": lambda a: a,
    "list": lambda a: a.tolist(),
    "csr_array": scipy.sparse.csr_array,
    "LinearOperator": aslinearoperator,
    "pair": pair,
}


@pytest.mark.parametrize("q_form", FORMS)
@pytest.mark.parametrize("n_form", FORMS)
def test_N_minus_muQ_T_for_every_form(n_form, q_form):
    """The derived map equals (N - mu Q)^T both ways, for vectors and columns, whatever N and Q are given as."""
    fields = random_fields()
    dense = fields["N"] - full_size_Q(fields)
    data = ConstraintAccelProblemData(**(fields | {"N": FORMS[n_form](fields["N"]), "Q": FORMS[q_form](fields["Q"])}))
    random = np.random.default_rng(1)
    derived = data.N_minus_muQ_T
    assert (derived.shape, derived.T.shape) == ((5, 5), (5, 5))
    for f in (random.standard_normal(5), random.standard_normal((5, 4)), np.zeros((5, 0))):
        np.testing.assert_allclose(derived @ f, dense.T @ f, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(derived.T @ f, dense @ f, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(derived.T.T @ f, dense.T @ f, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(np.asarray(derived), dense.T, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(data.blocks().R, dense, rtol=1e-13, atol=1e-13)


def test_N_minus_muQ_T_with_a_wrong_shape_is_named():
    """The derived map refuses a vector of the wrong length by its own name."""
    data = ConstraintAccelProblemData(**random_fields(nv=4))
    with pytest.raises(ProblemDataError, match=r"N_minus_muQ_T: applied to shape \(4,\), wanted \(5,\)"):
        data.N_minus_muQ_T @ np.ones(4)
    with pytest.raises(ProblemDataError, match=r"N_minus_muQ_T.T: applied to shape \(5,\), wanted \(4,\)"):
        data.N_minus_muQ_T.T @ np.ones(5)


def test_rows_of_a_pair_for_N():
    """The contacts of callables are told by kN, or by the two lists together."""
    fields = random_fields()
    by_k = fields | {"N": pair(fields["N"]), "sliding_contacts": None}
    by_lists = fields | {"N": pair(fields["N"]), "kN": None}
    assert ConstraintAccelProblemData(**by_k).nc == ConstraintAccelProblemData(**by_lists).nc == 5
    refused("N", "cannot be told: give kN, or both lists of contacts", **(by_lists | {"sliding_contacts": None}))


def test_blocks_follow_the_layout():
    """Rows are stacked [N; F; L; G], R is N - mu Q, and Y and YR hold M^-1 J^T and M^-1 R^T by rows."""
    fields = random_fields()
    blocks = ConstraintAccelProblemData(**fields).blocks()
    J = np.vstack([fields[name] for name in "NFLG"])
    R = fields["N"] - full_size_Q(fields)
    np.testing.assert_array_equal(blocks.J, J)
    np.testing.assert_array_equal(blocks.Q, fields["Q"])
    np.testing.assert_array_equal(blocks.R, R)
    np.testing.assert_array_equal(blocks.k, np.concatenate([fields["k" + name] for name in "NFLG"]))
    np.testing.assert_allclose(blocks.Y, np.linalg.solve(fields["M"], J.T).T, rtol=1e-11)
    np.testing.assert_allclose(blocks.YR, np.linalg.solve(fields["M"], R.T).T, rtol=1e-11)
    np.testing.assert_allclose(blocks.a_free, np.linalg.solve(fields["M"], fields["tau"]), rtol=1e-11)
    np.testing.assert_array_equal(blocks.sliding, fields["sliding_contacts"])
    np.testing.assert_array_equal(blocks.non_sliding, fields["non_sliding_contacts"])
    assert blocks[:7] == (5, 5, 2, 3, 5, 2, 1)


def test_rows_of_contacts_that_do_not_slide_are_those_of_N():
    """R and YR have the bits of the normal rows wherever nothing slides, so that symmetry is exact."""
    blocks = ConstraintAccelProblemData(**random_fields()).blocks()
    np.testing.assert_array_equal(blocks.R[blocks.non_sliding], blocks.J[blocks.non_sliding])
    np.testing.assert_array_equal(blocks.YR[blocks.non_sliding], blocks.Y[blocks.non_sliding])


def test_block_arrays_suit_compiled_code():
    """Block arrays are C-contiguous float64 or int64, writable, and computed once."""
    data = ConstraintAccelProblemData(**random_fields())
    blocks = data.blocks()
    assert data.blocks() is blocks
    for name, array in blocks._asdict().items():
        if isinstance(array, np.ndarray):
            assert array.flags.c_contiguous, name
            assert array.flags.writeable, name
            assert array.dtype == (np.int64 if name in ("r", "sliding", "non_sliding") else np.float64), name


def test_from_blocks_copies_nothing():
    """from_blocks hands back the very same blocks, views their memory and keeps the choice of solver."""
    source = ConstraintAccelProblemData(**random_fields(), use_complementarity_problem_solver=False)
    data = ConstraintAccelProblemData.from_blocks(
        source.blocks(), solve_inertia=source.solve_inertia, use_complementarity_problem_solver=False
    )
    assert data.blocks() is source.blocks()
    assert np.shares_memory(data.F, source.blocks().J)
    assert np.shares_memory(data.Q, source.blocks().Q)
    for field in dataclasses.fields(data):
        if field.name not in ("solve_inertia", "M", "_blocks"):
            np.testing.assert_array_equal(getattr(data, field.name), getattr(source, field.name))
    np.testing.assert_array_equal(data.N_minus_muQ_T @ np.ones(5), source.N_minus_muQ_T @ np.ones(5))


def test_data_are_frozen_and_own_their_arrays():
    """Neither assignment, nor writing to an attribute, nor writing to an input changes a problem."""
    fields = random_fields()
    data = ConstraintAccelProblemData(**fields)
    before = data.mu_sliding.copy()
    fields["mu_sliding"][:] = -1.0
    fields["N"][:] = np.nan
    np.testing.assert_array_equal(data.mu_sliding, before)
    assert np.isfinite(data.N_minus_muQ_T @ np.ones(5)).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.tau = before
    for name in (
        "mu_sliding",
        "mu_non_sliding",
        "sliding_contacts",
        "non_sliding_contacts",
        "r",
        "N",
        "Q",
        "kF",
        "tau",
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0] = 1
    data.blocks().mu_sliding[0] = 7.0
    np.testing.assert_array_equal(data.mu_sliding, before)


def test_replace_changes_one_field():
    """dataclasses.replace makes a new checked problem with fresh blocks."""
    data = ConstraintAccelProblemData(**random_fields())
    data.blocks()
    linear = dataclasses.replace(data, use_complementarity_problem_solver=False, tau=2.0 * data.tau)
    assert linear.use_complementarity_problem_solver is False
    np.testing.assert_array_equal(linear.blocks().a_free, 2.0 * data.blocks().a_free)
    np.testing.assert_array_equal(linear.blocks().YR, data.blocks().YR)
    with pytest.raises(ProblemDataError, match="mu_sliding"):
        dataclasses.replace(data, mu_sliding=-data.mu_sliding)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_copies_keep_every_bit(duplicate):
    """A deep copy and a pickled copy have the same blocks."""
    data = ConstraintAccelProblemData(**random_fields())
    for a, b in zip(data.blocks(), duplicate(data).blocks(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_inertia_solve_is_never_asked_for_no_columns():
    """A solve that fails on an empty matrix serves a problem in which nothing slides."""

    def solve(B):
        if B.size == 0:
            raise ZeroDivisionError("no columns")
        return B / 2.0

    data = ConstraintAccelProblemData(tau=[1.0, 2.0], solve_inertia=solve, N=[[0.0, 1.0]])
    np.testing.assert_array_equal(data.blocks().YR, [[0.0, 0.5]])


@given(st.data())
def test_packed_forces_leave_out_sliding_friction(draw):
    """Packed forces hold fN of all contacts and fF of non-sliding ones only, for every combination of classes."""
    r = tuple(draw.draw(st.lists(st.integers(1, 3), max_size=3), label="r"))
    ns = draw.draw(st.integers(0, 3), label="ns")
    sliding = tuple(sorted(draw.draw(st.permutations(range(ns + len(r))), label="contacts")[:ns]))
    nl, nb = draw.draw(st.integers(0, 2), label="nl"), draw.draw(st.integers(0, 2), label="nb")
    data = ConstraintAccelProblemData(**random_fields(sliding=sliding, r=r, nl=nl, nb=nb))
    cf = np.arange(float(ns + len(r) + sum(r) + nl + nb))
    forces = ConstraintForces.from_packed(data, cf)
    assert [f.size for f in (forces.fN, forces.fF, forces.fL, forces.fG)] == [ns + len(r), sum(r), nl, nb]
    np.testing.assert_array_equal(forces.packed(), cf)
    with pytest.raises(ProblemDataError, match="nc \\+ nr \\+ nl \\+ nb"):
        ConstraintForces.from_packed(data, np.zeros(cf.size + 1))


def test_without_sliding_the_rows_equal_those_at_velocity_level():
    """With nothing sliding, the same rows give the same J and Y at both levels."""
    fields = random_fields(sliding=())
    accel = ConstraintAccelProblemData(**fields).blocks()
    same = {name: fields[name] for name in ("M", "N", "F", "L", "G", "r", "kN", "kF", "kL", "kG")}
    vel = ConstraintVelProblemData(**same, Mv=fields["tau"], mu=fields["mu_non_sliding"]).blocks()
    for a, b in ((accel.J, vel.J), (accel.Y, vel.Y), (accel.k, vel.k), (accel.a_free, vel.v_free)):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(accel.R, vel.J[: vel.nc])


SIZES = {
    "tau": 5,
    "kN": 5,
    "kF": 5,
    "kL": 2,
    "kG": 1,
    "mu_sliding": 2,
    "mu_non_sliding": 3,
    "sliding_contacts": 2,
    "non_sliding_contacts": 3,
    "r": 3,
}


@pytest.mark.parametrize("field", [name for name in SIZES if name != "tau" and not name.endswith("contacts")])
@pytest.mark.parametrize("extra", [-1, 1])
def test_wrong_length(field, extra):
    """A vector one entry short or long is refused with both shapes."""
    size = SIZES[field] + extra
    fields = random_fields() | {field: np.zeros(size)}
    refused(field, f"{field}: shape ({size},), wanted ({SIZES[field]},)", **fields)


@given(st.sampled_from(sorted(SIZES)), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 4))
def test_not_finite(field, value, position):
    """NaN and infinities are named with their index wherever they stand."""
    fields = random_fields()
    entries = np.array(fields[field], dtype=np.float64)
    position %= SIZES[field]
    entries[position] = value
    refused(field, f"{field}[{position}] = {value}, wanted a finite number", **(fields | {field: entries}))


@pytest.mark.parametrize("field", ["N", "Q", "F", "L", "G"])
def test_faulty_matrices(field):
    """A Jacobian with a wrong shape or an entry that is not finite is named."""
    fields = random_fields()
    matrix = fields[field].copy()
    matrix[-1, 2] = np.inf
    refused(field, f"{field}[{len(matrix) - 1}, 2] = inf", **(fields | {field: matrix}))
    refused(field, f"shape ({len(matrix)}, 4), wanted", **(fields | {field: matrix[:, :4]}))
    refused(field, "shape (5,), wanted", **(fields | {field: np.ones(5)}))


@pytest.mark.parametrize("field", ["mu_sliding", "mu_non_sliding"])
def test_negative_friction(field):
    """Negative coefficients are refused with index and value."""
    entries = np.zeros(SIZES[field])
    entries[-1] = -0.25
    message = f"{field}[{SIZES[field] - 1}] = -0.25, wanted >= 0"
    refused(field, message, **(random_fields() | {field: entries}))


@pytest.mark.parametrize(
    ("field", "contacts", "message"),
    [
        ("sliding_contacts", [3, 0], "sliding_contacts[1] = 0 after sliding_contacts[0] = 3, wanted an ascending list"),
        ("sliding_contacts", [0, 0], "sliding_contacts[1] = 0 after sliding_contacts[0] = 0"),
        ("sliding_contacts", [0, 5], "sliding_contacts[1] = 5, wanted a contact from 0 to 4"),
        ("sliding_contacts", [-1, 3], "sliding_contacts[0] = -1.0, wanted the index of a contact"),
        ("sliding_contacts", [0.5, 3], "sliding_contacts[0] = 0.5, wanted the index of a contact"),
        ("sliding_contacts", [[0, 3]], "shape (1, 2), wanted (*,)"),
        ("sliding_contacts", [True, False], "dtype bool"),
        ("sliding_contacts", ["0", "3"], "wanted real numbers"),
        ("non_sliding_contacts", [1, 2, 3], "non_sliding_contacts[2] = 3 is also sliding_contacts[1]"),
        ("non_sliding_contacts", [1, 2], "contact 4 is missing; it is not in sliding_contacts either (nc = 5)"),
        ("non_sliding_contacts", [4, 2, 1], "non_sliding_contacts[1] = 2 after non_sliding_contacts[0] = 4"),
    ],
)
def test_faulty_lists_of_contacts(field, contacts, message):
    """Disorder, repeats, indices out of range, overlaps and gaps are told apart and named."""
    refused(field, message, **(random_fields() | {field: contacts}))


def test_listed_contacts_without_rows():
    """Contacts that are listed although N is missing or empty fault one or the other."""
    refused(
        "N", "N: missing, wanted shape (1, 2): one row per listed", tau=[0.0, 0.0], M=np.eye(2), sliding_contacts=[0]
    )
    empty = {"tau": [0.0, 0.0], "M": np.eye(2), "N": np.zeros((0, 2))}
    refused("sliding_contacts", "wanted no entries, as there are no contacts", **empty, sliding_contacts=[0])


@pytest.mark.parametrize(
    ("field", "message", "changes"),
    [
        ("Q", "missing, wanted shape (2, 5): mu_sliding[0] = ", {"Q": None}),
        ("mu_sliding", "missing, wanted shape (2,): Q is given", {"mu_sliding": None}),
        ("Q", "shape (3, 5), wanted (2, 5): one row per sliding contact", {"Q": np.ones((3, 5))}),
        ("mu_non_sliding", "missing, wanted shape (3,): r has friction", {"mu_non_sliding": None}),
        ("r", "missing, wanted shape (3,): F is given", {"r": None}),
        ("r", "mu_non_sliding[0] = 0.5 needs directions", {"r": None, "F": None, "mu_non_sliding": [0.5, 0, 0]}),
        ("r", "r[1] = 0, wanted at least 1 where mu_non_sliding is positive", {"mu_non_sliding": [1.0, 1.0, 1.0]}),
        ("r", "r[0] = 1.5, wanted a whole number of directions", {"r": [1.5, 0, 3]}),
        ("F", "missing, wanted shape (5, 5): sum(r) rows, of non-sliding contacts only", {"F": None}),
        ("F", "shape (7, 5), wanted (5, 5): sum(r) rows, of non-sliding contacts only", {"F": np.ones((7, 5))}),
        ("M", "shape (4, 4), wanted (5, 5)", {"M": np.eye(4)}),
        ("solve_inertia", "M is missing too", {"M": None}),
        ("solve_inertia", "exactly one", {"solve_inertia": np.eye(5)}),
        ("tau", "NoneType", {"tau": None}),
        ("use_complementarity_problem_solver", "1 of type int", {"use_complementarity_problem_solver": 1}),
        ("use_complementarity_problem_solver", "None of type", {"use_complementarity_problem_solver": None}),
    ],
)
def test_what_was_left_out_or_does_not_fit(field, message, changes):
    """Friction without a direction, directions without friction, and counts that disagree are named."""
    refused(field, message, **(random_fields() | changes))


def test_rows_of_Q_for_contacts_that_do_not_slide_are_refused():
    """Q without a sliding contact is refused, not dropped in silence."""
    fields = random_fields(sliding=())
    refused("Q", "shape (1, 5), wanted (0, 5): one row per sliding contact", **(fields | {"Q": np.ones((1, 5))}))


def test_a_product_that_overflows_is_named():
    """Rows of N - mu Q beyond float64 are refused when the blocks are evaluated."""
    fields = random_fields() | {"Q": np.full((2, 5), 1e300), "mu_sliding": [1e300, 1.0]}
    with pytest.raises(ProblemDataError, match=r"N_minus_muQ_T.T\[0, 0\] = -inf"):
        ConstraintAccelProblemData(**fields).blocks()


def test_arguments_are_keyword_only():
    """Positional arguments are refused, so that no two vectors can be exchanged unseen."""
    with pytest.raises(TypeError):
        ConstraintAccelProblemData([1.0])
