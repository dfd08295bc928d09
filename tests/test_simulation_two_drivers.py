"""One arithmetic: the compiled loop, the loop with a solver outside, and the public path give the same bits.

The table has every kind of world: free bodies, bodies in contact, trees, rows of joints, rods and springs.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import body_contact_scenes
import joint_scenes
import numpy as np
import pytest
import simulation_scenes as scenes
from test_custom_loops import double_pendulum
from test_simulation_articulated import WORLDS

import lcp
from contactlab.simulation import Recording, TimeStepping, simulate

THETA = math.radians(20.0)
#: The world and how long it runs.
SCENES = {
    "cube at rest": (scenes.cube_at_rest, 0.05),
    "sliding block": (lambda: scenes.block(0.3, 1.0), 0.4),
    "brick above its slope": (lambda: scenes.incline(THETA, 0.99 * math.tan(THETA)), 0.1),
    "sliding ball": (lambda: scenes.ball(0.2, 1.0), 0.2),
    "dropped ball": (lambda: scenes.dropped_ball(0.05, 0.6), 0.3),
    "tumbling bodies": (scenes.tumble, 0.6),
    **body_contact_scenes.SCENES,
    **{name: (make, 0.4) for name, make in WORLDS.items()},
    "all rows of joints": (joint_scenes.busy, 0.4),
    "rods and a spring": (lambda: double_pendulum(np.array([0.9, -0.4]), np.array([0.5, 2.0]), coil=True), 0.02),
}
each_scene = pytest.mark.parametrize("scene", SCENES)


def check_public_path(recording, every):
    """Solve every so-many-th step's problems in public and compare bit for bit; return how many."""
    stepper = recording.stepper
    compared = 0
    for i in range(0, recording.n_steps, every):
        for j in range(recording.islands[i]):
            solution = stepper.constraint_solver.solve_discretized_problem(
                recording.problem(i, j), recording.h[i], z0=recording.warm_start(i, j)
            )
            assert np.array_equal(solution.result.z, recording.z(i, j))
            assert np.array_equal(solution.forces.packed(), recording.forces(i, j).packed())
            assert np.array_equal(solution.v_plus, recording.v_plus(i, j))
            row = (recording.certificates.step == i) & (recording.certificates.island == j)
            measures = recording.certificates.scaled[row], solution.result.residual.scaled
            if recording.certificates.attempt[row] == 0:
                # A solver's answer: the step measures it on each row's scale, and `lcp` on its own.
                assert max(*measures) < 1e-12
            else:
                assert measures[0] == measures[1]
            assert recording.certificates.mechanical[row] == solution.certificate.worst
            assert recording.certificates.choice[row] == solution.choice
            compared += 1
    return compared


@pytest.mark.parametrize(
    ("scene", "warm_start"),
    [*((name, True) for name in SCENES), *((name, False) for name in ("tumbling bodies", "all rows of joints"))],
)
def test_public_path_gives_the_recorded_bits(scene, warm_start):
    """Forces, LCP solution, velocities and certificate of every K-th step."""
    make, duration = SCENES[scene]
    recording = simulate(make(), TimeStepping(1e-3, warm_start=warm_start), duration)
    every = 5 if np.count_nonzero(recording.islands) > 100 else 1
    assert check_public_path(recording, every) > 3
    assert recording.worst_certificate().scaled <= 1e-9


def test_public_path_follows_restitution_stabilisation_and_edges():
    """The options that enter k and the pyramid take part."""
    stepper = TimeStepping(2e-3, edges=6, margin=5e-3, restitution_threshold=0.1, erp=0.2)
    recording = simulate(scenes.tumble(), stepper, 0.8)
    assert check_public_path(recording, every=11) > 10


@each_scene
def test_a_solver_outside_the_loop_and_a_restart_give_the_same_record(scene):
    """A solver the loop does not know gets every problem through UNSOLVED; the state is all that a run needs."""
    make, duration = SCENES[scene]
    world = make()
    inside = simulate(world, TimeStepping(1e-3, solver=lcp.Lemke()), duration)
    outside = simulate(world, TimeStepping(1e-3, solver=scenes.Outside()), duration)
    half = inside.n_steps // 2
    rest = simulate(world, inside.stepper, steps=inside.n_steps - half, state=inside.state(half))
    for name, rows in inside.rows.items():
        assert np.array_equal(rows, outside.rows[name]), name
    for name in ("q", "v"):
        assert np.array_equal(inside.rows[name][half:], rest.rows[name]), name


PLAIN = {
    "tumble": (scenes, "tumble()", 5e-3, 100),
    "joints": (joint_scenes, "busy()", 2e-3, 25),
    "collision": (body_contact_scenes, "SCENES['collision in space'][0]()", 4e-3, 40),
    "box": (body_contact_scenes, "SCENES['ball on a moving box'][0]()", 4e-3, 40),
    "capsule": (body_contact_scenes, "SCENES['capsule on a cylinder'][0]()", 4e-3, 40),
}


def test_compiler_off_agrees(tmp_path):
    """The same short runs as plain Python: 1e-12 relative to the size of each column."""
    lines = ["import sys", f"sys.path[:0] = {[os.path.dirname(__file__), *filter(None, sys.path)]!r}"]
    lines += ["from contactlab.simulation import TimeStepping, simulate"]
    for name, (module, make, h, steps) in PLAIN.items():
        lines += [f"from {module.__name__} import *"]
        lines += [f"simulate({make}, TimeStepping({h}), steps={steps}, path={str(tmp_path / name)!r})"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-P", "-c", "\n".join(lines)], env=environment, check=True)
    for run, (module, make, h, steps) in PLAIN.items():
        plain = Recording.open(Path(tmp_path) / run)
        compiled = simulate(eval(make, vars(module)), TimeStepping(h), steps=steps)
        assert plain.environment["jit"] == "off"
        for name, ours in compiled.rows.items():
            if ours.dtype == np.float64 and not name.startswith("island_"):
                scale = max(1.0, np.abs(ours).max(initial=0.0))
                np.testing.assert_allclose(ours, plain.rows[name], rtol=0, atol=1e-12 * scale, err_msg=name)
        for name in ("contact_id", "contact_mode", "island_choice"):
            np.testing.assert_array_equal(compiled.rows[name], plain.rows[name], err_msg=name)
