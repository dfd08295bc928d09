"""Assembly of positions: the nearest configuration that meets the conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mechanisms import FourBar, feet, pin, quadruped, standing
from random_rows import random_distance
from trees import random_transform, random_tree

from contactlab.constraints import (
    ConstraintSet,
    DistanceConstraint,
    LoopConstraint,
    assemble_q,
    constraint_jacobian,
    constraint_position_error,
)
from contactlab.constraints.assembly_conditions import conditions_of, loop_closures
from contactlab.constraints.assembly_solver import difference_jacobian
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
    closures = loop_closures([c for c in cs.constraints if isinstance(c, LoopConstraint)])
    rows = np.concatenate([c.jacobian(model, kinematics(model, q)) for c in closures])
    left = gradient - rows.T @ np.linalg.lstsq(rows.T, gradient, rcond=1e-9)[0]
    return float(np.abs(left).max() / max(1e-12, np.abs(gradient).max()))


@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_conditions_have_their_exact_derivatives(kind: str, seed: int) -> None:
    """Far from closure, too, the Jacobian of every kind of row is the finite difference of its residual."""
    model, q, cs = loop(seed, kind)
    cs = ConstraintSet(model, [*cs.constraints, random_distance(model, np.random.default_rng(seed))])
    for condition in conditions_of(model, q, cs, 0.0):
        J = condition.jacobian(model, kinematics(model, q))
        step = 1e-6 * np.eye(model.nv)
        ends = [
            [condition.residual(model, kinematics(model, integrate(model, q, e, way))) for e in step]
            for way in (1.0, -1.0)
        ]
        assert np.abs(J - (np.array(ends[0]) - np.array(ends[1])).T / 2e-6).max() < 1e-7


def test_difference_has_its_exact_derivative() -> None:
    """The rate of difference(q0, q) is D times the velocity, for every joint."""
    for seed in range(4):
        model = random_tree(seed)
        q0, q = random_configuration(model, seed), random_configuration(model, 50 + seed)
        _, D = difference_jacobian(model, q0, q)
        for column, e in zip(D.T, 1e-6 * np.eye(model.nv), strict=True):
            ends = [difference(model, q0, integrate(model, q, e, way)) for way in (1.0, -1.0)]
            assert np.abs(column - (ends[0] - ends[1]) / 2e-6).max() < 1e-7


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
    """Along the line where there is one, any way where the points coincide."""
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


def test_nearest_is_nearer_than_neighbours() -> None:
    """Solutions around the one found are all further from the start."""
    bar = FourBar()
    model = bar.model()
    q0, weights = np.array([0.9, -0.4, 1.6]), np.array([1.0, 0.3, 2.0])
    found = assemble_q(model, q0, bar.constraints(model), weights)
    for crank in found.q[0] + np.linspace(-0.2, 0.2, 41):
        d = bar.configuration(crank) - q0
        assert np.sqrt(d @ (weights * d)) >= found.distance - 1e-12


def test_a_solution_is_left_as_it_is() -> None:
    """A start that satisfies the constraints is the answer, without a step."""
    bar = FourBar()
    model = bar.model()
    q0 = bar.configuration(0.7)
    found = assemble_q(model, q0, bar.constraints(model), np.ones(3))
    assert (found.converged, found.nearest, found.iterations, found.distance) == (True, True, 0, 0.0)
    assert np.array_equal(found.q, q0)


def test_unit_weight_keeps_and_zero_weight_lets_go() -> None:
    """With weight on the crank alone the crank stays, and the other angles are those of the closed form."""
    bar = FourBar()
    model = bar.model()
    found = assemble_q(model, [0.7, 0.3, 1.2], bar.constraints(model), [1.0, 0.0, 0.0])
    assert found.converged
    assert np.abs(found.q - bar.configuration(0.7)).max() < 1e-10


def test_nothing_that_changes_nothing_moves() -> None:
    """A body without weight and outside the loop stays where it is."""
    bar = FourBar()
    builder = ModelBuilder()
    for body in bar.model().bodies:
        builder.add_body(
            body.name, parent=body.parent, joint=body.joint, placement=body.placement, inertia=body.inertia
        )
    builder.add_body("stray", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1)))
    model = builder.build()
    q0 = np.array([0.7, 0.3, 1.2, 1.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5])
    found = assemble_q(model, q0, bar.constraints(model), [1.0, 0.5, 0.25, *np.zeros(6)])
    assert found.converged
    assert found.nearest
    assert np.abs(found.q[3:] - q0[3:]).max() < 1e-12


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


def undamped(model: Model, q: np.ndarray, cs: ConstraintSet, weights: np.ndarray) -> bool:
    """Whether the plain iteration [W G^T; G 0] converges in 100 steps."""
    m = len(cs)
    for _ in range(100):
        e = constraint_position_error(model, q, cs)
        if np.linalg.norm(e) < 1e-12:
            return True
        G = constraint_jacobian(model, q, cs)
        KKT = np.block([[np.diag(weights), G.T], [G, np.zeros((m, m))]])
        step = np.linalg.lstsq(KKT, np.concatenate([np.zeros(model.nv), -e]), rcond=None)[0]
        q = integrate(model, q, step[: model.nv], 1.0)
    return False


def test_starts_from_which_plain_steps_do_not_converge() -> None:
    """All starts of a grid are assembled, among them some from which undamped steps never arrive."""
    bar = FourBar()
    model = bar.model()
    cs, weights = bar.constraints(model), np.array([1.0, 1e-4, 1e-4])
    lost = 0
    for first in np.linspace(-3.0, 3.0, 7):
        for second in np.linspace(-3.0, 3.0, 7):
            q0 = np.array([first, second, 0.5 - second])
            lost += not undamped(model, q0, cs, weights)
            found = assemble_q(model, q0, cs, weights)
            assert found.converged
            assert found.nearest
    assert lost > 0


def test_far_from_the_origin_rounding_is_allowed_for() -> None:
    """A kilometre away an error of 1e-12 m cannot be had, and is not asked for."""
    body = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    model = ModelBuilder().add_body("body", joint=joints.FloatingBase(), inertia=body).build()
    place = Transform.rotation((1.0, 2.0, 3.0), 0.5, (4321.1, -8765.3, 1234.7))
    cs = ConstraintSet(
        model, [LoopConstraint("world", "body", place, Transform(p=(0.3, 0.2, 0.1)), a) for a in np.eye(6)]
    )
    found = assemble_q(model, [4000.0, -9000.0, 1000.0, 1.0, 0.0, 0.0, 0.0], cs, np.ones(6))
    assert found.converged
    assert found.error < 1e-10


def test_few_iterations_are_kept_to() -> None:
    """The limit holds, and what was reached by then is told."""
    bar = FourBar()
    model = bar.model()
    found = assemble_q(model, [3.0, 3.0, -1.0], bar.constraints(model), np.ones(3), max_iterations=2)
    assert found.iterations <= 2
    assert not found.converged
    assert found.error == pytest.approx(
        np.linalg.norm(constraint_position_error(model, found.q, bar.constraints(model)))
    )


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
    with pytest.raises(ValueError) as caught:
        assemble_q(model, given.pop("q0"), FourBar().constraints(model), given.pop("weights"), **given)
    assert caught.value.field == field  # type: ignore[attr-defined]
