"""Compliant contacts: stiffness and dissipation of materials, erp and cfm, compared with closed forms."""

import math

import numpy as np
import pytest
import simulation_scenes as scenes
from scene_texts import CUBE, write

from contactlab.collision import combine_compliance
from contactlab.constraint_solver.softening import spring_damper
from contactlab.simulation import (
    HalfSpace,
    Material,
    Recording,
    RigidInertia,
    Sphere,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.scene import SceneError, load_scene

G, MASS, RADIUS = scenes.G, 0.5, 0.1


def ball(ground, *, height=0.0, surface=None):
    """A ball whose lowest point is ``height`` above the ground, at rest."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("ground", HalfSpace(), ground)
    inertia = RigidInertia.solid_sphere(MASS, RADIUS)
    q = (0, 0, RADIUS + height, 1, 0, 0, 0)
    builder.add_free_body("ball", inertia, Sphere(RADIUS), Material(0.3) if surface is None else surface, q)
    return builder.build()


@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_a_ball_at_rest_sags_by_its_weight_over_the_stiffness(h):
    """The depth is m g / k, for any step."""
    k = 2e3
    recording = simulate(ball(Material(0.3, stiffness=k, dissipation=80.0)), TimeStepping(h), 2.0)
    assert RADIUS - recording.q[-1, 2] == pytest.approx(MASS * G / k, rel=1e-9)
    assert np.abs(recording.v[-1]).max() < 1e-9


def test_a_ball_swings_on_its_spring_as_the_implicit_rule_says():
    """Within the penetration v+ = v - h g - (h/m)(k (x + h v+) + b v+), step by step to rounding."""
    k, b, h = 2e3, 0.5, 1e-4
    recording = simulate(ball(Material(0.3, stiffness=k, dissipation=b)), TimeStepping(h), 0.3)
    x, v = np.zeros(recording.n_steps + 1), np.zeros(recording.n_steps + 1)
    for i in range(recording.n_steps):
        v[i + 1] = (v[i] - h * G - h / MASS * k * x[i]) / (1.0 + h / MASS * (h * k + b))
        x[i + 1] = x[i] + h * v[i + 1]
    np.testing.assert_allclose(recording.q[:, 2] - RADIUS, x, rtol=0, atol=1e-13)
    # The damped frequency, from the passages through the sag, to the order of h.
    away = x + MASS * G / k
    rising = np.flatnonzero((away[:-1] < 0.0) & (away[1:] >= 0.0))
    period = h * (rising[-1] - rising[0]) / (rising.size - 1)
    wanted = 2.0 * math.pi / math.sqrt(k / MASS - (b / (2.0 * MASS)) ** 2)
    assert rising.size > 2
    assert period == pytest.approx(wanted, rel=5e-3)


def test_a_spring_takes_the_fall_and_gives_it_back():
    """The deepest point agrees with energy conservation, and the ledger has it as compliance; both to order h."""
    k, height = 2e4, 0.1
    recording = simulate(ball(Material(0.0, stiffness=k), height=height), TimeStepping(1e-5), 0.16)
    depth = RADIUS - recording.q[:, 2].min()
    wanted = MASS * G / k * (1.0 + math.sqrt(1.0 + 2.0 * height * k / (MASS * G)))
    assert depth == pytest.approx(wanted, rel=2e-3)
    ledger = recording.ledger
    assert np.abs(ledger.residual).max() < 1e-14
    stored = ledger.cumulative()["compliance"]
    assert stored.min() == pytest.approx(-0.5 * k * depth**2, rel=5e-3)
    # Back in the air: all but the damping of the implicit rule, of order h.
    assert recording.contacts.impulse_normal[-1] == 0.0 or recording.contacts.step[-1] < recording.n_steps - 1
    assert -0.03 * MASS * G * height < stored[-1] < 0.0
    assert np.abs(ledger.impact).max() == np.abs(ledger.stabilisation).max() == 0.0


def test_erp_lets_a_penetration_decay_geometrically():
    """Gap n is (1 - erp)^n of the first while the weight holds the ball down; without it the gap stays as it is."""
    world = ball(Material(0.3), height=-1e-4)
    recording = simulate(world, TimeStepping(1e-2, erp=0.2, projection=False), steps=40)
    wanted = -1e-4 * 0.8 ** np.arange(41)
    np.testing.assert_allclose(recording.q[:, 2] - RADIUS, wanted, rtol=1e-9, atol=1e-15)
    still = simulate(world, TimeStepping(1e-2, projection=False), steps=40)
    np.testing.assert_allclose(still.q[:, 2] - RADIUS, -1e-4, rtol=1e-9)


def test_erp_and_cfm_of_the_stepper_are_a_spring_and_a_damper():
    """The motion is the same as with the equivalent stiffness and dissipation of the material."""
    h, erp, cfm = 2e-3, 0.4, 1e-3
    spring = spring_damper(h, gamma=cfm, erp=erp)
    soft = Material(0.3, stiffness=float(spring.stiffness), dissipation=float(spring.dissipation))
    one = simulate(ball(Material(0.3)), TimeStepping(h, erp=erp, cfm=cfm, projection=False), steps=200)
    other = simulate(ball(soft), TimeStepping(h), steps=200)
    np.testing.assert_allclose(one.q, other.q, rtol=0, atol=1e-13)


def test_a_wrong_stiffness_does_not_verify():
    """The verification poses the spring a second time."""
    recording = simulate(ball(Material(0.3, stiffness=2e3, dissipation=5.0)), TimeStepping(1e-3), steps=20)
    other = ball(Material(0.3, stiffness=2.1e3, dissipation=5.0))
    report = verify(Recording(other, recording.stepper, recording.rows))
    assert not report.holds
    assert {failure.condition for failure in report.failures} <= {"lcp", "gap", "complementarity"}


@pytest.mark.nojit
def test_springs_in_series():
    """Stiffnesses add as inverses; the dampers dissipate what the two materials do at their shares of the rate."""
    soft, hard = Material(0.3, stiffness=1e3, dissipation=6.0), Material(0.3, stiffness=3e3, dissipation=2.0)
    k, b = combine_compliance(soft, hard)
    assert k == pytest.approx(750.0)
    assert b == pytest.approx(6.0 * 0.75**2 + 2.0 * 0.25**2)
    assert combine_compliance(hard, soft) == pytest.approx((k, b))
    assert combine_compliance(soft, Material(0.1)) == pytest.approx((1e3, 6.0))
    assert combine_compliance(Material(0.1), Material(0.2, 0.5)) == (math.inf, 0.0)


def test_scene_files_know_stiffness_and_options(tmp_path):
    """Materials and the stepper's options by their names."""
    text = CUBE.replace("mu = 0.5\n", "mu = 0.5\nstiffness = 2e4\ndissipation = 30.0\n")
    text = text.replace("h = 2e-3", 'h = 2e-3\ncfm = 1e-5\ngyroscopic = "off"\nreduce_contacts = true')
    scene = load_scene(write(tmp_path, text))
    assert scene.world.half_space_materials == (Material(0.5, 0.0, 2e4, 30.0),)
    assert scene.stepper == TimeStepping(2e-3, cfm=1e-5, gyroscopic="off", reduce_contacts=True)
    with pytest.raises(SceneError, match="stiffness"):
        load_scene(write(tmp_path, text.replace("2e4", "-2e4")))
