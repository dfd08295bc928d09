"""A joint that follows another by a polynomial: its formulas, its motion, its record, and that of a MuJoCo file."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.constraints import check_constraint
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import (
    JointPolynomial,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.spatial import RigidInertia

CURVE = (0.1, 0.5, -0.3, 0.2, 0.05)


def carts(polynomial: JointPolynomial, start=(0.1, 0.0), speed=(0.0, 0.0)):
    """Two carts of 1 and 2 kg on rails along x."""
    model = ModelBuilder((0.0, 0.0, 0.0))
    for name, mass in (("tail", 1.0), ("lead", 2.0)):
        model.add_body(name, joint=joints.Prismatic((1, 0, 0)), inertia=RigidInertia(mass, inertia=np.eye(3)))
    builder = WorldBuilder((0.0, 0.0, 0.0))
    builder.add_model(model.build(), start, speed)
    builder.add_loop(polynomial)
    return builder.build()


def test_jacobian_and_gamma_are_the_derivatives_of_the_error():
    """By finite differences, and in a run of its own whose energy stays."""
    constraint = JointPolynomial("tail", "lead", CURVE)
    report = check_constraint(carts(constraint).model, constraint)
    assert report.ok, report


@pytest.mark.parametrize("coefficients", [CURVE, (0.1, 0, 2), (0.1,)])
def test_the_motion_is_that_of_the_reduced_system(coefficients):
    """(m p'^2 + M) x'' + m p' p'' x'^2 = F, in one coordinate, to the first order of the step."""
    polynomial = np.polynomial.Polynomial(coefficients)
    slope, bend = polynomial.deriv(), polynomial.deriv(2)
    x, u = 0.2, 1.0
    start, speed = (polynomial(x), x), (slope(x) * u, u)
    world = carts(JointPolynomial("tail", "lead", coefficients), start, speed)
    errors = []
    for h in (1e-3, 5e-4):
        steps = round(0.3 / h)
        recording = simulate(world, TimeStepping(h), steps=steps, tau=[0.0, 1.5])
        y, w, fine = x, u, 1e-5
        for _ in range(round(0.3 / fine)):
            a = (1.5 - slope(y) * bend(y) * w * w) / (slope(y) ** 2 + 2.0)
            y, w = y + fine * w + 0.5 * fine * fine * a, w + fine * a
        errors.append(abs(recording.q[-1, 1] - y))
        assert abs(recording.q[-1, 0] - polynomial(recording.q[-1, 1])) < 2 * h
        assert verify(recording).holds
    assert errors[0] < 2e-3
    assert errors[1] < 0.6 * errors[0] + 1e-7


def test_a_joint_that_follows_none_is_held():
    """Whatever pushes it, and the other one runs."""
    world = carts(JointPolynomial("tail", None, [0.1]))
    recording = simulate(world, TimeStepping(1e-3), steps=100, tau=[5.0, 2.0])
    np.testing.assert_allclose(recording.q[-1, 0], 0.1, atol=1e-14)
    np.testing.assert_allclose(recording.v[-1], [0.0, 0.1], atol=1e-12)


def test_what_is_no_number_is_refused():
    with pytest.raises(SimulationConfigError, match="nan"):
        JointPolynomial("tail", "lead", [0.0, np.nan])


TEXT = """<mujoco><compiler angle="radian"/><option timestep="0.0005"/><worldbody>
  <body name="lead" pos="0 0 1"><joint name="lead" axis="0 1 0" ref="0.4"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body>
  <body name="tail" pos="0 1 1"><joint name="tail" axis="0 1 0" ref="-0.2"/>
    <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/></body>
  <body name="held" pos="0 2 1"><joint name="held" axis="0 1 0" ref="0.1"/>
    <geom type="sphere" size="0.1" pos="0.2 0 0"/></body>
</worldbody><equality>
  <joint name="cam" joint1="tail" joint2="lead" polycoef="0 0.5 0.3 -0.2 0.1" {hard}/>
  <joint name="lock" joint1="held" polycoef="0 0 0 0 0" {hard}/>
</equality></mujoco>"""


def test_equalities_of_a_mujoco_file_are_taken(tmp_path):
    """Its soft rows, made as hard as its step allows, move alike: two hundred steps to what they give."""
    mujoco = pytest.importorskip("mujoco")
    from contactlab.world.mjcf import load_mjcf

    file = tmp_path / "cam.xml"
    file.write_text(TEXT.format(hard='solref="0.001 1" solimp="0.999 0.9999 1e-9"'))
    scene = load_mjcf(file)
    assert not [note for note in scene.notes if "equality" in note.split(":")[0] and "attributes" not in note]
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 200)
    recording = simulate(scene.world, TimeStepping(0.0005), steps=200)
    q = np.array(d.qpos) - m.qpos0
    assert abs(q[0]) > 0.05
    np.testing.assert_allclose(recording.q[-1], q, atol=2e-4)
    np.testing.assert_allclose(recording.v[-1], d.qvel, rtol=1e-3, atol=1e-9)
    polynomial = np.polynomial.Polynomial([0, 0.5, 0.3, -0.2, 0.1])
    np.testing.assert_allclose(recording.q[-1, 1], polynomial(recording.q[-1, 0]), atol=1e-4)
    assert [row.label for row in scene.world.joint_rows] == ["cam", "lock"]
