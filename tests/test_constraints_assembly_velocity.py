"""Assembly of velocities, and of constraints with conditions of their own."""

from __future__ import annotations

import numpy as np
import pytest
from mechanisms import FourBar
from test_constraints_assembly import AXES, loop

from contactlab.constraints import (
    ConstraintError,
    ConstraintSet,
    CustomConstraint,
    LoopConstraint,
    assemble_q,
    assemble_v,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
)
from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    joints,
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
    """A constraint of velocities has a condition of its own for the position, and another for the velocity."""
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


def test_velocity_tells_an_open_mechanism() -> None:
    """The position error is reported, for a velocity of a mechanism that is not closed means little."""
    bar = FourBar()
    model = bar.model()
    q = bar.configuration(0.7) + [0.1, 0.0, 0.0]
    found = assemble_v(model, q, np.ones(3), bar.constraints(model), np.ones(3))
    assert found.converged
    error = np.linalg.norm(constraint_position_error(model, q, bar.constraints(model)))
    assert found.position_error == pytest.approx(error)


def test_contradicting_velocities_are_told() -> None:
    """Two constraints that want different speeds of one coordinate: least squares, not converged, no NaN."""
    model = wheel()

    class Faster(Carried):
        name = "faster"

        def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
            return np.array([v[0] - 5.0])

    found = assemble_v(model, np.zeros(3), np.zeros(3), ConstraintSet(model, [Carried(), Faster()]), np.ones(3))
    assert not found.converged
    assert found.v[0] == pytest.approx(4.0)
    assert found.error == pytest.approx(1.0)


def test_ill_formed_arguments_of_velocities_are_named() -> None:
    """Lengths, signs and a set of another model are checked."""
    bar = FourBar()
    model = bar.model()
    cs = bar.constraints(model)
    q = bar.configuration(0.7)
    for v0, weights, field in ((np.ones(2), np.ones(3), "v0"), (np.ones(3), -np.ones(3), "weights")):
        with pytest.raises(ConstraintError) as caught:
            assemble_v(model, q, v0, cs, weights)
        assert caught.value.field == field
    for other, given in ((bar.model(), cs), (model, list(cs.constraints)), (model, None)):
        for call in (
            lambda other=other, given=given: assemble_v(other, q, np.ones(3), given, np.ones(3)),
            lambda other=other, given=given: assemble_q(other, q, given, np.ones(3)),
        ):
            with pytest.raises(ConstraintError) as caught:
                call()
            assert caught.value.field == "cs"
    with pytest.raises(ConstraintError) as caught:
        assemble_q(model, q, cs, np.ones(3), t=np.nan)
    assert caught.value.field == "t"
