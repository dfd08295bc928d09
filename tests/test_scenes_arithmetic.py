"""Every scene of the examples: one arithmetic, whoever solves and whether compiled or not."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scene_texts import SCENES

from contactlab.simulation import Recording, simulate
from contactlab.simulation.scene import load_scene

FILES = sorted(SCENES.glob("*.toml"))
each_scene = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)

#: Steps looked at; few of the large ones, all of which touch from the start or soon.
STEPS = 40
COMPARED = 3


class Outside:
    """A solver the loop does not know: it asks Python for every solve."""

    def __init__(self, solver):
        self._solver = solver

    def solve(self, problem, *, z0, tolerance, trace):
        """Delegate."""
        return self._solver.solve(problem, z0=z0, tolerance=tolerance, trace=trace)


def touching(scene):
    """A state of the scene from which bodies touch within a few steps: its start, or one found by falling."""
    state, world, stepper = scene.world.initial_state(), scene.world, scene.stepper
    for _ in range(20):
        recording = simulate(world, stepper, steps=STEPS, state=state)
        if len(recording.contacts):
            return recording
        state = recording.state(STEPS)
    raise AssertionError("nothing touches")


@each_scene
def test_public_path_gives_the_recorded_bits(path):
    """LCP solution, forces and velocities of every K-th step, from the problem posed again."""
    scene = load_scene(path)
    recording = touching(scene)
    solver = scene.stepper.constraint_solver
    steps = np.unique(recording.contacts.step)
    for i in steps[:: max(1, steps.size // COMPARED)]:
        for j in range(min(recording.islands[i], COMPARED)):
            solution = solver.solve_discretized_problem(
                recording.problem(i, j), recording.h[i], z0=recording.warm_start(i, j)
            )
            forces = recording.forces(i, j)
            assert np.array_equal(solution.result.z, recording.z(i, j))
            assert np.array_equal(solution.forces.fN, forces.fN)
            assert np.array_equal(solution.forces.fF, forces.fF)
            assert np.array_equal(solution.v_plus, recording.v_plus(i, j))
    assert recording.worst_certificate().scaled <= scene.stepper.tolerance


@each_scene
def test_a_solver_outside_the_loop_gives_the_same_record(path):
    """Through UNSOLVED, from a state in the middle of a run."""
    scene = load_scene(path)
    recording = touching(scene)
    first = int(recording.contacts.step[0])
    inside = dataclasses.replace(scene.stepper, solver=scene.stepper.lcp_solver)
    outside = dataclasses.replace(scene.stepper, solver=Outside(scene.stepper.lcp_solver))
    runs = [simulate(scene.world, stepper, steps=8, state=recording.state(first)).rows for stepper in (inside, outside)]
    for name in ("q", "v", "contact_id", "contact_z", "contact_impulse", "island_certificate"):
        assert np.array_equal(runs[0][name], runs[1][name]), name


def test_compiler_off_agrees(tmp_path):
    """The first steps of the scenes of few bodies as plain Python: 1e-12 of the size of each column."""
    code = (
        "import sys; sys.path[:0] = {path!r}\n"
        "from contactlab.simulation import simulate\n"
        "from contactlab.simulation.scene import load_scene\n"
        "for name in {names!r}:\n"
        "    scene = load_scene({scenes!r} + '/' + name + '.toml')\n"
        "    simulate(scene.world, scene.stepper, steps=4, path={out!r} + '/' + name)\n"
    )
    small = [path.stem for path in FILES if load_scene(path).world.model.nb <= 6]
    assert len(small) >= 6
    program = code.format(
        path=[entry for entry in sys.path if entry], names=small, scenes=str(SCENES), out=str(tmp_path)
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-P", "-c", program], env=environment, check=True)
    for name in small:
        plain = Recording.open(Path(tmp_path) / name)
        scene = load_scene(SCENES / f"{name}.toml")
        compiled = simulate(scene.world, scene.stepper, steps=4)
        assert plain.environment["jit"] == "off"
        for column in ("q", "v", "kinetic", "contact_gap"):
            ours, theirs = compiled.rows[column], plain.rows[column]
            scale = max(1.0, np.abs(ours).max(initial=0.0))
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * scale, err_msg=f"{name} {column}")
