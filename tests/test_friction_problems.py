"""Coulomb friction with the exact cone: problems, the judge, ill-formed input, and no false claims."""

import pickle
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from refusals import assert_messages
from scipy import sparse

import lcp
from lcp.friction.solvers.contact_strategies import NoAdmissibleMotion

EYE = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((EYE, [1.0, 2.0], [0.5]), r"q has length 2, wanted 3"),
        ((np.eye(4), [1.0, 2.0, 3.0], [0.5]), r"W has shape \(4, 4\), wanted \(3, 3\)"),
        ((np.zeros((3, 2)), [1.0, 2.0, 3.0], [0.5]), r"W must be square, got shape \(3, 2\)"),
        ((EYE, [1.0, np.nan, 3.0], [0.5]), r"q\[1\] = nan is not finite"),
        ((np.diag([1.0, np.inf, 1.0]), [1.0, 2.0, 3.0], [0.5]), r"W\[1, 1\] = inf is not finite"),
        ((EYE, [1.0, 2.0, 3.0], [-0.5]), r"mu\[0\] = -0.5 is negative"),
        ((EYE, [1.0, 2.0, 3.0], [0.5], 4), r"dim must be 1, 2 or 3, got 4"),
        ((EYE, [1.0, 2.0, 3.0], [0.5], (1, 2)), r"dim has 2 entries for 1 contacts"),
        ((EYE, [1.0, 2.0, 3.0], [0.5, 0.0], (1, 2)), r"mu\[0\] = 0.5, but contact 0 has no tangent"),
        ((EYE, [1.0, 2.0, 3.0], [0.5], "three"), r"dim must be 1, 2 or 3, or one such number per contact"),
        ((EYE * 1j, [1.0, 2.0, 3.0], [0.5]), r"W is complex"),
    ],
)
def test_ill_formed_problems_are_refused_with_the_entry_named(arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.FrictionProblem(*arguments)


def test_kinds_of_problem_and_of_solver_do_not_mix() -> None:
    friction, plain = lcp.FrictionProblem(EYE, [-1.0, 0.0, 0.0], [0.5]), lcp.LCP(EYE, [-1.0, 0.0, 0.0])
    assert_messages(
        lcp.ProblemError,
        ("Lemke solves no friction problems", lambda: lcp.solve(friction, lcp.Lemke())),
        ("NSGS solves friction problems alone", lambda: lcp.solve(plain, lcp.NSGS())),
        ("solver must be a solver object such as NSGS", lambda: lcp.solve(friction, lcp.NSGS)),
        ("another kind of problem", lambda: lcp.solve(friction, z0=lcp.solve(plain))),
        ("FrictionResult", lambda: lcp.solve(plain, z0=lcp.solve(friction))),
        ("z0 must have length 3", lambda: lcp.solve(friction, z0=[1.0])),
        ("tolerance must lie", lambda: lcp.solve(friction, tolerance=0.0)),
    )


class Impostor:
    """Solver that claims its fixed r solves every problem."""

    def __init__(self, r: Any) -> None:
        self.r = r

    def solve(self, problem: lcp.FrictionProblem, *, z0: Any, tolerance: float, trace: bool) -> lcp.FrictionClaim:
        return lcp.FrictionClaim(self.r, lcp.Status.SOLVED, 1)


def test_a_claim_is_only_a_claim() -> None:
    problem = lcp.FrictionProblem(EYE, [-1.0, 0.3, 0.0], [0.5])
    assert lcp.solve(problem, Impostor(np.array([1.0, -0.3, 0.0]))).solved
    wrong = lcp.solve(problem, Impostor(np.array([1.0, 0.3, 0.0])))
    assert wrong.status is lcp.Status.STALLED
    with pytest.raises(lcp.SolveError, match="Impostor: STALLED") as caught:
        wrong.raise_for_status()
    assert caught.value.result is wrong
    assert lcp.solve(problem, Impostor(np.full(3, np.nan))).status is lcp.Status.NOT_FINITE
    with pytest.raises(lcp.ProblemError, match=r"Impostor returned r of shape \(2,\), expected \(3,\)"):
        lcp.solve(problem, Impostor(np.zeros(2)))


def test_a_wrong_force_is_not_solved_in_units_that_hide_it_from_the_plain_residual() -> None:
    """W of 1e12: the force is so small against q that FCLIB's measure cannot see its direction."""
    problem = lcp.FrictionProblem(1e12 * EYE, [-1.0, 3.0, -4.0], [0.5])
    turned = np.array([1.0, 0.3, 0.4]) * 1e-12
    residual, _ = lcp.friction_residuals(problem, turned)
    assert residual.fclib < 1e-8 < residual.scaled
    assert lcp.solve(problem, Impostor(turned)).status is lcp.Status.STALLED
    right = lcp.solve(problem)
    assert right.solved
    np.testing.assert_allclose(right.r * 1e12, [1.0, -0.3, 0.4], rtol=1e-12)


def test_the_plain_residual_is_the_published_one() -> None:
    problem = lcp.FrictionProblem(EYE, [-1.0, 3.0, -4.0], [0.5])
    residual, u = lcp.friction_residuals(problem, np.zeros(3))
    np.testing.assert_array_equal(u, problem.q)
    # P_K(-u_hat) by hand: u_hat = (1.5, 3, -4), |z_T| = 5, s = (-1.5 + 2.5) / 1.25.
    s = 0.8
    assert residual.fclib == pytest.approx(np.hypot(s, 0.5 * s) / np.sqrt(26.0), rel=1e-14)


def test_no_forces_keep_the_contacts_apart() -> None:
    """Two contacts of one pair of rows with opposite normals, both pressed: one must penetrate."""
    J = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    both = np.vstack([J, np.diag([-1.0, 1.0, 1.0]) @ J])
    problem = lcp.FrictionProblem(both @ both.T, [-1.0, 0.0, 0.0, -1.0, 0.0, 0.0], [0.0, 0.0])
    result = lcp.solve(problem)
    assert result.status is lcp.Status.INFEASIBLE
    proof = result.evidence
    assert isinstance(proof, NoAdmissibleMotion)
    d = np.zeros(6)
    d[[0, 3]] = proof.d
    assert (proof.d >= 0.0).all()
    assert d @ problem.q < 0.0
    np.testing.assert_allclose(d @ problem.W, 0.0, atol=1e-12)


def test_a_global_problem_is_its_reduction_with_the_way_back() -> None:
    rng = np.random.default_rng(3)
    B = rng.normal(size=(9, 9))
    M, H = B @ B.T + np.eye(9), rng.normal(size=(9, 6))
    f, w = rng.normal(size=9), rng.normal(size=6) - [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    whole = lcp.GlobalFrictionProblem(M, H, f, w, [0.4, 0.6])
    local = lcp.FrictionProblem(H.T @ np.linalg.solve(M, H), H.T @ np.linalg.solve(M, f) + w, [0.4, 0.6])
    result, other = lcp.solve(whole), lcp.solve(local)
    assert result.solved
    assert other.v is None
    assert result.lam is None
    np.testing.assert_allclose(result.r, other.r, atol=1e-9)
    assert result.v is not None
    np.testing.assert_allclose(M @ result.v, H @ result.r + f, atol=1e-10)
    np.testing.assert_allclose(result.u, H.T @ result.v + w, atol=1e-12)
    thin = lcp.GlobalFrictionProblem(sparse.csc_matrix(M), sparse.coo_matrix(H), f, w, [0.4, 0.6])
    np.testing.assert_allclose(lcp.solve(thin).r, result.r, atol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(whole)).H, whole.H)


@pytest.mark.parametrize("copies", [1, 2])
def test_bilateral_rows_are_kept_redundant_or_not(copies: int) -> None:
    """A mass over a floor, held along x: the slip is along y alone, and lambda carries the rest."""
    G = np.tile([[1.0], [0.0], [0.0]], copies)
    H = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    problem = lcp.GlobalFrictionProblem(
        2.0 * np.eye(3), H, [3.0, 4.0, -2.0], np.zeros(3), [0.5], G=G, b=np.full(copies, -0.25)
    )
    result = lcp.solve(problem)
    assert result.solved
    assert result.v is not None
    assert result.lam is not None
    np.testing.assert_allclose(problem.G.T @ result.v, 0.25)
    np.testing.assert_allclose(result.v[2], 0.0, atol=1e-14)
    np.testing.assert_allclose(2.0 * result.v, H @ result.r + [3.0, 4.0, -2.0] + G @ result.lam, atol=1e-12)
    slip = result.v[:2]
    np.testing.assert_allclose(result.r[1:], -0.5 * 2.0 * slip / np.linalg.norm(slip), atol=1e-9)


def test_bilateral_rows_that_contradict_one_another() -> None:
    problem = lcp.GlobalFrictionProblem(
        np.eye(3), np.eye(3), [-1.0, 0.0, 0.0], np.zeros(3), [0.5], G=np.ones((3, 2)), b=[0.0, 1.0]
    )
    result = lcp.solve(problem)
    assert result.status is lcp.Status.INCONSISTENT
    assert "have no solution" in result.attempts[0].detail


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"H": np.eye(4)}, r"H must have shape \(3, 3\), got \(4, 4\)"),
        ({"f": [1.0]}, "f must have length 3, got 1"),
        ({"w": [1.0]}, "w must have length 3, got 1"),
        ({"G": np.eye(3)}, "G and b come together"),
        ({"G": np.eye(3), "b": [1.0]}, r"G must have shape \(3, 1\), got \(3, 3\)"),
        ({"mu": [-1.0]}, r"mu\[0\] = -1.0 is negative"),
        ({"H": np.full((3, 3), np.nan)}, r"H\[0, 0\] = nan is not finite"),
    ],
)
def test_ill_formed_global_problems(change: dict[str, Any], text: str) -> None:
    good: dict[str, Any] = {"M": EYE, "H": EYE, "f": np.ones(3), "w": np.ones(3), "mu": [0.5]}
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.GlobalFrictionProblem(**{**good, **change})


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
    """Return false claims of a solution, and the number of claims."""
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
    """W singular, with forces of 1e15 that hide a penetration of 1786: the zero measure is not a solution."""
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
