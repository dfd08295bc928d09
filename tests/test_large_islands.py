"""Islands of many trees: sparse elimination, modes from a central path, and what is too large to pivot."""

from pathlib import Path

import numpy as np
import pytest

import contactlab.simulation.stepping.kernels.layout as layout
from contactlab import ConstraintSolver, EqualCompliance, ForceChoice
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    RigidInertia,
    SimulationError,
    Sphere,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.recording.run_reports import simulation_error
from contactlab.simulation.stepping.driver import Driver
from problem_data import ConstraintVelProblemData, ProblemDataError

RADIUS, H = 0.1, 2e-3


def bin_of(kind: str, count: int, columns: int, seed: int) -> World:
    """Bodies dropped at random into an upright bin."""
    random = np.random.default_rng(seed)
    pitch, material = 0.24, Material(0.5)
    builder = WorldBuilder((0.0, 0.0, -9.81))
    builder.add_half_space("floor", HalfSpace(), material)
    half = columns * pitch / 2 + 0.05
    for i, normal in enumerate([(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)]):
        builder.add_half_space(f"wall {i}", HalfSpace(normal, -half), material)
    for i in range(count):
        layer, place = divmod(i, columns * columns)
        x, y = (pitch * (k - (columns - 1) / 2) for k in divmod(place, columns))
        turn = np.array([1.0, *(0.2 * random.normal(size=3))])
        turn /= np.linalg.norm(turn)
        pose = (x + 0.01 * random.normal(), y + 0.01 * random.normal(), pitch * (layer + 0.6), *turn)
        if kind == "spheres":
            builder.add_free_body(f"body {i}", RigidInertia.solid_sphere(1.0, RADIUS), Sphere(RADIUS), material, pose)
        else:
            inertia = RigidInertia.solid_box(1.0, (RADIUS,) * 3)
            builder.add_free_body(f"body {i}", inertia, Box.cube(RADIUS), material, pose)
    return builder.build()


@pytest.mark.parametrize(("kind", "count", "edges", "steps"), [("spheres", 40, 4, 180), ("boxes", 20, 8, 120)])
def test_piles_hardly_need_a_pivot(kind, count, edges, steps):
    """The active set cycles on many of these islands; the central path finds their modes."""
    stepper = TimeStepping(H, edges=edges)
    recording = simulate(bin_of(kind, count, 3, 1), stepper, steps=steps)
    assert (recording.pivots > 0).mean() <= 0.03
    assert recording.contacts.step[-1] == steps - 1
    last = recording.problem(steps - 1)
    assert last.tree_starts.size > 8
    # The public path has the same trees, and with them the same bits.
    answer = stepper.constraint_solver.solve_discretized_problem(last, H, z0=recording.warm_start(steps - 1))
    np.testing.assert_array_equal(answer.v_plus, recording.v_plus(steps - 1))
    assert verify(recording, every=40).holds


@pytest.mark.parametrize("starts", [[0], [1, 3], [0, 2], [0, 3, 3], [0, 2, 1, 3], [[0, 3]], [0.0, 3.0]])
def test_tree_starts_that_are_none_are_refused(starts):
    """They begin at 0, ascend, and end at nv."""
    with pytest.raises(ProblemDataError, match="tree_starts"):
        ConstraintVelProblemData(Mv=np.zeros(3), M=np.eye(3), tree_starts=starts)


def test_what_is_too_large_to_pivot_says_so():
    """Not minutes of silence: the problem is named, saved, and what to try is said."""
    recording = simulate(bin_of("boxes", 4, 2, 3), TimeStepping(H), steps=20)
    driver = Driver(recording.world, recording.stepper, recording.state(19), external=True, steps=1)
    driver.form(0)
    driver.control.failure = layout.FAILURE_LARGE
    error = simulation_error(driver, recording)
    assert isinstance(error, SimulationError)
    assert "too large for a pivoting method" in str(error)
    assert "adaptive=True" in str(error)


def test_where_the_branch_turns_back_other_forces_are_found():
    """484 contacts of spheres pressed together in impact, captured from a pile; a pivoting method takes seconds."""
    with np.load(Path(__file__).parent / "data" / "pressed_spheres.npz") as file:
        bodies, y_free = int(file["nb"]), file["y_free"].ravel()
        J = np.zeros((file["mu"].size, 3, bodies, 6))
        for on, rows in ((file["a"], file["Ja"]), (file["b"], file["Jb"])):
            there = np.flatnonzero(on >= 0)
            J[there, :, on[there]] = rows[there]
        J = J.reshape(-1, 3, 6 * bodies)
        bias, mu, h = file["bias"], file["mu"], float(file["h"])
    data = ConstraintVelProblemData(
        solve_inertia=lambda B: B,
        Mv=y_free,
        N=J[:, 0],
        F=J[:, 1:].reshape(-1, 6 * bodies),
        kN=bias[:, 0],
        kF=bias[:, 1:].ravel(),
        mu=mu,
        r=np.full(mu.size, 2),
        tree_starts=np.arange(0, 6 * bodies + 1, 6),
    )
    found = ConstraintSolver(EqualCompliance()).solve_discretized_problem(data, h)
    assert found.result.iterations == 0
    assert found.choice in (ForceChoice.EQUAL_COMPLIANCE, ForceChoice.OTHER_SOLUTION)
    # The law itself, from J alone.
    rates = J @ found.v_plus + bias
    normal = np.asarray(found.forces.fN) * h
    assert np.allclose(found.v_plus, y_free + h * np.asarray(found.generalized_force), rtol=0.0, atol=1e-10)
    assert normal.min() >= 0.0
    assert rates[:, 0].min() > -1e-9
    assert np.abs(normal * rates[:, 0]).max() < 1e-9
