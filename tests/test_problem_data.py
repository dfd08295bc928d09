"""Problem data at both levels: the fields, their defaults, the block layout, sliding contacts and packed forces."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from problem_fields import acceleration_fields, each_level, pair, refuses, velocity_fields
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


def test_words_of_problem_data() -> None:
    """A line says how many rows of each class there are."""
    said = "ConstraintVelProblemData(nv=5, contacts=3, friction rows=5, limits=2, bilaterals=1)"
    assert repr(ConstraintVelProblemData(**velocity_fields())) == said
    data = ConstraintAccelProblemData(**acceleration_fields())
    assert (data.ns, data.nns, data.use_complementarity_problem_solver) == (2, 3, True)
    assert "contacts=5 (2 sliding)" in repr(data)


def test_contacts_without_mu_are_frictionless() -> None:
    """Whole floats count directions, too."""
    data = ConstraintVelProblemData(Mv=[0.0, -1.0], M=np.eye(2), N=[[0.0, 1.0]])
    np.testing.assert_array_equal(data.mu, [0.0])
    np.testing.assert_array_equal(data.r, [0])
    assert ConstraintVelProblemData(**velocity_fields() | {"r": [2.0, 0.0, 3.0]}).r.dtype == np.int64


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
def test_from_blocks_copies_nothing(kind: Any, fields_of: Callable[..., dict[str, Any]]) -> None:
    """The fields are views of the blocks."""
    source = kind(**fields_of())
    data = kind.from_blocks(source.blocks(), solve_inertia=source.solve_inertia)
    assert data.blocks() is source.blocks()
    assert np.shares_memory(data.F, source.blocks().J)
    for field in dataclasses.fields(data):
        if field.name not in ("solve_inertia", "M", "_blocks"):
            np.testing.assert_array_equal(getattr(data, field.name), getattr(source, field.name))


@each_level
def test_data_are_frozen_and_own_their_arrays(kind: Any, fields_of: Callable[..., dict[str, Any]]) -> None:
    """Neither the caller's arrays nor those of the blocks lead back into the data."""
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


@each_level
def test_copies_and_changed_copies(kind: Any, fields_of: Callable[..., dict[str, Any]]) -> None:
    """Copies keep every bit; `replace` checks what is new and keeps the rest."""
    data, mu = kind(**fields_of()), "mu" if kind is ConstraintVelProblemData else "mu_sliding"
    for other in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        for a, b in zip(data.blocks(), other.blocks(), strict=True):
            np.testing.assert_array_equal(a, b)
    doubled = dataclasses.replace(data, **{mu: 2.0 * getattr(data, mu)})
    np.testing.assert_array_equal(getattr(doubled.blocks(), mu), 2.0 * getattr(data, mu))
    np.testing.assert_array_equal(doubled.blocks().Y, data.blocks().Y)
    with pytest.raises(ProblemDataError, match=mu):
        dataclasses.replace(data, **{mu: -getattr(data, mu)})


def test_forces_are_packed_in_order() -> None:
    """As fN, fF, fL, fG; an array of them is a copy."""
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


@given(st.data())
def test_packing_round_trips_for_any_counts(draw: st.DataObject) -> None:
    """At either level; friction of sliding contacts is no force of its own."""
    r = tuple(draw.draw(st.lists(st.integers(1, 3), max_size=3), label="r"))
    ns = draw.draw(st.integers(0, 3), label="ns")
    sliding = tuple(sorted(draw.draw(st.permutations(range(ns + len(r))), label="contacts")[:ns]))
    nl, nb = draw.draw(st.integers(0, 2), label="nl"), draw.draw(st.integers(0, 2), label="nb")
    slides = ConstraintAccelProblemData(**acceleration_fields(sliding=sliding, r=r, nl=nl, nb=nb))
    steps = ConstraintVelProblemData(**velocity_fields(r=r, nl=nl, nb=nb))
    for data, nc in ((slides, ns + len(r)), (steps, len(r))):
        cf = np.arange(float(nc + sum(r) + nl + nb))
        forces = ConstraintForces.from_packed(data, cf)
        assert [f.size for f in (forces.fN, forces.fF, forces.fL, forces.fG)] == [nc, sum(r), nl, nb]
        np.testing.assert_array_equal(forces.packed(), cf)
        with pytest.raises(ProblemDataError, match="cf: shape"):
            ConstraintForces.from_packed(data, np.zeros(cf.size + 1))


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


def test_friction_of_a_sliding_contact_opposes_its_motion() -> None:
    """(N - mu Q)^T f; without friction no direction is needed."""
    fields: dict[str, Any] = {"tau": [0.0, -10.0], "M": np.eye(2), "N": [[0.0, 1.0]], "sliding_contacts": [0]}
    derived = ConstraintAccelProblemData(**fields, Q=[[1.0, 0.0]], mu_sliding=[0.5]).N_minus_muQ_T
    for one in (derived, pickle.loads(pickle.dumps(derived))):
        np.testing.assert_array_equal(one @ np.array([10.0]), [-5.0, 10.0])
    for mu in (None, [0.0]):
        data = ConstraintAccelProblemData(**fields, mu_sliding=mu)
        np.testing.assert_array_equal(data.N_minus_muQ_T @ np.ones(1), [0.0, 1.0])


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda a: a.tolist(),
    "csr_array": scipy.sparse.csr_array,
    "LinearOperator": aslinearoperator,
    "pair": pair,
}


@pytest.mark.parametrize("q_form", FORMS)
@pytest.mark.parametrize("n_form", FORMS)
def test_N_minus_muQ_T_for_every_form(n_form: str, q_form: str) -> None:
    """The map, its transposes and its rows are those of dense arrays; wrong shapes are named."""
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


def test_rows_of_a_pair_for_N() -> None:
    """Two functions do not tell their rows: kN or both lists do."""
    fields = acceleration_fields()
    by_lists = fields | {"N": pair(fields["N"]), "kN": None}
    assert ConstraintAccelProblemData(**by_lists).nc == 5
    assert ConstraintAccelProblemData(**fields | {"N": pair(fields["N"]), "sliding_contacts": None}).nc == 5
    message = "cannot be told: give kN, or both lists of contacts"
    refuses("N", message, lambda: ConstraintAccelProblemData(**by_lists | {"sliding_contacts": None}))


def test_the_inertia_solve_is_never_asked_for_no_columns() -> None:
    """A function of the caller may not know what to do with none."""

    def solve(B: np.ndarray) -> np.ndarray:
        if B.size == 0:
            raise ZeroDivisionError("no columns")
        return B / 2.0

    data = ConstraintAccelProblemData(tau=[1.0, 2.0], solve_inertia=solve, N=[[0.0, 1.0]])
    np.testing.assert_array_equal(data.blocks().YR, [[0.0, 0.5]])


def test_import_is_light() -> None:
    """Neither scipy nor a compiler is loaded."""
    code = (
        "import sys, problem_data; problem_data.ConstraintVelProblemData(Mv=[1.0], M=[[1.0]], N=[[1.0]]); "
        "print([m for m in sys.modules if m.split('.')[0] in ('scipy', 'numba', 'lcp', 'contactlab')])"
    )
    out = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
