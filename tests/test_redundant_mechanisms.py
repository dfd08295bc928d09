"""Redundant mechanisms beside dense numpy, the rank rule, drift; rows of joints posed, verified and explained."""

import joint_scenes as scenes
import numpy as np
import pytest
from overconstrained import KINDS, bennett, is_right, mechanism, moving, turned, ways
from refusals import assert_messages

import problem_data
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab import multibody as mb
from contactlab.constraint_solver import Stabilisation, problem_data_from
from contactlab.constraint_solver.blocks import factor_bilateral_rows
from contactlab.multibody.constraints import (
    ConstraintSet,
    LoopConstraint,
    constraint_jacobian,
    constraint_position_error,
)
from contactlab.multibody.joints import FloatingBase, Revolute
from contactlab.simulation import (
    JointLimit,
    Recording,
    RigidInertia,
    TimeStepping,
    Transform,
    VelocityDrive,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.explanation import explain_failure
from contactlab.simulation.scene import load_scene
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError


@pytest.mark.parametrize("seed", range(3 * len(KINDS)))
def test_every_way_gives_the_motion_of_the_dense_reference(seed: int) -> None:
    """Steps, impacts, accelerations, inverse dynamics, assembly and runs move a mechanism as its loops allow."""
    one = mechanism(seed)
    for way, run in ways(one).items():
        found, wanted = run()
        assert is_right(found, wanted), f"{one.name}: {way}: {found}, wanted {wanted}"


@pytest.mark.parametrize("small", [1e-12, 1e-15, 4e-16, 1e-16, 1e-17, 0.0])
def test_rows_of_which_nothing_is_known_are_judged_as_numpy_does(small: float) -> None:
    """A row beside a longer one counts exactly where `numpy.linalg.lstsq` counts it."""
    G = np.array([[1.0, 0.0], [0.0, small]])
    _, _, rank, _ = np.linalg.lstsq(G, np.ones(2), rcond=None)
    assert factor_bilateral_rows(G, G.copy()).rank == rank
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[1.0, 1.0], G=G)
    v_plus = ConstraintSolver().solve_impact_problem(data).v_plus
    np.testing.assert_allclose(v_plus, [0.0, 0.0 if rank == 2 else 1.0], atol=1e-12)


def test_rank_depends_on_the_scales_of_rows_and_not_on_masses() -> None:
    """A row of 1e-12 counts where its scale is as small. A gram and a ton in one row count alike."""
    G = np.array([[1.0, 0.0], [0.0, 1e-12]])
    for scale, rank in (([1.0, 1.0], 1), ([1.0, 1e-12], 2)):
        assert factor_bilateral_rows(G, G.copy(), np.array(scale), np.zeros(2)).rank == rank
    G = np.array([[1.0, 1.0], [1.0, 0.0]])
    assert factor_bilateral_rows(G, G / [1e-3, 1e6]).rank == 2


def test_scales_and_errors_are_checked_and_kept(tmp_path) -> None:
    """Problem data refuse scales that are not positive and errors without scales; files give back what they hold."""
    given = {"M": np.eye(2), "G": [[1.0, 0.0]]}
    assert_messages(
        ProblemDataError,
        (
            r"^scaleG: scaleG\[0\] = 0.0, wanted > 0",
            lambda: ConstraintVelProblemData(Mv=[0.0, 0.0], scaleG=[0.0], **given),
        ),
        (
            r"^scaleG: shape \(2,\), wanted \(1,\)",
            lambda: ConstraintAccelProblemData(tau=[0.0, 0.0], scaleG=[1.0, 1.0], **given),
        ),
        ("^scaleG: missing.*errorG is given", lambda: ConstraintVelProblemData(Mv=[0.0, 0.0], errorG=[1e-3], **given)),
    )
    for data in (
        ConstraintVelProblemData(Mv=[1.0, 0.0], scaleG=[2.0], errorG=[1e-3], **given),
        ConstraintAccelProblemData(tau=[1.0, 0.0], scaleG=[2.0], errorG=[1e-3], **given),
    ):
        problem_data.save(tmp_path / "known.npz", data)
        again = problem_data.load(tmp_path / "known.npz")
        assert (again.scaleG.tolist(), again.errorG.tolist()) == ([2.0], [1e-3])
    plain = ConstraintVelProblemData(Mv=[1.0, 0.0], **given)
    problem_data.save(tmp_path / "plain.npz", plain)
    assert "scaleG" not in np.load(tmp_path / "plain.npz").files
    assert problem_data.load(tmp_path / "plain.npz").scaleG is None


def simulated(one, h: float, erp: float, duration: float):
    """A run of a mechanism."""
    world = WorldBuilder(gravity=(0, 0, -9.81))
    world.add_model(one.model, q=one.q, v=one.v)
    for loop in one.loops:
        world.add_loop(loop)
    return simulate(world.build(), TimeStepping(h=h, erp=erp), duration=duration)


@pytest.mark.parametrize("seed", range(4))
def test_an_overconstrained_linkage_goes_on_while_it_drifts(seed: int) -> None:
    """Bennett's linkage follows its one degree of freedom: the step of 1 ms ends where a fourth of it does."""
    one = bennett(np.random.default_rng(seed))
    loops = tuple(
        LoopConstraint(a.predecessor, a.successor, a.X_p, a.X_s, a.axis / np.linalg.norm(a.axis)) for a in one.loops[:5]
    )
    one = moving(np.random.default_rng(seed + 1), one.name, one.model, one.q, loops)
    coarse, fine = (simulated(one, h, 0.2, 0.4) for h in (1e-3, 2.5e-4))
    cs = ConstraintSet(one.model, list(one.loops))
    drift = max(np.abs(constraint_position_error(one.model, q, cs)).max() for q in coarse.q[::20])
    assert drift > 1e-9
    np.testing.assert_allclose(coarse.v[-1], fine.v[-1], atol=0.02 * (0.1 + np.abs(fine.v).max()))
    assert np.abs(fine.v[-1]).max() > 1e-3


def door(error: float) -> tuple[mb.Model, list[LoopConstraint]]:
    """A door that its two hinges of five rows each hold, the upper one off by ``error`` [m]; closed as it is built."""
    frame = turned(np.random.default_rng(3))
    inertia = RigidInertia(10.0, (0.4, 0.0, 1.0), np.diag([3.0, 4.0, 1.0]))
    builder = mb.ModelBuilder(gravity=(0, 0, -9.81))
    model = builder.add_body("door", joint=FloatingBase(), placement=frame, inertia=inertia).build()
    loops = []
    for z, off in ((0.2, 0.0), (1.8, error)):
        place = frame @ Transform(p=(off, 0.3 * off, z + 0.5 * off))
        rows = np.eye(6)[[0, 1, 3, 4, 5]]
        loops += [LoopConstraint("world", "door", place, Transform(p=(0.0, 0.0, z)), row) for row in rows]
    return model, loops


@pytest.mark.parametrize("error", [0.0, 1e-10, 1e-8, 1e-6, 1e-4])
def test_a_door_with_a_mounting_error_swings(error: float) -> None:
    """Two hinges out of line are met by least squares, which the certificate measures: the door swings as a true one.

    `simulate` goes on where `ConstraintSolver` does, with its bits, and `verify` agrees.
    """
    model, loops = door(error)
    exact = mb.ModelBuilder(gravity=(0, 0, -9.81))
    frame, inertia = turned(np.random.default_rng(3)), RigidInertia(10.0, (0.4, 0.0, 1.0), np.diag([3.0, 4.0, 1.0]))
    hinge = exact.add_body("door", joint=Revolute((0, 0, 1)), placement=frame, inertia=inertia).build()
    world = WorldBuilder(gravity=(0, 0, -9.81))
    world.add_model(model)
    for loop in loops:
        world.add_loop(loop)
    one = WorldBuilder(gravity=(0, 0, -9.81))
    one.add_model(hinge)
    stepper = TimeStepping(h=1e-3, erp=0.2)
    run, wanted = (simulate(built.build(), stepper, duration=0.3) for built in (world, one))
    speed = np.linalg.norm(run.v[-1][3:])
    assert speed > 0.1
    assert speed == pytest.approx(abs(wanted.v[-1, 0]), rel=2e-3 + 100.0 * error)
    data = run.problem(100)
    solution = ConstraintSolver().solve_discretized_problem(data, 1e-3)
    np.testing.assert_array_equal(solution.v_plus, run.v[101])
    assert verify(run).holds
    left = solution.certificate.bilateral.violation
    assert left < 0.2 * 2.0 * error / 1e-3 + 1e-9
    if error >= 1e-8:
        assert left > 0.01 * 0.2 * error / 1e-3
        with pytest.raises(ConstraintSolveError, match="inconsistent.*10 rows of rank 5"):
            ConstraintSolver(on_inconsistency="refuse").solve_discretized_problem(data, 1e-3)


def test_contradictions_are_refused_by_name_whatever_the_errors() -> None:
    """Rows that require 0 and 1 are not an error of assembly: the message names them; "accept" accepts them."""
    model, loops = door(1e-6)
    problem = problem_data_from(
        model, model.neutral, np.zeros(6), loops=ConstraintSet(model, loops), h=1e-3,
        stabilisation={"loops": Stabilisation(erp=0.2)},
    ).velocity  # fmt: skip
    kG = problem.kG.copy()
    kG[7] += 1.0
    G = constraint_jacobian(model, model.neutral, ConstraintSet(model, loops))
    data = ConstraintVelProblemData(
        M=mb.mass_matrix(model, model.neutral), Mv=problem.Mv, G=G, kG=kG, scaleG=problem.scaleG, errorG=problem.errorG
    )
    with pytest.raises(ConstraintSolveError, match=r"rows 1, 2, 6, 7 of G do not agree. Remove or correct") as caught:
        ConstraintSolver().solve_discretized_problem(data, 1e-3)
    assert 0.1 < caught.value.certificate.bilateral.violation < 0.5
    taken = ConstraintSolver(on_inconsistency="accept").solve_discretized_problem(data, 1e-3)
    np.testing.assert_allclose(G.T @ (G @ taken.v_plus + kG), 0.0, atol=1e-6)
    with pytest.raises(ProblemDataError, match="^on_inconsistency: 'maybe'"):
        ConstraintSolver(on_inconsistency="maybe")  # type: ignore[arg-type]


H = 2e-3


@pytest.mark.nojit
def test_the_bridge_poses_the_same_problem():
    """`problem_data_from`, which knows nothing of worlds, leads to the same velocities after the step."""
    world = scenes.busy()
    actions = world.joint_actions
    stepper = TimeStepping(H)
    recording = simulate(world, stepper, steps=8)
    assert len(recording.contacts) == 0
    damping = np.zeros(world.nv)
    for one in actions.damping:
        damping[world.place_of(one.body, one.coordinate)[0]] += one.value
    for i in (0, 7):
        problem = problem_data_from(
            world.model,
            recording.q[i],
            recording.v[i],
            # The bridge has no dampers: their force over the step is given.
            -damping * recording.v[i + 1],
            limits=actions.limits,
            loops=world.loops,
            friction={one.body: one.value for one in actions.friction},
            drives=actions.drives,
            stabilisation={"loops": Stabilisation(erp=0.2)},
            h=H,
        )
        solution = ConstraintSolver().solve_discretized_problem(problem.velocity, H)
        np.testing.assert_allclose(solution.v_plus, recording.v[i + 1], atol=1e-9)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("column", "change", "conditions"),
    [
        ("joint_force", 1.01, {"motion"}),
        ("joint_error", 1.01, {"rows"}),
        ("joint_rate", 1.5, {"rows"}),
        ("drive_target", 1.1, {"motion"}),
    ],
)
def test_verification_finds_what_was_changed(column, change, conditions):
    """One per cent in a force, an error, a rate or a target is found, by the condition it belongs to."""
    recording = simulate(scenes.busy(), TimeStepping(H), steps=3)
    assert verify(recording).holds
    rows = dict(recording.rows)
    rows[column] = change * rows[column]
    false = Recording(recording.world, recording.stepper, rows, recording.environment)
    assert conditions <= {failure.condition for failure in verify(false).failures}


SCENE = """[scene]
duration = 0.01
[stepper]
h = 1e-3
erp = 0.2
[[robot]]
name = "hand"
urdf = "gripper.urdf"
damping = {{ close = 3.0 }}
friction = false
[[robot.drive]]
joint = "close"
kind = "position"
name = "grip"
target = 0.05
stiffness = 200
damping = 5
max_force = {force}
[[robot.limit]]
joint = "close"
upper = 0.02
[[loop]]
a = "hand/palm"
b = "world"
holds = "{holds}"
"""


def test_scenes_say_what_acts_on_joints(tmp_path):
    """Keys of robots and loops; a mistake names its line and key."""
    (tmp_path / "gripper.urdf").write_text(scenes.GRIPPER)
    file = tmp_path / "scene.toml"
    file.write_text(SCENE.format(force=4.0, holds="weld"))
    world = load_scene(file).world
    labels = [row.label for row in world.joint_rows]
    assert labels == [
        "lower limit of hand/left",
        "upper limit of hand/left",
        "lower limit of hand/right",
        "upper limit of hand/right",
        "upper limit of hand/left",
        "mimic of hand/right",
        "hand/grip",
    ]
    assert [one.value for one in world.joint_actions.damping] == [3.0]
    file.write_text(SCENE.format(force=-4.0, holds="weld"))
    with pytest.raises(ValueError, match=r"\[\[robot.drive\]\].*max_force"):
        load_scene(file)
    file.write_text(SCENE.format(force=4.0, holds="wield"))
    with pytest.raises(ValueError, match=r"line 25: \[\[loop\]\] 'holds'.*did you mean 'weld'"):
        load_scene(file)


def test_explain_names_the_rows_of_a_failed_step(tmp_path):
    """The equations that contradict one another are named with their joints."""
    builder = scenes.cart()
    builder.add_joint_limit(JointLimit("cart", -1.0, 9e-4))
    for speed in (0.1, 0.2):
        builder.add_drive(VelocityDrive("cart", speed, name=f"at {speed}"))
    path = tmp_path / "failed.npz"
    with pytest.raises(RuntimeError, match="contradict"):
        simulate(builder.build(), TimeStepping(1e-3), steps=3, path=path)
    found = explain_failure(path)
    assert not found.solved
    assert "contradict" in found.reason
    labels = [line.removeprefix("joint: ").partition(",")[0] for line in found.joints]
    assert labels == ["upper limit of cart", "at 0.1", "at 0.2"]
