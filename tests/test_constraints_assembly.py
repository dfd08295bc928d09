"""Assembly of positions and velocities: the nearest state that meets the conditions."""

from typing import Any

import numpy as np
import pytest
from custom_constraints import Driven, Linear, Rolling, Speed
from mechanisms import FourBar, feet, pin, quadruped, standing
from refusals import assert_fields
from trees import random_transform, random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    Transform,
    body_pose,
    difference,
    integrate,
    joints,
    point_position,
    random_configuration,
)
from contactlab.multibody.constraints import (
    ConstraintError,
    ConstraintSet,
    DistanceConstraint,
    LoopConstraint,
    assemble_q,
    assemble_v,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
)
from contactlab.multibody.constraints.assembly_conditions import conditions_of
from contactlab.multibody.constraints.assembly_solver import Conditions

AXES = {
    "weld": np.eye(6),
    "ball": np.eye(6)[3:],
    "hinge": np.eye(6)[[0, 1, 3, 4, 5]],
    "universal": np.eye(6)[[2, 3, 4, 5]],
    "slot": np.eye(6)[[3, 4]],
    "screw": np.array([[0.0, 0.0, 1.0, 0.0, 0.0, -0.5], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]]),
}


def loop(seed: int, kind: str, bodies: int = 6) -> tuple[Model, np.ndarray, ConstraintSet]:
    """A random model, a configuration, and a loop between two bodies that another configuration closes."""
    model = random_tree(seed, bodies=bodies)
    rng = np.random.default_rng(seed)
    p, s = rng.choice([*(b.name for b in model.bodies), "world"], 2, replace=False)
    closed = random_configuration(model, 1000 + seed)
    X_p = random_transform(rng)
    X_s = body_pose(model, closed, s).inverse() @ body_pose(model, closed, p) @ X_p
    rows = [LoopConstraint(p, s, X_p, X_s, axis, name="loop") for axis in AXES[kind]]
    return model, random_configuration(model, seed), ConstraintSet(model, rows)


def stationary(model: Model, q0: np.ndarray, q: np.ndarray, cs: ConstraintSet, weights: np.ndarray) -> float:
    """How far the gradient of the weighted distance is from the span of the errors' gradients, all by differences."""
    steps = 1e-4 * np.vstack([np.eye(model.nv), -np.eye(model.nv)])
    ends = [integrate(model, q, step, 1.0) for step in steps]
    ways = np.array([difference(model, q0, end) for end in ends])
    values = np.column_stack([ways**2 @ weights, [constraint_position_error(model, end, cs) for end in ends]])
    gradient, *rows = ((values[: model.nv] - values[model.nv :]) / 2e-4).T
    left = gradient - np.transpose(rows) @ np.linalg.lstsq(np.transpose(rows), gradient, rcond=1e-7)[0]
    return float(np.abs(left).max() / max(1e-12, np.abs(gradient).max()))


@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("seed", range(6))
def test_loops_close_from_far_away_at_the_nearest_place(kind: str, seed: int) -> None:
    """From a random configuration any loop is closed, where the weighted distance is stationary."""
    model, q0, cs = loop(seed, kind)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 2.0, model.nv)
    found = assemble_q(model, q0, cs, weights)
    assert found.converged
    assert found.nearest
    assert np.abs(constraint_position_error(model, found.q, cs)).max() < 1e-12
    assert stationary(model, q0, found.q, cs, weights) < 1e-6
    d = difference(model, q0, found.q)
    assert found.distance == pytest.approx(np.sqrt(d @ (weights * d)))


@pytest.mark.parametrize("apart", [0.0, 3.0])
def test_a_rod_is_put_together_from_anywhere(apart: float) -> None:
    """The direction is along the line if there is one, and arbitrary if the points coincide."""
    builder = ModelBuilder()
    for name in ("a", "b"):
        builder.add_body(name, joint=joints.FloatingBase(), inertia=RigidInertia.solid_sphere(1.0, 0.1))
    model = builder.build()
    q0 = model.neutral
    q0[8] = apart
    cs = ConstraintSet(model, [DistanceConstraint("a", (0, 0, 0), "b", (0, 0, 0), 2.0)])
    found = assemble_q(model, q0, cs, np.ones(model.nv))
    assert found.converged
    assert np.linalg.norm(found.q[7:10] - found.q[:3]) == pytest.approx(2.0, abs=1e-12)
    if apart:
        np.testing.assert_allclose(found.q[[1, 8]], [0.5, 2.5], atol=1e-9)


def test_a_solution_is_left_as_it_is() -> None:
    """A start that satisfies the constraints is returned, without a step."""
    bar = FourBar()
    model = bar.model()
    q0 = bar.configuration(0.7)
    found = assemble_q(model, q0, bar.constraints(model), np.ones(3))
    assert (found.converged, found.nearest, found.iterations, found.distance) == (True, True, 0, 0.0)
    assert np.array_equal(found.q, q0)


def test_unit_weight_keeps_and_zero_weight_lets_go() -> None:
    """With weight on the crank only, the crank stays, and the other angles equal the closed form."""
    bar = FourBar()
    model = bar.model()
    found = assemble_q(model, [0.7, 0.3, 1.2], bar.constraints(model), [1.0, 0.0, 0.0])
    assert found.converged
    assert np.abs(found.q - bar.configuration(0.7)).max() < 1e-10


@pytest.mark.parametrize("turn", [3.0, np.pi])
@pytest.mark.parametrize("kind", ["weld", "hinge"])
def test_frames_that_point_opposite_ways_are_not_assembled(kind: str, turn: float) -> None:
    """From a half turn, where errors that are sines vanish, frames are still turned to lie on each other."""
    builder = ModelBuilder().add_body(
        "body", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(1.0, (0.1, 0.2, 0.3))
    )
    model = builder.build()
    cs = ConstraintSet(model, [LoopConstraint("world", "body", axis=axis) for axis in AXES[kind]])
    q0 = np.array([0.1, 0.2, 0.3, np.cos(turn / 2), np.sin(turn / 2), 0.0, 0.0])
    found = assemble_q(model, q0, cs, np.ones(6))
    R = body_pose(model, found.q, "body").R
    assert found.converged
    assert R[2, 2] == pytest.approx(1.0)
    assert kind == "hinge" or np.allclose(R, np.eye(3))
    assert np.linalg.norm(found.q[3:]) == pytest.approx(1.0, abs=1e-14)


def test_out_of_reach_is_told_with_the_least_error() -> None:
    """A mechanism that cannot be closed ends unconverged, stretched towards the other side; the same every time."""
    bar = FourBar(a=0.3, b=0.5, c=0.4, d=2.0)
    model = bar.model()
    runs = [assemble_q(model, [0.4, -1.0, 2.0], bar.constraints(model), np.ones(3)) for _ in range(2)]
    assert not runs[0].converged
    assert not runs[0].nearest
    assert runs[0].error == pytest.approx(2.0 - 0.3 - 0.5 - 0.4, rel=1e-4)
    assert np.array_equal(runs[0].q, runs[1].q)


def test_far_from_the_origin_rounding_is_allowed_for() -> None:
    """At ten kilometres from the origin an error of 1e-12 m is impossible, and is not required."""
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    model = ModelBuilder().add_body("body", joint=joints.FloatingBase(), inertia=inertia).build()
    place = Transform.rotation((1.0, 2.0, 3.0), 0.5, (4321.1, -8765.3, 1234.7))
    rows = [LoopConstraint("world", "body", place, Transform(p=(0.3, 0.2, 0.1)), axis) for axis in np.eye(6)]
    found = assemble_q(model, [4000.0, -9000.0, 1000.0, 1.0, 0.0, 0.0, 0.0], ConstraintSet(model, rows), np.ones(6))
    assert found.converged
    assert found.error < 1e-10


def test_contacts_stay_where_they_are() -> None:
    """While a loop is closed, points in contact keep their places along their normals."""
    model = quadruped()
    q0 = standing(model)
    stand = feet(model, ("front left", "rear right"))
    pull = pin("world", "front right shin", (0.3, -0.1, 0.3), (0.0, 0.0, -0.25), axes=(0, 1, 2))
    cs = ConstraintSet(model, [*stand.constraints, *pull])
    found = assemble_q(model, q0, cs, np.ones(model.nv))
    assert found.converged
    for leg in ("front left", "rear right"):
        moved = [point_position(model, q, f"{leg} shin", (0.0, 0.0, -0.25)) for q in (q0, found.q)]
        assert np.abs(moved[1] - moved[0]).max() < 1e-12
    assert (
        np.abs(point_position(model, found.q, "front right shin", (0.0, 0.0, -0.25)) - [0.3, -0.1, 0.3]).max() < 1e-12
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"weights": [1.0, -1.0, 1.0]}, "weights"),
        ({"weights": [1.0, np.nan, 1.0]}, "weights"),
        ({"weights": [1.0, 1.0]}, "weights"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"max_iterations": 2.5}, "max_iterations"),
        ({"q0": [0.0, 0.0]}, "q"),
        ({"q0": [0.0, np.inf, 0.0]}, "q"),
    ],
)
def test_ill_formed_arguments_of_positions_are_named(change: dict[str, Any], field: str) -> None:
    """Every argument that cannot be used raises before any work, naming itself."""
    model = FourBar().model()
    given: dict[str, Any] = {
        "q0": np.zeros(3),
        "weights": np.ones(3),
        "tolerance": 1e-12,
        "max_iterations": 100,
        **change,
    }
    assert_fields(
        ValueError,
        (
            field,
            lambda: assemble_q(model, given.pop("q0"), FourBar().constraints(model), given.pop("weights"), **given),
        ),
    )


def test_a_rolling_disc_is_put_on_the_ground() -> None:
    """A constraint on velocities has separate conditions for position and velocity."""
    disc = RigidInertia.solid_box(1.0, (0.3, 0.1, 0.3))
    model = ModelBuilder().add_body("disc", joint=joints.FloatingBase(), inertia=disc).build()
    cs = ConstraintSet(model, [Rolling()])
    placed = assemble_q(model, [0.3, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0], cs, np.ones(6))
    assert placed.converged
    assert np.abs(placed.q - [0.3, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]).max() < 1e-12
    rolling = assemble_v(model, placed.q, [1.0, 0.0, 0.2, 0.0, 0.0, 0.0], cs, [1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    assert rolling.converged
    assert np.abs(rolling.v - [1.0, 0.0, 0.0, 0.0, 2.0, 0.0]).max() < 1e-12
    assert rolling.position_error < 1e-12


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_custom_rows_change_neither_rank_nor_solution(scale: float) -> None:
    """A row in metres, one in units of the caller and one in the inverse of these units are independent."""
    inertia = RigidInertia.solid_sphere(1.0, 0.1)
    model = ModelBuilder().add_body("body", joint=joints.TranslationXYZ(), inertia=inertia).build()
    straight = LoopConstraint("world", "body", axis=(0, 0, 0, 1, 0, 0), sliding=True)
    rows = [straight, Linear(scale, (1.0, 1.0, 0.0), 0.5), Linear(1.0 / scale, (0.0, 1.0, 1.0), 0.7)]
    conditions = Conditions(model, *conditions_of(model, model.neutral, ConstraintSet(model, rows), 0.0))
    assert conditions.row_space(*conditions.linearised(model.neutral)).rank == 3
    placed = assemble_q(model, [0.3, 2.0, 0.1], ConstraintSet(model, rows[:2]), np.ones(3), tolerance=1e-9)
    assert placed.converged
    np.testing.assert_allclose(placed.q, [0.0, 0.5, 0.1], rtol=0, atol=1e-6)


def test_rows_that_depend_on_time_or_not_linearly_on_velocity_are_met() -> None:
    """Positions follow phi(q, t); the nearest velocities meet G v = -phi_t, and a given speed."""
    model = random_tree(4, bodies=4, kinds=("floating", "revolute"))
    q, v, _ = state(model, 4)
    for t in (0.0, 0.7):
        cs = ConstraintSet(model, [Driven()])
        placed = assemble_q(model, q, cs, np.ones(model.nv), t=t)
        assert np.abs(constraint_position_error(model, placed.q, cs, t=t)).max() < 1e-12
        for rows in (cs, ConstraintSet(model, [Speed()])):
            moving = assemble_v(model, placed.q, v, rows, np.ones(model.nv), t=t)
            assert moving.converged
            assert np.abs(constraint_velocity_error(model, placed.q, moving.v, rows, t=t)).max() < 1e-9
            (row,), change = constraint_jacobian(model, placed.q, rows, v=moving.v), moving.v - v
            np.testing.assert_allclose(change, row * (row @ change) / (row @ row), atol=1e-7)


@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("zeros", [False, True])
def test_velocity_is_the_nearest_one(kind: str, zeros: bool) -> None:
    """The dense system [W G^T; G 0] gives the same, its rows doubled or not, weights zero or not."""
    model, q, cs = loop(4, kind)
    rng = np.random.default_rng(7)
    v0, weights = rng.standard_normal(model.nv), rng.uniform(0.5, 2.0, model.nv)
    if zeros:
        weights[rng.random(model.nv) < 0.5] = 0.0
    both = ConstraintSet(
        model,
        [*cs.constraints, *(LoopConstraint(c.predecessor, c.successor, c.X_p, c.X_s, c.axis) for c in cs.constraints)],
    )
    found = assemble_v(model, q, v0, both, weights)
    G = constraint_jacobian(model, q, cs)
    n, m = model.nv, len(G)
    KKT = np.block([[np.diag(weights), G.T], [G, np.zeros((m, m))]])
    # Around v0 the minimum-norm solution leaves alone what nothing determines.
    step = np.linalg.lstsq(KKT, np.concatenate([np.zeros(n), -G @ v0]), rcond=1e-12)[0][:n]
    assert found.converged
    assert np.abs(G @ found.v).max() < 1e-12
    assert weights @ (found.v - v0) ** 2 == pytest.approx(weights @ step**2, abs=1e-12)
    assert zeros or np.abs(found.v - v0 - step).max() < 1e-9


def test_ill_formed_arguments_of_velocities_are_named() -> None:
    """Lengths, signs and a set of another model are checked."""
    bar = FourBar()
    model = bar.model()
    cs, q, ones = bar.constraints(model), bar.configuration(0.7), np.ones(3)
    assert_fields(
        ConstraintError,
        ("v0", lambda: assemble_v(model, q, np.ones(2), cs, ones)),
        ("weights", lambda: assemble_v(model, q, ones, cs, -ones)),
        ("cs", lambda: assemble_v(bar.model(), q, ones, cs, ones)),
        ("cs", lambda: assemble_v(model, q, ones, list(cs.constraints), ones)),
        ("cs", lambda: assemble_q(bar.model(), q, cs, ones)),
        ("cs", lambda: assemble_q(model, q, None, ones)),
        ("t", lambda: assemble_q(model, q, cs, ones, t=np.nan)),
    )
