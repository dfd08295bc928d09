"""Coulomb's exact cone in the compiled step: forces selected as with a pyramid, rows of joints beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import simulation_scenes as scenes
from joint_scenes import busy, gripper
from test_cone_solver import box
from test_selection import G, face, grasp, moved
from test_simulation_cone import sliding_brick

import lcp
from contactlab import ConstraintSolver, EqualCompliance
from contactlab.contact import HalfSpace, Material, Sphere
from contactlab.formulation import JointLimit, PositionDrive
from contactlab.formulation.forces import certify_cone_forces
from contactlab.formulation.strategy_solver import StrategySolver
from contactlab.multibody import ModelBuilder, Transform, joints
from contactlab.simulation import TimeStepping, World, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia
from problem_data import ConstraintVelProblemData

SELECTS = ConstraintSolver(EqualCompliance(), friction="cone")


def asked(recording: Any) -> int:
    """How many islands with contacts went to a solver: what is selected takes no pivot."""
    touching = recording.rows["island_contacts"] > 0
    return int(np.count_nonzero(recording.rows["island_pivots"][touching]))


@pytest.mark.parametrize("boxes", [1, 2, 4])
@pytest.mark.parametrize("firmness", [5.0, 30.0])
def test_a_firm_grasp_holds(boxes: int, firmness: float) -> None:
    recording = simulate(grasp(boxes, firmness), TimeStepping(4e-3, friction="cone"), 2.0)
    for i in range(boxes):
        fall, turn = moved(recording, i)
        assert abs(fall) < 1e-9
        assert turn < 1e-6
    assert asked(recording) == 0
    assert verify(recording, every=100).holds


@pytest.mark.parametrize("firmness", [0.3, 0.9])
def test_a_loose_grasp_slips_as_the_closed_form_says(firmness: float) -> None:
    h, steps = 2e-3, 40
    recording = simulate(grasp(1, firmness), TimeStepping(h, friction="cone"), steps=steps)
    fall, turn = moved(recording, 0)
    assert fall == pytest.approx(0.5 * (1.0 - firmness) * G * h * h * steps * (steps + 1), rel=1e-6)
    assert turn < 1e-4
    assert asked(recording) == 0


@pytest.mark.parametrize("angle", np.linspace(0.05, 6.2, 9))
def test_a_box_slides_alike_in_every_direction(angle: float) -> None:
    recording = simulate(sliding_brick(angle), TimeStepping(2e-3, friction="cone"), steps=40)
    along = np.array([math.cos(angle), math.sin(angle)])
    np.testing.assert_allclose(recording.v[-1, :2], (1.0 - 0.4 * G * 40 * 2e-3) * along, atol=1e-9)
    np.testing.assert_allclose(recording.v[-1, 2:], 0.0, atol=1e-9)
    assert asked(recording) == 0


def test_a_spinning_box_and_a_tumbling_cube_need_no_solver() -> None:
    """Corners that turn all the time."""
    solution = SELECTS.solve_discretized_problem(box((0.4, 0.3, 0.0, 0.0, 0.0, 5.0)), 0.01)
    assert isinstance(solution.result.solver, StrategySolver)
    assert solution.certificate.holds(1e-9)
    recording = simulate(scenes.tumble(), TimeStepping(1e-3, friction="cone"), 1.0)
    assert asked(recording) <= 0.02 * recording.islands.sum()
    assert verify(recording, every=20).holds


def crane() -> World:
    """The dragging arm with a drive, dry friction and a stop in turn, each with a bound on its force."""
    builder, y = WorldBuilder((0.0, 0.0, -G)), (0, 1, 0)
    arm, link = ModelBuilder((0.0, 0.0, -G)), RigidInertia(0.5, (0.2, 0.0, 0.0), inertia=np.diag([1e-3, 8e-3, 8e-3]))
    arm.add_body("mast", joint=joints.Revolute((0, 0, 1)), placement=Transform(p=(0, 0, 0.35)), inertia=link)
    arm.add_body("upper", parent="mast", joint=joints.Revolute(y), inertia=link)
    arm.add_body("lower", parent="upper", joint=joints.Revolute(y), placement=Transform(p=(0.4, 0, 0)), inertia=link)
    builder.add_model(arm.build(), [0.0, 0.3, 0.3], [1.5, 1.0, 0.0])
    builder.add_shape("lower", Sphere(0.05), Material(0.5), placement=Transform(p=(0.3, 0, 0)))
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    builder.add_joint_limit(JointLimit("lower", 0.25, 1.0))
    builder.add_joint_friction("upper", 0.05)
    builder.add_drive(PositionDrive("mast", 0.5, 50.0, 2.0, max_force=0.4))
    return builder.build()


def test_drives_stops_and_dry_friction_stand_beside_cones() -> None:
    recording = simulate(crane(), TimeStepping(2e-3, friction="cone"), steps=80)
    report = verify(recording)
    assert report.holds, str(report)
    assert asked(recording) == 0
    assert np.any((recording.rows["island_contacts"] > 0) & (recording.rows["island_joints"] > 2))
    contacts = recording.contacts
    friction = np.linalg.norm(contacts.impulse_tangential, axis=1)
    assert np.all(friction <= 0.5 * contacts.impulse_normal * (1.0 + 1e-9))
    # A pyramid of many edges comes close.
    fine = simulate(crane(), TimeStepping(2e-3, edges=64), steps=80)
    np.testing.assert_allclose(recording.q[-1], fine.q[-1], atol=1e-3)
    # Until the arm lands on its stop, which a coarse one does at another time.
    coarse = simulate(crane(), TimeStepping(2e-3, edges=4), steps=40)
    off = np.abs(recording.q[:41] - fine.q[:41]).max()
    assert off < np.abs(recording.q[:41] - coarse.q).max()


@pytest.mark.parametrize("cfm", [0.0, 1e-6])
@pytest.mark.parametrize("make", [busy, gripper])
def test_loops_and_whole_grippers(make: Any, cfm: float) -> None:
    """Equations of loops, which with cfm are rows of B, stops with restitution, drives, dry friction."""
    recording = simulate(make(), TimeStepping(2e-3, friction="cone", cfm=cfm), steps=150)
    report = verify(recording, every=5)
    assert report.holds, str(report)
    assert asked(recording) == 0
    assert recording.contacts.impulse_normal.max() > 0.0


def test_islands_without_contacts_stay_in_the_loop() -> None:
    """Two drives alone: no cone, and the bits of the pyramid's step."""
    world = grasp(1, 0.5)
    steppers = [TimeStepping(2e-3, friction=friction) for friction in ("cone", "pyramid")]
    start = world.initial_state().q.copy()
    start[2] += 1.0
    runs = [simulate(world, stepper, steps=5, state=world.initial_state(q=start)) for stepper in steppers]
    assert runs[0].contacts.step.size == 0
    np.testing.assert_array_equal(runs[0].q, runs[1].q)


@pytest.mark.parametrize(
    "make",
    [lambda: sliding_brick(0.7), scenes.tumble, lambda: grasp(2, 0.5, loop_limits=True), lambda: grasp(2, 5.0), crane],
    ids=["sliding", "tumbling", "slipping grasp", "firm grasp", "crane"],
)
def test_the_stepper_s_own_solver_gives_the_recorded_bits(make: Any) -> None:
    recording = simulate(make(), TimeStepping(2e-3, friction="cone"), steps=200)
    solver, compared = recording.stepper.constraint_solver, 0
    for i in range(0, 200, 7):
        for j in range(recording.islands[i]):
            start = recording.warm_start(i, j)
            solution = solver.solve_discretized_problem(recording.problem(i, j), recording.h[i], z0=start)
            forces = recording.forces(i, j)
            assert np.array_equal(solution.forces.fN, forces.fN)
            assert np.array_equal(solution.forces.fF, forces.fF)
            assert np.array_equal(solution.forces.fB, forces.fB)
            assert np.array_equal(solution.v_plus, recording.v_plus(i, j))
            compared += 1
    assert compared > 10


@pytest.mark.parametrize("mu", [0.1, 0.4, 1.5])
def test_faces_are_answered_by_the_law_of_the_cone(mu: float) -> None:
    """Certified, unique where contacts are permuted or turned, and near what a fine pyramid selects."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        data, h = face(rng, int(rng.integers(3, 8)), mu), 0.01
        found = SELECTS.solve_discretized_problem(data, h)
        assert isinstance(found.result.solver, StrategySolver)
        assert found.certificate.holds(1e-9)
        assert certify_cone_forces(data, h, found.forces.packed(), found.v_plus).holds(1e-9)
        blocks, nc = data.blocks(), data.nc
        N, F = blocks.J[:nc], blocks.J[nc:].reshape(nc, 2, 6)
        order, turn = rng.permutation(nc), rng.uniform(0.0, 6.0)
        c, s = math.cos(turn), math.sin(turn)
        turned = np.array([[c, s], [-s, c]]) @ F[order]
        again = SELECTS.solve_discretized_problem(
            ConstraintVelProblemData(
                M=np.diag([1.0, 1.0, 1.0, 0.02, 0.03, 0.04]),
                Mv=blocks.Mv,
                N=N[order],
                F=turned.reshape(-1, 6),
                mu=np.full(nc, mu),
                r=np.full(nc, 2),
            ),
            h,
        )
        size = max(1.0, float(found.forces.fN.max()))
        np.testing.assert_allclose(again.v_plus, found.v_plus, atol=1e-9)
        np.testing.assert_allclose(again.forces.fN, found.forces.fN[order], atol=1e-5 * size)


def joined(**more: Any) -> ConstraintVelProblemData:
    """A particle dragged over the ground by a motor of bounded force."""
    fields: dict[str, Any] = {"B": [[1.0, 0.0, 0.0]], "lo": [-4.0], "hi": [4.0], "kB": [-2.0]} | more
    return ConstraintVelProblemData(
        M=2.0 * np.eye(3),
        Mv=[0.2, 0.1, -0.1962],
        N=[[0, 0, 1]],
        F=[[1, 0, 0], [0, 1, 0]],
        mu=[0.5],
        r=[2],
        **fields,
    )


@pytest.mark.parametrize("bounds", [(-4.0, 4.0), (-math.inf, 12.0), (-math.inf, math.inf), (3.0, 3.0)])
def test_boxed_rows_by_selection_and_by_a_solver_of_cones(bounds: tuple[float, float]) -> None:
    """One contact and one motor: forces are unique, whoever finds them."""
    data = joined(lo=[bounds[0]], hi=[bounds[1]])
    found = SELECTS.solve_discretized_problem(data, 0.01)
    solved = ConstraintSolver(friction="cone").solve_discretized_problem(data, 0.01)
    assert isinstance(found.result.solver, StrategySolver)
    assert isinstance(solved.result, lcp.FrictionResult)
    for solution in (found, solved):
        assert solution.certificate.holds(1e-8), str(solution.certificate)
    np.testing.assert_allclose(solved.forces.packed(), found.forces.packed(), atol=1e-6)
    slip = found.v_plus[:2]
    if np.linalg.norm(slip) > 1e-6:
        np.testing.assert_allclose(found.forces.fF, -9.81 * slip / np.linalg.norm(slip), rtol=1e-8)
    if bounds[1] == 12.0:
        assert found.forces.fB == pytest.approx([12.0])


def test_a_solver_named_answers_all() -> None:
    """As ever: no forces of the step before are taken in its place."""
    recording = simulate(sliding_brick(0.3), TimeStepping(2e-3, lcp.NSGS(), friction="cone"), steps=5)
    assert np.all(recording.rows["island_pivots"][:1] > 0)
    assert "NSGS" in recording.stepper.solver_text
    assert "EqualCompliance" in TimeStepping(2e-3, friction="cone").solver_text


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(lcp.ProblemError, match="otherwise"):
        ConstraintSolver(EqualCompliance(lcp.Lemke()), friction="cone")
