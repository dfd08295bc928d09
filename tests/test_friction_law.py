"""The law of friction in problem data: the functions that set it, that keep it, and that solve with it."""

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
from contactlab import ConstraintSolver, ConvexRelaxation, EqualCompliance
from contactlab.formulation import BridgeError, motion_is_unique, problem_data_from
from contactlab.impact import ImpactError, Newton, Poisson
from contactlab.simulation import Recording, TimeStepping, simulate
from problem_data import ConstraintVelProblemData, ProblemDataError

H = 1e-2
OBLIQUE = math.radians(30.0)


def particle(**changes: object) -> ConstraintVelProblemData:
    """A particle on the ground that slides between two edges of a pyramid; mu = 0.5, two tangents."""
    given = {
        "M": 2.0 * np.eye(3),
        "Mv": 2.0 * np.array([math.cos(OBLIQUE), math.sin(OBLIQUE), -9.81 * H]),
        "N": [[0, 0, 1]],
        "F": np.eye(3)[:2],
        "mu": [0.5],
        "r": [2],
    }
    return ConstraintVelProblemData(**{**given, **changes})  # type: ignore[arg-type]


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
        ("friction: .*wanted 'pyramid' or 'cone'", lambda: particle(friction=law)),
        ("friction: .*wanted 'pyramid' or 'cone'", lambda: particle().with_friction(law)),
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"r": [4], "F": np.eye(3)[[0, 1, 0, 1]]}, r"r: r\[0\] = 4"),
        ({"gammaE": [0.1]}, "gammaE"),
        ({"cone_contacts": [0, 0], "mu": [0.5, 0.1], "r": [2, 1], "F": np.eye(3)[[0, 1, 0]]}, "further cones"),
    ],
)
def test_data_that_are_no_cones_are_refused(changes: dict[str, object], words: str) -> None:
    particle(**changes)
    assert_messages(
        ProblemDataError,
        (words, lambda: particle(friction="cone", **changes)),
        (words, lambda: particle(**changes).with_friction("cone")),
    )


def test_files_keep_the_law_and_older_ones_have_pyramids(tmp_path: Path) -> None:
    """A file of pyramids has no member for it, and is what it was before there was a choice."""
    for law in ("pyramid", "cone"):
        problem_data.save(tmp_path / f"{law}.npz", particle(friction=law))
        again = problem_data.load(tmp_path / f"{law}.npz")
        assert again.friction == law
        np.testing.assert_array_equal(again.blocks().J, particle().blocks().J)
    with np.load(tmp_path / "pyramid.npz") as old, np.load(tmp_path / "cone.npz") as new:
        assert "friction" not in old
        assert set(new) - set(old) == {"friction"}
        np.savez(tmp_path / "damaged.npz", **{**new, "friction": np.array("disc")})
    with pytest.raises(problem_data.FileError, match=r"friction.*damaged\.npz"):
        problem_data.load(tmp_path / "damaged.npz")


def test_the_solver_takes_the_law_of_the_data() -> None:
    """With the cone a particle keeps its heading, with four edges it turns; the solver's argument comes first."""
    cone, pyramid = particle(friction="cone"), particle()
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
    cone = particle(friction="cone")
    assert heading(Newton(0.0).solve(cone).v_plus) == pytest.approx(OBLIQUE, abs=1e-9)
    with pytest.raises(ImpactError, match="with_friction"):
        Poisson(0.5).solve(cone)
    with pytest.raises(ProblemDataError, match="with_friction"):
        motion_is_unique(cone, H)
    assert motion_is_unique(cone.with_friction("pyramid"), H).unique
    assert Poisson(0.5, "sequential").solve(cone).v_plus[2] > 0.0
