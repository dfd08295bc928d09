"""Coulomb's exact cone: closed forms, certificates, what is refused; the law of friction in problem data."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bridge_models import feet, quadruped, stance
from refusals import assert_messages
from test_simulation_cone import sliding_brick

import lcp
import problem_data
from contactlab import ConstraintSolveError, ConstraintSolver, ConvexRelaxation, EqualCompliance
from contactlab.constraint_solver import BridgeError, motion_is_unique, problem_data_from
from contactlab.constraint_solver.certificate import CONE_FORMULAS
from contactlab.constraint_solver.forces import certify_forces
from contactlab.impact import ImpactError, Newton, Poisson
from contactlab.simulation import Recording, TimeStepping, simulate
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError

H, MASS, G, MU = 0.01, 2.0, 9.81, 0.5
CONE = ConstraintSolver(friction="cone")


def particle(v: tuple[float, float], **more: Any) -> ConstraintVelProblemData:
    """A particle on the ground that moves along it at v."""
    fields: dict[str, Any] = {"mu": [MU], "r": [2], "F": [[1, 0, 0], [0, 1, 0]]} | more
    return ConstraintVelProblemData(
        M=MASS * np.eye(3), Mv=[MASS * v[0], MASS * v[1], -H * MASS * G], N=[[0, 0, 1]], **fields
    )


@pytest.mark.parametrize("angle", np.linspace(0.1, 6.2, 8))
def test_a_sliding_particle_is_braked_against_its_motion(angle: float) -> None:
    """Where a pyramid of four edges pulls along the nearest edges, the cone does not care for the direction."""
    speed = 1.0
    v = (speed * math.cos(angle), speed * math.sin(angle))
    solution = CONE.solve_discretized_problem(particle(v), H)
    load = MASS * G
    assert isinstance(solution.result, lcp.FrictionResult)
    np.testing.assert_allclose(solution.forces.fN, load, rtol=1e-12)
    np.testing.assert_allclose(solution.forces.fF, [-MU * load * v[0], -MU * load * v[1]], rtol=1e-9)
    np.testing.assert_allclose(solution.v_plus[:2], np.array(v) * (1.0 - H * MU * G / speed), rtol=1e-9)
    assert solution.certificate.holds(1e-9)
    assert solution.certificate.checks().keys() == CONE_FORMULAS.keys()
    again = CONE.solve_discretized_problem(particle(v), H, z0=solution.result.z)
    assert again.result.iterations == 0
    pyramid = ConstraintSolver().solve_discretized_problem(particle(v), H)
    off_axis = abs(math.sin(2.0 * angle)) > 1e-3
    assert (
        certify_forces(
            particle(v), H, pyramid.forces.packed(), pyramid.forces.packed(), pyramid.v_plus, formulas=CONE_FORMULAS
        ).holds(1e-6)
        != off_axis
    )


def test_a_particle_that_friction_can_stop_stops_and_one_in_flight_flies() -> None:
    stopped = CONE.solve_discretized_problem(particle((0.02, -0.02)), H)
    np.testing.assert_allclose(stopped.v_plus, 0.0, atol=1e-14)
    np.testing.assert_allclose(stopped.forces.fF, [-4.0, 4.0], rtol=1e-9)
    apart = CONE.solve_discretized_problem(particle((0.02, 0.0), kN=[1.0]), H)
    assert not apart.generalized_force.any()
    impact = CONE.solve_impact_problem(particle((0.02, 0.0), kN=[-1.0]))
    np.testing.assert_allclose(impact.v_plus[2], 1.0, rtol=1e-12)


def random_data(seed: int) -> ConstraintVelProblemData:
    """Five contacts, some without friction, a limit, bilateral rows, softening."""
    rng = np.random.default_rng(seed)
    nv, nc = 10, 5
    root = rng.normal(size=(nv, nv))
    possible = rng.normal(size=nv)
    r = np.array([2, 0, 2, 2, 2])
    N, F, L, rows = (rng.normal(size=(k, nv)) for k in (nc, 8, 1, 2))
    mu = np.where(r > 0, rng.uniform(0.1, 0.6, nc), 0.0)
    slip = np.zeros(nc)
    slip[r > 0] = np.linalg.norm((F @ possible).reshape(-1, 2), axis=1)
    return ConstraintVelProblemData(
        M=root @ root.T + nv * np.eye(nv),
        Mv=5.0 * rng.normal(size=nv),
        N=N,
        F=F,
        mu=mu,
        r=r,
        kN=0.1 + mu * slip - N @ possible,
        L=L,
        kL=0.1 - L @ possible,
        G=rows,
        kG=-rows @ possible,
        gammaN=rng.uniform(0.0, 0.01, nc),
        gammaF=np.repeat(rng.uniform(0.0, 0.01, 4), 2),
        gammaL=[0.01],
    )


@pytest.mark.parametrize("seed", range(8))
def test_limits_bilateral_rows_and_softening(seed: int) -> None:
    """Every condition from the forces and the velocity alone, in numpy."""
    data = random_data(seed)
    solution = CONE.solve_discretized_problem(data, H)
    assert solution.certificate.holds(1e-8), str(solution.certificate)
    f, v = solution.forces, solution.v_plus
    np.testing.assert_allclose(
        data.blocks().J.T @ f.packed() * H + data.Mv, np.linalg.solve(data.solve_inertia(np.eye(10)), v), atol=1e-9
    )
    np.testing.assert_allclose(data.G @ v + data.kG, 0.0, atol=1e-9)
    gap = data.N @ v + data.kN + data.gammaN * f.fN
    limit = data.L @ v + data.kL + data.gammaL * f.fL
    for force, slack in ((f.fN, gap), (f.fL, limit)):
        assert (force >= -1e-9).all()
        assert (slack >= -1e-9).all()
        np.testing.assert_allclose(force * slack, 0.0, atol=1e-6)
    slip = (data.F @ v + data.kF + data.gammaF * f.fF).reshape(-1, 2)
    friction = f.fF.reshape(-1, 2)
    bound = (data.mu * f.fN)[data.r == 2]
    assert (np.linalg.norm(friction, axis=1) <= bound + 1e-7).all()
    # At its bound and opposite, or no slip.
    wrong = friction * np.linalg.norm(slip, axis=1)[:, None] + bound[:, None] * slip
    np.testing.assert_allclose(wrong, 0.0, atol=1e-6)


@pytest.mark.parametrize("solver", lcp.ALL_FRICTION_SOLVERS, ids=lambda solver: solver.__name__)
def test_every_friction_solver_serves(solver: Any) -> None:
    solution = ConstraintSolver(solver(), tolerance=1e-8, friction="cone").solve_discretized_problem(random_data(1), H)
    assert solution.certificate.holds(1e-5)
    assert type(solution.result.solver) is solver


def test_a_wrong_force_does_not_pass_the_certificate() -> None:
    data = particle((1.0, 0.5))
    solution = CONE.solve_discretized_problem(data, H)
    packed = solution.forces.packed()
    for condition, change in (
        ("cone", [0.0, -0.1, 0.0]),
        ("maximum_dissipation", [0.0, 4.0, 2.0]),
        ("normal_gap", [-1.0, 0.0, 0.0]),
    ):
        wrong = packed + change
        v_plus = solution.v_plus + H / MASS * np.array([change[1], change[2], change[0]])
        certificate = certify_forces(data, H, wrong, wrong, v_plus, formulas=CONE_FORMULAS)
        assert condition in certificate.violated(1e-4), condition
    broken = certify_forces(data, H, packed * np.nan, packed * np.nan, solution.v_plus, formulas=CONE_FORMULAS)
    assert not broken.holds()


def test_data_that_are_no_cones_are_refused_with_the_fix() -> None:
    three = np.array([[1.0, 0, 0], [0.5, 0.9, 0], [-0.5, 0.9, 0]])
    cases: list[tuple[ConstraintVelProblemData, str]] = [
        (particle((1, 0), F=three, r=[3]), r"r: r\[0\] = 3.*two orthonormal tangents.*4 edges"),
        (particle((1, 0), F=[[1, 0, 0], [2, 0, 0]]), "F: the two rows of contact 0 are parallel"),
        (particle((1, 0), gammaE=[0.1]), "gammaE.*pyramid"),
    ]
    for data, text in cases:
        with pytest.raises(ProblemDataError, match=text):
            CONE.solve_discretized_problem(data, H)
    mixed = ConstraintVelProblemData(
        M=np.eye(3), Mv=np.zeros(3), N=[[0, 0, 1]] * 2, F=np.eye(3), mu=[0.5, 0.5], r=[1, 2]
    )
    with pytest.raises(ProblemDataError, match=r"r\[0\] = 1 beside contacts of 2.*second tangent"):
        CONE.solve_impact_problem(mixed)
    accelerations = ConstraintAccelProblemData(
        M=np.eye(3), tau=np.zeros(3), N=[[0, 0, 1]], F=np.eye(3)[:2], mu_non_sliding=[0.5], r=[2]
    )
    with pytest.raises(ProblemDataError, match="friction: applies to impacts and steps"):
        CONE.solve_constraint_problem(accelerations)


def test_options_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(lcp.ProblemError, match="friction must be one of pyramid, cone"):
        ConstraintSolver(friction="disc")
    for solver in (lcp.Lemke(), ConvexRelaxation()):
        with pytest.raises(lcp.ProblemError, match='does not solve friction="cone"'):
            ConstraintSolver(solver, friction="cone")
    for error, message, call in (
        (lcp.ProblemError, 'write friction="cone"', lambda: ConstraintSolver(lcp.NSGS(), friction="pyramid")),
        (
            lcp.ProblemError,
            'write friction="cone"',
            lambda: ConstraintSolver(lcp.NSGS()).solve_discretized_problem(particle((1, 0)), H),
        ),
        (ProblemDataError, "z0: shape", lambda: CONE.solve_discretized_problem(particle((1, 0)), H, z0=[0.0])),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_failure_carries_the_cone_problem() -> None:
    """A particle between two walls that close in on it."""
    data = ConstraintVelProblemData(
        M=np.eye(3), Mv=np.zeros(3), N=[[0, 0, 1], [0, 0, -1]], F=np.eye(3)[[0, 1, 0, 1]], mu=[0.5] * 2, r=[2, 2],
        kN=[-1.0, -1.0],
    )  # fmt: skip
    with pytest.raises(ConstraintSolveError, match="cone problem of size 6 ended with INFEASIBLE") as caught:
        CONE.solve_discretized_problem(data, H)
    assert isinstance(caught.value.lcp, lcp.FrictionProblem)
    assert caught.value.result.evidence is not None


OBLIQUE = math.radians(30.0)


def oblique_particle(**changes: Any) -> ConstraintVelProblemData:
    """The particle sliding between two edges of a pyramid."""
    return particle((math.cos(OBLIQUE), math.sin(OBLIQUE)), **changes)


def heading(v: np.ndarray) -> float:
    return math.atan2(v[1], v[0])


@pytest.fixture(scope="module")
def recording() -> Recording:
    """A brick that slides between two edges of a pyramid, with the exact cone."""
    return simulate(sliding_brick(OBLIQUE), TimeStepping(2e-3, friction="cone"), steps=30)


@pytest.mark.parametrize("law", ["disc", "Cone", 2, True])
def test_an_unknown_law_is_refused(law: Any) -> None:
    assert_messages(
        ProblemDataError,
        ("friction: .*wanted 'pyramid' or 'cone'", lambda: oblique_particle(friction=law)),
        ("friction: .*wanted 'pyramid' or 'cone'", lambda: oblique_particle().with_friction(law)),
    )


def test_files_keep_the_law_and_older_ones_have_pyramids(tmp_path: Path) -> None:
    """A file of pyramids has no member for it, and is what it was before there was a choice."""
    for law in ("pyramid", "cone"):
        problem_data.save(tmp_path / f"{law}.npz", oblique_particle(friction=law))
        again = problem_data.load(tmp_path / f"{law}.npz")
        assert again.friction == law
        np.testing.assert_array_equal(again.blocks().J, oblique_particle().blocks().J)
    with np.load(tmp_path / "pyramid.npz") as old, np.load(tmp_path / "cone.npz") as new:
        assert "friction" not in old
        assert set(new) - set(old) == {"friction"}
        np.savez(tmp_path / "damaged.npz", **{**new, "friction": np.array("disc")})
    with pytest.raises(problem_data.FileError, match=r"friction.*damaged\.npz"):
        problem_data.load(tmp_path / "damaged.npz")


def test_the_solver_takes_the_law_of_the_data() -> None:
    """With the cone a particle keeps its heading, with four edges it turns; the solver's argument comes first."""
    cone, pyramid = oblique_particle(friction="cone"), oblique_particle()
    for solver in (ConstraintSolver(), ConstraintSolver(EqualCompliance())):
        assert heading(solver.solve_discretized_problem(cone, H).v_plus) == pytest.approx(OBLIQUE, abs=1e-9)
        turned = heading(solver.solve_discretized_problem(pyramid, H).v_plus)
        assert abs(turned - OBLIQUE) > 1e-3
        told = ConstraintSolver(solver.lcp_solver, friction="pyramid")
        assert heading(told.solve_discretized_problem(cone, H).v_plus) == turned
        told = ConstraintSolver(solver.lcp_solver, friction="cone")
        assert heading(told.solve_impact_problem(pyramid).v_plus) == pytest.approx(OBLIQUE, abs=1e-9)
    assert ConstraintSolver(lcp.NSGS()).solve_discretized_problem(cone, H).result.solved
    for named in (lcp.Lemke(), ConvexRelaxation(), EqualCompliance(lcp.Lemke())):
        with pytest.raises(lcp.ProblemError, match='friction="'):
            ConstraintSolver(named).solve_discretized_problem(cone, H)


def test_a_recording_knows_its_law(recording: Recording, tmp_path: Path) -> None:
    """`ConstraintSolver()` solves the problem that the step solved, and finds its velocity; a pyramid does not."""
    recording.save(tmp_path / "run.npz")
    for record in (recording, Recording.open(tmp_path / "run.npz")):
        problem = record.problem(20)
        assert problem.friction == "cone"
        found = ConstraintSolver().solve_discretized_problem(problem, record.h[20])
        np.testing.assert_allclose(found.v_plus, record.v[21], atol=1e-9)
        other = ConstraintSolver(friction="pyramid").solve_discretized_problem(problem, record.h[20])
        assert np.abs(other.v_plus - record.v[21]).max() > 1e-4
    pyramids = simulate(sliding_brick(OBLIQUE), TimeStepping(2e-3), steps=2)
    assert pyramids.problem(1).friction == "pyramid"


def test_the_bridge_states_a_cone_where_it_is_told_to() -> None:
    """Over the two tangents that four edges are made of; the acceleration level has pyramids."""
    model = quadruped()
    q, v, given = stance(model), np.zeros(model.nv), feet()
    told = problem_data_from(model, q, v, contacts=given, h=1e-3, contact_friction="cone")
    assert (told.velocity.friction, told.acceleration.friction) == ("cone", "pyramid")
    untold = problem_data_from(model, q, v, contacts=given, h=1e-3)
    assert untold.velocity.friction == "pyramid"
    np.testing.assert_array_equal(told.velocity.blocks().J, untold.velocity.blocks().J)
    assert ConstraintSolver().solve_discretized_problem(told.velocity, 1e-3).certificate.holds()
    for wrong in ({"contact_friction": "disc"}, {"contact_friction": "cone", "edges": 8}):
        with pytest.raises(BridgeError, match="cone"):
            problem_data_from(model, q, v, contacts=given, h=1e-3, **wrong)


def test_who_knows_pyramids_alone_says_so() -> None:
    """Poisson's simultaneous law and the search for velocities; Newton's solves either."""
    cone = oblique_particle(friction="cone")
    assert heading(Newton(0.0).solve(cone).v_plus) == pytest.approx(OBLIQUE, abs=1e-9)
    with pytest.raises(ImpactError, match="with_friction"):
        Poisson(0.5).solve(cone)
    with pytest.raises(ProblemDataError, match="with_friction"):
        motion_is_unique(cone, H)
    assert motion_is_unique(cone.with_friction("pyramid"), H).unique
    assert Poisson(0.5, "sequential").solve(cone).v_plus[2] > 0.0
