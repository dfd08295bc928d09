"""Time stepping by quadratic programs: the law that a step states, how far it is from Coulomb's, what a record says."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import assert_messages

import contactlab.simulation as cs
import lcp
from contactlab import ConvexRelaxation, StaggeredProjections
from contactlab.cli import main
from contactlab.constraint_solver.friction_backend import FrictionAnswer
from contactlab.simulation import Box, HalfSpace, Material, RigidInertia, SimulationConfigError, Sphere
from contactlab.simulation.scene import SceneError, load_scene

G, MU, H = 9.81, 0.5, 5e-3
HALF = (0.1, 0.1, 0.1)
QPS = [lcp.OSQP(), lcp.CVXPY(), lcp.CVXPY("SCS")]
QP_NAMES = ["OSQP", "Clarabel", "SCS"]
BOTH = [ConvexRelaxation(), StaggeredProjections()]
NAMES = ["relaxation", "staggered"]


def boxes(count: int = 1, v: tuple[float, ...] = (0.0,) * 6, mu: float = MU, **more: Any) -> cs.World:
    """Boxes of 1 kg on one another on the ground, all moving at v (linear, angular)."""
    builder = cs.WorldBuilder()
    material = Material(mu, **more)
    builder.add_half_space("ground", HalfSpace(), material)
    for i in range(count):
        q = (0.0, 0.0, 0.1 + 0.2 * i, 1.0, 0.0, 0.0, 0.0)
        builder.add_free_body(f"box{i}", RigidInertia.solid_box(1.0, HALF), Box(HALF), material, q=q, v=v)
    return builder.build()


def ball(height: float, **material: Any) -> cs.World:
    """A ball of 1 kg and 0.1 m over the ground."""
    builder = cs.WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(MU, **material))
    q = (0.0, 0.0, 0.1 + height, 1.0, 0.0, 0.0, 0.0)
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(MU, **material), q=q)
    return builder.build()


SLIDING = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SPINNING = (1.0, 0.0, 0.0, 0.0, 0.0, 3.0)


def run(world: cs.World, solver: Any, steps: int, **more: Any) -> cs.Recording:
    return cs.simulate(world, cs.TimeStepping(**({"h": H} | more), solver=solver), steps=steps)


@pytest.fixture(scope="module")
def slide() -> dict[str, cs.Recording]:
    """A box that slides and spins to rest, by the relaxation and by staggered projections."""
    world = boxes(v=SPINNING)
    return {name: run(world, solver, 60) for name, solver in zip(NAMES, BOTH, strict=True)}


@pytest.mark.parametrize("qp", QPS, ids=QP_NAMES)
@pytest.mark.parametrize("kind", [ConvexRelaxation, StaggeredProjections])
def test_a_box_slides_as_far_as_coulomb_has_it(kind: Any, qp: lcp.Solver) -> None:
    """v^2 / (2 mu g) to the error of the step, h v; relaxed it hops, loses what it would and comes as far."""
    h = 1e-2
    recording = run(boxes(v=SLIDING), kind(qp), 28, h=h)
    assert recording.q[-1, 0] == pytest.approx(1.0 / (2.0 * MU * G), abs=h * 1.0)
    assert np.abs(recording.v[-1]).max() < 1e-9
    assert not len(recording.uncertified)
    misfit = recording.coulomb_misfit
    assert misfit.shape == (28,)
    if kind is ConvexRelaxation:
        # Off while it slides, exact where it has stopped.
        assert misfit.max() > 0.1
        assert misfit[-3:].max() < 1e-9
        assert recording.q[:, 2].max() > 0.105
    else:
        assert misfit.max() < 1e-9
        assert recording.q[:, 2].max() == pytest.approx(0.1, abs=1e-9)


def test_verification_is_about_the_law_stated(slide: dict[str, cs.Recording]) -> None:
    """Both runs hold by their own law, and the report says how far each is from Coulomb's, as the record does."""
    for name, law in (("relaxation", "relaxed"), ("staggered", "coulomb")):
        report = cs.verify(slide[name])
        assert report.holds, str(report)
        assert report.coulomb is not None
        assert report.coulomb.law == law
        assert f"law stated: {law}" in str(report)
        recorded = slide[name].coulomb_misfit.max()
        assert (report.coulomb.misfit > 0.1) == (recorded > 0.1) == (law == "relaxed")
    assert cs.verify(run(boxes(), None, 3)).coulomb is None


def test_neither_law_passes_for_the_other(slide: dict[str, cs.Recording]) -> None:
    """A record whose stepper is given the other's law does not hold: in the gap law and the LCP, and nowhere else."""
    for name, other in (("relaxation", StaggeredProjections()), ("staggered", ConvexRelaxation())):
        recording = slide[name]
        forged = dataclasses.replace(recording, stepper=dataclasses.replace(recording.stepper, solver=other))
        report = cs.verify(forged)
        assert not report.holds
        broken = {one.condition for one in report.conditions if one.failed}
        assert "lcp" in broken
        assert broken <= {"lcp", "gap", "complementarity"}


@pytest.mark.parametrize(
    "solver",
    [
        ConvexRelaxation(lcp.CVXPY("SCS", polish=False), tolerance=1e-5, polish=False),
        StaggeredProjections(lcp.OSQP(eps=1e-8), max_iterations=7, tolerance=1e-4, polish=False),
    ],
    ids=NAMES,
)
def test_a_record_keeps_its_backend(solver: Any, tmp_path: Path) -> None:
    """Saved and opened again it has the same stepper, columns and misfit, and holds by the same law and tolerance."""
    recording = run(boxes(v=SLIDING), solver, 6)
    recording.save(tmp_path / "run.npz")
    again = cs.Recording.open(tmp_path / "run.npz")
    assert again.stepper == recording.stepper
    assert again.solver_description == repr(solver)
    assert np.array_equal(again.coulomb_misfit, recording.coulomb_misfit)
    assert np.array_equal(again.certificates.scaled, recording.certificates.scaled)
    assert str(cs.verify(again)) == str(cs.verify(recording))
    assert cs.verify(again).holds


@dataclasses.dataclass
class Counting:
    """A custom backend that counts its calls."""

    law: str = "relaxed"
    asked: int = 0

    def solve_contacts(self, formed: Any, *, z0: Any = None) -> FrictionAnswer:
        self.asked += 1
        return ConvexRelaxation(lcp.Lemke()).solve_contacts(formed, z0=z0)


def test_a_backend_of_ones_own_is_judged_by_the_law_it_states(tmp_path: Path) -> None:
    """Where it says relaxed its record holds, also opened again without its code; where it says Coulomb it stops."""
    recording = run(boxes(v=SLIDING), Counting(), 8)
    assert cs.verify(recording).holds
    recording.save(tmp_path / "own.npz")
    again = cs.Recording.open(tmp_path / "own.npz")
    assert again.stepper.law == "relaxed"
    assert cs.verify(again).holds
    for error, message, call in (
        (
            SimulationConfigError,
            "Counting is code that the record does not hold",
            lambda: cs.simulate(again.world, again.stepper, steps=1),
        ),
        (
            cs.SimulationError,
            "the residual of the law that it states",
            lambda: run(boxes(v=SLIDING), Counting("coulomb"), 1),
        ),
        (SimulationConfigError, "Stribeck", lambda: cs.TimeStepping(h=H, solver=Counting("Stribeck"))),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_code_for_quadratic_programs_is_no_solver_of_a_stepper() -> None:
    """Refused at construction, with the classes that take it; without friction these are one program a step."""
    for code in (lcp.OSQP(), lcp.CVXPY(), lcp.Clarabel()):
        name = type(code).__name__
        match = rf"^solver: .*ConvexRelaxation\(qp=lcp.{name}\(\)\) or StaggeredProjections\(qp=lcp.{name}\(\)\)"
        with pytest.raises(SimulationConfigError, match=match):
            cs.TimeStepping(h=H, solver=code)
    wanted = run(boxes(v=SLIDING, mu=0.0), None, 10)
    for solver in BOTH:
        found = run(boxes(v=SLIDING, mu=0.0), solver, 10)
        np.testing.assert_allclose(found.q, wanted.q, atol=1e-12)
        assert found.coulomb_misfit.max() < 1e-12


def test_what_backends_do_not_know_is_refused_before_any_step() -> None:
    """The exact cone at construction; moments of contacts when world and stepper meet; a class for an object."""
    for solver in BOTH:
        with pytest.raises(SimulationConfigError, match='does not solve friction="cone"'):
            cs.TimeStepping(h=H, solver=solver, friction="cone")
        with pytest.raises(SimulationConfigError, match="torsional and rolling friction"):
            run(ball(0.0, torsional=0.01), solver, 1)
        with pytest.raises(SimulationConfigError, match="must be a solver object"):
            cs.TimeStepping(h=H, solver=type(solver))


@pytest.mark.parametrize("solver", BOTH, ids=NAMES)
def test_impacts_and_springs_go_through_backends(solver: Any) -> None:
    """A ball rebounds by Newton's law, and rests on compliant contacts at the depth m g / k."""
    fallen = run(ball(0.1, restitution=0.5), solver, 80, h=2.5e-3)
    speeds = fallen.v[:, 2]
    hit = int(np.argmax(speeds > 0.0))
    free_flight = 0.5 * 2.5e-3 * G  # E + h/2 m g . v is kept
    assert speeds[hit] == pytest.approx(-0.5 * speeds[hit - 1], abs=2.0 * free_flight)
    assert cs.verify(fallen, every=7).holds
    soft = run(ball(0.0, stiffness=2e3, dissipation=60.0), solver, 150)
    # Two surfaces of one material: springs in series.
    depth = 0.1 - soft.q[-1, 2]
    assert depth == pytest.approx(G / 1e3, rel=1e-3) or depth == pytest.approx(G / 2e3, rel=1e-3)
    assert cs.verify(soft, every=7).holds


def test_answers_short_of_the_tolerance_are_marked_or_taken_as_it_says() -> None:
    """Without polish a first-order code is uncertified at 1e-9 and fails to verify; at 1e-3 it is certified."""
    unpolished = ConvexRelaxation(lcp.OSQP(eps=1e-7, polish=False), polish=False)
    world = boxes(v=SLIDING)
    with pytest.warns(cs.ImplausibleWarning, match="uncertified"):
        recording = run(world, unpolished, 20)
    assert len(recording.uncertified)
    assert recording.uncertified.mechanical.max() <= 1e-4
    report = cs.verify(recording)
    assert not report.holds
    assert report.uncertified
    with pytest.raises(cs.SimulationError, match="was not solved. ConvexRelaxation"):
        run(world, unpolished, 20, on_unsolved="raise")
    loose = run(world, dataclasses.replace(unpolished, tolerance=1e-3), 20)
    assert not len(loose.uncertified)
    assert 1e-9 < loose.certificates.scaled.max() <= 1e-3
    assert cs.verify(loose).holds


def test_rounds_that_do_not_converge_are_no_answer() -> None:
    """One round for a box that slides and spins: the run stops and says why, or it is marked; never silently ok."""
    few = StaggeredProjections(max_iterations=1, polish=False)
    with pytest.raises(cs.SimulationError, match=r"1 rounds.*raise max_iterations or tolerance") as caught:
        run(boxes(v=SPINNING), few, 20, on_unsolved="raise")
    assert caught.value.problem is not None
    assert caught.value.result.status is lcp.Status.ITERATION_LIMIT


SCENE = """
[scene]
name = "slide"
duration = 0.05
[stepper]
h = 5e-3
solver = {solver}
[[half_space]]
name = "ground"
mu = {mu}
[[body]]
name = "box"
shape = "box"
half_extents = [0.1, 0.1, 0.1]
mass = 1.0
mu = {mu}
position = [0.0, 0.0, 0.1]
velocity = [1.0, 0.0, 0.0]
"""


def scene_file(folder: Path, solver: str, mu: float = 0.5) -> Path:
    path = folder / "scene.toml"
    path.write_text(SCENE.format(solver=solver, mu=mu), encoding="utf-8")
    return path


def test_scenes_name_backends(tmp_path: Path) -> None:
    """A backend is a name or a table with options and the code, which is a name or table too; typos are explained."""
    assert load_scene(scene_file(tmp_path, '"ConvexRelaxation"')).stepper.solver == ConvexRelaxation()
    table = '{ name = "StaggeredProjections", max_iterations = 50, qp = { name = "OSQP", eps = 1e-7 } }'
    wanted = StaggeredProjections(lcp.OSQP(eps=1e-7), max_iterations=50)
    assert load_scene(scene_file(tmp_path, table)).stepper.solver == wanted
    assert_messages(
        SceneError,
        ("'OSPQ'.*OSQP", lambda: load_scene(scene_file(tmp_path, '{ name = "ConvexRelaxation", qp = "OSPQ" }'))),
        (
            "has no option 'tolerence'",
            lambda: load_scene(scene_file(tmp_path, '{ name = "ConvexRelaxation", tolerence = 1e-6 }')),
        ),
    )


def test_the_command_verifies_by_the_law_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`contactlab verify` of a relaxed record: exit 0, and a line with the law and what Coulomb's is off by."""
    recording = run(boxes(v=SLIDING), ConvexRelaxation(), 5)
    recording.save(tmp_path / "run.npz")
    assert main(["verify", str(tmp_path / "run.npz")]) == 0
    said = capsys.readouterr().out
    assert "law stated: relaxed; Coulomb's law is off by" in said
    assert "every certificate holds" in said
