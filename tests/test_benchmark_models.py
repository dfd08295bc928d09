"""The benchmarks compare one scene: MuJoCo's model of it has the masses and inertias of ours."""

import subprocess
import sys
from pathlib import Path

import limited
import numpy as np
import pytest

pytest.importorskip("mujoco")
FOLDER = Path(limited.__file__).parent
# In a separate process: the tests have a module with the same name as the module of the scenes.
MATRICES = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import mujoco, numpy as np
from simulation_mujoco import mujoco_model
from simulation_ours import world
from simulation_scenes import aligned_boxes, arch, dominoes, heap, scenes
from small_scenes.scenes import ALL, SmallScene, small_scene
from contactlab.multibody import mass_matrix

found = {{}}
piles = {{one.name: one for one in (aligned_boxes(100, 11), arch(15), dominoes(30), heap(27, 11))}}
for name, scene in {{**scenes(), **piles, **{{kind: small_scene(kind) for kind in ALL}}}}.items():
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
        assert len(names) == 7 + 4 + 24
        for name in names:
            for what in ("q", "M", "gravity"):
                theirs, ours = arrays[f"{name}|{what}"], arrays[f"{name}|our {what}"]
                np.testing.assert_allclose(theirs, ours, rtol=0.0, atol=1e-13 * np.abs(ours).max(), err_msg=name)


VOUSSOIR = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import numpy as np
from scipy.spatial import ConvexHull
from simulation_scenes import voussoir

stone = voussoir(0.9, 1.1, 0.1, 0.3, 2000.0)
corners = np.array(stone.corners)
hull = ConvexHull(corners)
mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
for face in hull.simplices:  # tetrahedra about the origin, which lies inside
    tip = corners[face]
    m = 2000.0 * abs(np.linalg.det(tip)) / 6.0
    total = tip.sum(axis=0)
    mass, first = mass + m, first + m * total / 4.0
    second += m * (tip.T @ tip + np.outer(total, total)) / 20.0
np.testing.assert_allclose(mass, stone.mass, rtol=1e-12)
np.testing.assert_allclose(first, 0.0, atol=1e-12 * mass)
np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, np.diag(stone.moments), atol=1e-12 * mass)
"""


def test_a_stone_of_the_arch_has_the_mass_and_inertia_of_its_corners() -> None:
    """Mass, centre and moments in closed form equal the sums over the tetrahedra of its hull."""
    subprocess.run([sys.executable, "-c", VOUSSOIR], check=True)


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
