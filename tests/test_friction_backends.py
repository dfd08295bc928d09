"""Friction by quadratic programs: the convex relaxation and staggered projections beside Coulomb's LCP."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import assert_messages

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver, ConvexRelaxation, StaggeredProjections
from contactlab.constraint_solver import StepSolution
from contactlab.constraint_solver.friction_backend import FrictionBackend
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

H, MASS, G, MU = 0.01, 2.0, 9.81, 0.5
SPIN = (1.0, 0.5, 0.0, 0.0, 0.0, 2.0)
QPS = [lcp.OSQP(), lcp.CVXPY()]
BACKENDS: list[FrictionBackend] = [
    *(ConvexRelaxation(qp) for qp in QPS),
    *(StaggeredProjections(qp) for qp in QPS),
]
NAMES = [f"{type(b).__name__}-{type(b.qp).__name__}" for b in BACKENDS]  # type: ignore[attr-defined]


def particle(v: float, pull: float = 0.0, h: float = H, gap: float = 0.0, **more: Any) -> ConstraintVelProblemData:
    """A particle over the ground, moving along it at v and pulled at ``pull`` newtons."""
    fields: dict[str, Any] = {"Mv": [MASS * v + h * pull, -h * MASS * G], "kN": [gap / h], "mu": [MU]}
    return ConstraintVelProblemData(M=MASS * np.eye(2), N=[[0, 1]], F=[[1, 0]], r=[1], **(fields | more))


def box(v: Any, mu: float = MU, feet: int = 4) -> ConstraintVelProblemData:
    """A flat box on its four corners, or fewer of them; v is (linear, angular)."""
    half = np.array([0.2, 0.1, 0.05])
    M = np.diag([MASS] * 3 + list(MASS / 3.0 * (np.sum(half**2) - half**2)))
    corners = [np.array([x * half[0], y * half[1], -half[2]]) for x in (-1, 1) for y in (-1, 1)][:feet]

    def row(p: Any, d: Any) -> Any:
        return np.concatenate((d, np.cross(p, d)))

    N = [row(p, (0, 0, 1)) for p in corners]
    F = [row(p, d) for p in corners for d in ((1, 0, 0), (0, 1, 0))]
    Mv = M @ np.array(v, dtype=float) - [0, 0, H * MASS * G, 0, 0, 0]
    return ConstraintVelProblemData(M=M, Mv=Mv, N=N, F=F, mu=[mu] * feet, r=[2] * feet)


def random_problem(seed: int, *, mu: float | None = None, rows: bool = True, **more: Any) -> ConstraintVelProblemData:
    """Five contacts of one or two directions, a limit and two bilateral rows; some velocity meets the relaxed ones."""
    rng = np.random.default_rng(seed)
    nv, nc = 9, 5
    r = rng.integers(1, 3, nc)
    root = rng.normal(size=(nv, nv))
    N, L, G_rows = rng.normal(size=(nc, nv)), rng.normal(size=(1, nv)), rng.normal(size=(2, nv))
    possible = rng.normal(size=nv)
    F = rng.normal(size=(int(r.sum()), nv))
    friction = rng.uniform(0.1, 0.4, nc) if mu is None else np.full(nc, mu)
    slip = np.maximum.reduceat(np.abs(F @ possible), np.cumsum(r) - r)
    fields: dict[str, Any] = {
        "M": root @ root.T + nv * np.eye(nv),
        "Mv": 5.0 * rng.normal(size=nv),
        "N": N,
        "F": F,
        "mu": friction,
        "r": r,
        "kN": 0.1 + friction * slip - N @ possible,
    }
    if rows:
        fields |= {"L": L, "kL": 0.1 - L @ possible, "G": G_rows, "kG": -G_rows @ possible}
    return ConstraintVelProblemData(**(fields | more))


def solve(data: ConstraintVelProblemData, solver: lcp.Solver | FrictionBackend | None = None) -> StepSolution:
    return ConstraintSolver(solver).solve_discretized_problem(data, H)


def coulomb(data: ConstraintVelProblemData) -> StepSolution:
    """Coulomb's forces, certified."""
    solution = solve(data)
    assert solution.certificate.worst < 1e-12
    return solution


@pytest.mark.parametrize("seed", range(4))
def test_without_friction_all_solvers_agree(seed: int) -> None:
    """Lemke, OSQP, CVXPY and both backends on each give one motion and one sum of forces, to 1e-8."""
    data = random_problem(seed, mu=0.0)
    wanted = solve(data, lcp.Lemke())
    for solver in (*QPS, *BACKENDS):
        found = solve(data, solver)
        assert not found.relaxed
        assert found.certificate.holds(1e-9), str(found.certificate)
        np.testing.assert_allclose(found.v_plus, wanted.v_plus, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(found.generalized_force, wanted.generalized_force, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("qp", QPS, ids=["OSQP", "CVXPY"])
def test_with_friction_a_qp_solver_names_the_backends(qp: lcp.Solver) -> None:
    """A QP solver in place of an LCP solver ends in an error that names the alternative."""
    with pytest.raises(ConstraintSolveError, match="ConvexRelaxation and StaggeredProjections") as caught:
        solve(particle(1.0), qp)
    assert caught.value.result.status is lcp.Status.UNSUITABLE


@pytest.mark.parametrize("qp", QPS, ids=["OSQP", "CVXPY"])
def test_the_relaxation_separates_a_sliding_block(qp: lcp.Solver) -> None:
    """Closed form: fN = m (g h + mu v) / (h (1 + mu^2)) where Coulomb has m g, and v_n+ = mu v_t+ where it has 0."""
    v = 1.0
    found = solve(particle(v), ConvexRelaxation(qp))
    fN = MASS * (G * H + MU * v) / (H * (1.0 + MU**2))
    slip = v - MU * H * fN / MASS
    np.testing.assert_allclose(found.forces.packed(), [fN, -MU * fN], rtol=1e-9)
    np.testing.assert_allclose(found.v_plus, [slip, MU * slip], rtol=1e-9)
    # The error to Coulomb: a contact that opens carries force; every other condition holds.
    assert found.certificate.violated(1e-9) == ("normal_complementarity",)
    assert found.coulomb_error.condition == "normal_complementarity"
    assert found.coulomb_error.violation == pytest.approx(fN * MU * slip, rel=1e-9)
    assert found.coulomb_error.scaled > 0.5


@pytest.mark.parametrize("qp", QPS, ids=["OSQP", "CVXPY"])
@pytest.mark.parametrize(("v", "pull"), [(1.0, 0.0), (0.0, 3.0), (0.0, 12.0), (-0.05, 0.0)])
def test_staggered_projections_find_coulombs_forces(qp: lcp.Solver, v: float, pull: float) -> None:
    """A single contact, sliding, sticking, breaking away or coming to rest: two rounds, Coulomb's forces, certified."""
    found, wanted = solve(particle(v, pull), StaggeredProjections(qp)), coulomb(particle(v, pull))
    np.testing.assert_allclose(found.forces.packed(), wanted.forces.packed(), atol=1e-8)
    np.testing.assert_allclose(found.v_plus, wanted.v_plus, atol=1e-10)
    assert not found.relaxed
    assert found.coulomb_error.scaled < 1e-9
    assert found.result.trace is not None
    assert len(found.result.trace) <= 2


def test_a_relaxed_solution_cannot_pass_for_a_certified_one() -> None:
    """The solution, its certificate, its result and its print all say so; `solved` speaks of the relaxed problem."""
    found = solve(particle(1.0), ConvexRelaxation())
    assert found.result.solved
    assert isinstance(found.result.solver, ConvexRelaxation)
    assert "ConvexRelaxation" in repr(found.result)
    assert [type(attempt.solver) for attempt in found.result.attempts] == [ConvexRelaxation]
    assert found.relaxed
    assert found.certificate.not_enforced == ("normal_complementarity",)
    assert not found.certificate.holds(1e-3)
    assert "of these violated: normal_complementarity" in str(found.certificate)
    assert not solve(particle(1.0)).relaxed


@pytest.mark.parametrize("v", [(0.0,) * 6, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), SPIN], ids=["rest", "slide", "spin"])
@pytest.mark.parametrize("feet", [3, 4])
def test_a_box_on_its_corners(v: tuple[float, ...], feet: int) -> None:
    """Staggered projections find Coulomb's forces; the relaxation does at rest, and lifts corners that slide."""
    data = box(v, feet=feet)
    wanted = coulomb(data)
    for qp in QPS:
        staggered = solve(data, StaggeredProjections(qp))
        assert staggered.certificate.holds(2e-9), str(staggered.certificate)
        # On four corners the share of each in the weight is open, and with it what friction does to a spin.
        if feet == 3 or v is not SPIN:
            np.testing.assert_allclose(staggered.v_plus, wanted.v_plus, atol=1e-7)
        relaxed = solve(data, ConvexRelaxation(qp))
        if not any(v):
            np.testing.assert_allclose(relaxed.v_plus, wanted.v_plus, atol=1e-9)
            assert relaxed.certificate.holds(1e-9)
        else:
            assert relaxed.certificate.violated(1e-9) == ("normal_complementarity",)
            slip = np.abs(np.reshape(data.F @ relaxed.v_plus, (feet, 2))).max(axis=1)
            pressing = relaxed.forces.fN > 1e-6
            np.testing.assert_allclose((data.N @ relaxed.v_plus)[pressing], MU * slip[pressing], rtol=1e-7)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    gammaN=st.sampled_from([0.0, 0.02]),
    gammaF=st.sampled_from([0.0, 0.03]),
    gammaE=st.sampled_from([0.0, 0.05]),
)
def test_the_relaxation_imposes_all_but_normal_complementarity(
    seed: int, gammaN: float, gammaF: float, gammaE: float
) -> None:
    """Limits, bilateral rows and any softening are included; v+ is unique and does not depend on the solver."""
    sizes = random_problem(seed)
    softening = {
        "gammaN": np.full(sizes.nc, gammaN),
        "gammaF": np.full(sizes.nr, gammaF),
        "gammaE": np.full(sizes.nc, gammaE),
    }
    data = random_problem(seed, **softening)
    found, other = solve(data, ConvexRelaxation()), solve(data, ConvexRelaxation(lcp.Lemke()))
    assert set(found.certificate.violated(1e-8)) <= {"normal_complementarity"}, str(found.certificate)
    np.testing.assert_allclose(found.v_plus, other.v_plus, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_staggered_projections_take_every_class_of_rows(seed: int) -> None:
    """Limits, bilateral and boxed rows and softening: where the rounds converge, it is to Coulomb's motion."""
    rng = np.random.default_rng(seed)
    data = random_problem(
        seed,
        gammaN=np.full(5, 0.02),
        gammaE=np.full(5, 0.05),
        B=rng.normal(size=(3, 9)),
        lo=[-1.0, 0.0, -np.inf],
        hi=[1.0, np.inf, 2.0],
    )
    wanted, found = coulomb(data), solve(data, StaggeredProjections())
    assert found.certificate.holds(1e-8), str(found.certificate)
    np.testing.assert_allclose(found.v_plus, wanted.v_plus, rtol=1e-6, atol=1e-6)
    relaxed = solve(data, ConvexRelaxation())
    assert set(relaxed.certificate.violated(1e-8)) <= {"normal_complementarity"}


def test_impacts_go_through_backends_too() -> None:
    """Impulses at one instant: equal to the LCP's by staggered projections, marked ones by the relaxation."""
    data = particle(1.0, Mv=[MASS * 1.0, -MASS * 0.5])
    wanted = ConstraintSolver().solve_impact_problem(data)
    staggered = ConstraintSolver(StaggeredProjections()).solve_impact_problem(data)
    np.testing.assert_allclose(staggered.forces.packed(), wanted.forces.packed(), atol=1e-9)
    relaxed = ConstraintSolver(ConvexRelaxation()).solve_impact_problem(data)
    assert relaxed.relaxed
    assert relaxed.v_plus[1] == pytest.approx(MU * relaxed.v_plus[0])


def test_rounds_without_convergence_are_a_status() -> None:
    """Too few rounds: ITERATION_LIMIT, the residual of each round in the trace, and the message says what to change."""
    data = box(SPIN)
    with pytest.raises(ConstraintSolveError, match=r"StaggeredProjections \(2 rounds.*raise max_iterations") as caught:
        solve(data, StaggeredProjections(max_iterations=2))
    result = caught.value.result
    assert isinstance(result, lcp.Result)
    assert result.status is lcp.Status.ITERATION_LIMIT
    assert result.trace is not None
    assert result.trace.values[1] < result.trace.values[0]
    assert not caught.value.certificate.holds(1e-9)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.result.status is lcp.Status.ITERATION_LIMIT


@pytest.mark.parametrize("backend", BACKENDS, ids=NAMES)
def test_contradicting_limits_are_proved_infeasible(backend: FrictionBackend) -> None:
    """v >= 1 and v <= -1: INFEASIBLE, with a Farkas vector of the problem in the error."""
    data = particle(0.5, L=[[1, 0], [-1, 0]], kL=[-1.0, -1.0])
    with pytest.raises(ConstraintSolveError) as caught:
        solve(data, backend)
    assert isinstance(caught.value.result, lcp.Result)
    assert caught.value.result.status is lcp.Status.INFEASIBLE
    assert caught.value.result.evidence.proves(caught.value.lcp)


def test_the_relaxation_refuses_the_acceleration_level() -> None:
    """It relaxes velocities: UNSUITABLE, naming what is not; the linear path, which needs no solver, stays."""
    fields: dict[str, Any] = {"M": np.eye(2), "tau": [1.0, -G], "N": [[0, 1]], "F": [[1, 0]], "mu_non_sliding": [0.3]}
    data = ConstraintAccelProblemData(**fields, r=[1])
    with pytest.raises(ConstraintSolveError) as caught:
        ConstraintSolver(ConvexRelaxation()).solve_constraint_problem(data)
    assert caught.value.result.status is lcp.Status.UNSUITABLE
    assert "StaggeredProjections" in str(caught.value.result.attempts[-1].detail)
    linear = ConstraintAccelProblemData(**fields, r=[1], use_complementarity_problem_solver=False)
    assert ConstraintSolver(ConvexRelaxation()).solve_constraint_problem(linear).forces.fN == pytest.approx([G])


def on_incline(angle: float, *, slips: bool) -> ConstraintAccelProblemData:
    """A block on a slope of this angle, at rest or sliding down it; coordinates along the slope and away from it."""
    fields: dict[str, Any] = {"M": MASS * np.eye(2), "tau": MASS * G * np.array([np.sin(angle), -np.cos(angle)])}
    if slips:
        return ConstraintAccelProblemData(**fields, N=[[0, 1]], Q=[[1, 0]], mu_sliding=[MU], sliding_contacts=[0])
    return ConstraintAccelProblemData(**fields, N=[[0, 1]], F=[[1, 0]], mu_non_sliding=[MU], r=[1])


@pytest.mark.parametrize("qp", [*QPS, lcp.Lemke()], ids=["OSQP", "CVXPY", "Lemke"])
@pytest.mark.parametrize(("angle", "slips"), [(0.3, False), (0.6, False), (0.3, True), (0.6, True)])
def test_staggered_projections_find_accelerations(qp: lcp.Solver, angle: float, slips: bool) -> None:
    """A block on a slope: held below atan(mu), otherwise a = g (sin - mu cos); sliding it has that at any angle."""
    found = ConstraintSolver(StaggeredProjections(qp)).solve_constraint_problem(on_incline(angle, slips=slips))
    held = not slips and np.tan(angle) < MU
    along = 0.0 if held else G * (np.sin(angle) - MU * np.cos(angle))
    np.testing.assert_allclose(found.acceleration, [along, 0.0], atol=1e-9)
    assert found.forces.fN == pytest.approx([MASS * G * np.cos(angle)], rel=1e-9)
    assert found.certificate.holds(1e-9), str(found.certificate)
    assert not found.relaxed


def test_backends_are_no_lcp_solvers() -> None:
    """A class for an object, or a backend for a solver of plain LCPs, is refused by name."""
    assert_messages(
        lcp.ProblemError,
        (r"ConvexRelaxation\(\), not the class", lambda: ConstraintSolver(ConvexRelaxation)),
        ("ConvexRelaxation", lambda: lcp.solve(lcp.LCP([[1.0]], [1.0]), ConvexRelaxation())),
    )
