"""No friction solver is believed where it is wrong: hard and unsolvable problems in all units, judged in 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import lcp

SOLVERS = (
    lcp.NSGS(max_iterations=300),
    lcp.SemismoothNewton(),
    lcp.SemismoothNewton(alpha=1.0, max_iterations=5_000),
    lcp.ADMM(max_iterations=400),
    lcp.ContactStrategies(),
)


def draw(rng: np.random.Generator) -> lcp.FrictionProblem:
    """W zero, singular, of small integers, or definite, under exact changes of the units of force and velocity."""
    nc = int(rng.integers(1, 4))
    m = 3 * nc
    kind = int(rng.integers(0, 5))
    if kind == 0:
        W = np.zeros((m, m))
    elif kind == 1:
        J = rng.standard_normal((m, int(rng.integers(1, m))))
        W = J @ J.T
    elif kind == 2:
        J = rng.integers(-1, 2, (m, int(rng.integers(1, m)))).astype(float)
        W = J @ J.T
    elif kind == 3:
        # Contacts that only push against one another.
        W = np.zeros((m, m))
        W[::3, ::3] = nc * np.eye(nc) - np.ones((nc, nc))
    else:
        J = rng.standard_normal((m, m + 2))
        W = J @ J.T
    q = rng.integers(-2, 3, m).astype(float) if rng.random() < 0.4 else rng.standard_normal(m)
    force, velocity = np.exp2(rng.integers(-30, 31, 2))
    return lcp.FrictionProblem(W * (velocity / force), q * velocity, rng.uniform(0.0, 1.0, nc))


def natural_map(problem: lcp.FrictionProblem, r: Any) -> float:
    """||w r - P_K(w r - u_hat)|| / ||q||, the step 1 / w of each contact as the verdict's, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        W = [[Decimal(float(x)) for x in row] for row in problem.W]
        q, forces, mus = ([Decimal(float(x)) for x in v] for v in (problem.q, r, problem.mu))
        u = [sum((a * b for a, b in zip(row, forces, strict=True)), q_i) for row, q_i in zip(W, q, strict=True)]
        sizes = [max(abs(W[i][j]) for i in range(c, c + 3) for j in range(c, c + 3)) for c in range(0, len(q), 3)]
        used = sorted(s for s in sizes if s)
        middle = (used[len(used) // 2] + used[(len(used) - 1) // 2]) / 2 if used else Decimal(1)
        total = Decimal(0)
        for c, mu in enumerate(mus):
            w, at = sizes[c] or middle, slice(3 * c, 3 * c + 3)
            velocity, force = u[at], [w * x for x in forces[at]]
            velocity[0] += mu * (velocity[1] ** 2 + velocity[2] ** 2).sqrt()
            n, s, t = (a - b for a, b in zip(force, velocity, strict=True))
            length = (s * s + t * t).sqrt()
            if length > mu * n:
                n = max((n + mu * length) / (1 + mu * mu), Decimal(0))
                s, t = (mu * n * s / length, mu * n * t / length) if length else (s, t)
            total += sum(((a - b) ** 2 for a, b in zip(force, (n, s, t), strict=True)), Decimal(0))
        return float((total / sum((x * x for x in q), Decimal(0))).sqrt())


def false_claims(seed: int, problems: int) -> tuple[list[str], int]:
    """What was called solved and is not, and how often something was called solved."""
    rng = np.random.default_rng(seed)
    wrong, solved = [], 0
    for number in range(problems):
        problem = draw(rng)
        if not problem.q.any():
            continue
        for solver in SOLVERS:
            result = lcp.solve(problem, solver)
            assert np.isfinite(result.r).all()
            solved += result.solved
            # Rounding may excuse up to 1e-6 of the load, never more.
            if result.solved and not (error := natural_map(problem, result.r)) <= 1.01e-6:
                wrong.append(f"{number}: {solver}, {error:.1e}")
    return wrong, solved


def test_nothing_false_is_called_solved() -> None:
    """Thirty-two of a thousand that a longer run tries; most of them have a solution, and many are found."""
    wrong, solved = false_claims(0, 32)
    assert wrong == []
    assert solved > 100


def test_forces_that_hide_a_velocity() -> None:
    """W singular, forces of 1e15 in which a penetration of 1786 is lost: the measure of zero is no answer."""
    rng = np.random.default_rng(1)
    problem = [draw(rng) for _ in range(4)][3]
    result = lcp.solve(problem, SOLVERS[2])
    assert not result.solved or natural_map(problem, result.r) < 1e-6
    r = np.array([3035729128411224.5, -900106101296344.2, 2101329462948128.5])
    assert natural_map(problem, r) > 0.3
    assert not lcp.friction_residuals(problem, r)[0].solved(1e-8)


# Of two contacts that push each other the default solver makes all its attempts, which take ten seconds; that it ends
# with a proof is tested in `test_friction_problems.py`.
LONG = [pytest.param(solver, 2, marks=pytest.mark.slow) for solver in (None, lcp.ContactStrategies())]


@pytest.mark.parametrize(
    ("solver", "contacts"), [*((solver, 1) for solver in (None, *SOLVERS)), *((one, 2) for one in SOLVERS[:-1]), *LONG]
)
def test_forces_that_grow_without_bound(solver: Any, contacts: int) -> None:
    """Nothing stops a contact that no force moves, nor two that push each other: not solved, and no exception."""
    W = np.zeros((6, 6))
    W[0, 0] = W[3, 3] = 1.0
    W[0, 3] = W[3, 0] = -1.0
    problem = lcp.FrictionProblem(W, [-1.0, 0.0, 0.0, -1.0, 0.0, 0.0], [0.3, 0.3])
    if contacts == 1:
        problem = lcp.FrictionProblem(np.zeros((3, 3)), [-0.026, 0.872, 0.989], [0.1])
    result = lcp.solve(problem, solver)
    assert not result.solved
    assert np.isfinite(result.r).all()


def test_lists_are_measured() -> None:
    """And what is no such vector is refused by name."""
    problem = lcp.FrictionProblem(np.eye(3), [-1.0, 0.0, 0.0], [0.5])
    residual, u = lcp.friction_residuals(problem, [1.0, 0.0, 0.0])
    assert residual.solved(1e-12)
    np.testing.assert_array_equal(u, 0.0)
    with pytest.raises(lcp.ProblemError, match="r must have length 3, got 2"):
        lcp.friction_residuals(problem, [1.0, 0.0])
