"""Acceleration-level problem data files: bit-exact round trips, and every bad member refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import problem_data
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError

THIRD = 1.0 / 3.0


def example(**changes):
    """A small problem with every class of constraints and awkward numbers; contact 1 of 3 slides."""
    fields = {
        "M": [[2.0, THIRD], [THIRD, 1.0]],
        "tau": [-0.0, 5e-324],
        "N": [[THIRD, 1.0], [0.1, 0.3], [0.0, 1.0]],
        "Q": [[1.0, -0.7]],
        "F": [[1.0, 0.0], [0.1, -0.0]],
        "mu_sliding": [0.3],
        "mu_non_sliding": [0.7, 0.0],
        "sliding_contacts": [1],
        "r": [2, 0],
        "L": [[0.0, 1e300]],
        "G": [[1.0, -1.0]],
        "kN": [0.1, 0.2, 0.3],
    }
    return ConstraintAccelProblemData(**(fields | changes))


def assert_same_bits(a, b):
    """Blocks equal byte for byte, so that -0.0 and 0.0 differ."""
    for name, x, y in zip(a._fields, a, b, strict=True):
        if isinstance(x, np.ndarray):
            assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()), name
        else:
            assert x == y, name


@pytest.fixture
def saved(tmp_path):
    """Path and members of a good file."""
    path = tmp_path / "problem.npz"
    problem_data.save(path, example())
    with np.load(path) as archive:
        return path, dict(archive)


def refused(path, field, *texts):
    """Assert that the file is refused for this field, with path and texts in the message."""
    with pytest.raises(ProblemDataError) as caught:
        problem_data.load(path)
    assert caught.value.field == field
    for text in (str(path), *texts):
        assert text in str(caught.value)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("inertia", [{}, {"M": None, "solve_inertia": np.array([[0.5, 0.1], [0.1, THIRD]])}])
def test_round_trip(tmp_path, flag, inertia):
    """A problem comes back of its own kind with the same bits, solve and choice of solver included."""
    data = example(use_complementarity_problem_solver=flag, **inertia)
    problem_data.save(tmp_path / "problem.npz", data)
    again = problem_data.load(tmp_path / "problem.npz")
    assert isinstance(again, ConstraintAccelProblemData)
    assert again.use_complementarity_problem_solver is flag
    assert_same_bits(again.blocks(), data.blocks())
    np.testing.assert_array_equal(again.solve_inertia(np.eye(2)), data.solve_inertia(np.eye(2)))
    np.testing.assert_array_equal(again.N_minus_muQ_T @ np.ones(3), data.N_minus_muQ_T @ np.ones(3))
    assert repr(again) == repr(data)


def test_rows_that_were_rounded_once_keep_their_bits(tmp_path):
    """Blocks whose R differs from N - mu Q by rounding, as compiled code may leave it, come back as they were."""
    data = example()
    rounded = data.blocks()._replace(R=data.blocks().R.copy())
    rounded.R[1] = np.nextafter(rounded.R[1], 1.0)
    problem_data.save(
        tmp_path / "problem.npz", ConstraintAccelProblemData.from_blocks(rounded, solve_inertia=data.solve_inertia)
    )
    assert_same_bits(problem_data.load(tmp_path / "problem.npz").blocks(), rounded)


def test_round_trip_without_any_constraint(tmp_path):
    """A problem without rows is a problem too."""
    data = ConstraintAccelProblemData(tau=[1.0], M=[[2.0]])
    problem_data.save(tmp_path / "empty.npz", data)
    assert_same_bits(problem_data.load(tmp_path / "empty.npz").blocks(), data.blocks())


def test_kinds_are_told_apart(tmp_path, saved):
    """Each kind is read as what it is, and members of one under the tag of the other are refused."""
    velocity = tmp_path / "velocity.npz"
    problem_data.save(velocity, ConstraintVelProblemData(Mv=[1.0], M=[[2.0]]))
    assert isinstance(problem_data.load(velocity), ConstraintVelProblemData)
    path, members = saved
    np.savez(path, **(members | {"format": np.array("problem_data.ConstraintVelProblemData")}))
    refused(path, "Mv", "missing")
    np.savez(path, **(members | {"format": np.array("problem_data.Other")}))
    refused(path, "format", "Other", "ConstraintAccelProblemData")


def test_loaded_blocks_suit_compiled_code(saved):
    """Loaded block arrays are C-contiguous and writable like fresh ones, whatever the file's memory order."""
    path, members = saved
    np.savez(path, **(members | {"J": np.asfortranarray(members["J"]), "tau": members["tau"].astype(">f8")}))
    for array in problem_data.load(path).blocks():
        if isinstance(array, np.ndarray):
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert array.dtype.isnative


def test_every_member_is_required(saved):
    """Each missing member is named."""
    path, members = saved
    for name in members:
        np.savez(path, **{key: value for key, value in members.items() if key != name})
        refused(path, name, "missing")


def test_every_number_is_checked(saved):
    """A NaN, a wrong shape or a wrong dtype in any numeric member is named with the file."""
    path, members = saved
    for name, value in members.items():
        if value.dtype.kind != "f":
            continue
        spoiled = value.copy()
        spoiled.flat[-1] = np.nan
        np.savez(path, **(members | {name: spoiled}))
        refused(path, name, "= nan")
        np.savez(path, **(members | {name: value.astype(complex)}))
        refused(path, name, "complex128")
        if name not in ("tau", "mu_sliding", "mu_non_sliding"):
            np.savez(path, **(members | {name: value[..., :-1]}))
            refused(path, name, "shape")


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"version": np.array(2)}, "version", "2, this release reads 1"),
        ({"mu_sliding": np.array([-0.3])}, "mu_sliding", "mu_sliding[0] = -0.3"),
        ({"mu_sliding": np.array([0.3, 0.3])}, "rows", "2 + 2 entries"),
        ({"mu_sliding": np.array([0.4])}, "R", "R[1, 0] = "),
        ({"mu_sliding": np.array([1e308]), "Q": np.full((1, 2), 1e10)}, "R", "-inf"),
        ({"mu_non_sliding": np.array([0.7, 0.1])}, "r", "mu_non_sliding is positive: mu_non_sliding[1] = 0.1"),
        ({"r": np.array([3, 0])}, "rows", "adds up to 3"),
        ({"sliding_contacts": np.array([0])}, "non_sliding_contacts", "is also sliding_contacts[0]"),
        ({"sliding_contacts": np.array([3])}, "sliding_contacts", "wanted a contact from 0 to 2"),
        ({"sliding_contacts": np.array([0, 1])}, "sliding_contacts", "one entry per entry of mu_sliding"),
        ({"sliding_contacts": np.array([True])}, "sliding_contacts", "dtype bool"),
        ({"non_sliding_contacts": np.array([2, 0])}, "non_sliding_contacts", "ascending"),
        ({"non_sliding_contacts": np.array([0.0, 1.5])}, "non_sliding_contacts", "1.5, wanted the index"),
        ({"rows": np.array([2**62, 2, 1, 1])}, "rows", "nc, nr = "),
        ({"rows": np.array([3, 2, 1, -1])}, "rows", "4 whole numbers"),
        ({"rows": np.array([3, 2, 2, 1])}, "J", "wanted (8, 2)"),
        ({"tau": np.zeros(3)}, "J", "wanted (7, 3)"),
        ({"R": np.zeros((3, 2))}, "R", "but N - mu_sliding Q is"),
        ({"M": np.ones((2, 2))}, "M", "singular"),
        ({"use_complementarity_problem_solver": np.array(1)}, "use_complementarity_problem_solver", "truth value"),
        ({"use_complementarity_problem_solver": np.array([True])}, "use_complementarity_problem_solver", "truth value"),
    ],
)
def test_inconsistent_members(saved, changes, field, text):
    """Members that do not fit together, or break a rule of sign or order, are named."""
    path, members = saved
    np.savez(path, **(members | changes))
    refused(path, field, text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(position=st.floats(0.0, 1.0, exclude_max=True), flip=st.integers(1, 255))
def test_corrupted_files(saved, position, flip):
    """A byte changed anywhere gives either a refusal by the typed error or the very same problem."""
    path, _ = saved
    whole = bytearray(path.read_bytes())
    whole[int(position * len(whole))] ^= flip
    damaged = path.with_name("damaged.npz")
    damaged.write_bytes(bytes(whole))
    try:
        again = problem_data.load(damaged)
    except ProblemDataError:
        return
    assert_same_bits(again.blocks(), example().blocks())
    assert again.use_complementarity_problem_solver is True
