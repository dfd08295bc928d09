"""What benchmarks compare is one scene: MuJoCo's model of it has the masses and inertias that ours has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import limited
import numpy as np
import pytest

pytest.importorskip("mujoco")
FOLDER = Path(limited.__file__).parent
# In a process of its own: the tests have a module of the same name as that of the scenes.
MATRICES = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import mujoco, numpy as np
from simulation_mujoco import mujoco_model
from simulation_ours import world
from simulation_scenes import scenes
from small_scenes.scenes import ALL, SmallScene, small_scene
from contactlab.multibody import mass_matrix

found = {{}}
for name, scene in {{**scenes(), **{{kind: small_scene(kind) for kind in ALL}}}}.items():
    if isinstance(scene, SmallScene):
        ours, model = scene.world(), mujoco.MjModel.from_xml_string(scene.xml())
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
    else:
        ours, model = world(scene), mujoco_model(scene)
        data = mujoco.MjData(model)
        if scene.reference is not None:
            data.qpos[7:] = scene.reference(0.0)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    for row, unit in zip(M, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, row, unit)
    found |= {{f"{{name}}|{{what}}": array for what, array in {{
        "q": data.qpos, "our q": ours.initial_q, "M": M, "our M": mass_matrix(ours.model, ours.initial_q),
        "gravity": model.opt.gravity, "our gravity": ours.model.gravity,
    }}.items()}}
np.savez(sys.argv[1], **found)
"""


def test_the_mass_matrix_of_each_scene_in_mujoco_is_ours(tmp_path: Path) -> None:
    """At the start, to rounding: masses, inertias, centres of mass, links of the robot, in the places they begin at."""
    path = tmp_path / "matrices.npz"
    subprocess.run([sys.executable, "-c", MATRICES, str(path)], check=True)
    with np.load(path) as arrays:
        names = sorted({key.partition("|")[0] for key in arrays})
        assert len(names) == 7 + 24
        for name in names:
            for what in ("q", "M", "gravity"):
                theirs, ours = arrays[f"{name}|{what}"], arrays[f"{name}|our {what}"]
                np.testing.assert_allclose(theirs, ours, rtol=0.0, atol=1e-13 * np.abs(ours).max(), err_msg=name)


SYSTEMS = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
from contactlab.simulation import TimeStepping, simulate
from small_scenes.scenes import small_scene

recording = simulate(small_scene("biped falls").world(), TimeStepping(2e-3), steps=340)
print(recording.certificates.systems.max())
"""


@pytest.mark.slow
@pytest.mark.xfail(
    strict=True, reason="limbs that jam one another: steps of 165 systems, forces other than those selected"
)
def test_a_biped_that_falls_takes_few_systems_in_each_step() -> None:
    """Every island's forces are found in as many systems as it has velocities and contacts."""
    found = subprocess.run([sys.executable, "-c", SYSTEMS], check=True, capture_output=True, text=True)
    assert int(found.stdout) <= 18 + 14
