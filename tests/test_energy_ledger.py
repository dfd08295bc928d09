"""The energy ledger: every entry by its own formula, and together the whole change of the energy."""

import math

import numpy as np
import pytest
import simulation_scenes as scenes

import lcp
from contactlab.simulation import ENTRIES, Recording, RigidInertia, Sphere, TimeStepping, simulate

G = scenes.G
THETA = math.radians(20.0)


class FailsNowAndThen:
    """Makes an adaptive run use steps of many sizes."""

    def __init__(self):
        self.calls = 0

    def solve(self, problem, *, z0, tolerance, trace):
        self.calls += 1
        if self.calls % 23 < 2:
            return lcp.Claim(np.full(problem.n, np.nan), lcp.Status.SOLVED, 1)
        return lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)


def wavy(t, q, v):
    """A force on every body that changes all the time."""
    return np.cos(9.0 * t) * np.arange(v.size) / 50.0


RUNS = {
    "cube at rest": lambda: simulate(scenes.cube_at_rest(), TimeStepping(1e-3), 0.05),
    "sliding block": lambda: simulate(scenes.block(0.3, 1.0), TimeStepping(1e-3), 0.5),
    "brick on its slope": lambda: simulate(scenes.incline(THETA, 0.5), TimeStepping(1e-3), 0.1),
    "brick down a slope": lambda: simulate(scenes.incline(THETA, 0.2), TimeStepping(1e-3), 0.1),
    "sliding ball": lambda: simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3), 0.4),
    "dropped ball": lambda: simulate(scenes.dropped_ball(0.05, 0.6), TimeStepping(1e-3), 0.6),
    "tumble": lambda: simulate(scenes.tumble(), TimeStepping(1e-3), 1.5),
    "tumble, long steps": lambda: simulate(scenes.tumble(), TimeStepping(2e-2), 1.5),
    "tumble, pushed, stabilised": lambda: simulate(
        scenes.tumble(), TimeStepping(2e-3, edges=6, margin=5e-3, restitution_threshold=0.1, erp=0.2), 1.0, tau=wavy
    ),
    "tumble, adaptive, warm": lambda: simulate(
        scenes.tumble(), TimeStepping(4e-3, solver=FailsNowAndThen(), adaptive=True), 0.6, tau=wavy
    ),
    # Without a start no proposal comes before the solver, which so has more occasions to fail.
    "tumble, adaptive": lambda: simulate(
        scenes.tumble(), TimeStepping(4e-3, solver=FailsNowAndThen(), warm_start=False, adaptive=True), 0.6, tau=wavy
    ),
}


@pytest.fixture(scope="module", params=RUNS)
def run(request):
    """Give one run after the other."""
    return RUNS[request.param]()


@pytest.fixture(scope="module")
def tumble():
    """Give a run with impacts, sliding, sticking and resting."""
    return RUNS["tumble"]()


def test_the_entries_are_the_change_of_the_energy(run):
    """E_{i+1} - E_i = the sum of all entries, to rounding, in every step; nothing in it is made to close."""
    ledger = run.ledger
    scale = np.abs(run.kinetic).max() + np.abs(run.potential).max()
    assert np.abs(ledger.residual).max() <= 1e-14 * scale + 1e-15
    total = sum(getattr(ledger, name) for name in ENTRIES)
    np.testing.assert_allclose(np.diff(run.kinetic + run.potential), total, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(sum(ledger.summary.values()), total, rtol=0, atol=1e-13 * scale)


def test_signs(run):
    """Sliding takes energy, an approach is absorbed, a separation returned: in every step."""
    ledger = run.ledger
    scale = np.abs(run.kinetic).max() + np.abs(run.potential).max()
    assert ledger.friction_sliding.max() <= 1e-14 * scale
    assert ledger.impact_absorbed.max() <= 0.0
    assert ledger.impact_returned.min() >= 0.0
    if not run.rows["tau"].size:
        assert not ledger.applied.any()


@pytest.mark.parametrize("mu", [0.1, 0.3])
def test_sliding_block_pays_force_times_distance(mu):
    """friction_sliding is -mu m g times the way slid, exactly; with the rest it is the energy of the start."""
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        recording = simulate(scenes.block(mu, 1.0), TimeStepping(h), 0.2)
        ledger, way = recording.ledger, recording.q[-1, 0] - recording.q[0, 0]
        work = -mu * 2.0 * G * way
        assert ledger.friction_sliding.sum() == pytest.approx(work, rel=1e-9)
        np.testing.assert_allclose(ledger.friction, np.diff(recording.kinetic), rtol=0, atol=1e-12)
        errors.append(abs(ledger.friction.sum() - work))
    assert errors[0] < 5e-3 * abs(work)
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=1e-6)


@pytest.mark.nojit
def test_sticking_costs_nothing():
    """A brick that does not slide on its slope: every entry is rounding."""
    recording = simulate(scenes.incline(THETA, 0.5), TimeStepping(1e-3, edges=4), steps=4)
    assert all(abs(total) < 1e-12 for total in recording.ledger.totals().values())


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_bounce_loses_its_share(e):
    """An impact returns exactly e^2 of the absorbed energy; both converge to the closed form with h."""
    inertia = RigidInertia.solid_sphere(0.5, 0.1)
    errors = []
    for h in (2e-4, 1e-4):
        # Just above the ground at 3 m/s, on it where nothing bounces: one impact, in the first step.
        q = (0, 0, 0.1 + (1e-5 if e > 0.0 else 0.0), 1, 0, 0, 0)
        world = scenes.one_body(Sphere(0.1), inertia, mu=0.0, q=q, v=(0, 0, -3.0, 0, 0, 0), restitution=e)
        recording = simulate(world, TimeStepping(h), steps=1)
        ledger = recording.ledger
        assert ledger.impact_returned[0] == pytest.approx(-e * e * ledger.impact_absorbed[0], rel=1e-12)
        loss = 0.5 * 0.5 * 9.0 * (1 - e * e)
        errors.append(abs(ledger.impact[0] + loss))
        assert recording.kinetic[1] == pytest.approx(e * e * recording.kinetic[0], rel=1e-12)
        assert ledger.stabilisation[0] == 0.0
        assert ledger.friction[0] == 0.0
    if e < 1.0:
        assert errors[0] < 5e-3
        assert errors[0] / errors[1] == pytest.approx(2.0, rel=1e-6)
    else:
        # No energy is lost: the absorbed and the returned energy are each the kinetic energy of 2.25 J, a rounded sum
        # of products. Their difference is rounding of that, in bits that depend on the processor.
        assert max(errors) <= 4.0 * np.finfo(float).eps * 2.25


@pytest.mark.nojit
def test_free_fall():
    """Only the integration errs, by -m (g h)^2 / 2 in each step."""
    recording = simulate(scenes.dropped_ball(5.0), TimeStepping(1e-2, edges=4), steps=5)
    ledger = recording.ledger
    np.testing.assert_allclose(ledger.integration_error, -0.5 * 0.5 * (G * 1e-2) ** 2, rtol=0, atol=1e-14)
    assert all(ledger.totals()[name] == 0.0 for name in ENTRIES if name != "integration_error")


@pytest.mark.nojit
def test_applied_work():
    """Force times the mean way, torque included; a force on a body at rest that does not move does none."""
    tau = np.array([0.3, -0.2, 9.0, 0.01, 0.02, -0.03])
    recording = simulate(scenes.dropped_ball(5.0), TimeStepping(1e-2, edges=4), steps=4, tau=tau)
    mean = 0.5 * (recording.v[1:] + recording.v[:-1])
    np.testing.assert_allclose(recording.ledger.applied, 1e-2 * mean @ tau, rtol=1e-13)
    still = simulate(scenes.cube_at_rest(), TimeStepping(1e-3, edges=4), steps=3, tau=(1, 0, 0, 0, 0, 0))
    assert np.abs(still.ledger.applied).max() < 1e-15


@pytest.mark.nojit
def test_stabilisation_lifts_what_has_sunk_in():
    """A ball 1 mm deep, pushed out by a tenth per step: the work on the velocity given to it, a gain."""
    world = scenes.dropped_ball(-1e-3)
    h, erp, depth = 1e-3, 0.1, 1e-3
    ledger = simulate(world, TimeStepping(h, edges=4, erp=erp), steps=3).ledger
    up = erp * depth / h
    assert ledger.stabilisation[0] == pytest.approx(0.5 * 0.5 * (up + G * h) * up)
    assert np.all(ledger.stabilisation >= 0.0)
    # At rest before: nothing was approaching, so there is no impact.
    assert ledger.impact[0] == 0.0
    closing = simulate(scenes.dropped_ball(1e-6), TimeStepping(h, edges=4), steps=1).ledger
    assert closing.stabilisation[0] < 0.0


def test_friction_that_turns_a_motion_back_is_credited():
    """Thrown up its slope slower than g h, the brick is stopped by friction uphill: the mean velocity is against it.

    The part on the way slid stays 0, the rest is positive and of second order.
    """
    world = scenes.incline(THETA, 2.0)
    speed = 1e-3
    # Uphill is towards -x.
    state = world.initial_state(v=(-speed * math.cos(THETA), 0, speed * math.sin(THETA), 0, 0, 0))
    ledger = simulate(world, TimeStepping(1e-3), steps=1, state=state).ledger
    force = 2.0 * (G * math.sin(THETA) * 1e-3 - speed)
    assert ledger.friction_sliding[0] == pytest.approx(0.0, abs=1e-15)
    assert ledger.friction_stopping[0] == pytest.approx(0.5 * force * speed, rel=1e-9)
    assert 0.0 < ledger.friction[0] < 1e-5


@pytest.mark.nojit
def test_sums(tmp_path):
    """Totals and running sums agree; a file gives the same ledger; no steps give an empty one."""
    recording = simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4), steps=5)
    ledger = recording.ledger
    assert tuple(ledger.totals()) == tuple(ledger.cumulative()) == ENTRIES
    for name, running in ledger.cumulative().items():
        np.testing.assert_allclose(running[[0, -1]], [0.0, ledger.totals()[name]], rtol=1e-6, atol=1e-18)
    recording.save(tmp_path / "a.npz")
    assert np.array_equal(Recording.open(tmp_path / "a.npz").ledger.friction, ledger.friction)
    empty = simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4), steps=0).ledger
    assert set(empty.totals().values()) == {0.0}
