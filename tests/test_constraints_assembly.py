"""Assembly of positions and velocities: the nearest state that meets the conditions."""

from typing import Any

import numpy as np
import pytest
from mechanisms import FourBar, feet, pin, quadruped, standing
from random_rows import random_distance
from refusals import assert_fields
from trees import random_transform, random_tree

from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    Transform,
    body_pose,
    difference,
    integrate,
    joints,
    kinematics,
    point_position,
    random_configuration,
)
from contactlab.multibody.constraints import (
    ConstraintError,
    ConstraintSet,
    CustomConstraint,
    DistanceConstraint,
    LoopConstraint,
    assemble_q,
    assemble_v,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
)
from contactlab.multibody.constraints.assembly_conditions import conditions_of, loop_conditions
from contactlab.multibody.constraints.assembly_solver import Conditions, difference_jacobian

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
    """How far the gradient of the weighted distance is from the rows' span: an independent least squares."""
    d, D = difference_jacobian(model, q0, q)
    gradient = D.T @ (weights * d)
    loops = loop_conditions([c for c in cs.constraints if isinstance(c, LoopConstraint)])
    rows = np.concatenate([loop(model, kinematics(model, q))[1] for loop in loops])
    left = gradient - rows.T @ np.linalg.lstsq(rows.T, gradient, rcond=1e-9)[0]
    return float(np.abs(left).max() / max(1e-12, np.abs(gradient).max()))


@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_conditions_have_their_exact_derivatives(kind: str, seed: int) -> None:
    """Far from closure, too, the Jacobian of every kind of row is the finite difference of its residual."""
    model, q, cs = loop(seed, kind)
    cs = ConstraintSet(model, [*cs.constraints, random_distance(model, np.random.default_rng(seed))])
    for condition in conditions_of(model, q, cs, 0.0)[0]:
        J = condition(model, kinematics(model, q))[1]
        step = 1e-6 * np.eye(model.nv)
        ends = [
            [condition(model, kinematics(model, integrate(model, q, e, way)))[0] for e in step] for way in (1.0, -1.0)
        ]
        assert np.abs(J - (np.array(ends[0]) - np.array(ends[1])).T / 2e-6).max() < 1e-7


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
    """At a distance of a kilometre an error of 1e-12 m is impossible, and not required."""
    body = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    model = ModelBuilder().add_body("body", joint=joints.FloatingBase(), inertia=body).build()
    place = Transform.rotation((1.0, 2.0, 3.0), 0.5, (4321.1, -8765.3, 1234.7))
    cs = ConstraintSet(
        model, [LoopConstraint("world", "body", place, Transform(p=(0.3, 0.2, 0.1)), a) for a in np.eye(6)]
    )
    found = assemble_q(model, [4000.0, -9000.0, 1000.0, 1.0, 0.0, 0.0, 0.0], cs, np.ones(6))
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


class Rolling(CustomConstraint):
    """A wheel of radius 0.5 does not slip; it is put together touching the ground."""

    rows, name, level = 1, "wheel", "velocity"

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return np.array([[1.0, 0.0, -0.5]])

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def assembly_position_error(self, model: Model, q: np.ndarray) -> np.ndarray:
        return np.array([q[1] - 0.5])

    def assembly_position_jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return np.array([[0.0, 1.0, 0.0]])


def wheel() -> Model:
    """A disc that moves along x and z and turns: q is (x, z, angle)."""
    parts = [joints.Prismatic((1, 0, 0)), joints.Prismatic((0, 0, 1)), joints.Revolute((0, 1, 0))]
    disc = RigidInertia.solid_box(1.0, (0.3, 0.1, 0.3))
    return ModelBuilder().add_body("disc", joint=joints.Composite(parts), inertia=disc).build()


def test_rolling_wheel_is_put_on_the_ground() -> None:
    """A constraint on velocities has separate conditions for position and velocity."""
    model = wheel()
    cs = ConstraintSet(model, [Rolling()])
    placed = assemble_q(model, [0.3, 2.0, 0.1], cs, np.ones(3))
    assert placed.converged
    assert np.abs(placed.q - [0.3, 0.5, 0.1]).max() < 1e-12
    rolling = assemble_v(model, placed.q, [1.0, 0.2, 0.0], cs, [1.0, 1.0, 0.0])
    assert rolling.converged
    assert np.abs(rolling.v - [1.0, 0.2, 2.0]).max() < 1e-12
    assert rolling.position_error < 1e-12


class Carried(CustomConstraint):
    """The disc's centre is moved along x: x = sin(2 t) + t."""

    rows, name = 1, "carried"

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return np.array([[1.0, 0.0, 0.0]])

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.array([-4.0 * np.sin(2.0 * t)])

    def position_error(self, model: Model, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.array([q[0] - np.sin(2.0 * t) - t])

    def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.array([v[0] - 2.0 * np.cos(2.0 * t) - 1.0])


class Scaled(CustomConstraint):
    """A linear condition on the disc, in units of the caller."""

    rows = 1

    def __init__(self, scale: float, row: tuple[float, float, float], value: float) -> None:
        self.row, self.value = scale * np.array(row), scale * value

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return self.row[None]

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def position_error(self, model: Model, q: np.ndarray) -> np.ndarray:
        return np.array([self.row @ q - self.value])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_units_of_custom_rows_change_neither_rank_nor_solution(scale: float) -> None:
    """A row in metres, one in units of the caller and one in the inverse of these units are all independent."""
    model = wheel()
    rows = [
        LoopConstraint("world", "disc", axis=(0, 0, 0, 1, 0, 0), sliding=True),
        Scaled(scale, (1.0, 1.0, 0.0), 0.5),
        Scaled(1.0 / scale, (0.0, 1.0, 1.0), 0.7),
    ]
    conditions = Conditions(model, *conditions_of(model, model.neutral, ConstraintSet(model, rows), 0.0))
    assert conditions.row_space(*conditions.linearised(model.neutral)).rank == 3
    placed = assemble_q(model, [0.3, 2.0, 0.1], ConstraintSet(model, rows[:2]), np.ones(3), tolerance=1e-9)
    assert placed.converged
    assert np.abs(placed.q - [0.0, 0.5, 0.1]).max() < 1e-6


def test_time_dependent_constraints_are_met_at_their_time() -> None:
    """Positions follow phi(q, t), velocities G v = -phi_t."""
    model = wheel()
    cs = ConstraintSet(model, [Carried(), Rolling()])
    for t in (0.0, 0.7):
        placed = assemble_q(model, np.zeros(3), cs, np.ones(3), t=t)
        moving = assemble_v(model, placed.q, np.zeros(3), cs, np.ones(3), t=t)
        speed = 2.0 * np.cos(2.0 * t) + 1.0
        assert np.abs(placed.q - [np.sin(2.0 * t) + t, 0.5, 0.0]).max() < 1e-12
        assert np.abs(moving.v - [speed, 0.0, 2.0 * speed]).max() < 1e-12
        assert np.abs(constraint_velocity_error(model, placed.q, moving.v, cs, t=t)).max() < 1e-12


class Speed(CustomConstraint):
    """The centre moves at 2 m/s, whichever way: not linear in v."""

    rows, name, level = 1, "speed", "velocity"

    def jacobian(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:  # type: ignore[override]
        return np.array([[2.0 * v[0], 2.0 * v[1], 0.0]])

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([v[0] ** 2 + v[1] ** 2 - 4.0])


def test_conditions_not_linear_in_the_velocity_are_met() -> None:
    """The nearest velocity on a circle lies on the ray through the start."""
    model = wheel()
    found = assemble_v(model, np.zeros(3), [3.0, 4.0, 1.0], ConstraintSet(model, [Speed()]), np.ones(3))
    assert found.converged
    assert np.abs(found.v - [1.2, 1.6, 1.0]).max() < 1e-9


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
