"""Every quantity of the recorded models, computed by another program, at 1e-9."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contactlab.multibody import (
    Model,
    ModelBuilder,
    body_pose,
    body_spatial_jacobian,
    center_of_mass,
    factorize_ltl,
    forward_dynamics,
    forward_dynamics_lagrangian,
    inverse_dynamics,
    joints,
    kinematics,
    mass_matrix,
    nonlinear_effects,
    point_jacobian,
    point_jacobian_6d,
    point_position,
    point_velocity,
    potential_energy,
    solve_mass_matrix,
)
from contactlab.multibody.spatial import RigidInertia, Transform

pytestmark = pytest.mark.nojit

MODELS = ("branched6", "sphere_chain")


def joint_of(body: dict[str, Any]) -> joints.Joint:
    """Our joint for a recorded one: the recorded axes are 6-vectors, angular part first."""
    kind = body["joint_type"]
    if kind in ("Revolute", "Prismatic", "Helical"):
        axis = np.array(body["joint_axes"][0])
        if kind == "Helical":
            return joints.Screw(axis[:3], axis[3:])
        return joints.Revolute(axis[:3]) if kind == "Revolute" else joints.Prismatic(axis[3:])
    if kind.startswith("Revolute"):
        return joints.Revolute(np.eye(3)["XYZ".index(kind[-1])])
    simple: dict[str, joints.Joint] = {
        "Spherical": joints.Spherical(),
        "EulerZYX": joints.EulerZYX(),
        "Fixed": joints.Fixed(),
    }
    return simple[kind]


def model_of(record: dict[str, Any]) -> Model:
    """Our model: their E takes parent axes to joint axes, our R the other way."""
    builder = ModelBuilder(record["gravity"])
    for body in record["bodies"]:
        builder.add_body(
            body["name"],
            parent="world" if body["parent"] == "ROOT" else body["parent"],
            joint=joint_of(body),
            placement=Transform(np.array(body["joint_frame"]["E"]).T, body["joint_frame"]["r"]),
            inertia=RigidInertia(body["mass"], body["com"], inertia=body["inertia_com"]),
        )
    return builder.build()


def configuration(model: Model, record: dict[str, Any], q: list[float]) -> np.ndarray:
    """Ours has (w, x, y, z) together; theirs has w after everything else."""
    theirs = np.array(q)
    ours = list(theirs[: model.nv])
    for before, (place, entry) in enumerate(zip(model.quaternion_starts, record["quaternions"], strict=True)):
        assert place == entry["xyz_index"] + before
        ours.insert(place, theirs[entry["w_index"]])
    return np.array(ours)


@pytest.fixture(params=[(name, state) for name in MODELS for state in range(3)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request: pytest.FixtureRequest, shared: Path) -> tuple[Model, dict[str, Any], np.ndarray]:
    name, number = request.param
    record = json.loads((shared / "golden" / "rbdl" / f"{name}.json").read_text())
    model = model_of(record["model"])
    state = record["states"][number]
    return model, state, configuration(model, record["model"], state["q"])


def near(ours: np.ndarray, theirs: Any) -> None:
    np.testing.assert_allclose(ours, np.array(theirs), rtol=1e-9, atol=1e-9)


def test_inverse_dynamics(case: Any) -> None:
    """Forces from accelerations, without and with external forces, and the bias force."""
    model, state, q = case
    v, a = np.array(state["qdot"]), np.array(state["qddot_in"])
    f_ext = np.zeros((model.nb, 6))
    for name, wrench in state["f_ext_by_body"].items():
        f_ext[model.index(name)] = wrench
    near(inverse_dynamics(model, q, v, a), state["InverseDynamics_tau"])
    near(inverse_dynamics(model, q, v, a, f_ext), state["InverseDynamics_tau_fext"])
    near(nonlinear_effects(model, q, v), state["NonlinearEffects"])
    near(nonlinear_effects(model, q, 0 * v), state["gravity_torque"])


def test_forward_dynamics(case: Any) -> None:
    """Accelerations from forces, by both methods and every solver, and the inverse of the mass matrix."""
    model, state, q = case
    v, tau = np.array(state["qdot"]), np.array(state["tau_in"])
    f_ext = np.zeros((model.nb, 6))
    for name, wrench in state["f_ext_by_body"].items():
        f_ext[model.index(name)] = wrench
    near(forward_dynamics(model, q, v, tau), state["ForwardDynamics_qddot"])
    near(forward_dynamics(model, q, v, tau, f_ext), state["ForwardDynamics_qddot_fext"])
    for solver in ("cholesky", "lu", "qr", "colpiv_qr", "ltl"):
        near(
            forward_dynamics_lagrangian(model, q, v, tau, linear_solver=solver),
            state["ForwardDynamicsLagrangian_qddot"],
        )
        near(
            forward_dynamics_lagrangian(model, q, v, tau, f_ext, linear_solver=solver),
            state["ForwardDynamics_qddot_fext"],
        )
    near(solve_mass_matrix(model, q, tau), state["CalcMInvTimesTau"])


def test_mass_matrix(case: Any) -> None:
    """The mass matrix, its factor, and the kinetic energy."""
    model, state, q = case
    H = mass_matrix(model, q)
    near(H, state["CompositeRigidBodyAlgorithm_H"])
    factor = factorize_ltl(model, H)
    near(factor.L.T @ factor.L, state["CompositeRigidBodyAlgorithm_H"])
    v = np.array(state["qdot"])
    near(0.5 * v @ H @ v, state["CalcKineticEnergy"])


def test_points(case: Any) -> None:
    """Positions, Jacobians and velocities of a point of every body, the fixed one included."""
    model, state, q = case
    v = np.array(state["qdot"])
    kin = kinematics(model, q, v)
    for record in state["points"]:
        body, point = record["body"], np.array(record["point"])
        near(point_position(model, q, body, point), record["CalcBodyToBaseCoordinates"])
        near(body_pose(model, kin, body).apply(point), record["CalcBodyToBaseCoordinates"])
        near(point_jacobian(model, q, body, point), record["CalcPointJacobian"])
        near(point_jacobian_6d(model, kin, body, point)[3:], record["CalcPointJacobian"])
        near(point_velocity(model, q, v, body, point), record["CalcPointVelocity"])
        pose = body_pose(model, q, body)
        J = body_spatial_jacobian(model, q, body)
        near(pose.R @ J[3:] + np.cross(pose.R @ J[:3], pose.R @ point, axisa=0, axisc=0), record["CalcPointJacobian"])
    assert {record["body"] for record in state["points"]} <= set(model.names)


def test_mass_and_energy(case: Any) -> None:
    """Total mass, centre of mass and potential energy, summed over bodies, fixed ones included."""
    model, state, q = case
    near(np.array(model.mass), state["mass"])
    near(center_of_mass(model, q), state["com"])
    near(potential_energy(model, q), state["CalcPotentialEnergy"])
