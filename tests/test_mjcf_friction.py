"""Which friction two geoms have: condim and priority, against MuJoCo's own contacts and runs."""

from __future__ import annotations

import itertools

import pytest

from contactlab.contact import ContactError, Material, combine
from contactlab.recording.world_io import world_from_json, world_to_json
from contactlab.simulation import TimeStepping, simulate, verify
from contactlab.world.mjcf import load_mjcf

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="9 9 1" {floor}/>
  <body name="box" pos="0 0 0.1"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.1" {box}/></body>
</worldbody><keyframe><key name="sliding" qpos="0 0 0.1 1 0 0 0" qvel="2 0 0 0 0 0"/></keyframe></mujoco>"""


@pytest.mark.parametrize(
    ("floor", "box", "speed"), [("1", "1", 2.0), ("3", "1", 0.038), ("1", "3", 0.038), ("3", "3", 0.038)]
)
def test_two_frictionless_geoms_slide_on(tmp_path, floor, box, speed):
    """A box at 2 m/s for 0.2 s: where one of the two has friction, so has the contact."""
    file = tmp_path / "model.xml"
    file.write_text(TEXT.format(floor=f'condim="{floor}"', box=f'condim="{box}"'))
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_step(m, d, 100)
    scene = load_mjcf(file, keyframe="sliding")
    recording = simulate(scene.world, TimeStepping(0.002), steps=100)
    assert recording.v[-1, 0] == pytest.approx(speed, abs=1e-9)
    assert d.qvel[0] == pytest.approx(recording.v[-1, 0], abs=0.06)  # it sinks in first
    assert verify(recording, every=20).holds


def test_pairs_mix_as_in_mujoco(tmp_path):
    """Of all condims and priorities, where both geoms name one friction or the priority decides."""
    kinds = [(condim, priority) for condim in (1, 3) for priority in (-1, 0, 1)]
    for (condim, priority), (other, higher) in itertools.product(kinds, kinds):
        mu = 0.5 if priority == higher else 0.8
        file = tmp_path / "model.xml"
        floor = f'condim="{condim}" priority="{priority}" friction="0.5"'
        file.write_text(TEXT.format(floor=floor, box=f'condim="{other}" priority="{higher}" friction="{mu}"'))
        m = mujoco.MjModel.from_xml_path(str(file))
        d = mujoco.MjData(m)
        mujoco.mj_forward(m, d)
        theirs = 0.0 if d.contact[0].dim == 1 else float(d.contact[0].friction[0])
        world = load_mjcf(file).world
        found, _ = combine(world.half_space_materials[0], world.surfaces[0].material)
        assert found == pytest.approx(theirs), (condim, priority, other, higher)
    kept = world_from_json(world_to_json(world))
    assert (kept.half_space_materials, kept.surfaces[0].material) == (
        world.half_space_materials,
        world.surfaces[0].material,
    )


def test_priority_of_materials():
    """The higher one says mu alone, and is a whole number."""
    ice, rubber = Material(0.02, 0.3, priority=1), Material(0.9, 0.1)
    assert combine(ice, rubber) == combine(rubber, ice) == (0.02, 0.3)
    with pytest.raises(ContactError, match="1.5"):
        Material(0.5, priority=1.5)
