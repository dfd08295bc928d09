"""A quadruped on four feet: from the model to its contact problem, to forces with names, and to the effect of a push.

`problem_data_from` states the problem twice: for the forces of this instant, and for the forces of a step.
"""

from __future__ import annotations

import numpy as np

from contactlab import ConstraintSolver
from contactlab.constraint_solver import ContactPoint, VelocityDrive, problem_data_from
from contactlab.multibody import ModelBuilder, RigidInertia, Transform, joints

MU, G, H = 0.6, 9.81, 1e-3
LEGS = {"fl": (0.3, 0.2), "fr": (0.3, -0.2), "rl": (-0.3, 0.2), "rr": (-0.3, -0.2)}


def main() -> dict[str, float]:
    """Stand, then be pushed with less and with more than mu m g; return the accelerations under the pushes."""
    builder = ModelBuilder()
    shank = RigidInertia.solid_box(0.5, (0.02, 0.02, 0.15)).moved(Transform(p=(0.0, 0.0, -0.15)))
    builder.add_body("trunk", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(12.0, (0.35, 0.15, 0.06)))
    for leg, (x, y) in LEGS.items():
        hip = Transform(p=(x, y, 0.0))
        builder.add_body(f"{leg}_thigh", parent="trunk", joint=joints.Revolute([0, 1, 0]), placement=hip, inertia=shank)
        knee, up = Transform(p=(0.0, 0.0, -0.3)), f"{leg}_thigh"
        builder.add_body(f"{leg}_shank", parent=up, joint=joints.Revolute([0, 1, 0]), placement=knee, inertia=shank)
    model = builder.build()
    q, v = model.neutral, np.zeros(model.nv)
    q[2] = 0.6  # straight legs of 0.6 m

    # Feet against the plane through the origin; every joint is braked by up to 40 N m.
    down, up = (0.0, 0.0, -0.3), (0.0, 0.0, 1.0)
    feet = [ContactPoint(f"{leg}_shank", down, up, frame="body", point_a=(0, 0, 0), mu=MU, name=leg) for leg in LEGS]
    brakes = [VelocityDrive(body, max_force=40.0) for body in model.names[1:]]
    problem = problem_data_from(model, q, v, contacts=feet, drives=brakes, h=H)
    instant = ConstraintSolver().solve_constraint_problem(problem.acceleration)
    step = ConstraintSolver().solve_discretized_problem(problem.velocity, problem.h)
    for contact in problem.contact_forces(step):
        print(f"{contact.name}: {contact.force.round(3)} N")
    weight = model.mass * G
    for solution in (instant, step):  # both levels: the ground carries the weight, and the brakes hold
        assert np.allclose(problem.forces_on("world", solution).force, [0.0, 0.0, -weight])
    assert problem.overloaded_joints(instant) == {}

    # %% A push at the height of the feet: below mu m g the robot stands, above it slides under the difference.
    found = {}
    for share in (0.9, 1.2):
        f_ext = np.zeros((model.nb, 6))
        f_ext[0, 3] = share * MU * weight
        pushed = problem_data_from(model, q, v, contacts=feet, drives=brakes, h=H, f_ext=f_ext)
        after = ConstraintSolver().solve_discretized_problem(pushed.velocity, H).v_plus
        found[f"{share} mu m g"] = after[0] / H
        print(f"pushed with {share} mu m g: {after[0] / H:.4f} m/s^2")
        assert np.isclose(after[0] / H, max(0.0, share - 1.0) * MU * G, atol=1e-9)
    return found


if __name__ == "__main__":
    main()
