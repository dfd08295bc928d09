"""The Painleve states of a sliding rod: no contact force, one, two, at the closed-form threshold of friction.

Uniform rod, half length l = 1, inertia m l^2 / kappa with kappa = 3, its low end sliding away from under the centre.
The end's normal acceleration is A fN + b with

    A = (1 + kappa cos (cos - mu sin)) / m        b = l thetadot^2 sin - g
    A < 0  iff  mu > (1 + kappa cos^2) / (kappa sin cos), least at tan^2 = 1 + kappa: 2 sqrt(1 + kappa) / kappa
"""

from typing import Any

import numpy as np
import pytest
from refusals import assert_fields
from rods import MASS, G, Rod

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver, impact
from contactlab.constraint_solver import ContactPoint, problem_data_from
from contactlab.constraint_solver.acceleration import form_acceleration_lcp
from contactlab.simulation import ModelBuilder, RigidInertia, Transform, joints
from problem_data import ConstraintAccelProblemData

KAPPA = 3.0
INERTIA = np.diag([MASS, MASS, MASS / KAPPA])
STEEPEST = np.arctan(np.sqrt(1.0 + KAPPA))


def threshold(angle: float) -> float:
    return float((1.0 + KAPPA * np.cos(angle) ** 2) / (KAPPA * np.sin(angle) * np.cos(angle)))


def response(angle: float, mu: float) -> float:
    return float((1.0 + KAPPA * np.cos(angle) * (np.cos(angle) - mu * np.sin(angle))) / MASS)


def state(angle: float, mu: float, spin: float, **more: Any) -> ConstraintAccelProblemData:
    """The left end slides to the left."""
    rod = Rod(angle, v=(-1.0, 0.0, 0.0))
    return rod.sliding(mu, M=INERTIA, kN=[spin**2 * np.sin(angle)], **more)


def solutions(data: ConstraintAccelProblemData) -> list[float]:
    formed = form_acceleration_lcp(data)
    found = lcp.enumerate_solutions(lcp.LCP(formed.MM, formed.qq))
    assert found.complete
    assert not found.continuum
    return sorted(float(z[0]) for z in found.solutions)


@pytest.mark.parametrize("angle", [0.4, 0.8, STEEPEST, 1.3])
@pytest.mark.parametrize("side", [-1e-6, 1e-6])
def test_the_number_of_solutions_changes_at_the_threshold(angle: float, side: float) -> None:
    """Falling end (b < 0): one solution below, none above. Lifting end (b > 0): one below (no force), two above."""
    mu = threshold(angle) * (1.0 + side)
    A = response(angle, mu)
    assert np.sign(A) == -np.sign(side)
    falling, lifting = -G, 16.0 * np.sin(angle) - G
    down, up = solutions(state(angle, mu, 0.0)), solutions(state(angle, mu, 4.0))
    if side < 0.0:
        np.testing.assert_allclose(down, [-falling / A], rtol=1e-8)
        np.testing.assert_allclose(up, [0.0] if lifting > 0.0 else [-lifting / A], rtol=1e-8)
    elif lifting > 0.0:
        assert down == []
        np.testing.assert_allclose(up, [0.0, -lifting / A], rtol=1e-8)
    else:
        assert down == up == []


def test_no_solution_is_named_infeasible() -> None:
    """Pushing only presses the end in: no force can hold it up, and the status says so with evidence."""
    with pytest.raises(ConstraintSolveError, match="INFEASIBLE") as caught:
        ConstraintSolver().solve_constraint_problem(state(STEEPEST, 2.0, 0.0))
    result = caught.value.result
    assert result.status is lcp.Status.INFEASIBLE
    assert result.evidence is not None
    assert result.attempts
    assert result.status.advice in str(caught.value)


def test_no_solution_beside_a_limit_is_named_unsolvable() -> None:
    """A hook far above could lift the rod (feasible) but is out of reach: no basis is complementary."""
    data = state(STEEPEST, 2.0, 0.0, L=[[0.0, 1.0, 0.0]], kL=[100.0])
    assert solutions(data) == []
    with pytest.raises(ConstraintSolveError, match="UNSOLVABLE.*velocity level"):
        ConstraintSolver().solve_constraint_problem(data)


@pytest.mark.parametrize("mirrored", [False, True])
def test_an_impulse_resolves_what_no_force_can(mirrored: bool) -> None:
    """The step has a solution where the instant has none: the end jams, a finite impulse stops it."""
    rod = Rod(STEEPEST, v=(-1.0, 0.0, 0.0), mirrored=mirrored)
    for h in (1e-2, 1e-5):
        data = rod.at_velocity_level(2.0, h=h, M=INERTIA, Mv=INERTIA @ rod.velocity + h * rod.tau)
        solution = ConstraintSolver().solve_discretized_problem(data, h)
        assert solution.certificate.holds(1e-12)
        np.testing.assert_allclose(data.F @ solution.v_plus, 0.0, atol=1e-12)
        np.testing.assert_allclose(data.N @ solution.v_plus, 0.0, atol=1e-12)
        impulse = h * solution.forces.fN[0]
        assert 0.1 < impulse < 10.0
        assert abs(solution.forces.fF[0]) <= 2.0 * solution.forces.fN[0]


def test_the_map_of_any_mechanism_follows_the_sign_of_its_response() -> None:
    """Random inertias and rows of one sliding contact: with A = W_nn - mu W_nt none, one or two, as A and b say."""
    rng = np.random.default_rng(8)
    seen = set()
    for _ in range(12):
        B = rng.normal(size=(4, 4))
        M, N, Q = B @ B.T + 0.3 * np.eye(4), rng.normal(size=(1, 4)), rng.normal(size=(1, 4))
        tau = rng.normal(size=4)

        def instant(mu: float, load: float, M: Any = M, N: Any = N, Q: Any = Q, tau: Any = tau) -> Any:
            return ConstraintAccelProblemData(M=M, tau=load * tau, N=N, Q=Q, mu_sliding=[mu], sliding_contacts=[0])

        axes = {"mu": [0.0, 0.5, 2.0, 6.0], "load": [-1.0, 1.0]}
        found = {branch: impact.painleve_map(instant, axes, branch=branch) for branch in ("open", "pressed")}
        Y = np.linalg.solve(M, np.vstack((N, Q)).T)
        for i, mu in enumerate(axes["mu"]):
            for j, load in enumerate(axes["load"]):
                A, b = float((N @ (Y[:, :1] - mu * Y[:, 1:])).item()), float(load * (tau @ Y[:, 0]))
                wanted = 1 if A > 0.0 else 2 if b > 0.0 else 0
                seen.add(wanted)
                leaves, pressed = found["open"], found["pressed"]
                assert leaves.solutions[i, j] == pressed.solutions[i, j] == wanted
                if wanted == 0:
                    assert leaves.mode[i, j] == impact.InstantMode.JAMS
                    assert np.isnan(leaves.force[i, j])
                elif wanted == 2:
                    assert leaves.mode[i, j] == impact.InstantMode.LEAVES
                    assert pressed.mode[i, j] == impact.InstantMode.SLIDES
                    assert pressed.force[i, j] == pytest.approx(-b / A)
                    np.testing.assert_allclose(N @ pressed.acceleration[i, j], 0.0, atol=1e-9)
                    np.testing.assert_allclose(leaves.acceleration[i, j], load * np.linalg.solve(M, tau), atol=1e-9)
                else:
                    assert leaves.force[i, j] == pytest.approx(max(0.0, -b / A))
    assert seen == {0, 1, 2}


def test_the_map_of_a_model_tells_sticking_from_slipping() -> None:
    """A double pendulum whose tip rests on the ground, pushed: it sticks beyond a friction, and leaves when lifted."""
    builder = ModelBuilder()
    inertia = RigidInertia(1.0, (0.0, 0.0, -0.5), np.eye(3) / 12.0)
    place = Transform(p=(0.0, 0.0, -1.0))
    builder.add_body("upper", joint=joints.Revolute((0, 1, 0)), inertia=inertia)
    builder.add_body("lower", parent="upper", joint=joints.Revolute((0, 1, 0)), placement=place, inertia=inertia)
    model = builder.build()

    def pushed(mu: float, push: float, speed: float) -> ConstraintAccelProblemData:
        tip = ContactPoint("lower", (0, 0, -1), (0, 0, 1), frame="body", gap=0.0, mu=mu)
        q, v = np.array([-0.5, 1.2]), np.zeros(2)
        v[1] = speed
        v[0] = -speed * np.sin(0.7) / (np.sin(0.7) - np.sin(0.5))  # the tip keeps its height
        return problem_data_from(model, q, v, contacts=[tip], tau=[push, 0.0]).acceleration

    found = impact.painleve_map(pushed, {"mu": [0.0, 0.2, 5.0], "push": [-60.0, 0.0, 60.0], "speed": [0.0]})
    assert (found.solutions[:2] == 1).all()
    modes = set(found.mode[..., 0].ravel().tolist())
    assert {impact.InstantMode.STICKS, impact.InstantMode.SLIDES, impact.InstantMode.LEAVES} <= modes
    for mu, row in zip((0.0, 0.2, 5.0), found.mode[..., 0], strict=True):
        for i, mode in enumerate(row):
            if mode == impact.InstantMode.STICKS:
                solution = ConstraintSolver().solve_constraint_problem(pushed(mu, (-60.0, 0.0, 60.0)[i], 0.0))
                assert np.abs(solution.forces.fF).sum() <= mu * solution.forces.fN[0]


def test_bad_maps_are_refused() -> None:
    """They are refused by name."""

    def instant(mu: float) -> ConstraintAccelProblemData:
        return state(STEEPEST, mu, 0.0)

    assert_fields(
        impact.ImpactError,
        ("axes", lambda: impact.painleve_map(instant, {})),
        ("contact", lambda: impact.painleve_map(instant, {"mu": [1.0]}, contact=1)),
        ("branch", lambda: impact.painleve_map(instant, {"mu": [1.0]}, branch="up")),
        ("problem", lambda: impact.painleve_map(lambda mu: mu, {"mu": [1.0]})),
    )
