"""Custom constraints and their check: the required methods, and the refusals."""

import numpy as np
import pytest
from custom_constraints import A_POINT, B_POINT, Driven, Pin, Rolling, Speed, broken
from refusals import assert_messages
from trees import random_transform, random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    body_pose,
    joints,
    kinematics,
    point_bias_acceleration,
    point_jacobian,
    point_position,
    point_velocity,
)
from contactlab.multibody.constraints import (
    BodyWrench,
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    DistanceConstraint,
    LoopConstraint,
    baumgarte_term,
    check_constraint,
    constraint_gamma,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
    group_wrenches,
)
from contactlab.multibody.spatial import RigidInertia, Transform


@pytest.fixture(scope="module")
def tree() -> Model:
    return random_tree(4, bodies=4)


def as_loop(a: str, b: str, baumgarte: float | None = None) -> list[LoopConstraint]:
    """The three translation rows that `Pin` stands for, a being the world or fixed to it."""
    return [
        LoopConstraint(a, b, Transform(p=A_POINT), Transform(p=B_POINT), axis, baumgarte=baumgarte, name="loop")
        for axis in np.eye(6)[3:]
    ]


def test_a_pin_of_ones_own_equals_loop_rows(tree: Model) -> None:
    """The ball joint on the world written as a custom constraint has the rows, errors and terms of three loop rows."""
    q, v, _ = state(tree, 1)
    own, loop = ConstraintSet(tree, [Pin("world", "b2", 0.1)]), ConstraintSet(tree, as_loop("world", "b2", 0.1))
    for quantity in (
        lambda cs: constraint_jacobian(tree, q, cs),
        lambda cs: constraint_gamma(tree, q, v, cs),
        lambda cs: constraint_position_error(tree, q, cs),
        lambda cs: constraint_velocity_error(tree, q, v, cs),
        lambda cs: baumgarte_term(tree, q, v, cs),
    ):
        np.testing.assert_allclose(quantity(own), quantity(loop), rtol=1e-11, atol=1e-11)


def test_custom_rows_stand_where_they_were_put(tree: Model) -> None:
    """Among contacts and loops, each constraint keeps its rows, with its own stabilisation."""
    q, v, _ = state(tree, 2)
    parts = [
        [ContactConstraint("b1", (0, 0, 1), (0, 0, 1))],
        [Pin("b0", "b3", 0.2)],
        as_loop("b0", "b1"),
        [Driven()],
        [ContactConstraint("tool", (0, 1, 1), (1, 0, 0))],
    ]
    together = ConstraintSet(tree, [row for part in parts for row in part])
    alone = [ConstraintSet(tree, part) for part in parts]
    for quantity in (
        lambda cs: constraint_jacobian(tree, q, cs, t=0.4),
        lambda cs: constraint_gamma(tree, q, v, cs, t=0.4),
        lambda cs: constraint_velocity_error(tree, q, v, cs, t=0.4),
    ):
        np.testing.assert_array_equal(quantity(together), np.concatenate([quantity(cs) for cs in alone]))
    assert together.labels == (
        "contact0",
        "pin[0]",
        "pin[1]",
        "pin[2]",
        "loop[0]",
        "loop[1]",
        "loop[2]",
        "driven",
        "contact8",
    )


def test_time_is_passed_where_it_is_declared(tree: Model) -> None:
    """Errors, gamma and stabilisation of a driven point follow the time handed over; phi_t is in the velocity error."""
    q, v, _ = state(tree, 3)
    cs = ConstraintSet(tree, [Driven()]).with_baumgarte("driven", 0.5)
    height, rate = point_position(tree, q, "b1", A_POINT)[2], point_velocity(tree, q, v, "b1", A_POINT)[2]
    bias = point_bias_acceleration(tree, q, v, "b1", A_POINT)[2]
    for t in (0.0, 1.2):
        phi, phid = height - 0.3 * np.sin(t), rate - 0.3 * np.cos(t)
        np.testing.assert_allclose(constraint_position_error(tree, q, cs, t=t), [phi])
        np.testing.assert_allclose(constraint_velocity_error(tree, q, v, cs, t=t), [phid])
        np.testing.assert_allclose(baumgarte_term(tree, q, v, cs, t=t), [-4.0 * phid - 4.0 * phi])
        gamma = -bias - 0.3 * np.sin(t) - 4.0 * phid - 4.0 * phi
        np.testing.assert_allclose(constraint_gamma(tree, q, v, cs, t=t), [gamma])


def test_levels_have_the_errors_they_can_have(tree: Model) -> None:
    """Below position level position errors are zero, at acceleration level velocity errors and stabilisation too."""
    q, v, _ = state(tree, 4)
    pin = Pin("b0", "b3", 0.1)
    phi, phid = (
        constraint_position_error(tree, q, ConstraintSet(tree, [pin])),
        constraint_velocity_error(tree, q, v, ConstraintSet(tree, [pin])),
    )
    for level, position, velocity in (
        ("position", phi, phid),
        ("velocity", 0 * phi, phid),
        ("acceleration", 0 * phi, 0 * phid),
    ):
        own = Pin("b0", "b3", 0.1)
        own.level = level  # type: ignore[assignment]
        cs = ConstraintSet(tree, [own])
        np.testing.assert_array_equal(constraint_position_error(tree, q, cs), position)
        np.testing.assert_array_equal(constraint_velocity_error(tree, q, v, cs), velocity)
        np.testing.assert_allclose(baumgarte_term(tree, q, v, cs), -20.0 * velocity - 100.0 * position)


def test_a_jacobian_may_depend_on_the_velocity(tree: Model) -> None:
    """Rows that are not linear in v get v from the argument or from kinematics, and report it if there is none."""
    q, v, _ = state(tree, 5)
    cs = ConstraintSet(tree, [Speed()])
    expected = 2.0 * point_velocity(tree, q, v, "b1", A_POINT) @ point_jacobian(tree, q, "b1", A_POINT)
    np.testing.assert_allclose(constraint_jacobian(tree, q, cs, v=v)[0], expected)
    np.testing.assert_allclose(constraint_jacobian(tree, kinematics(tree, q, v), cs)[0], expected)
    with pytest.raises(ConstraintError, match="v: is needed: the Jacobian of Speed depends on it"):
        constraint_jacobian(tree, q, cs)
    assert check_constraint(tree, Speed()).ok


def test_what_methods_return_is_checked(tree: Model) -> None:
    """A wrong shape, None or an entry that is not finite names the constraint, the method and the shapes."""
    q, v, _ = state(tree, 8)
    nv = tree.nv
    cases = [
        (
            "jacobian",
            lambda s, m, q: np.zeros((nv, 3)),
            rf"Broken 'pin'.jacobian: must have shape \(3, {nv}\), got \({nv}, 3\)",
        ),
        ("gamma", lambda s, m, q, v: np.zeros((3, 1)), r"Broken 'pin'.gamma: must have shape \(3,\), got \(3, 1\)"),
        ("gamma", lambda s, m, q, v: None, "Broken 'pin'.gamma: returned None"),
        (
            "position_error",
            lambda s, m, q: np.zeros(2),
            r"Broken 'pin'.position_error: must have shape \(3,\), got \(2,\)",
        ),
        ("velocity_error", lambda s, m, q, v: [0, 0, np.nan], r"Broken 'pin'.velocity_error: entry \[2\] is nan"),
        ("velocity_error", lambda s, m, q, v: ["a"] * 3, "Broken 'pin'.velocity_error: must be numbers, got text"),
    ]
    for name, method, message in cases:
        cs = ConstraintSet(tree, [broken(**{name: method})])
        ask = {
            "jacobian": lambda cs=cs: constraint_jacobian(tree, q, cs),
            "gamma": lambda cs=cs: constraint_gamma(tree, q, v, cs),
            "position_error": lambda cs=cs: constraint_position_error(tree, q, cs),
            "velocity_error": lambda cs=cs: constraint_velocity_error(tree, q, v, cs),
        }
        with pytest.raises(ConstraintError, match=message):
            ask[name]()


def test_what_cannot_be_a_constraint_is_refused(tree: Model) -> None:
    """Rows, levels, arguments and halves of pairs are looked at when the set is made."""

    def timed(self: Pin, model: Model, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.zeros(3)

    def moving(self: Pin, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros((3, model.nv))

    cases = [
        ({"rows": 0}, "Broken 'pin'.rows: must be a number of rows, at least 1, got 0"),
        ({"rows": 2.0}, "Broken 'pin'.rows"),
        ({"level": "force"}, "Broken 'pin'.level: must be one of .*, got 'force'"),
        ({"gamma": lambda self, model, q: 0}, "Broken 'pin'.gamma: must take 3 arguments, takes 2"),
        ({"position_error": timed}, "velocity_error: must be given, .* position_error depends on t"),
        ({"jacobian": moving}, "velocity_error: must be given, .* the Jacobian depends on v"),
        ({"jacobian": moving, "velocity_error": Pin.gamma}, "jacobian: must not depend on v at level 'position'"),
        ({"assembly_position_error": Pin.position_error}, "error and jacobian must be given together"),
    ]
    for changes, message in cases:
        with pytest.raises(ConstraintError, match=message):
            ConstraintSet(tree, [broken(**changes)])
    with pytest.raises(ConstraintError, match="baumgarte: the time constant must be > 0"):
        ConstraintSet(tree, [Pin("b0", "b1", baumgarte=-1.0)])


def test_wrenches_of_a_custom_constraint(tree: Model) -> None:
    """What `wrenches` says is passed on in each frame; without the method the group is named."""
    q, _, _ = state(tree, 9)
    cs = ConstraintSet(tree, [Driven(), Pin("b0", "b3")])
    forces = np.array([9.0, 1.0, 2.0, 3.0])
    for entry, sign, point in zip(
        group_wrenches(tree, q, cs, forces, "pin", frame="world"), (-1, 1), (A_POINT, B_POINT), strict=True
    ):
        np.testing.assert_allclose(entry.wrench, sign * np.array([0, 0, 0, 1, 2, 3]), atol=1e-14)
        np.testing.assert_allclose(entry.frame.p, point_position(tree, q, entry.body, point))
    for entry in group_wrenches(tree, q, cs, forces, "pin", frame="body"):
        R = body_pose(tree, q, entry.body).R
        np.testing.assert_allclose(np.abs(R @ entry.wrench[3:]), [1, 2, 3], rtol=1e-13)
    with pytest.raises(ConstraintError, match="Driven 'driven' has no method wrenches"):
        group_wrenches(tree, q, cs, forces, "driven")
    for said, message in (
        (None, "must return a sequence of BodyWrench"),
        ([BodyWrench("b0", Transform(), np.zeros(3))], "shape"),
    ):
        wrong = ConstraintSet(tree, [broken(wrenches=lambda s, m, q, f, said=said: said)])
        with pytest.raises(ConstraintError, match=message):
            group_wrenches(tree, q, wrong, np.zeros(3), "pin")


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
    """Pin, driven point and rolling disc agree with finite differences of themselves."""
    report = check_constraint(tree, Pin("b0", "b3"))
    assert report.ok, str(report)
    assert not any(check.skipped for check in report.checks)
    report = check_constraint(tree, Driven(), t=2.0)
    assert report.ok, str(report)
    assert report.check("wrenches").note == "no method wrenches"
    upright = disc.neutral
    upright[2] = 0.6
    upright[3:] = np.array([np.cos(0.2), np.sin(0.2), 0.0, 0.0])
    report = check_constraint(disc, Rolling(), q=upright)
    assert report.ok, str(report)
    assert report.check("position error's rate").skipped


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
        assert report.check("the same").skipped == isinstance(rows[0], ContactConstraint)


WRONG = [
    ("velocity error's rate", {"gamma": lambda s, m, q, v: -Pin.gamma(s, m, q, v)}),
    ("velocity error's rate", {"gamma": lambda s, m, q, v: np.zeros(3)}),
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
    assert report.check(check).row.startswith("pin[")


def test_what_cannot_be_checked_is_said(tree: Model) -> None:
    """No rows, no samples, another model's set: errors. An acceleration-level row: skipped, with the reason."""
    assert_messages(
        ConstraintError,
        ("constraint: has no rows", lambda: check_constraint(tree, [])),
        ("samples: must be", lambda: check_constraint(tree, Driven(), samples=0)),
        ("another model", lambda: check_constraint(random_tree(5), ConstraintSet(tree, [Driven()]))),
    )
    own = Pin("b0", "b3")
    own.level = "acceleration"
    report = check_constraint(tree, own)
    assert report.ok
    assert [check.skipped for check in report.checks] == [True, True, True, True, False]
