"""The static helpers at both levels: what forces do, and forces in contact frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mixed import random_acceleration_problem
from rods import Rod

from contactlab import ConstraintSolver
from problem_data import ConstraintAccelProblemData, ConstraintForces, ProblemDataError

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
    part = ConstraintSolver.compute_generalized_acceleration_from_constraint_forces(data, cf)
    np.testing.assert_allclose(data.M @ part, wanted, atol=1e-12)
    total = ConstraintSolver.compute_generalized_acceleration(data, cf)
    np.testing.assert_allclose(data.M @ total, wanted + data.tau, atol=1e-12)


def test_packed_vectors_and_forces_by_class_are_equal() -> None:
    """Both forms give the same bits, by position and by keyword; lengths that do not fit are named."""
    data = random_acceleration_problem(1)
    cf = np.arange(1.0, 1.0 + data.nc + data.nr + data.nl)
    forces = ConstraintForces.from_packed(data, cf)
    for helper in (
        ConstraintSolver.compute_generalized_force_from_constraint_forces,
        ConstraintSolver.compute_generalized_acceleration_from_constraint_forces,
        ConstraintSolver.compute_generalized_acceleration,
    ):
        assert np.array_equal(helper(data, cf), helper(data, forces))
        assert np.array_equal(helper(data, forces=cf), helper(data, forces))
        with pytest.raises(ProblemDataError, match="^cf: shape"):
            helper(data, cf[1:])
        with pytest.raises(ProblemDataError, match="^cf: shape"):
            helper(data, [])
        with pytest.raises(ProblemDataError, match="lengths"):
            helper(data, ConstraintForces(cf[:2], cf[2:]))


def test_the_two_signatures_of_the_acceleration_are_not_mixed() -> None:
    """Velocity level wants (data, v, forces, h); acceleration level (data, forces) alone."""
    accel, vel = Rod(0.0).sticking(0.1), Rod(0.0).at_velocity_level(0.1)
    cf = np.ones(4)
    a = ConstraintSolver.compute_generalized_acceleration(vel, np.zeros(3), cf, 0.5)
    np.testing.assert_allclose(
        a, ConstraintSolver.compute_generalized_acceleration(vel, v=np.zeros(3), forces=cf, h=0.5)
    )
    wrong: list[tuple[Any, ...]] = [(vel, cf), (vel, np.zeros(3), cf), (accel, np.zeros(3), cf), (accel, cf, None, 0.1)]
    wrong.append((accel,))
    for arguments in wrong:
        with pytest.raises(TypeError, match="level: compute_generalized_acceleration"):
            ConstraintSolver.compute_generalized_acceleration(*arguments)
    with pytest.raises(ProblemDataError, match="^h: "):
        ConstraintSolver.compute_generalized_acceleration(vel, np.zeros(3), cf, 0.0)
    with pytest.raises(ProblemDataError, match="wanted ConstraintVelProblemData"):
        ConstraintSolver.compute_generalized_velocity_change(accel, cf)


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
        ([[0.0, 1.0], [1.0, 1e-7]], r"frame 1: normal \. tangent = 1e-07, wanted 0"),
        ([[0.0, 1.001], [1.0, 0.0]], r"frame 1: tangent of length 1\.001, wanted 1"),
        ([[0.0, 1.0], [0.9, 0.0]], r"frame 1: normal of length 0\.9, wanted 1"),
        ([[np.nan, 1.0], [1.0, 0.0]], r"frame 1: normal \. tangent = nan"),
        (np.eye(3), r"frame 1 has shape \(3, 3\), wanted \(2, 2\)"),
        ("normal", r"frame 1 is not an array of numbers"),
    ],
)
def test_frames_that_are_not_orthonormal_are_named(frame: Any, message: str) -> None:
    """The frame, what is wrong with it and by how much."""
    data = Rod(0.0).at_velocity_level(0.1)
    with pytest.raises(ProblemDataError, match=message) as caught:
        ConstraintSolver.calc_contact_forces_in_contact_frames(data, np.ones(4), [FRAME, frame])
    assert caught.value.field == "contact_frames"


def test_frames_within_rounding_of_orthonormal_are_accepted() -> None:
    """Up to the square root of the machine precision."""
    data = Rod(np.pi / 2).at_velocity_level(0.1)
    ConstraintSolver.calc_contact_forces_in_contact_frames(data, np.ones(2), [FRAME + [[0.0, 1e-9], [0.0, 1e-9]]])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_frame_per_contact(count: int) -> None:
    """Too few or too many are refused."""
    data = Rod(0.0).at_velocity_level(0.1)
    with pytest.raises(ProblemDataError, match=rf"{count} frames, wanted 2"):
        ConstraintSolver.calc_contact_forces_in_contact_frames(data, np.ones(4), [FRAME] * count)


def test_contact_frames_are_planar() -> None:
    """More than one friction direction, or none, has no planar frame; the field is r."""
    rod = Rod(np.pi / 2, more=1)
    for data, size in ((rod.at_velocity_level(0.1), 3), (rod.sticking(0.1), 3)):
        with pytest.raises(ProblemDataError, match=r"r\[0\] = 2, wanted 1") as caught:
            ConstraintSolver.calc_contact_forces_in_contact_frames(data, np.ones(size), [FRAME])
        assert caught.value.field == "r"
    without = mixed_contacts(F=[[1, 0, 0]], r=[1, 0], mu_non_sliding=[0.7, 0.0])
    with pytest.raises(ProblemDataError, match=r"r\[1\] = 0, wanted 1.*non-sliding"):
        ConstraintSolver.calc_contact_forces_in_contact_frames(without, np.ones(4), [FRAME] * 3)
