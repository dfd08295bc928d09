"""Problem data: the fields, their defaults, the block layout and the packed forces."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problem_data import ConstraintForces, ConstraintVelProblemData, ProblemDataError


def random_fields(seed=0, nv=5, r=(2, 0, 3), nl=2, nb=1):
    """Keyword arguments of a well-formed random problem with every class of constraints."""
    random = np.random.default_rng(seed)
    nc, nr = len(r), sum(r)
    root = random.standard_normal((nv, nv))
    return {
        "M": root @ root.T + nv * np.eye(nv),
        "Mv": random.standard_normal(nv),
        "N": random.standard_normal((nc, nv)),
        "F": random.standard_normal((nr, nv)),
        "L": random.standard_normal((nl, nv)),
        "G": random.standard_normal((nb, nv)),
        "mu": np.where(np.array(r) > 0, random.uniform(0.1, 1.0, nc), 0.0),
        "r": list(r),
        "kN": random.standard_normal(nc),
        "kF": random.standard_normal(nr),
        "kL": random.standard_normal(nl),
        "kG": random.standard_normal(nb),
        "gammaN": random.uniform(0.0, 1.0, nc),
        "gammaF": random.uniform(0.0, 1.0, nr),
        "gammaE": random.uniform(0.0, 1.0, nc),
        "gammaL": random.uniform(0.0, 1.0, nl),
    }


def test_counts_and_fields_are_those_given():
    """Every field is kept with its values, and the counts follow from the shapes."""
    fields = random_fields()
    data = ConstraintVelProblemData(**fields)
    assert (data.nv, data.nc, data.nr, data.nl, data.nb) == (5, 3, 5, 2, 1)
    for name, value in fields.items():
        np.testing.assert_array_equal(getattr(data, name), value, err_msg=name)
    assert repr(data) == "ConstraintVelProblemData(nv=5, contacts=3, friction rows=5, limits=2, bilaterals=1)"


def test_missing_classes_vanish():
    """A problem of momentum and inertia alone has maps of 0 rows that give zero generalised force."""
    data = ConstraintVelProblemData(Mv=[1.0, 2.0], M=np.eye(2))
    assert (data.nc, data.nr, data.nl, data.nb) == (0, 0, 0, 0)
    for linear_map in (data.N, data.F, data.L, data.G):
        assert (linear_map @ np.ones(2)).shape == (0,)
        np.testing.assert_array_equal(linear_map.T @ np.zeros(0), [0.0, 0.0])
    assert data.blocks().J.shape == (0, 2)


def test_missing_k_and_gamma_are_zeros():
    """Missing offsets and softening are zero vectors of full length."""
    fields = {name: value for name, value in random_fields().items() if not name.startswith(("k", "gamma"))}
    data = ConstraintVelProblemData(**fields)
    for name, size in (("kN", 3), ("kF", 5), ("kL", 2), ("kG", 1), ("gammaN", 3), ("gammaF", 5), ("gammaE", 3)):
        np.testing.assert_array_equal(getattr(data, name), np.zeros(size))


def test_contacts_without_mu_are_frictionless():
    """N alone gives contacts with mu = 0 and no friction directions."""
    data = ConstraintVelProblemData(Mv=[0.0, -1.0], M=np.eye(2), N=[[0.0, 1.0]])
    np.testing.assert_array_equal(data.mu, [0.0])
    np.testing.assert_array_equal(data.r, [0])


def test_whole_floats_are_accepted_as_direction_counts():
    """Direction counts read from a float file are as good as integers."""
    fields = random_fields() | {"r": [2.0, 0.0, 3.0]}
    assert ConstraintVelProblemData(**fields).r.dtype == np.int64


def test_blocks_follow_the_layout():
    """Rows are stacked [N; F; L; G], Y holds M^-1 J^T by rows, and J Y^T is the Delassus matrix."""
    fields = random_fields()
    blocks = ConstraintVelProblemData(**fields).blocks()
    J = np.vstack([fields[name] for name in "NFLG"])
    np.testing.assert_array_equal(blocks.J, J)
    np.testing.assert_array_equal(blocks.k, np.concatenate([fields["k" + name] for name in "NFLG"]))
    np.testing.assert_array_equal(
        blocks.gamma, np.concatenate([fields["gammaN"], fields["gammaF"], fields["gammaL"], [0.0]])
    )
    np.testing.assert_allclose(blocks.Y, np.linalg.solve(fields["M"], J.T).T, rtol=1e-12)
    np.testing.assert_allclose(blocks.v_free, np.linalg.solve(fields["M"], fields["Mv"]), rtol=1e-12)
    np.testing.assert_allclose(blocks.J @ blocks.Y.T, J @ np.linalg.inv(fields["M"]) @ J.T, rtol=1e-10)


def test_block_arrays_suit_compiled_code():
    """Block arrays are C-contiguous float64 or int64, writable, and computed once."""
    data = ConstraintVelProblemData(**random_fields())
    blocks = data.blocks()
    assert data.blocks() is blocks
    for name, array in blocks._asdict().items():
        if isinstance(array, np.ndarray):
            assert array.flags.c_contiguous, name
            assert array.flags.writeable, name
            assert array.dtype == (np.int64 if name in ("r", "cone_contacts", "tree_starts") else np.float64), name


def test_from_blocks_copies_nothing():
    """from_blocks hands back the very same blocks and views their memory."""
    source = ConstraintVelProblemData(**random_fields())
    data = ConstraintVelProblemData.from_blocks(source.blocks(), solve_inertia=source.solve_inertia)
    assert data.blocks() is source.blocks()
    assert np.shares_memory(data.F, source.blocks().J)
    assert np.shares_memory(data.mu, source.blocks().mu)
    for field in dataclasses.fields(data):
        if field.name not in ("solve_inertia", "M", "_blocks"):
            np.testing.assert_array_equal(getattr(data, field.name), getattr(source, field.name))


def test_data_are_frozen_and_own_their_arrays():
    """Neither assignment, nor writing to an attribute, nor writing to an input changes a problem."""
    fields = random_fields()
    data = ConstraintVelProblemData(**fields)
    before = data.mu.copy()
    fields["mu"][:] = -1.0
    fields["N"][:] = np.nan
    np.testing.assert_array_equal(data.mu, before)
    assert np.isfinite(data.N @ np.ones(5)).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.mu = before
    for name in ("mu", "r", "N", "kF", "gammaE", "Mv", "M"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0] = 1
    data.blocks().mu[0] = 7.0
    np.testing.assert_array_equal(data.mu, before)


def test_replace_changes_one_field():
    """dataclasses.replace makes a new checked problem with fresh blocks."""
    data = ConstraintVelProblemData(**random_fields())
    data.blocks()
    doubled = dataclasses.replace(data, mu=2.0 * data.mu)
    np.testing.assert_array_equal(doubled.blocks().mu, 2.0 * data.mu)
    np.testing.assert_array_equal(doubled.blocks().Y, data.blocks().Y)
    with pytest.raises(ProblemDataError, match="mu"):
        dataclasses.replace(data, mu=-data.mu)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_copies_keep_every_bit(duplicate):
    """A deep copy and a pickled copy have the same blocks."""
    data = ConstraintVelProblemData(**random_fields())
    for a, b in zip(data.blocks(), duplicate(data).blocks(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_forces_are_packed_in_order():
    """packed() is [fN | fF | fL | fG | fB] and from_packed is its inverse."""
    data = ConstraintVelProblemData(**random_fields())
    cf = np.arange(11.0)
    forces = ConstraintForces.from_packed(data, cf)
    np.testing.assert_array_equal(forces.fN, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(forces.fF, [3.0, 4.0, 5.0, 6.0, 7.0])
    np.testing.assert_array_equal(forces.fL, [8.0, 9.0])
    np.testing.assert_array_equal(forces.fG, [10.0])
    np.testing.assert_array_equal(forces.packed(), cf)
    np.testing.assert_array_equal(np.asarray(forces), cf)
    assert np.asarray(forces).dtype == np.float64
    assert np.asarray(forces, dtype=np.float32).dtype == np.float32
    np.asarray(forces)[:] = 0.0
    np.testing.assert_array_equal(np.abs(forces), np.abs(cf))
    with pytest.raises(ValueError, match="is a copy"):
        np.array(forces, copy=False)


@given(st.lists(st.integers(1, 3), max_size=3), st.integers(0, 3), st.integers(0, 3))
def test_packing_round_trips_for_any_counts(r, nl, nb):
    """Packing and unpacking are inverse for every combination of classes, empty ones included."""
    data = ConstraintVelProblemData(**random_fields(r=tuple(r), nl=nl, nb=nb))
    cf = np.random.default_rng(1).standard_normal(len(r) + sum(r) + nl + nb)
    np.testing.assert_array_equal(ConstraintForces.from_packed(data, cf).packed(), cf)


@pytest.mark.parametrize(
    ("cf", "message"),
    [
        (np.zeros(10), r"cf: shape \(10,\), wanted \(11,\)"),
        (np.zeros((11, 1)), r"cf: shape \(11, 1\)"),
        (np.full(11, np.nan), r"cf: cf\[0\] = nan"),
        ([], r"cf: shape \(0,\)"),
    ],
)
def test_faulty_packed_forces_are_refused(cf, message):
    """A packed vector of wrong length or with NaN raises an error that says so."""
    data = ConstraintVelProblemData(**random_fields())
    with pytest.raises(ProblemDataError, match=message):
        ConstraintForces.from_packed(data, cf)


def test_faulty_forces_are_refused():
    """A force vector that is not a finite vector raises an error naming its field."""
    with pytest.raises(ProblemDataError, match=r"fL\[1\] = inf") as caught:
        ConstraintForces(fN=[1.0], fL=[0.0, np.inf])
    assert caught.value.field == "fL"


def test_import_is_light():
    """Importing the package and making a problem loads no heavy module."""
    code = (
        "import sys, problem_data; "
        "problem_data.ConstraintVelProblemData(Mv=[1.0], M=[[1.0]], N=[[1.0]]); "
        "print([m for m in sys.modules if m.split('.')[0] in ('scipy', 'numba', 'lcp', 'contactlab')])"
    )
    out = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
