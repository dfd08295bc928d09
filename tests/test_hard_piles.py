"""Structures at rest: what each contact carries, mass ratios, walls and cards; nothing creeps, every step is solved."""

from __future__ import annotations

import numpy as np
import pytest
from body_contact_scenes import stack
from scene_texts import SCENES
from simulation_scenes import G

from contactlab.contact import Box, HalfSpace, Material
from contactlab.simulation import TimeStepping, WorldBuilder, simulate
from contactlab.simulation.scene import load_scene
from contactlab.spatial import RigidInertia

HALF = 0.1


def pile(masses, mu=0.5):
    """Cubes of 0.2 m, one on the other, from the ground up."""
    builder, material = WorldBuilder(), Material(mu)
    builder.add_half_space("ground", HalfSpace(), material)
    for i, mass in enumerate(masses):
        start = (0, 0, HALF * (2 * i + 1), 1, 0, 0, 0)
        inertia = RigidInertia.solid_box(mass, (HALF,) * 3)
        builder.add_free_body(f"cube {i}", inertia, Box.cube(HALF), material, start)
    return builder.build()


def certified(recording, mechanical=1e-9):
    """The recording, every step of which was solved."""
    worst = recording.worst_certificate()
    assert worst.scaled <= 1e-9
    assert worst.mechanical <= mechanical
    return recording


def loads(recording, i=-1):
    """Vertical impulse under each body of a stack in step ``i`` [N s]."""
    rows = recording.contacts_at(recording.n_steps + i)
    return np.array([rows.impulse[rows.body_b == b, 2].sum() for b in range(recording.world.model.nb)])


@pytest.mark.parametrize("count", [5, 10])
def test_each_box_of_a_stack_carries_those_above(count):
    """(n - j + 1) m g h under box j of n, to rounding."""
    recording = certified(simulate(stack(count), TimeStepping(1e-3, edges=4), steps=100))
    wanted = G * 1e-3 * np.arange(count, 0, -1)
    np.testing.assert_allclose(loads(recording), wanted, rtol=1e-9)
    assert np.abs(recording.v).max() <= 1e-9


RATIOS = [
    ("light on heavy", (1e6, 1.0)),
    ("light on heavy", (1e6, 1e3, 1.0)),
    ("light on heavy", (1e6, 1e4, 1e3, 30.0, 1.0)),
    ("heavy on light", (1.0, 1e3)),
    ("heavy on light", (1.0, 1e6)),
    ("heavy on light", (1.0, 1e3, 1e6)),
    ("alternating", (1.0, 1e3, 1.0)),
]


@pytest.mark.parametrize(("kind", "masses"), RATIOS)
def test_mass_ratios_change_nothing_but_the_loads(kind, masses):
    """Up to 1e6, either way round: each contact carries what is above, and what creeps is rounding of the loads."""
    h = 1e-3
    recording = certified(simulate(pile(masses), TimeStepping(h, edges=4), steps=100), mechanical=1e-7)
    above = G * h * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(loads(recording), above, rtol=1e-8)
    # The velocity that the load alone would give to the body it rests on, times a thousand roundings.
    scale = np.max(above / np.array(masses))
    speed = np.abs(recording.v.reshape(-1, len(masses), 6))
    assert max(speed[:, :, :3].max(), HALF * speed[:, :, 3:].max()) <= 1e-9 + 1e-12 * scale
    if kind == "light on heavy":
        assert speed.max() <= 1e-11


SCENE_STEPS = {"card_house": 100, "arch": 200, "brick_wall": 20, "jammed_wedge": 600, "incline_below_threshold": 200}


@pytest.mark.parametrize("name", SCENE_STEPS)
def test_structures_stand(name):
    """Cards, voussoirs, bricks and a loaded wedge: every step solved, at rest in the end, and where they were."""
    scene = load_scene(SCENES / f"{name}.toml")
    recording = certified(simulate(scene.world, scene.stepper, steps=SCENE_STEPS[name]))
    assert np.abs(recording.v[-1]).max() <= 1e-9
    if name != "jammed_wedge":
        # The first steps take up the rounding of the places given.
        assert np.abs(recording.v).max() <= 1e-8
        assert np.abs(recording.q - recording.q[0]).max() <= 1e-10


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["card_house", "arch", "brick_wall"])
def test_structures_stand_for_seconds(name):
    """The same for three seconds."""
    scene = load_scene(SCENES / f"{name}.toml")
    recording = certified(simulate(scene.world, scene.stepper, 3.0))
    assert np.abs(recording.v[recording.n_steps // 2 :]).max() <= 1e-9
    assert np.abs(recording.q - recording.q[0]).max() <= 1e-9


def test_bricks_side_by_side_without_a_gap():
    """Faces that touch but carry nothing leave the certificate as good as it was."""
    builder, material, half = WorldBuilder(), Material(0.6), (0.1, 0.05, 0.035)
    builder.add_half_space("ground", HalfSpace(), material)
    places = [(0.2 * i, 0.035) for i in range(4)] + [(0.1 + 0.2 * i, 0.105) for i in range(3)]
    for i, (x, z) in enumerate(places):
        inertia = RigidInertia.solid_box(2.8, half)
        builder.add_free_body(f"brick {i}", inertia, Box(half), material, (x, 0, z, 1, 0, 0, 0))
    recording = simulate(builder.build(), TimeStepping(2e-3, edges=4, reduce_contacts=True), steps=20)
    assert np.abs(recording.v).max() <= 1e-12
    certified(recording)
