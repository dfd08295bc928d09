"""Problem data files of both levels: bit-exact round trips, and every kind of bad file refused by name."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problem_fields import THIRD, acceleration_example, assert_same_bits, velocity_example

import problem_data
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError

#: The problem that is written, and the vectors that define a count, by level.
EXAMPLES = {
    "velocity": (velocity_example, ("Mv", "mu")),
    "acceleration": (acceleration_example, ("tau", "mu_sliding", "mu_non_sliding")),
}


@pytest.fixture(params=EXAMPLES)
def level(request):
    """Give the level of the problem in the file."""
    return request.param


@pytest.fixture
def saved(tmp_path, level):
    """Give a good file and its members, to be spoiled and written again."""
    path = tmp_path / "problem.npz"
    problem_data.save(path, EXAMPLES[level][0]())
    with np.load(path) as archive:
        return path, dict(archive)


def test_round_trip_with_mass_matrix(tmp_path):
    """A loaded problem with M has the same bits, M and solve included."""
    path = tmp_path / "problem.npz"
    data = velocity_example()
    problem_data.save(path, data)
    again = problem_data.load(path)
    assert_same_bits(again.blocks(), data.blocks())
    np.testing.assert_array_equal(again.M, data.M)
    np.testing.assert_array_equal(again.solve_inertia(np.eye(2)), data.solve_inertia(np.eye(2)))
    assert repr(again) == repr(data)
    assert [p.name for p in tmp_path.iterdir()] == ["problem.npz"]


def test_a_large_problem_of_mostly_zeros_is_compressed(tmp_path):
    """Rows of 300 bodies in pairs come back with the same bits, from a file of less than a tenth of their size."""
    nv, path = 300, tmp_path / "pile.npz"
    N = np.eye(nv) / 3.0 - np.eye(nv, k=1) / 7.0
    data = ConstraintVelProblemData(Mv=np.ones(nv), M=np.eye(nv), N=N, kN=np.full(nv, 0.1))
    problem_data.save(path, data)
    again = problem_data.load(path)
    assert_same_bits(again.blocks(), data.blocks())
    assert path.stat().st_size < N.nbytes / 10


def test_round_trip_with_functions_and_from_blocks(tmp_path):
    """A problem made of functions, and one made from blocks, come back with the same bits."""
    solve = lambda B: np.array([[0.5, 0.1], [0.1, 1.0 / 3.0]]) @ B  # noqa: E731
    data = velocity_example(
        M=None, solve_inertia=solve, L=(lambda v: v[:1] / 3.0, lambda f: f * [1.0 / 3.0, 0.0]), kL=[0.0]
    )
    problem_data.save(tmp_path / "first", data)
    again = problem_data.load(tmp_path / "first")
    assert_same_bits(again.blocks(), data.blocks())
    np.testing.assert_array_equal(again.solve_inertia(np.eye(2)), data.solve_inertia(np.eye(2)))
    problem_data.save(str(tmp_path / "second"), again)
    assert_same_bits(problem_data.load(str(tmp_path / "second")).blocks(), data.blocks())


def test_loaded_blocks_suit_compiled_code(saved, level):
    """Loaded block arrays are C-contiguous and writable like new ones, for any memory order in the file."""
    path, members = saved
    push = EXAMPLES[level][1][0]
    np.savez(path, **(members | {"J": np.asfortranarray(members["J"]), push: members[push].astype(">f8")}))
    for array in problem_data.load(path).blocks():
        if isinstance(array, np.ndarray):
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert array.dtype.isnative


def test_save_replaces_and_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    """An interrupted save keeps the previous file unchanged and leaves no other file."""
    path = tmp_path / "problem.npz"
    problem_data.save(path, velocity_example())

    def interrupted(file, *_):
        file.write(b"PK half a file")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("problem_data.files._write_member", interrupted)
        with pytest.raises(KeyboardInterrupt):
            problem_data.save(path, velocity_example(mu=[0.1]))
    assert problem_data.load(path).mu[0] == 0.7
    assert [p.name for p in tmp_path.iterdir()] == ["problem.npz"]
    problem_data.save(path, velocity_example(mu=[0.1]))
    assert problem_data.load(path).mu[0] == 0.1


def refused(path, field, *texts):
    """Assert that the file is refused for this field, with path and texts in the message."""
    with pytest.raises(ProblemDataError) as caught:
        problem_data.load(path)
    assert caught.value.field == field
    for text in (str(path), *texts):
        assert text in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(position=st.floats(0.0, 1.0, exclude_max=True), flip=st.integers(1, 255))
def test_corrupted_files(saved, level, position, flip):
    """A byte changed anywhere gives either a refusal by the typed error or the very same problem."""
    path, _ = saved
    whole = bytearray(path.read_bytes())
    whole[int(position * len(whole))] ^= flip
    damaged = path.with_name("damaged.npz")
    damaged.write_bytes(bytes(whole))
    try:
        blocks = problem_data.load(damaged).blocks()
    except ProblemDataError:
        return
    assert_same_bits(blocks, EXAMPLES[level][0]().blocks())


@pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY garbage", b"PK\x03\x04 not really", b"\x80\x04K\x01."])
def test_files_that_are_not_archives(tmp_path, content):
    """Empty files, text, broken headers and pickles are refused as files."""
    path = tmp_path / "foreign.npz"
    path.write_bytes(content)
    refused(path, "path")


def test_foreign_archives(tmp_path):
    """An archive of something else is refused for its missing or different format tag."""
    path = tmp_path / "foreign.npz"
    np.savez(path, x=np.eye(2))
    refused(path, "format", "missing", "holds x")
    np.savez(path, format=np.array("something else"))
    refused(path, "format", "something else")


def test_pickled_members_are_never_loaded(saved):
    """An object array, which would need pickle, is refused."""
    path, members = saved
    np.savez(path, **(members | {"J": np.array([{"a": 1}], dtype=object)}))
    refused(path, "path", "allow_pickle")


@pytest.mark.parametrize(
    "header",
    [
        {"descr": "<f8", "fortran_order": False, "shape": (2**50,)},
        {"descr": "<f8", "fortran_order": False, "shape": (2**70,)},
        {"descr": "<f8", "fortran_order": False, "shape": (-1,)},
        {"descr": "<f8", "fortran_order": False, "shape": (True,)},
    ],
)
def test_a_member_that_lies_about_its_size_is_refused(saved, header):
    """A header that promises an absurd number of entries neither exhausts the memory nor escapes the typed error."""
    path, _ = saved
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, header)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("extra.npy", member.getvalue() + bytes(64))
    refused(path, "path")


def test_every_member_is_required(saved):
    """Each missing member is named."""
    path, members = saved
    for name in members:
        np.savez(path, **{key: value for key, value in members.items() if key != name})
        refused(path, name, "missing")


def test_every_number_is_checked(saved, level):
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
        if name not in EXAMPLES[level][1]:
            np.savez(path, **(members | {name: value[..., :-1]}))
            refused(path, name, "shape")


FAULTS_OF_STEPS = [
    ({"version": np.array(2)}, "version", "2, this release reads 1"),
    ({"version": np.array("1")}, "version", "this release reads 1"),
    ({"mu": np.array([-0.7])}, "mu", "mu[0] = -0.7"),
    ({"gammaE": np.array([-1.0])}, "gammaE", "gammaE[0] = -1.0"),
    ({"gamma": np.array([0.0, 0.0, 0.0, 0.0, 2.0, 0.0])}, "gamma", "bilateral"),
    ({"r": np.array([0])}, "r", "at least 1"),
    ({"r": np.array([3])}, "rows", "adds up to 3"),
    ({"rows": np.array([1, 2, 1, -1, 1])}, "rows", "5 whole numbers nc, nr, nl, nb, nbox"),
    ({"rows": np.array([1, 2, 1, 1])}, "rows", "5 whole numbers"),
    ({"rows": np.array([1, 2, 2, 1, 1])}, "gamma", "wanted (7,)"),
    ({"rows": np.array([1, 2, 1, 0, 2])}, "lo", "wanted (2,)"),
    ({"lo": np.array([1.0])}, "lo", "wanted <= hi[0]"),
    ({"Mv": np.zeros(3)}, "J", "wanted (6, 3)"),
    ({"M": np.ones((2, 2))}, "M", "singular"),
]


@pytest.mark.parametrize("level", ["velocity"])
@pytest.mark.parametrize(("name", "change"), [("Y", lambda y: 3.0 * y), ("v_free", lambda v: v + 5.0)])
def test_responses_belong_to_the_inertia(saved, name, change):
    """Y and v_free are stored for their bits; a file in which M does not give them is refused."""
    path, members = saved
    np.savez(path, **(members | {name: change(members[name])}))
    refused(path, name, "not M^-1 times")


def test_a_stored_inverse_is_checked(tmp_path):
    """The inverse in a file without M must be symmetric with a positive diagonal."""
    path = tmp_path / "problem.npz"
    problem_data.save(path, velocity_example(M=None, solve_inertia=np.eye(2)))
    with np.load(path) as archive:
        members = dict(archive)
    np.savez(path, **(members | {"M_inverse": np.array([[1.0, 0.5], [0.0, 1.0]])}))
    refused(path, "M_inverse", "not symmetric")
    np.savez(path, **(members | {"M_inverse": -np.eye(2)}))
    refused(path, "M_inverse", "not positive definite")


def test_a_missing_file_is_the_system_s_error(tmp_path):
    """No file at all is FileNotFoundError, as with open()."""
    with pytest.raises(FileNotFoundError):
        problem_data.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("inertia", [{}, {"M": None, "solve_inertia": np.array([[0.5, 0.1], [0.1, THIRD]])}])
def test_round_trip_at_acceleration_level(tmp_path, flag, inertia):
    """A loaded problem has the saved kind and bits, inertia solve and choice of solver included."""
    data = acceleration_example(use_complementarity_problem_solver=flag, **inertia)
    problem_data.save(tmp_path / "problem.npz", data)
    again = problem_data.load(tmp_path / "problem.npz")
    assert isinstance(again, ConstraintAccelProblemData)
    assert again.use_complementarity_problem_solver is flag
    assert_same_bits(again.blocks(), data.blocks())
    np.testing.assert_array_equal(again.solve_inertia(np.eye(2)), data.solve_inertia(np.eye(2)))
    np.testing.assert_array_equal(again.N_minus_muQ_T @ np.ones(3), data.N_minus_muQ_T @ np.ones(3))
    assert repr(again) == repr(data)


@pytest.mark.parametrize("level", ["acceleration"])
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


FAULTS_OF_INSTANTS = [
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
]


@pytest.mark.parametrize(
    ("level", "changes", "field", "text"),
    [
        *(("velocity", *fault) for fault in FAULTS_OF_STEPS),
        *(("acceleration", *fault) for fault in FAULTS_OF_INSTANTS),
    ],
)
def test_inconsistent_members(saved, changes, field, text):
    """Members that do not fit together, or break a rule of sign or order, are named."""
    path, members = saved
    np.savez(path, **(members | changes))
    refused(path, field, text)
