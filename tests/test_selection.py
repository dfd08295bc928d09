"""The forces of redundant contacts that a step selects: equal compliance in the limit, of pyramids and cones."""

import math
from typing import Any

import numpy as np
import pytest
import simulation_scenes as scenes
from joint_scenes import busy, gripper
from refusals import assert_messages
from test_friction_backends import box as flat_box
from test_simulation_cone import sliding_brick

import lcp
from contactlab import ConstraintSolver, EqualCompliance
from contactlab.constraint_solver.certificate import CONE_FORMULAS
from contactlab.constraint_solver.discretized import form_discretized_lcp
from contactlab.constraint_solver.forces import certify_forces
from contactlab.constraint_solver.strategy_solver import StrategySolver
from contactlab.simulation import (
    Box,
    HalfSpace,
    JointLimit,
    Material,
    ModelBuilder,
    PositionDrive,
    RigidInertia,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
    simulate,
    verify,
)
from problem_data import ConstraintVelProblemData

G, MU, MASS, HALF, FINGER = 9.81, 0.5, 0.5, 0.05, (0.02, 0.05, 0.05)


def grasp(boxes: int, firmness: float, *, loop_limits: bool = False) -> World:
    """Boxes in a row between two driven fingers that press with ``firmness`` times the force that friction needs."""
    force = firmness * boxes * MASS * G / (2 * MU)
    width = HALF * boxes
    hand, material = ModelBuilder(), Material(MU)
    for name, side in (("left", -1.0), ("right", 1.0)):
        place = Transform(p=(side * (width + FINGER[0]), 0.0, 1.0))
        inertia = RigidInertia.solid_box(1.0, FINGER)
        hand.add_body(name, parent="world", joint=joints.Prismatic((1, 0, 0)), placement=place, inertia=inertia)
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_model(hand.build())
    for name, side in (("left", -1.0), ("right", 1.0)):
        builder.add_shape(name, Box(FINGER), material)
        builder.add_drive(PositionDrive(name, -0.1 * side, 1e6, 1e3, max_force=force))
        if loop_limits:
            builder.add_joint_limit(JointLimit(name, -0.5, 0.5))
    for i in range(boxes):
        x = HALF * (2 * i + 1) - width
        inertia = RigidInertia.solid_box(MASS, (HALF,) * 3)
        builder.add_free_body(f"box {i}", inertia, Box.cube(HALF), material, (x, 0.0, 1.0, 1, 0, 0, 0))
    return builder.build()


def moved(recording, box: int) -> tuple[float, float]:
    """How far a box of `grasp` fell [m] and turned [degrees]."""
    start, end = (recording.q[i, 2 + 7 * box : 9 + 7 * box] for i in (0, -1))
    return float(start[2] - end[2]), math.degrees(2.0 * math.acos(min(1.0, abs(float(start[3:] @ end[3:])))))


@pytest.mark.parametrize("boxes", [1, 2, 3])
@pytest.mark.parametrize("firmness", [1.5, 10.0])
def test_a_firm_grasp_holds(boxes, firmness):
    """Rigid, at default settings: the limit is 0.1 mm and 0.1 degrees in two seconds; the motion is rounding."""
    recording = simulate(grasp(boxes, firmness), TimeStepping(4e-3), 2.0)
    for box in range(boxes):
        fall, turn = moved(recording, box)
        assert abs(fall) < 1e-9
        assert turn < 1e-6
    assert recording.pivots.sum() == 0
    assert verify(recording, every=100).holds


@pytest.mark.parametrize("firmness", [0.3, 0.9])
def test_a_loose_grasp_slips_as_the_closed_form_says(firmness):
    """Acceleration (1 - firmness) g, straight down; the fingers are not moved."""
    h, steps = 2e-3, 40
    recording = simulate(grasp(1, firmness), TimeStepping(h), steps=steps)
    fall, turn = moved(recording, 0)
    assert fall == pytest.approx(0.5 * (1.0 - firmness) * G * h * h * steps * (steps + 1), rel=1e-6)
    assert turn < 1e-4
    # To compare with: a vertex turns the box.
    recording = simulate(grasp(1, firmness), TimeStepping(h, solver=lcp.Lemke()), steps=steps)
    assert moved(recording, 0)[1] > 1.0


def test_corners_of_a_face_carry_alike():
    """A cube at rest on four corners; when it slides, the larger load of the front edge balances friction's moment."""
    half, mass, mu = 0.1, 2.0, 0.3
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("ground", HalfSpace(), Material(mu))
    inertia = RigidInertia.solid_box(mass, (half,) * 3)
    builder.add_free_body("cube", inertia, Box.cube(half), Material(mu), (0, 0, half, 1, 0, 0, 0))
    world = builder.build()
    rest = simulate(world, TimeStepping(1e-3), steps=3)
    np.testing.assert_allclose(rest.forces(2).fN, np.full(4, mass * G / 4), rtol=1e-9)
    sliding = simulate(world, TimeStepping(1e-3), steps=3, state=world.initial_state(v=(1.0, 0, 0, 0, 0, 0)))
    contacts = sliding.contacts_at(2)
    ahead = contacts.point[:, 0] > sliding.q[2, 0]
    # Moment about the centre: the fronts' surplus at the lever half against mu m g at the height half.
    surplus = mu * mass * G / 4
    wanted = mass * G / 4 + np.where(ahead, surplus, -surplus)
    np.testing.assert_allclose(contacts.impulse_normal / 1e-3, wanted, rtol=1e-6)


def soft_answer(data, h, eps):
    """Normal and tangential forces of contacts with compliance eps along every row, from the dense LCP."""
    formed = form_discretized_lcp(data, h)
    nc, nr = data.nc, data.nr
    M = formed.MM.copy()
    M[np.arange(nc + 2 * nr), np.arange(nc + 2 * nr)] += eps
    result = lcp.solve(lcp.LCP(M, formed.qq), lcp.Lemke(), tolerance=1e-9)
    assert result.solved
    return result.z[:nc], result.z[nc : nc + nr] - result.z[nc + nr : nc + 2 * nr]


def face(rng, corners: int, mu: float) -> ConstraintVelProblemData:
    """A free body of 1 kg on corners of a face, with a random push; pyramids of four edges."""
    points = np.column_stack((rng.uniform(-0.3, 0.3, (corners, 2)), np.full(corners, -0.1)))
    inertia = np.diag([1.0, 1.0, 1.0, 0.02, 0.03, 0.04])
    normals, tangents = [], []
    for p in points:
        row = np.hstack((np.eye(3), [[0, p[2], -p[1]], [-p[2], 0, p[0]], [p[1], -p[0], 0]]))
        normals.append(row[2])
        tangents += [row[0], row[1]]
    push = np.array([*rng.uniform(-3e-3, 3e-3, 2), -0.0981, *rng.uniform(-1e-3, 1e-3, 3)])
    return ConstraintVelProblemData(
        M=inertia, Mv=inertia @ push, N=normals, F=tangents, mu=np.full(corners, mu), r=np.full(corners, 2)
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_forces_are_the_limit_of_small_compliance(seed):
    """Beside the LCP with eps on its diagonal, extrapolated to eps = 0, where that settles."""
    rng = np.random.default_rng(seed)
    data, h = face(rng, int(rng.integers(4, 8)), 0.4), 0.01
    found = ConstraintSolver(EqualCompliance()).solve_discretized_problem(data, h)
    assert isinstance(found.result.solver, StrategySolver)
    assert found.certificate.holds(1e-9)
    own = h * 2.0
    soft, softer = soft_answer(data, h, 2e-5 * own), soft_answer(data, h, 1e-5 * own)
    limit = [2.0 * b - a for a, b in zip(soft, softer, strict=True)]
    size = max(1.0, float(found.forces.fN.max()))
    np.testing.assert_allclose(found.forces.fN, limit[0], atol=2e-4 * size)
    np.testing.assert_allclose(found.forces.fF, limit[1], atol=2e-4 * size)


def test_what_is_not_selected_goes_to_the_solver():
    """Softness of friction is not a polygon: Lemke's method solves it, or the named solver."""
    soft = ConstraintVelProblemData(
        M=2.0 * np.eye(2), Mv=[0.03, -0.1962], N=[[0, 1]], F=[[1, 0]], mu=[0.5], r=[1], gammaF=[1e-3]
    )
    found = ConstraintSolver(EqualCompliance()).solve_discretized_problem(soft, 0.01)
    assert not isinstance(found.result.solver, StrategySolver)
    named = ConstraintSolver(EqualCompliance(lcp.InteriorPoint())).solve_discretized_problem(soft, 0.01)
    assert isinstance(named.result.solver, lcp.InteriorPoint)
    np.testing.assert_allclose(named.v_plus, found.v_plus, atol=1e-8)
    without = ConstraintVelProblemData(M=np.eye(1), Mv=[-1.0], L=[[1.0]])
    assert ConstraintSolver(EqualCompliance()).solve_discretized_problem(without, 0.01).v_plus == pytest.approx([0.0])


def test_what_does_not_fit_is_refused():
    """At once, by name."""
    assert_messages(
        lcp.ProblemError,
        ("solver object", lambda: EqualCompliance(lcp.Lemke)),
        ("cone", lambda: EqualCompliance(lcp.NSGS())),
        ("otherwise", lambda: ConstraintSolver(EqualCompliance(lcp.Lemke()), friction="cone")),
    )


def test_a_motor_that_turns_round_changes_its_bound():
    """From the lower to the upper bound of its force in one step, with a contact beside it."""

    def solved(speed, z0=None):
        data = ConstraintVelProblemData(
            M=np.diag([2.0, 1.0]), Mv=[-0.1962, speed], N=[[1.0, 0.0]], B=[[0.0, 1.0]], lo=[-0.5], hi=[0.5]
        )
        return ConstraintSolver(EqualCompliance()).solve_discretized_problem(data, 0.01, z0=z0)

    forward = solved(1.0)
    backward = solved(-1.0, forward.result.z)
    assert forward.forces.fB == pytest.approx([-0.5])
    assert backward.forces.fB == pytest.approx([0.5])
    assert isinstance(backward.result.solver, StrategySolver)


SELECTS = ConstraintSolver(EqualCompliance(), friction="cone")


def asked(recording: Any) -> int:
    """Return the number of islands with contacts given to a solver: selected ones need no pivot."""
    touching = recording.rows["island_contacts"] > 0
    return int(np.count_nonzero(recording.rows["island_pivots"][touching]))


def test_a_spinning_box_and_a_tumbling_cube_need_no_solver() -> None:
    """Corners that turn all the time."""
    solution = SELECTS.solve_discretized_problem(flat_box((0.4, 0.3, 0.0, 0.0, 0.0, 5.0)), 0.01)
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


@pytest.mark.parametrize("mu", [0.1, 0.4, 1.5])
def test_faces_are_answered_by_the_law_of_the_cone(mu: float) -> None:
    """Certified, unique where contacts are permuted or turned, and near what a fine pyramid selects."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        data, h = face(rng, int(rng.integers(3, 8)), mu), 0.01
        found = SELECTS.solve_discretized_problem(data, h)
        assert isinstance(found.result.solver, StrategySolver)
        assert found.certificate.holds(1e-9)
        assert certify_forces(
            data, h, found.forces.packed(), found.forces.packed(), found.v_plus, formulas=CONE_FORMULAS
        ).holds(1e-9)
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
    """With one contact and one motor forces are unique, by any method."""
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
    """The named solver solves all islands: previous forces do not replace it."""
    recording = simulate(sliding_brick(0.3), TimeStepping(2e-3, lcp.NSGS(), friction="cone"), steps=5)
    assert np.all(recording.rows["island_pivots"][:1] > 0)
    assert "NSGS" in recording.stepper.solver_text
    assert "EqualCompliance" in TimeStepping(2e-3, friction="cone").solver_text
