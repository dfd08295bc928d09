"""Restitution by the speed of approach, as a material: the record, both kinds of stepping, records and scenes."""

import numpy as np
import pytest
from refusals import assert_fields
from simulation_scenes import G

from contactlab.collision import ContactError, PowerLaw, combine
from contactlab.constraint_solver import ContactPoint, problem_data_from
from contactlab.event_driven import EventDriven, EventKind
from contactlab.impact import ALL_LAWS, Stronge, TangentialCompliance
from contactlab.simulation import (
    ExternalContact,
    HalfSpace,
    Material,
    Recording,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.scene import SceneError, load_scene

YIELDING = PowerLaw(0.6, speed=1.0, exponent=0.25, threshold=0.05, e_max=0.9)


def two_balls(floor, light, heavy):
    """Over a floor a light ball above a heavy one."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("floor", HalfSpace(), Material(0.3, floor))
    for name, mass, material, z in (("heavy", 1.0, heavy, 0.4), ("light", 0.2, light, 0.75)):
        inertia, q = RigidInertia.solid_sphere(mass, 0.1), (0, 0, z, 1, 0, 0, 0)
        builder.add_free_body(name, inertia, Sphere(0.1), Material(0.3, material), q)
    return builder.build()


def test_a_material_rebounds_by_speed():
    """Each impact by the coefficient of its speed, the larger of the two materials'; at rest below the threshold."""
    world = two_balls(YIELDING, 0.5, PowerLaw(0.4, threshold=0.3))
    recording = simulate(world, TimeStepping(1e-3), 3.0)
    table = recording.contacts
    law = {-1: YIELDING.at, 0: lambda v: max(0.5, PowerLaw(0.4, threshold=0.3).at(v))}
    seen = {-1: 0, 0: 0}
    for i in np.flatnonzero(table.impulse_normal > 0.0):
        step, a, b = table.step[i], table.body_a[i], table.body_b[i]
        before, after = (v[6 * b + 2] - (v[6 * a + 2] if a >= 0 else 0.0) for v in recording.v[step : step + 2])
        if table.half_space[i] >= 0 and b != 0:
            continue
        e = law[a](-before)
        if before < -recording.stepper.restitution_threshold and e > 0.0:
            assert table.restitution[i] == pytest.approx(e, rel=1e-12)
            others = np.count_nonzero((table.step == step) & (table.impulse_normal > 0.0))
            if others == 1:
                assert after == pytest.approx(-e * before, rel=1e-9)
                seen[a] += 1
    assert min(seen.values()) > 2
    assert np.abs(recording.v[-1]).max() < 1e-9
    assert verify(recording).holds, str(verify(recording))
    # A step solved again outside the loop has the same bits.
    step = int(table.step[np.flatnonzero(table.restitution * table.impulse_normal > 0.0)[0]])
    solved = recording.stepper.constraint_solver.solve_discretized_problem(recording.problem(step), 1e-3)
    np.testing.assert_array_equal(solved.v_plus, recording.v_plus(step))


def test_a_coefficient_that_is_not_the_laws_is_found():
    """Verification has the law in separate arithmetic."""
    recording = simulate(two_balls(YIELDING, 0.5, 0.2), TimeStepping(1e-3), 0.4)
    rows = dict(recording.rows)
    rows["contact_restitution"] = rows["contact_restitution"] * 0.99
    assert not verify(Recording(recording.world, recording.stepper, rows)).holds


@pytest.mark.parametrize(
    "law", [*(law() for law in ALL_LAWS if law is not TangentialCompliance), Stronge(order="sequential")], ids=repr
)
def test_event_driven_runs_take_the_law_of_the_material(law):
    """A ball that falls from 0.3 m: each speed after an impact is e(v) v of that before."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("floor", HalfSpace(), Material(0.3, 0.1))
    inertia = RigidInertia.solid_sphere(1.0, 0.1)
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.3, YIELDING), (0, 0, 0.4, 1, 0, 0, 0))
    found = EventDriven(impact=law).run(builder.build(), 1.2).of_kind(EventKind.IMPACT)
    speed = np.sqrt(2.0 * G * 0.3)
    assert len(found) >= 3
    for event in found:
        assert event.v_minus[2] == pytest.approx(-speed, rel=1e-6)
        speed *= 0.1 if speed <= YIELDING.threshold else min(0.9, 0.6 * speed**-0.25)
        assert event.v_plus[2] == pytest.approx(speed, rel=1e-6)


def test_the_bridge_has_the_terms_of_the_step():
    """`problem_data_from` with the law at its contact: kN of the loop, bit for bit."""
    world = two_balls(YIELDING, 0.0, 0.0)
    recording = simulate(world, TimeStepping(1e-3), 0.4)
    step = int(recording.contacts.step[np.flatnonzero(recording.contacts.impulse_normal > 0.0)[0]])
    q, v = recording.q[step], recording.v[step]
    ball = ContactPoint("heavy", (0, 0, q[2] - 0.1), (0, 0, 1), point_a=(0, 0, 0), mu=0.3, restitution=YIELDING)
    level = problem_data_from(world.model, q, v, contacts=[ball], h=1e-3).velocity
    assert level.kN[0] == recording.problem(step).kN[0]
    assert level.kN[0] == pytest.approx(YIELDING.at(-v[2]) * v[2], rel=1e-12)
    assert level.kN[0] < 0.0
    closed = ContactPoint("heavy", (0, 0, q[2] - 0.1), (0, 0, 1), gap=0.0, restitution=YIELDING)
    impact = problem_data_from(world.model, q, v, contacts=[closed], h=None).velocity
    assert impact.kN[0] == level.kN[0]


def test_scenes_keep_the_law(tmp_path):
    """`restitution` of a scene as a table."""
    text = """
        [scene]
        name = "a ball that yields"
        duration = 0.1
        [stepper]
        h = 0.01
        [[material]]
        name = "brass"
        mu = 0.2
        restitution = { e = 0.6, threshold = 0.05 }
        [[half_space]]
        name = "floor"
        material = "brass"
        [[body]]
        name = "ball"
        shape = "sphere"
        radius = 0.1
        mass = 1.0
        mu = 0.2
        restitution = 0.3
    """
    path = tmp_path / "brass.toml"
    path.write_text(text)
    (material,) = load_scene(path).world.half_space_materials
    assert material == Material(0.2, PowerLaw(0.6, threshold=0.05))
    for bad, said in (("{ e = 1.6 }", "'e'"), ("{ speed = 1.0 }", "'e'"), ("{ e = 0.5, v = 1 }", "'v'")):
        path.write_text(text.replace("{ e = 0.6, threshold = 0.05 }", bad))
        with pytest.raises(SceneError, match=said):
            load_scene(path)


def test_what_a_material_refuses():
    """Parameters by name; a spring beside a law; a law at a contact from outside the loop."""
    assert_fields(
        ContactError,
        ("e", lambda: PowerLaw(1.5)),
        ("speed", lambda: PowerLaw(0.5, speed=0.0)),
        ("exponent", lambda: PowerLaw(0.5, exponent=-1.0)),
        ("e_max", lambda: PowerLaw(0.5, e_max=1.5)),
        ("restitution", lambda: Material(0.1, YIELDING, stiffness=1e4)),
        ("restitution", lambda: Material(0.1, "much")),
    )
    with pytest.raises(SimulationConfigError, match="number for its restitution"):
        ExternalContact("world", "ball", (0, 0, 0), (0, 0, 1), 0.0, Material(0.1, YIELDING))
    assert combine(Material(0.1, YIELDING), Material(0.1, YIELDING))[1] == YIELDING
    assert combine(Material(0.1, 0.2), Material(0.1, 0.3))[1] == 0.3
