"""One arithmetic: the compiled loop, the loop with a solver outside, and the public path give the same bits."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import simulation_scenes as scenes

import lcp
from contactlab.simulation import Recording, TimeStepping, simulate

THETA = math.radians(20.0)
SCENES = {
    "cube at rest": (scenes.cube_at_rest, 0.05),
    "sliding block": (lambda: scenes.block(0.3, 1.0), 0.4),
    "brick below its slope": (lambda: scenes.incline(THETA, 1.001 * math.tan(THETA)), 0.1),
    "brick above its slope": (lambda: scenes.incline(THETA, 0.99 * math.tan(THETA)), 0.1),
    "sliding ball": (lambda: scenes.ball(0.2, 1.0), 0.2),
    "dropped ball": (lambda: scenes.dropped_ball(0.05, 0.6), 0.3),
    "tumbling bodies": (scenes.tumble, 1.0),
}
each_scene = pytest.mark.parametrize("scene", SCENES)


def check_public_path(recording, every):
    """Solve every so-many-th step's problems in public and compare bit for bit; return how many."""
    stepper = recording.stepper
    compared = 0
    for i in range(0, recording.n_steps, every):
        for j in range(recording.islands[i]):
            solution = stepper.constraint_solver.solve_discretized_problem(
                recording.problem(i, j), stepper.h, z0=recording.warm_start(i, j)
            )
            forces = recording.forces(i, j)
            assert np.array_equal(solution.result.z, recording.z(i, j))
            assert np.array_equal(solution.forces.fN, forces.fN)
            assert np.array_equal(solution.forces.fF, forces.fF)
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


@each_scene
@pytest.mark.parametrize("warm_start", [True, False])
def test_public_path_gives_the_recorded_bits(scene, warm_start):
    """Forces, LCP solution, velocities and certificate of every K-th step."""
    make, duration = SCENES[scene]
    recording = simulate(make(), TimeStepping(1e-3, warm_start=warm_start), duration)
    assert check_public_path(recording, every=5) > 3


@pytest.mark.nojit
def test_public_path_gives_the_recorded_bits_of_a_short_run():
    """The same on a run short enough for every mode of the suite."""
    recording = simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4), steps=5)
    assert check_public_path(recording, every=1) == 5


def test_public_path_follows_restitution_stabilisation_and_edges():
    """The options that enter k and the pyramid take part."""
    stepper = TimeStepping(2e-3, edges=6, margin=5e-3, v_min=0.1, erp=0.2)
    recording = simulate(scenes.tumble(), stepper, 0.8)
    assert check_public_path(recording, every=11) > 10


@pytest.mark.parametrize("tolerance", [1e-12, 1e-4])
def test_public_path_follows_the_tolerance(tolerance):
    """It decides which warm bases are accepted, and so which of several solutions is found."""
    recording = simulate(scenes.tumble(), TimeStepping(2e-3, tolerance=tolerance), 0.8)
    assert check_public_path(recording, every=5) > 10


@each_scene
def test_solver_outside_the_loop_gives_the_same_record(scene):
    """A solver the loop does not know gets every problem through UNSOLVED."""
    make, duration = SCENES[scene]
    inside = simulate(make(), TimeStepping(1e-3, solver=lcp.Lemke()), duration)
    outside = simulate(make(), TimeStepping(1e-3, solver=scenes.Outside()), duration)
    for name, rows in inside.rows.items():
        assert np.array_equal(rows, outside.rows[name]), name


def test_every_contact_of_the_tumble_takes_part():
    """The scene of the equality tests has several islands at once, impacts, sticking, sliding and warm starts."""
    recording = simulate(scenes.tumble(), TimeStepping(1e-3), 1.0)
    assert recording.islands.max() >= 2
    assert set(np.unique(recording.contacts.mode)) == {0, 1, 2}
    assert 0 < recording.warm_start_solves.sum() < recording.islands.sum()
    assert set(recording.contacts.half_space) == {0, 1}


def test_compiler_off_agrees(tmp_path):
    """The same short run as plain Python: 1e-12 relative to the size of each column."""
    code = (
        "import sys; sys.path[:0] = {path!r}\n"
        "import simulation_scenes as s\n"
        "from contactlab.simulation import TimeStepping, simulate\n"
        "simulate(s.tumble(), TimeStepping(5e-3), steps=100, path={out!r})\n"
    )
    out = tmp_path / "plain.npz"
    path = [os.path.dirname(scenes.__file__), *(entry for entry in sys.path if entry)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-P", "-c", code.format(path=path, out=str(out))], env=environment, check=True)
    plain = Recording.open(out)
    compiled = simulate(scenes.tumble(), TimeStepping(5e-3), steps=100)
    assert plain.environment["jit"] == "off"
    assert len(compiled.contacts) > 40
    for name in ("q", "v", "kinetic", "potential", "contact_z", "contact_impulse", "contact_gap"):
        ours, theirs = compiled.rows[name], plain.rows[name]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * max(1.0, np.abs(ours).max()), err_msg=name)
    for name in ("contact_id", "contact_mode", "island_pivots", "island_choice"):
        np.testing.assert_array_equal(compiled.rows[name], plain.rows[name], err_msg=name)
