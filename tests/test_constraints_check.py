"""`check_constraint`: right constraints pass, wrong ones are found out, and the report says where."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from custom_constraints import A_POINT, Driven, Pin, Rolling, broken
from trees import random_transform, random_tree

from contactlab.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    CustomConstraint,
    DistanceConstraint,
    LoopConstraint,
    check_constraint,
)
from contactlab.multibody import (
    Model,
    ModelBuilder,
    joints,
    point_acceleration,
    point_bias_acceleration,
    point_jacobian,
    point_velocity,
)
from contactlab.spatial import RigidInertia


@pytest.fixture(scope="module")
def tree() -> Model:
    return random_tree(4, bodies=4)


@pytest.fixture(scope="module")
def disc() -> Model:
    builder = ModelBuilder()
    inertia = RigidInertia(2.0, inertia=np.diag([0.125, 0.25, 0.125]))
    return builder.add_body("disc", joint=joints.FloatingBase(), inertia=inertia).build()


@pytest.fixture(scope="module")
def pair() -> Model:
    """Two bodies in free flight."""
    builder = ModelBuilder()
    for name in ("one", "two"):
        inertia = RigidInertia.solid_box(1.5, (0.3, 0.2, 0.1))
        builder.add_body(name, joint=joints.FloatingBase(), inertia=inertia)
    return builder.build()


def test_right_constraints_pass_the_check(tree: Model, disc: Model) -> None:
    """Pin, driven point and rolling disc agree with finite differences of themselves and keep their energy."""
    report = check_constraint(tree, Pin("b0", "b3"))
    assert report.ok, str(report)
    assert not any(check.skipped for check in report.checks)
    assert report.runs[0].energy_drift > 3.5 * report.runs[1].energy_drift > 12.0 * report.runs[2].energy_drift
    report = check_constraint(tree, Driven(), t=2.0)
    assert report.ok, str(report)
    assert report.check("energy").note == "the constraint does work: it moves with time"
    assert report.check("wrenches").note == "no method wrenches"
    upright = disc.neutral
    upright[2] = 0.6
    upright[3:] = np.array([np.cos(0.2), np.sin(0.2), 0.0, 0.0])
    report = check_constraint(disc, Rolling(), q=upright)
    assert report.ok, str(report)
    assert report.check("position error's rate").skipped
    assert not report.check("energy").skipped


def test_built_in_constraints_pass_the_check(pair: Model) -> None:
    """Contacts, a ball joint, a hinge, a sliding loop and a rod between moving bodies agree with themselves."""
    rng = np.random.default_rng(1)
    frames = random_transform(rng, 0.1), random_transform(rng, 0.1)
    six = np.eye(6)
    for rows in (
        [ContactConstraint("one", A_POINT, n, name="foot") for n in np.eye(3)],
        [LoopConstraint("one", "two", *frames, axis) for axis in six[3:]],
        [LoopConstraint("one", "two", *frames, axis) for axis in six[[0, 1, 3, 4, 5]]],
        [LoopConstraint("one", "two", *frames, axis, sliding=True) for axis in six[[0, 1, 2, 4, 5]]],
        [DistanceConstraint("one", A_POINT, "two", (0.1, 0, 0), 0.7)],
    ):
        report = check_constraint(pair, rows, samples=2)
        assert report.ok, str(report)
        assert len(report.runs) == 3
        assert report.check("the same").skipped == isinstance(rows[0], ContactConstraint)


def test_the_check_tells_loops_that_should_slide(pair: Model) -> None:
    """Translation rows that let origins part, on a body that turns, leave their error unless they are sliding."""
    rng = np.random.default_rng(1)
    frames = random_transform(rng, 0.1), random_transform(rng, 0.1)
    rows = [LoopConstraint("one", "two", *frames, axis) for axis in np.eye(6)[[0, 1, 2, 4, 5]]]
    report = check_constraint(pair, rows, samples=2, duration=0.0)
    assert not report.check("the same on the constraint").ok
    assert not report.ok


WRONG = [
    ("velocity error's rate", {"gamma": lambda s, m, q, v: -Pin.gamma(s, m, q, v)}),
    ("velocity error's rate", {"gamma": lambda s, m, q, v: np.zeros(3)}),
    ("energy", {"gamma": lambda s, m, q, v: -Pin.gamma(s, m, q, v)}),
    ("velocity error's slope", {"velocity_error": lambda s, m, q, v: 1.001 * Pin.jacobian(s, m, q) @ v}),
    ("position error's rate", {"jacobian": lambda s, m, q: -Pin.jacobian(s, m, q)}),
    ("position error's rate", {"position_error": lambda s, m, q: 2.0 * Pin.position_error(s, m, q)}),
    ("wrenches", {"wrenches": lambda s, m, q, forces: Pin.wrenches(s, m, q, -forces)}),
    ("wrenches", {"wrenches": lambda s, m, q, forces: Pin.wrenches(s, m, q, forces)[:1]}),
]


@pytest.mark.parametrize(("check", "changes"), WRONG, ids=[f"{check}-{i}" for i, (check, _) in enumerate(WRONG)])
def test_wrong_constraints_are_found_out(tree: Model, check: str, changes: dict[str, object]) -> None:
    """A wrong sign, factor or missing term fails the comparison it belongs to, and the report says which row."""
    report = check_constraint(tree, broken(**changes), samples=2)
    assert not report.ok
    assert not report.check(check).ok
    assert "WRONG" in str(report)
    if check != "energy":
        assert report.check(check).row.startswith("pin[")


def test_a_forgotten_time_term_is_found_out(tree: Model) -> None:
    """A driven point without phi_t in its velocity error, or without its rate in gamma, fails."""

    class Still(Driven):
        def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
            return point_velocity(model, q, v, "b1", A_POINT)[2:]

    class Unaware(Driven):
        def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:  # type: ignore[override]
            return -point_bias_acceleration(model, q, v, "b1", A_POINT)[2:]

    assert not check_constraint(tree, Still(), duration=0.0).check("position error's rate").ok
    report = check_constraint(tree, Unaware(), duration=0.0)
    assert report.check("position error's rate").ok
    assert not report.check("velocity error's rate").ok


class Turning(CustomConstraint):
    """A point does not move along a direction that turns with time: workless, of velocity level."""

    rows = 1
    level = "velocity"

    def along(self, t: float, order: int) -> np.ndarray:
        return 3.0**order * np.array([np.cos(3.0 * t + order * np.pi / 2), np.sin(3.0 * t + order * np.pi / 2), 0.0])

    def jacobian(self, model: Model, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        return self.along(t, 0)[None, :] @ point_jacobian(model, q, "b1", A_POINT)

    def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
        return self.jacobian(model, q, t) @ v

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
        bias = point_acceleration(model, q, v, np.zeros(model.nv), "b1", A_POINT)
        turn = self.along(t, 1) @ point_velocity(model, q, v, "b1", A_POINT)
        return np.array([-self.along(t, 0) @ bias - turn])


def test_workless_rows_that_turn_with_time_keep_the_energy(tree: Model) -> None:
    """The free run begins at the time for which its state was put together."""
    report = check_constraint(tree, Turning(), t=0.7)
    assert not report.check("energy").skipped
    assert report.ok, str(report)


def test_the_report_is_a_frozen_table(tree: Model) -> None:
    """Its text has a line for each check and each run; it cannot be changed, and asks only for checks there are."""
    report = check_constraint(tree, Pin("b0", "b3"), samples=1)
    assert len(str(report).splitlines()) == len(report.checks) + len(report.runs)
    assert "ok" in str(report)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.checks = ()  # type: ignore[misc]
    with pytest.raises(ConstraintError, match="no check begins with 'speed'"):
        report.check("speed")


def test_what_cannot_be_checked_is_said(tree: Model) -> None:
    """No rows, no samples, another model's set: errors. An acceleration-level row: skipped, with the reason."""
    for message, call in (
        ("constraint: has no rows", lambda: check_constraint(tree, [])),
        ("samples: must be", lambda: check_constraint(tree, Driven(), samples=0)),
        ("another model", lambda: check_constraint(random_tree(5), ConstraintSet(tree, [Driven()]))),
    ):
        with pytest.raises(ConstraintError, match=message):
            call()
    own = Pin("b0", "b3")
    own.level = "acceleration"
    report = check_constraint(tree, own)
    assert report.ok
    assert [check.skipped for check in report.checks] == [True, True, True, True, False, True]
    assert report.check("energy").note == "accelerations are prescribed"
