"""Environments for learning: gymnasium's checkers, seeds, and one arithmetic for one run and many."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_tasks import TASKS, Burst, balance, cart_and_pole, follow, push, sledge

from contactlab.learning import Controls, Env, LearningError, Noise, Targets, Task, Torques, VectorEnv
from contactlab.multibody import JointLimits
from contactlab.multibody.spatial import FieldError
from contactlab.simulation import ModelBuilder, RigidInertia, Simulation, WorldBuilder, joints, sensors

gymnasium = pytest.importorskip("gymnasium", reason="environments need gymnasium: pip install '.[learning]'")

#: gymnasium's own environments of robots observe any numbers, too.
ANY_NUMBER = "ignore:.*A Box observation space m"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "23_learning_locomotion.py"
ROBOTS = ["HalfCheetah", "Hopper", "Ant"]


def robot_task(robot: str) -> Task:
    """One of the example's, whose files gymnasium has and mujoco reads."""
    pytest.importorskip("mujoco", reason="robots of MuJoCo files need mujoco")
    task: Task = runpy.run_path(str(EXAMPLE))["locomotion"](robot)
    return task


@pytest.mark.filterwarnings(ANY_NUMBER)
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_gymnasium_finds_nothing_to_object_to(task: Any) -> None:
    """Its checker of environments; spaces, types and masks of its vectors."""
    from gymnasium.utils.env_checker import check_env
    from gymnasium.vector import AutoresetMode

    one = Env(task())
    check_env(one, skip_render_check=True)
    env = VectorEnv(task(), 3)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert (env.single_action_space, env.single_observation_space) == (one.action_space, one.observation_space)
    seen, info = env.reset(seed=1)
    env.action_space.seed(1)
    assert seen in env.observation_space
    assert info == {}
    for _ in range(50):
        seen, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert seen in env.observation_space
        assert (reward.dtype, reward.shape) == (np.float64, (3,))
        assert terminated.dtype == truncated.dtype == np.bool_
        assert all(f"_{name}" in info for name in info if not name.startswith("_"))


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_an_env_is_a_run_of_a_vector(task: Any) -> None:
    """The run i of the seed s has the bits of an `Env` of the seed s + i, through all its ends."""
    vector, alone = VectorEnv(task(), 4, threads=2), [Env(task()) for _ in range(4)]
    rng, ended = np.random.default_rng(2), [False] * 4
    seen, _ = vector.reset(seed=10)
    for i, env in enumerate(alone):
        np.testing.assert_array_equal(seen[i], env.reset(seed=10 + i)[0])
    high, ends = vector.single_action_space.high, 0
    for _ in range(90):
        actions = rng.uniform(-high, high, (4, high.size)).astype(np.float32)
        seen, reward, terminated, truncated, info = vector.step(actions)
        for i, env in enumerate(alone):
            if ended[i]:
                assert (reward[i], terminated[i], truncated[i]) == (0.0, False, False)
                assert not any(info[name][i] for name in info if name.startswith("_"))
                found, ended[i] = env.reset()[0], False
            else:
                found, *told, own = env.step(actions[i])
                assert told == [reward[i], terminated[i], truncated[i]]
                assert own == {name: info[name][i] for name in own}
                ended[i] = told[1] or told[2]
                ends += ended[i]
            np.testing.assert_array_equal(seen[i], found)
    assert ends >= 8


def test_an_env_steps_as_a_simulation_does() -> None:
    """From the same start with the same forces; readings of steps are 0 at a start, and later the floor's load."""
    env, task = Env(push()), push()
    seen, _ = env.reset(seed=5)
    run = Simulation(task.world, task.stepper, env.batch.states[0])
    assert seen[15:18].tolist() == [0.0, 0.0, 0.0]
    for share in (0.2, -1.0, 5.0):
        seen, reward, *_, info = env.step(np.array([share]))
        before = run.q[0]
        run.step([0, 0, 0, 0, 0, 0, 20.0 * np.clip(share, -1.0, 1.0)], n=3)
        expected = [run.q, run.v, *(run.read(one) for one in task.sensors.values())]
        np.testing.assert_array_equal(seen, np.concatenate(expected))
        assert info == {"forward": run.q[0] - before, "cost": -1e-3 * share**2}
        assert reward == sum(info.values())


def test_actions_act_after_their_delay() -> None:
    """A task with a delay gives the runs of the delayed actions, with a separate delay per run from its seed."""
    rng, steps = np.random.default_rng(0), 12
    actions = rng.uniform(-1.0, 1.0, (steps, 3, 1)).astype(np.float32)
    at_once, late = VectorEnv(balance(), 3), VectorEnv(balance(delay=2), 3)
    for env in (at_once, late):
        env.reset(seed=4)
    for k in range(steps):
        wanted = at_once.step(actions[k - 2] if k >= 2 else np.zeros((3, 1), np.float32))[0]
        np.testing.assert_array_equal(late.step(actions[k])[0], wanted)
    drawn = VectorEnv(balance(delay=(0, 3)), 8)
    drawn.reset(seed=4)
    one = Env(balance(delay=(0, 3)))
    for i in range(3):
        drawn.reset(seed=4)
        one.reset(seed=4 + i)
        for k in range(steps):
            given = np.tile(actions[k, :1], (8, 1))
            np.testing.assert_array_equal(one.step(given[i])[0], drawn.step(given)[0][i])


def test_runs_that_end_begin_anew_in_the_next_call() -> None:
    """The observation of their end comes before; other runs are truncated after their maximum of steps."""
    env = VectorEnv(balance(), 6)
    env.reset(seed=0)
    made, ended, kinds = np.zeros(6, dtype=int), np.zeros(6, dtype=bool), set()
    push = np.array([1.0, 1.0, 0.0, 0.0, -1.0, -1.0])[:, None]
    for _ in range(100):
        seen, reward, terminated, truncated, _ = env.step(push)
        made = np.where(ended, 0, made + 1)
        np.testing.assert_array_equal(reward, (~ended).astype(float))
        np.testing.assert_array_equal(terminated, ~ended & (np.abs(seen[:, 1]) > 0.2))
        np.testing.assert_array_equal(truncated, made == 40)
        assert (np.abs(seen[ended]) <= 0.05).all()
        assert (env.batch.time == pytest.approx(0.01 * made)) or (env.batch.time[made == 0] == 0.0).all()
        ended = terminated | truncated
        kinds |= set(zip(terminated.tolist(), truncated.tolist(), strict=True))
    assert {(True, False), (False, True), (False, False)} <= kinds


def test_a_run_that_fails_terminates_alone() -> None:
    """Its info has the reason, it is restarted, and the others have the bits that they have without it."""
    task = balance(actions=Burst(), frame_skip=2, terminated=None)
    env, calm = VectorEnv(task, 3, threads=2), VectorEnv(task, 3, threads=2)
    env.reset(seed=1), calm.reset(seed=1)
    for k in range(6):
        actions = np.full((3, 1), 0.1 * k)
        peaceful = calm.step(actions)
        actions[1] = 1.0 if k == 2 else actions[1]
        seen, reward, terminated, truncated, info = env.step(actions)
        assert terminated.tolist() == [False, k == 2, False]
        assert not truncated.any()
        assert np.isfinite(seen).all()
        np.testing.assert_array_equal(seen[[0, 2]], peaceful[0][[0, 2]])
        assert ("error" in info) == (k == 2)
        if k == 2:
            assert info["_error"].tolist() == [False, True, False]
            assert info["error"][[0, 2]].tolist() == [None, None]
            assert "step" in info["error"][1]
        assert reward.tolist() == [1.0, float(k != 3), 1.0]
    assert not env.batch.failed.any()


def test_noise_is_drawn_in_the_directions_of_motion() -> None:
    """Quaternions stay of length 1; v by either law; none is none."""
    world, rng = sledge(), np.random.default_rng(0)
    states = [Noise(q=0.3, v=0.2, v_law="normal")(world, rng) for _ in range(200)]
    q, v = (np.array([getattr(one, name) for one in states]) for name in "qv")
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0, rtol=1e-12)
    assert 0.25 < np.abs(q[:, 7]).max() <= 0.3
    assert np.abs(v).max() > 0.4
    assert v.std() == pytest.approx(0.2, rel=0.1)
    uniform = [Noise(v=0.2)(world, rng) for _ in range(200)]
    assert 0.19 < max(np.abs(one.v).max() for one in uniform) <= 0.2
    np.testing.assert_array_equal(uniform[0].q, world.initial_q)


def test_noise_keeps_joints_between_their_stops() -> None:
    """One that begins beyond a stop goes no further beyond it."""
    model, builder, rng = ModelBuilder(), WorldBuilder(), np.random.default_rng(0)
    rod = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    for k in range(2):
        limits = JointLimits(-0.1, 0.2)
        model.add_body(f"rod {k}", joint=joints.Revolute((0, 1, 0)), inertia=rod, limits=limits)
    builder.add_model(model.build(), (0.15, 0.4))
    world = builder.build()
    q = np.array([Noise(q=0.35)(world, rng).q for _ in range(50)])
    assert (q.min(axis=0) < (-0.09, 0.1)).all()
    np.testing.assert_array_equal(q.max(axis=0), (0.2, 0.4))
    assert q.min() >= -0.1


def test_torques_and_targets_take_their_ranges_from_the_world() -> None:
    world = cart_and_pole(drive=True)
    torques, targets = Torques(world), Targets(world)
    assert (torques.low.tolist(), torques.high.tolist(), torques.limit.tolist()) == ([-1.0], [1.0], [10.0])
    assert torques.inputs(np.array([[0.3], [0.4]]), world.initial_q, world.initial_v)[0].tolist() == [[3, 0], [4, 0]]
    assert (targets.least.tolist(), targets.most.tolist()) == ([-1.0], [1.0])
    turned = Targets(world, ["servo"], least=-0.5, most=[1.5])
    found = turned.inputs(np.array([[-1.0], [0.0], [1.0]]), world.initial_q, world.initial_v)[1]
    assert found.tolist() == [[-0.5], [0.5], [1.5]]
    both = Torques(world, ["pole", "cart"], [1.0, 2.0])
    assert both.inputs(np.array([[0.5, 1.0]]), world.initial_q, world.initial_v)[0].tolist() == [[2.0, 0.5]]
    env = Env(follow())
    env.reset(seed=0)
    for _ in range(39):
        seen, *_ = env.step(np.array([0.15]))
    assert seen[1] == pytest.approx(0.15, abs=0.03)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Torques(cart_and_pole(), ["car"]), "there is no 'car'; close: 'cart'"),
        (lambda: Torques(cart_and_pole(), "cart"), "must be a sequence of names, got 'cart'"),
        (lambda: Torques(cart_and_pole(), ["pole"]), r"limit: must be finite and positive .*inf"),
        (lambda: Torques(cart_and_pole(), ["cart", "cart"]), "each once"),
        (lambda: Torques(cart_and_pole(), ["cart"], -1.0), r"limit: .*-1"),
        (lambda: Torques(cart_and_pole(), ["cart"], [1.0, 2.0]), "limit"),
        (lambda: Targets(cart_and_pole()), r"must be some drives .* got \[\]"),
        (lambda: Targets(cart_and_pole(drive=True), ["serv"]), "there is no 'serv'; close: 'servo'"),
        (lambda: Targets(cart_and_pole(drive=True), least=2.0), "range of 'servo' .* 2.0 to 1.0"),
        (lambda: Noise(q=-1.0), "q: must not be negative, got -1.0"),
        (lambda: Noise(v_law="gauss"), "v_law: .*'gauss'"),
        (lambda: balance(world="cart"), "world: must be a World, got 'cart'"),
        (lambda: balance(stepper=0.01), "stepper: must be a TimeStepping, got 0.01"),
        (lambda: balance(reward=1.0), "reward: must be a function, got 1.0"),
        (lambda: balance(terminated=True), "terminated: must be a function, got True"),
        (lambda: balance(actions=np.zeros(2)), "actions: must be an action map"),
        (lambda: balance(sensors={"force": "floor"}), r"sensors\['force'\]: must be a sensor, got 'floor'"),
        (lambda: balance(delay=-1), "delay: must be at least 0, got -1"),
        (lambda: balance(delay=(2, 1)), r"delay: must be a number or two that ascend, got \(2, 1\)"),
        (lambda: balance(delay=(1, 2, 3)), r"delay: must be a number or two that ascend, got \(1, 2, 3\)"),
        (lambda: balance(frame_skip=0), "frame_skip: must be at least 1, got 0"),
        (lambda: balance(max_steps=1.5), "max_steps: must be a whole number, got 1.5"),
        (lambda: Env("task"), "task: must be a Task, got 'task'"),
        (lambda: Env(balance(observe=lambda now: now.q[:, 0])), "observe"),
        (lambda: Env(balance(sensors={"x": sensors.ContactForce("nobody")})), "nobody"),
        (lambda: VectorEnv(balance(), 0), "num_envs: must be at least 1, got 0"),
        (lambda: VectorEnv(balance(), 2, worlds=[cart_and_pole()]), "one for each of 2 runs, got 1"),
        (lambda: VectorEnv(balance(), 2).step(np.zeros((2, 1))), "call reset first"),
        (lambda: Env(balance()).step(np.zeros(1)), "call reset first"),
        (lambda: VectorEnv(balance(), 2).reset(seed=[1]), "seed: must be one, or one for each of 2 runs, got 1"),
        (lambda: Env(balance()).reset(options={"low": 1}), r"options: there are none, got \{'low': 1\}"),
    ],
)
def test_what_cannot_be_used_raises_at_once(make: Any, text: str) -> None:
    with pytest.raises(FieldError, match=text):
        make()


@pytest.mark.parametrize(
    ("changes", "action", "text"),
    [
        ({}, [np.nan], "actions.*nan"),
        ({}, [0.0, 1.0], "actions"),
        ({"reward": lambda a, action, b: np.nan * b.q[:, 0]}, [0.0], "reward.*nan"),
        ({"reward": lambda a, action, b: {"one": b.q}}, [0.0], r"reward\['one'\]"),
        ({"terminated": lambda now: now.q[:, 0]}, [0.0], "terminated: must return bool"),
    ],
)
def test_what_functions_of_a_task_return_is_looked_at(changes: dict[str, Any], action: list[float], text: str) -> None:
    env = Env(balance(**changes))
    env.reset(seed=0)
    with pytest.raises(LearningError, match=text):
        env.step(np.array(action))


@pytest.mark.filterwarnings(ANY_NUMBER)
@pytest.mark.parametrize("robot", ROBOTS)
def test_robots_are_those_of_gymnasium(robot: str) -> None:
    """Spaces, observations of a state, the reward of a motion, and the condition of health are as in gymnasium."""
    task = robot_task(robot)
    env, rng = Env(task), np.random.default_rng(0)
    own = {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0.0} if robot == "Ant" else {}
    theirs = gymnasium.make(f"{robot}-v5", **own).unwrapped
    assert env.action_space == theirs.action_space
    assert env.observation_space == theirs.observation_space
    height = 1.25 if robot == "Hopper" else 0.0
    wells = set()
    for _ in range(40):
        state = Noise(q=0.35, v=15.0)(task.world, rng)
        qpos = state.q + height * (np.arange(state.q.size) == 1)
        theirs.set_state(qpos, state.v)
        env.reset(seed=0)
        env.batch.reset(states=state)
        now = env._runs.snapshot()
        np.testing.assert_allclose(task.observe(now)[0], theirs._get_obs(), atol=1e-12)
        action = rng.uniform(-1.0, 1.0, env.action_space.shape)
        terms = task.reward(now, action[None], now)
        reward, _ = theirs._get_rew(0.0, action)
        assert sum(float(one[0]) for one in terms.values()) == pytest.approx(reward)
        assert task.dt == pytest.approx(theirs.dt)
        if robot != "HalfCheetah":
            assert task.terminated(now)[0] == (not theirs.is_healthy)
            wells.add(theirs.is_healthy)
    assert wells in ({True, False}, set())


def test_controls_of_servos_and_motors(tmp_path: Path) -> None:
    """A servo gets a target, a motor a torque, and a force that depends on the state is computed in every step."""
    pytest.importorskip("mujoco", reason="robots of MuJoCo files need mujoco")
    from contactlab.simulation.world.mjcf import load_mjcf

    text = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint name="a" axis="1 0 0" type="slide" damping="1"/><geom size="0.1" contype="0"/>
        <body pos="0 0 1"><joint name="b" axis="0 1 0" damping="1"/><geom size="0.1" pos="0 0 0.3" contype="0"/></body>
      </body></worldbody>
      <actuator><position name="servo" joint="b" kp="50" kv="5" ctrlrange="-1 1"/>
        <motor name="motor" joint="a" gear="3" ctrlrange="-2 2"/>{more}</actuator></mujoco>"""

    def scene(more: str = "") -> Any:
        (tmp_path / "robot.xml").write_text(text.format(more=more))
        return load_mjcf(tmp_path / "robot.xml")

    plain = scene()
    controls = Controls(plain.world, plain.robot)
    assert (controls.low.tolist(), controls.high.tolist(), controls.depends_on_state) == ([-1, -2], [1, 2], False)
    taus, targets = controls.inputs(np.array([[0.5, 2.0], [0.1, 1.0]]), np.zeros((2, 2)), np.zeros((2, 2)))
    assert (taus.tolist(), targets.tolist()) == ([[6.0, 0.0], [3.0, 0.0]], [[0.5], [0.1]])
    push = '<general name="spring" joint="a" biastype="affine" biasprm="1 -4 -1" gainprm="2" ctrlrange="-1 1"/>'
    bound = scene(push)
    controls, rng = Controls(bound.world, bound.robot), np.random.default_rng(0)
    assert controls.depends_on_state
    q, v, u = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.uniform(-1, 1, (5, 3))
    together = controls.inputs(u, q, v)[0]
    for i in range(5):
        np.testing.assert_array_equal(together[i], bound.robot.tau(bound.world, u[i], q[i], v[i]))
    for more, word in (
        ('<motor name="free" joint="a"/>', "'free' has no range"),
        ('<intvelocity name="slow" joint="a" kp="1" ctrlrange="-1 1" actrange="-1 1"/>', "1 actuators have a state"),
    ):
        odd = scene(more)
        with pytest.raises(LearningError, match=word):
            Controls(odd.world, odd.robot)
    with pytest.raises(LearningError, match="no drive 'servo'"):
        Controls(cart_and_pole(), plain.robot)
