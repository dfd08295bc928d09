"""Operators of problem data in every form, and the static helpers: generalised forces, forces in contact frames."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from mixed import random_acceleration_problem
from problem_fields import pair, refuses
from refusals import assert_fields, assert_messages, assert_named
from rods import Rod
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from contactlab import ConstraintSolver
from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData, ProblemDataError

A = np.array([[1.0, 0.0, -2.0], [0.0, 3.0, 0.5]])
MASSES = np.array([1.0, 2.0, 4.0])
MOMENTUM = [1.0, 2.0, 3.0]


FORMS = {
    "array": lambda a: a,
    "list": lambda a: a.tolist(),
    "integers": lambda a: (2 * a).astype(np.int32) / 2,
    "fortran": np.asfortranarray,
    "csr_array": scipy.sparse.csr_array,
    "csc_matrix": scipy.sparse.csc_matrix,
    "coo_array": scipy.sparse.coo_array,
    "LinearOperator": aslinearoperator,
    "own LinearOperator": lambda a: LinearOperator(a.shape, matvec=lambda v: a @ v, rmatvec=lambda f: a.T @ f),
    "pair": pair,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ["N", "F", "L", "G"])
def test_every_form_is_the_same_map(field, form):
    """Products with vectors and matrices, both ways, agree with the dense matrix for each form and class."""
    fields = {field: FORMS[form](A), "Mv": MOMENTUM, "M": np.diag(MASSES)}
    if field == "F":
        fields |= {"N": np.ones((1, 3)), "mu": [0.5], "r": [2]}
    elif field != "N":
        fields["k" + field] = [0.0, 0.0]
    else:
        fields["mu"] = [0.0, 0.0]
    linear_map = getattr(ConstraintVelProblemData(**fields), field)
    random = np.random.default_rng(0)
    for right in (random.standard_normal(3), random.standard_normal((3, 4)), np.zeros((3, 0))):
        np.testing.assert_allclose(linear_map @ right, A @ right, rtol=1e-14, atol=1e-14)
    for left in (random.standard_normal(2), random.standard_normal((2, 4)), np.zeros((2, 0))):
        np.testing.assert_allclose(linear_map.T @ left, A.T @ left, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(linear_map.T.T @ np.ones(3), A @ np.ones(3))
    assert linear_map.shape == (2, 3)
    assert linear_map.T.shape == (3, 2)


def test_rows_of_a_pair_come_from_mu_r_and_k():
    """The number of rows of callables follows from mu for N, r for F, and k for L, G and frictionless N."""
    data = ConstraintVelProblemData(Mv=MOMENTUM, M=np.eye(3), N=pair(A), F=pair(A), mu=[1.0, 1.0], r=[1, 1])
    assert (data.nc, data.nr) == (2, 2)
    data = ConstraintVelProblemData(Mv=MOMENTUM, M=np.eye(3), N=pair(A), kN=[0.0, 0.0])
    assert (data.nc, data.nr) == (2, 0)


@pytest.mark.parametrize("field", ["N", "L", "G"])
def test_rows_of_a_pair_that_cannot_be_told(field):
    """A pair without a known number of rows is refused with advice."""
    make = partial(ConstraintVelProblemData, Mv=MOMENTUM, M=np.eye(3), **{field: pair(A)})
    assert_named(ProblemDataError, field, f"cannot be told: give .*k{field}", make)


def nan_map(v):
    """A function that spoils its second entry."""
    return np.array([1.0, np.nan])


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ((lambda v: (A @ v)[:1], lambda f: A.T @ f), r"shape \(1,\), wanted \(2,\)"),
        ((lambda v: A @ v, lambda f: A @ f), "failed on an argument of shape"),
        ((lambda v: A @ v, lambda f: (A.T @ f)[:2]), r"shape \(2,\), wanted \(3,\)"),
        ((lambda v: A @ v, lambda f: -A.T @ f), "not adjoint"),
        ((lambda v: A @ v, lambda f: 1.001 * A.T @ f), "not adjoint"),
        ((lambda v: A @ v + 1.0, lambda f: A.T @ f), "not adjoint"),
        ((nan_map, lambda f: A.T @ f), r"L\[1\] = nan"),
        ((lambda v: None, lambda f: A.T @ f), "dtype object"),
        ((lambda v: (A @ v) * 1j, lambda f: A.T @ f), "dtype complex128"),
        (lambda v: A @ v, "one callable, wanted a pair"),
        (LinearOperator((2, 3), matvec=lambda v: A @ v), "failed on an argument of shape"),
        (aslinearoperator(np.ones((2, 4))), r"shape \(2, 4\), wanted \(\*, 3\)"),
        (scipy.sparse.csr_array(np.ones((2, 4))), r"shape \(2, 4\), wanted \(\*, 3\)"),
        (scipy.sparse.csr_array([[0, 0, 0], [1, 0, np.inf]]), r"L\[1, 2\] = inf"),
        (scipy.sparse.csr_array(1j * A), "dtype complex128"),
    ],
)
def test_faulty_operators_are_refused(operator, message):
    """A wrong shape, NaN, a transpose that is not adjoint: each is named before any solving."""
    with pytest.raises(ProblemDataError, match=rf"^L(\.T)?: .*{message}"):
        ConstraintVelProblemData(Mv=MOMENTUM, M=np.eye(3), L=operator, kL=[0.0, 0.0])


def test_functions_may_work_in_place():
    """Functions that overwrite their argument do not disturb the caller's vector."""

    def double(v):
        v *= 2.0
        return v

    data = ConstraintVelProblemData(Mv=MOMENTUM, solve_inertia=double, L=(double, double), kL=np.zeros(3))
    v = np.ones(3)
    np.testing.assert_array_equal(data.L @ v, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(data.solve_inertia(v), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(v, np.ones(3))


def matrices_only(B):
    """M^-1 B for columns."""
    if B.ndim != 2:
        raise ValueError("columns, please")
    return B / MASSES[:, np.newaxis]


def picky_vectors(b):
    """M^-1 b that rejects matrices with an error."""
    if b.ndim != 1:
        raise ValueError("one vector, please")
    return b / MASSES


SOLVES = {
    "both": lambda B: np.diag(1.0 / MASSES) @ B,
    "vectors": picky_vectors,
    "broadcasting vectors": lambda b: b / MASSES,
    "matrices": matrices_only,
    "inverse array": np.diag(1.0 / MASSES),
    "inverse sparse": scipy.sparse.diags_array(1.0 / MASSES),
    "LinearOperator": aslinearoperator(np.diag(1.0 / MASSES)),
}


@pytest.mark.parametrize("form", SOLVES)
def test_every_form_of_the_inertia_solve(form):
    """Each accepted form gives M^-1 B for one vector and for columns, square ones included."""
    solve = ConstraintVelProblemData(Mv=MOMENTUM, solve_inertia=SOLVES[form]).solve_inertia
    for B in (np.arange(3.0), np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3), np.zeros((3, 0))):
        expected = (B.T / MASSES).T
        np.testing.assert_allclose(solve(B), expected, rtol=1e-14)
        assert solve(B).shape == expected.shape


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (lambda b: np.ones(2), "wanted"),
        (lambda b: np.full(b.shape, np.nan), r"solve_inertia\[0\] = nan"),
        (lambda b: -b, "not positive definite"),
        (lambda B: np.triu(np.ones((3, 3))) @ B, "not symmetric"),
        (lambda b: b.no_such_method(), "AttributeError"),
        (np.eye(2), r"shape \(2, 2\), wanted \(3, 3\)"),
        (aslinearoperator(np.eye(2)), r"shape \(2, 2\), wanted \(3, 3\)"),
        (None, "missing, and M is missing too"),
    ],
)
def test_faulty_inertia_solves_are_refused(solve, message):
    """Wrong shapes, NaN, a solve that is not symmetric positive definite, or none at all."""
    make = partial(ConstraintVelProblemData, Mv=MOMENTUM, solve_inertia=solve)
    assert_named(ProblemDataError, "solve_inertia", message, make)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_solve_is_symmetric_to_a_millionth_in_any_unit(unit):
    """An error of 1e-8 of the size is rounding of the caller's, one of 1e-4 a fault."""
    skew = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    ConstraintVelProblemData(Mv=MOMENTUM, solve_inertia=lambda b: unit * (b + 1e-8 * skew @ b))
    with pytest.raises(ProblemDataError, match="not symmetric"):
        ConstraintVelProblemData(Mv=MOMENTUM, solve_inertia=lambda b: unit * (b + 1e-4 * skew @ b))


@pytest.mark.parametrize(
    ("M", "message"),
    [
        (np.eye(2), r"shape (2, 2), wanted (3, 3)"),
        (np.diag([1.0, 0.0, 1.0]), "M[1, 1] = 0.0"),
        (np.diag([1.0, 2.0, -3.0]), "M[2, 2] = -3.0"),
        ([[1.0, 0.2, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]], "not symmetric: M[0, 1] = 0.2 but M[1, 0] = 0.3"),
        (np.ones((3, 3)), "singular"),
        ([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "not positive definite: smallest eigenvalue -1"),
        ([[1.0, np.nan, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "M[0, 1] = nan"),
        (1e-9 * np.ones((3, 3)), "singular"),
    ],
)
def test_faulty_mass_matrices_are_named(M, message):
    """Faults of shape, sign, symmetry and rank of M have separate messages."""
    refuses("M", message, lambda: ConstraintVelProblemData(Mv=MOMENTUM, M=M))


def test_extreme_mass_ratios_are_not_singular():
    """Twelve decades between masses do not count as a rank fault."""
    data = ConstraintVelProblemData(Mv=MOMENTUM, M=np.diag([1e-6, 1.0, 1e6]))
    np.testing.assert_allclose(data.solve_inertia(np.ones(3)), [1e6, 1.0, 1e-6])


FRAME = np.array([[0.0, 1.0], [1.0, 0.0]])


def turned(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def test_forces_act_through_the_operators() -> None:
    """(N - mu Q)' fN + F' fF + L' fL + G' fG, its acceleration, and the total with tau, against dense algebra."""
    data = random_acceleration_problem(0, nb=2)
    assert data.M is not None
    cf = np.random.default_rng(0).normal(size=data.nc + data.nr + data.nl + data.nb)
    forces = ConstraintForces.from_packed(data, cf)
    wanted = data.N_minus_muQ_T @ forces.fN + data.F.T @ forces.fF + data.L.T @ forces.fL + data.G.T @ forces.fG
    force = ConstraintSolver.compute_generalized_force_from_constraint_forces(data, cf)
    np.testing.assert_allclose(force, wanted, atol=1e-13)
    by_class = ConstraintSolver.compute_generalized_force_from_constraint_forces(data, forces)
    np.testing.assert_allclose(by_class, wanted, atol=1e-13)
    part = ConstraintSolver.compute_generalized_acceleration_from_constraint_forces(data, cf)
    np.testing.assert_allclose(data.M @ part, wanted, atol=1e-12)
    total = ConstraintSolver.compute_generalized_acceleration(data, cf)
    np.testing.assert_allclose(data.M @ total, wanted + data.tau, atol=1e-12)


def test_forces_that_do_not_fit_are_named() -> None:
    """Lengths of packed vectors and of classes."""
    data = random_acceleration_problem(1)
    cf = np.arange(1.0, 1.0 + data.nc + data.nr + data.nl)
    force = ConstraintSolver.compute_generalized_force_from_constraint_forces
    assert_fields(
        ProblemDataError,
        ("cf", lambda: force(data, cf[1:])),
        ("cf", lambda: force(data, [])),
        ("forces", lambda: force(data, ConstraintForces(cf[:2], cf[2:]))),
    )


def test_the_two_signatures_of_the_acceleration_are_not_mixed() -> None:
    """Velocity level wants (data, v, forces, h); acceleration level (data, forces) alone."""
    accel, vel = Rod(0.0).sticking(0.1), Rod(0.0).at_velocity_level(0.1)
    cf = np.ones(4)
    a = ConstraintSolver.compute_generalized_acceleration(vel, np.zeros(3), cf, 0.5)
    np.testing.assert_allclose(
        a, ConstraintSolver.compute_generalized_acceleration(vel, v=np.zeros(3), forces=cf, h=0.5)
    )
    for arguments in ((vel, cf), (vel, np.zeros(3), cf), (accel, np.zeros(3), cf), (accel, cf, None, 0.1), (accel,)):
        with pytest.raises(TypeError, match="level: compute_generalized_acceleration"):
            ConstraintSolver.compute_generalized_acceleration(*arguments)
    assert_messages(
        ProblemDataError,
        ("^h: ", lambda: ConstraintSolver.compute_generalized_acceleration(vel, np.zeros(3), cf, 0.0)),
        ("wanted ConstraintVelProblemData", lambda: ConstraintSolver.compute_generalized_velocity_change(accel, cf)),
    )


def test_contact_forces_of_a_step_in_their_frames() -> None:
    """(fN, fF) of each contact, in list order, whichever way the frames are turned and from either form of forces."""
    data = Rod(0.0).at_velocity_level(0.1)
    cf = [1.0, 2.0, 3.0, -4.0]
    frames = [FRAME, turned(0.3)]
    for forces in (cf, ConstraintForces.from_packed(data, cf)):
        first, second = ConstraintSolver.calc_contact_forces_in_contact_frames(data, forces, frames)
        np.testing.assert_allclose(first, [1.0, 3.0], atol=1e-15)
        np.testing.assert_allclose(second, [2.0, -4.0], atol=1e-15)
        assert first.shape == (2,)


def mixed_contacts(**more: Any) -> ConstraintAccelProblemData:
    """Three contacts of a planar body, the middle one sliding."""
    fields: dict[str, Any] = {
        "M": np.eye(3),
        "tau": np.zeros(3),
        "N": [[0, 1, -1], [0, 1, 0], [0, 1, 1]],
        "Q": [[1, 0, 0]],
        "mu_sliding": [0.5],
        "sliding_contacts": [1],
        "F": [[1, 0, 0], [1, 0, 0]],
        "mu_non_sliding": [0.7, 0.8],
        "r": [1, 1],
    }
    return ConstraintAccelProblemData(**(fields | more))


def test_contact_forces_at_one_instant_include_those_of_sliding_contacts() -> None:
    """A sliding contact has (fN, -mu fN); the others take their friction in order."""
    forces = ConstraintSolver.calc_contact_forces_in_contact_frames(
        mixed_contacts(), [1.0, 2.0, 3.0, 0.1, 0.2], [FRAME, turned(1.0), FRAME]
    )
    np.testing.assert_allclose(forces, [[1.0, 0.1], [2.0, -1.0], [3.0, 0.2]], atol=1e-15)


def test_contact_frames_give_the_force_on_the_body() -> None:
    """Turned back into world axes, the forces add up to the generalised force's linear part."""
    rod = Rod(1.0, v=(-1.0, 0.0, 0.0), load=(3.0, 0.0, 1.0))
    for data in (rod.sticking(0.3), rod.sliding(0.3)):
        solution = ConstraintSolver().solve_constraint_problem(data)
        # The rod slides towards -x: the tangent of the sliding frame points along its motion.
        frame = np.array([[0.0, -1.0 if data.ns else 1.0], [1.0, 0.0]])
        (force,) = ConstraintSolver.calc_contact_forces_in_contact_frames(data, solution.forces, [frame])
        np.testing.assert_allclose(frame @ force, solution.generalized_force[:2], atol=1e-13)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([[0.0, 1.0], [1.0, 1e-7]], "frame 1 is not orthonormal: R' R is off by 1e-07"),
        ([[0.0, 1.001], [1.0, 0.0]], "frame 1 is not orthonormal: R' R is off by 0.002"),
        ([[0.0, 1.0], [0.9, 0.0]], "frame 1 is not orthonormal: R' R is off by 0.19"),
        ([[np.nan, 1.0], [1.0, 0.0]], "frame 1 is not orthonormal: R' R is off by nan"),
        (np.eye(3), r"frame 1 has shape \(3, 3\), wanted \(2, 2\)"),
        ("normal", r"frame 1 is not an array of numbers"),
    ],
)
def test_frames_that_are_not_orthonormal_are_named(frame: Any, message: str) -> None:
    """The error has the frame, its fault, and the deviation."""
    data = Rod(0.0).at_velocity_level(0.1)
    turn = partial(ConstraintSolver.calc_contact_forces_in_contact_frames, data, np.ones(4), [FRAME, frame])
    assert_named(ProblemDataError, "contact_frames", message, turn)


def test_contact_frames_are_planar() -> None:
    """More than one friction direction, or none, has no planar frame; rounding in a frame is accepted."""
    near = FRAME + [[0.0, 1e-9], [0.0, 1e-9]]
    ConstraintSolver.calc_contact_forces_in_contact_frames(Rod(np.pi / 2).at_velocity_level(0.1), np.ones(2), [near])
    rod = Rod(np.pi / 2, more=1)
    for data, size in ((rod.at_velocity_level(0.1), 3), (rod.sticking(0.1), 3)):
        with pytest.raises(ProblemDataError, match=r"^r: .*r\[0\] = 2, wanted 1"):
            ConstraintSolver.calc_contact_forces_in_contact_frames(data, np.ones(size), [FRAME])
    without = mixed_contacts(F=[[1, 0, 0]], r=[1, 0], mu_non_sliding=[0.7, 0.0])
    with pytest.raises(ProblemDataError, match=r"r\[1\] = 0, wanted 1.*non-sliding"):
        ConstraintSolver.calc_contact_forces_in_contact_frames(without, np.ones(4), [FRAME] * 3)
