"""Springs and dampers as softened rows: the resting depth exactly, a damped oscillator, inverses, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import contactlab.formulation
from contactlab import ConstraintSolver
from contactlab.formulation import (
    impulse_softening,
    softening,
    spring_damper,
    spring_damper_from_impulse,
)
from problem_data import ConstraintVelProblemData, ProblemDataError

G = 9.81


@pytest.mark.parametrize("h", [1e-5, 1e-2, 0.5])
@pytest.mark.parametrize(("k", "b"), [(1e4, 15.0), (100.0, 0.0), (1e9, 1e3)])
def test_a_mass_at_rest_is_carried_by_the_spring_alone(h: float, k: float, b: float) -> None:
    """At depth m g / k: f = -k phi exactly, and no motion, whatever h and b; in forces and in impulses."""
    m = 2.0
    gap = -m * G / k
    fields: dict[str, Any] = {"M": [[m]], "Mv": [-h * m * G], "N": [[1.0]]}
    soft = softening(h, stiffness=k, dissipation=b)
    data = ConstraintVelProblemData(**fields, gammaN=[soft.gamma], kN=[soft.rate(h, gap)])
    solution = ConstraintSolver().solve_discretized_problem(data, h)
    np.testing.assert_allclose(solution.forces.fN, [-k * gap], rtol=1e-12)
    assert abs(solution.v_plus[0]) < 1e-12 * G * h
    soft = impulse_softening(h, stiffness=k, dissipation=b)
    data = ConstraintVelProblemData(**fields, gammaN=[soft.gamma], kN=[soft.rate(h, gap)])
    impact = ConstraintSolver().solve_impact_problem(data)
    np.testing.assert_allclose(impact.forces.fN, [-h * k * gap], rtol=1e-12)


def test_a_mass_sinks_by_its_weight_over_the_stiffness() -> None:
    """Stepped from the surface until it rests: m g / k, not h m g / k."""
    m, k, h, gap, v = 1.0, 500.0, 0.02, 0.0, 0.0
    soft = softening(h, stiffness=k, dissipation=40.0)
    for _ in range(400):
        data = ConstraintVelProblemData(
            M=[[m]], Mv=[m * v - h * m * G], N=[[1.0]], gammaN=[soft.gamma], kN=[soft.rate(h, gap)]
        )
        v = float(ConstraintSolver().solve_discretized_problem(data, h).v_plus[0])
        gap += h * v
    assert gap == pytest.approx(-m * G / k, rel=1e-12)


def test_the_row_is_an_implicit_spring_and_damper() -> None:
    """f = -k phi(t + h) - b phidot(t + h), with phi(t + h) = phi + h phidot(t + h)."""
    m, k, b, h, gap, v = 3.0, 200.0, 7.0, 0.03, -0.02, -0.4
    soft = softening(h, stiffness=k, dissipation=b)
    data = ConstraintVelProblemData(M=[[m]], Mv=[m * v], N=[[1.0]], gammaN=[soft.gamma], kN=[soft.rate(h, gap)])
    solution = ConstraintSolver().solve_discretized_problem(data, h)
    speed = solution.v_plus[0]
    np.testing.assert_allclose(solution.forces.fN, [-k * (gap + h * speed) - b * speed], rtol=1e-12)


def test_scalars_and_arrays() -> None:
    """Scalars give arrays of shape (); arrays broadcast; the terms are those of the formulas."""
    soft = softening(0.01, stiffness=1e4, dissipation=15.0)
    assert soft.gamma.shape == soft.erp.shape == ()
    np.testing.assert_allclose([soft.gamma, soft.cfm, soft.erp], [1 / 115, 1 / 115, 100 / 115], rtol=1e-15)
    many = softening(0.01, stiffness=[[1e4], [2e4]], dissipation=[15.0, 0.0, 1.0])
    assert many.gamma.shape == (2, 3)
    assert many.gamma[0, 0] == soft.gamma
    assert many.erp[1, 1] == 1.0
    np.testing.assert_allclose(many.rate(0.01, -0.1), -10.0 * many.erp)
    assert softening(0.01, dissipation=4.0).erp == 0.0
    assert contactlab.formulation.softening is softening


def test_there_and_back() -> None:
    """Stiffness and dissipation survive the round trip in both units; gamma and erp too."""
    rng = np.random.default_rng(0)
    k, b = 10.0 ** rng.uniform(-3, 9, 50), 10.0 ** rng.uniform(-3, 6, 50)
    for h in (1e-4, 0.1, 3.0):
        soft = softening(h, stiffness=k, dissipation=b)
        back = spring_damper(h, gamma=soft.gamma, erp=soft.erp)
        np.testing.assert_allclose(back.stiffness, k, rtol=1e-12)
        # b is the difference of h k + b and h k: as accurate as those allow.
        np.testing.assert_allclose(back.dissipation, b, atol=1e-14 * (h * k + b).max(), rtol=1e-9)
        impulse = impulse_softening(h, stiffness=k, dissipation=b)
        np.testing.assert_allclose(impulse.gamma * h, soft.gamma, rtol=1e-15)
        again = spring_damper_from_impulse(h, gamma=impulse.gamma, erp=impulse.erp)
        np.testing.assert_allclose(again.stiffness, k, rtol=1e-12)
        forth = softening(h, stiffness=back.stiffness, dissipation=np.maximum(back.dissipation, 0.0))
        np.testing.assert_allclose(forth.gamma, soft.gamma, rtol=1e-12)
        np.testing.assert_allclose(forth.erp, soft.erp, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softening(0.01, stiffness=-1.0), "stiffness = -1.0, wanted >= 0"),
        (lambda: softening(0.01, stiffness=[1.0, np.nan]), r"stiffness\[1\] = nan, wanted a finite number"),
        (lambda: softening(0.01, stiffness=1.0, dissipation=[[0.0, -2.0]]), r"dissipation\[0, 1\] = -2.0"),
        (lambda: softening(0.01), r"h k \+ b = 0.0 for stiffness 0.0, dissipation 0.0"),
        (lambda: softening(1e9, stiffness=1e300), r"h k \+ b = inf"),
        (lambda: softening(0.01, stiffness=[1.0, 2.0], dissipation=[1.0, 2.0, 3.0]), "do not broadcast"),
        (lambda: softening(0.01, stiffness="soft"), "not a number"),
        (lambda: softening(0.0, stiffness=1.0), "^h: "),
        (lambda: softening(0.01, stiffness=1.0).rate(-1.0, 0.0), "^h: "),
        (lambda: softening(0.01, stiffness=1.0).rate(0.01, np.inf), "^gap: "),
        (lambda: spring_damper(0.01, gamma=0.0, erp=0.5), "gamma = 0.0, wanted > 0"),
        (lambda: spring_damper(0.01, gamma=1.0, erp=1.5), "erp = 1.5, wanted at most 1"),
        (lambda: spring_damper(0.01, gamma=1.0, erp=-0.5), "erp = -0.5, wanted >= 0"),
    ],
)
def test_values_out_of_range_are_named(call: Any, message: str) -> None:
    """Field, entry and value."""
    with pytest.raises(ProblemDataError, match=message):
        call()
