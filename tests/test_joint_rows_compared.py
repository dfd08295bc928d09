"""Rows of joints in the compiled step against the public path, the bridge from models, verification, and themselves."""

from __future__ import annotations

import dataclasses

import joint_scenes as scenes
import numpy as np
import pytest
from bridge_models import LEGS, MASS, quadruped, stance

from contactlab import ConstraintSolver
from contactlab.constraints import CustomConstraint
from contactlab.contact import HalfSpace, Material, Sphere
from contactlab.formulation import JointLimit, PositionDrive, Stabilisation, VelocityDrive, problem_data_from
from contactlab.simulation import Recording, SimulationConfigError, TimeStepping, WorldBuilder, simulate, verify
from contactlab.simulation.explanation import explain_failure
from contactlab.simulation.scene import load_scene

H = 2e-3


@pytest.mark.nojit
def test_loops_that_give_way_are_boxed_rows():
    """With cfm the loops' equations are rows without bounds: solved, verified, and off by about cfm times the force."""
    recording = simulate(scenes.four_bar(), TimeStepping(H, cfm=1e-6), steps=12)
    assert recording.problem(3).nb == 0
    assert recording.problem(3).nbox == 2
    table = recording.joint_rows
    np.testing.assert_allclose(table.rate + 0.2 * table.error / H, -1e-6 * table.force, atol=1e-12)
    assert verify(recording, every=5).holds


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
def test_a_run_goes_on_from_any_state_with_the_same_bits(tmp_path):
    """State, file and world read back: warm starts of rows are part of the state."""
    path = tmp_path / "busy.npz"
    whole = simulate(scenes.busy(), TimeStepping(H), steps=12, path=path)
    opened = Recording.open(path)
    assert [row.label for row in opened.world.joint_rows] == [row.label for row in whole.world.joint_rows]
    rest = simulate(opened.world, opened.stepper, steps=5, state=opened.state(7))
    for name in ("q", "v"):
        assert np.array_equal(rest.rows[name], whole.rows[name][7:])
    assert np.array_equal(rest.joint_rows.z, whole.joint_rows.rows(whole.joint_rows.step >= 7).z)
    assert np.array_equal(opened.problem(9).blocks().J, whole.problem(9).blocks().J)
    small = scenes.cart()
    small.add_joint_friction("cart", 1.0)
    foreign = dataclasses.replace(small.build().initial_state(), row_ids=np.array([3]), row_z=np.zeros((1, 2)))
    with pytest.raises(SimulationConfigError, match="rows 0 .. 0, got 3"):
        TimeStepping(H).step(small.build(), foreign)


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


class Rolling(CustomConstraint):
    """The upper arm turns at a speed given by time: a condition on velocities that no joint knows."""

    rows = 1
    level = "velocity"

    def jacobian(self, model, q):
        return np.eye(model.nv)[[0]]

    def gamma(self, model, q, v, t=0.0):
        return np.array([0.2])

    def velocity_error(self, model, q, v, t=0.0):
        return np.array([v[0] - 0.2 * t])


@pytest.mark.nojit
def test_constraints_of_the_users_own_hold(tmp_path):
    """They are asked for once per step, at its start; a record on disk cannot keep them and says so at once."""
    builder = scenes.pendulum()
    builder.add_loop(Rolling(), bodies=["rod"])
    world = builder.build()
    recording = simulate(world, TimeStepping(1e-2), steps=10)
    np.testing.assert_allclose(recording.v[1:, 0], 0.2 * recording.time[:-1], atol=1e-14)
    assert verify(recording).holds
    with pytest.raises(SimulationConfigError, match="Rolling is none of the library's own"):
        simulate(world, TimeStepping(1e-2), steps=1, path=tmp_path / "own.npz")


def standing(drives: bool):
    """A quadruped on four ball feet, with position drives or bare; and the start with its feet on the floor."""
    model = quadruped()
    q = stance(model)
    q[2] += 0.02
    builder = WorldBuilder(**scenes.FAST)
    builder.add_model(model, q)
    for leg in LEGS:
        builder.add_shape(f"{leg}_foot", Sphere(0.02), Material(0.8))
    builder.add_half_space("floor", HalfSpace((0, 0, 1), 0.0), Material(0.8))
    joints = [name for name, data in model.joint_data.items() if data.v.stop - data.v.start == 1]
    if drives:
        for name in joints:
            builder.add_drive(PositionDrive(name, float(q[model.joint_data[name].q][0]), 300.0, 8.0, max_force=60.0))
    return builder.build(), q


def test_a_quadruped_stands_on_position_drives():
    """Its feet carry its weight, its trunk sags by little and comes to rest; a PD law by tau does the same."""
    world, q = standing(drives=True)
    stepper = TimeStepping(4e-3)
    recording = simulate(world, stepper, 1.0)
    assert abs(recording.v[-1]).max() < 1e-2
    assert q[2] - 0.03 < recording.q[-1, 2] < q[2]
    weight = recording.contacts_at(recording.n_steps - 1).impulse[:, 2].sum() / 4e-3
    assert weight == pytest.approx(9.81 * MASS, rel=0.02)
    assert recording.worst_certificate().scaled < 1e-9
    assert verify(recording, every=120).holds

    bare, _ = standing(drives=False)

    def hold(t, q_now, v_now):
        return np.concatenate([np.zeros(6), np.clip(-300.0 * (q_now[7:] - q[7:]) - 8.0 * v_now[6:], -60.0, 60.0)])

    by_tau = simulate(bare, TimeStepping(1e-3), 0.5, tau=hold)
    assert abs(by_tau.q[-1, 2] - recording.q[125, 2]) < 2e-3


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
    assert [joint.label for joint in found.joints] == ["upper limit of cart", "at 0.1", "at 0.2"]
