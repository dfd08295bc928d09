from typing import Any

import numpy as np
import pytest
from mechanisms import FEET, FourBar, feet, five_bar, five_bar_constraints, quadruped, standing
from refusals import assert_fields, assert_messages

from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    forward_dynamics,
    joints,
)
from contactlab.multibody.constraints import (
    ConstrainedInverseDynamics,
    ConstraintError,
    ConstraintSet,
    assemble_q,
    assemble_v,
    constrained_system,
    inverse_dynamics_constraints,
    inverse_dynamics_constraints_relaxed,
    is_fully_actuated,
)

BAR = FourBar()


def balance(
    model: Model,
    state: tuple[np.ndarray, np.ndarray],
    cs: ConstraintSet,
    actuated: np.ndarray,
    found: ConstrainedInverseDynamics,
    f_ext: np.ndarray | None = None,
) -> None:
    """Equations of motion, constraints and zero torque without drives, all to 1e-10, by forward dynamics too."""
    q, v = state
    system = constrained_system(model, q, v, np.zeros(model.nv), cs, f_ext)
    scale = 1.0 + np.abs(system.C).max() + np.abs(system.H @ found.a).max()
    motion = system.H @ found.a + system.C - found.tau - system.G.T @ found.forces
    assert np.abs(motion).max() < 1e-10 * scale
    assert np.abs(system.G @ found.a - system.gamma).max() < 1e-10 * (1.0 + np.abs(system.gamma).max())
    assert np.array_equal(found.tau[~actuated], np.zeros(np.count_nonzero(~actuated)))
    by_forces = forward_dynamics(model, q, v, found.tau + system.G.T @ found.forces, f_ext)
    assert np.abs(by_forces - found.a).max() < 1e-8 * (1.0 + np.abs(found.a).max())


def moving_four_bar() -> tuple[Model, np.ndarray, np.ndarray, ConstraintSet]:
    """The four-bar at a crank angle of 0.8 and 2 rad/s."""
    model = BAR.model()
    return model, BAR.configuration(0.8), BAR.velocity(0.8, 2.0), BAR.constraints(model)


def walking(legs: tuple[str, ...] = FEET) -> tuple[Model, np.ndarray, np.ndarray, ConstraintSet, np.ndarray]:
    """A quadruped on some feet, moving as these permit, with drives in its legs alone."""
    model = quadruped()
    q, cs = standing(model), feet(model, legs)
    v = assemble_v(model, q, np.random.default_rng(0).standard_normal(model.nv), cs, np.ones(model.nv)).v
    return model, q, v, cs, np.arange(model.nv) >= 6


def permitted(model: Model, q: np.ndarray, v: np.ndarray, cs: ConstraintSet, seed: int = 1) -> np.ndarray:
    """An acceleration that satisfies the constraints."""
    system = constrained_system(model, q, v, np.zeros(model.nv), cs)
    any_ = np.random.default_rng(seed).standard_normal(model.nv)
    return any_ + np.linalg.lstsq(system.G, system.gamma - system.G @ any_, rcond=1e-10)[0]


def test_crank_torque_is_that_of_the_single_coordinate() -> None:
    """The drive torque of a four-bar equals the one of its equation of motion in the crank's angle only."""
    model, q, v, cs = moving_four_bar()
    actuated = np.array([True, False, False])
    for wanted in (0.0, 7.0):
        found = inverse_dynamics_constraints(model, q, v, [wanted, 5.0, 5.0], cs, actuated)
        balance(model, (q, v), cs, actuated, found)
        assert found.missed < 1e-12
        # s'' is affine in the torque: two evaluations give the inverse.
        free, pushed = (BAR.crank_acceleration(0.8, 2.0, torque) for torque in (0.0, 1.0))
        assert found.tau[0] == pytest.approx((wanted - free) / (pushed - free), rel=1e-9)


@pytest.mark.parametrize("legs", [FEET, FEET[:3]])
def test_walking_machine_with_more_drives_than_freedom(legs: tuple[str, ...]) -> None:
    """Legs of a quadruped: a permitted acceleration is reached exactly, the trunk has no torque, forces carry it."""
    model, q, v, cs, actuated = walking(legs)
    wanted = permitted(model, q, v, cs)
    found = inverse_dynamics_constraints(model, q, v, wanted, cs, actuated)
    balance(model, (q, v), cs, actuated, found)
    assert np.abs(found.a - wanted).max() < 1e-9
    still = inverse_dynamics_constraints(model, q, np.zeros(model.nv), np.zeros(model.nv), cs, actuated)
    weight = 9.81 * (12.0 + 4 * 1.6)
    assert still.forces[2::3].sum() == pytest.approx(weight, rel=1e-10)
    assert np.abs([still.forces[0::3].sum(), still.forces[1::3].sum()]).max() < 1e-9


def test_forces_are_the_shortest_of_those_that_fit() -> None:
    """If drives can shift load between foot forces, the ones of least squares are returned."""
    model, q, v, cs, actuated = walking()
    found = inverse_dynamics_constraints(model, q, v, permitted(model, q, v, cs), cs, actuated)
    system = constrained_system(model, q, v, np.zeros(model.nv), cs)
    _, s, Vt = np.linalg.svd(system.G[:, ~actuated].T)
    inner = Vt[len(s) :]  # forces that the trunk does not feel
    assert inner.shape[0] == 6
    assert np.abs(inner @ found.forces).max() < 1e-9


def test_accelerations_that_contradict_the_constraints_are_met_as_nearly_as_can_be() -> None:
    """Two drives of a four-bar with conflicting wishes: constraints hold, the deviation is minimal and reported."""
    model, q, v, cs = moving_four_bar()
    actuated = np.array([True, False, True])
    wanted = np.array([4.0, -3.0])
    found = inverse_dynamics_constraints(model, q, v, wanted, cs, actuated)
    balance(model, (q, v), cs, actuated, found)
    assert found.residual < 1e-12
    system = constrained_system(model, q, v, np.zeros(3), cs)
    freedom = np.linalg.svd(system.G)[2][2]
    assert found.missed == pytest.approx(np.abs(found.a[actuated] - wanted).max())
    assert found.missed > 0.1
    assert abs(freedom[actuated] @ (found.a[actuated] - wanted)) < 1e-9


def test_external_forces_are_borne() -> None:
    """Forces from outside enter the balance, in both functions."""
    model, q, v, cs, actuated = walking()
    f_ext = np.random.default_rng(5).standard_normal((model.nb, 6)) * 20.0
    wanted = permitted(model, q, v, cs)
    for solve in (inverse_dynamics_constraints, inverse_dynamics_constraints_relaxed):
        found = solve(model, q, v, wanted, cs, actuated, f_ext=f_ext)
        balance(model, (q, v), cs, actuated, found, f_ext)


def test_rank_says_how_far_drives_are_from_enough() -> None:
    """A five-bar needs two drives: one is refused by name and number, and the relaxed function is named."""
    model = five_bar()
    cs = five_bar_constraints(model)
    q = assemble_q(model, [1.8, -1.0, 1.2, 1.0], cs, np.ones(4)).q
    one, two = np.array([True, False, False, False]), np.array([True, False, True, False])
    short, enough = is_fully_actuated(model, q, cs, one), is_fully_actuated(model, q, cs, two)
    assert not short
    assert (short.rank, short.unactuated) == (2, 3)
    assert enough
    assert is_fully_actuated(model, q, cs, np.ones(4, dtype=bool))
    assert not is_fully_actuated(model, q, cs, np.zeros(4, dtype=bool))
    assert_fields(
        ConstraintError, ("actuated", lambda: inverse_dynamics_constraints(model, q, np.zeros(4), np.zeros(4), cs, one))
    )


def quadratic_program(
    model: Model, state: tuple[np.ndarray, np.ndarray], x: np.ndarray, cs: ConstraintSet, actuated: np.ndarray, W: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The relaxed problem as it is written, S and u formed, by its dense KKT system: a and tau."""
    q, v = state
    s = constrained_system(model, q, v, np.zeros(model.nv), cs)
    S = np.eye(model.nv)[actuated]
    u = S @ x + np.linalg.solve(W, S @ s.C) if len(S) else np.zeros(0)
    n, m = model.nv, len(s.G)
    K = np.block([[s.H + S.T @ W @ S, -s.G.T], [s.G, np.zeros((m, m))]])
    right = np.concatenate([S.T @ W @ u - s.C, s.gamma])
    a = np.linalg.solve(K, right)[:n]
    return a, S.T @ W @ (u - S @ a)


@pytest.mark.parametrize("case", ["four-bar", "quadruped", "standing on two feet", "one drive", "all", "none"])
@pytest.mark.parametrize("weight", [None, "inertia", "largest", 3.0, 1e5])
def test_relaxed_is_the_quadratic_program(case: str, weight: float | str | None) -> None:
    """For any drives and constraints, too few or too many, a and tau minimise the written objective."""
    if case in ("quadruped", "standing on two feet"):
        model, q, v, cs, actuated = walking(FEET if case == "quadruped" else FEET[::3])
    else:
        model, q, v, cs = moving_four_bar()
        actuated = {"all": np.ones(3, bool), "none": np.zeros(3, bool)}.get(case, np.array([False, True, False]))
    x = np.random.default_rng(2).standard_normal(model.nv)
    na = int(np.count_nonzero(actuated))
    H = constrained_system(model, q, v, np.zeros(model.nv), cs).H
    default = 100.0 * H[np.ix_(actuated, actuated)]
    root = np.random.default_rng(3).standard_normal((na, na))
    W = 100.0 * np.abs(H).max() * np.eye(na) if weight == "largest" else default
    if isinstance(weight, float):
        W = weight * (root @ root.T + np.eye(na))
    given = W if isinstance(weight, float) else weight
    found = inverse_dynamics_constraints_relaxed(model, q, v, x, cs, actuated, given)
    a, tau = quadratic_program(model, (q, v), x, cs, actuated, W)
    balance(model, (q, v), cs, actuated, found)
    assert np.abs(found.a - a).max() < 1e-7 * (1.0 + np.abs(a).max())
    assert np.abs(found.tau - tau).max() < 1e-6 * (1.0 + np.abs(tau).max())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"actuated": [True, False]}, "actuated"),
        ({"actuated": [0, 1, 1]}, "actuated"),
        ({"a_desired": [1.0, 2.0]}, "a_desired"),
        ({"a_desired": [np.nan]}, "a_desired"),
        ({"a_desired": 1.0}, "a_desired"),
        ({"q": [0.0, 0.0]}, "q"),
        ({"v": [0.0, np.inf, 0.0]}, "v"),
        ({"W": [[1.0, 0.0], [0.0, 1.0]]}, "W"),
        ({"W": [[-1.0]]}, "W"),
        ({"W": [[np.nan]]}, "W"),
        ({"W": "biggest"}, "W"),
    ],
)
def test_ill_formed_arguments_are_named(change: dict[str, Any], field: str) -> None:
    """Invalid arguments raise an error that names them."""
    model, q, v, cs = moving_four_bar()
    given: dict[str, Any] = {"q": q, "v": v, "a_desired": [1.0], "actuated": [True, False, False], **change}
    assert_fields(
        ValueError,
        (field, lambda: inverse_dynamics_constraints_relaxed(model, cs=cs, **given)),
    )
    if "W" not in change:
        with pytest.raises(ValueError):
            inverse_dynamics_constraints(model, cs=cs, **given)


def test_a_mask_may_be_over_coordinates() -> None:
    """A mask of length nq equals one of length nv: a quaternion has four entries for three velocities."""
    ball = RigidInertia.solid_sphere(1.0, 0.1)
    builder = ModelBuilder()
    for name, joint in (("knee", joints.Revolute()), ("free", joints.FloatingBase()), ("hip", joints.Spherical())):
        builder.add_body(name, joint=joint, inertia=ball)
    model = builder.build()
    assert (model.nq, model.nv) == (12, 10)
    of_q = np.array([True, True, False, True, *[False] * 4, *[True] * 4])
    of_v = np.array([True, True, False, True, *[False] * 3, *[True] * 3])
    cs, q = ConstraintSet(model, []), model.neutral
    assert is_fully_actuated(model, q, cs, of_q) == is_fully_actuated(model, q, cs, of_v)
    one, two = (
        inverse_dynamics_constraints_relaxed(model, q, np.zeros(10), np.arange(1.0, 11.0), cs, mask)
        for mask in (of_q, of_v)
    )
    np.testing.assert_array_equal(one.tau, two.tau)
    assert np.array_equal(one.tau != 0.0, of_v)
    torn = of_q.copy()
    torn[6] = True
    assert_messages(
        ConstraintError,
        (r"of the joint of 'free' have 3 velocities: all or none", lambda: is_fully_actuated(model, q, cs, torn)),
        (
            r"shape \(10,\), one entry per velocity \(nv\), or \(12,\).*got \(11,\)",
            lambda: is_fully_actuated(model, q, cs, of_q[:11]),
        ),
    )
