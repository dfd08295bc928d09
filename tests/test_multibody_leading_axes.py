"""The public functions take leading axes: one instant after the other, and all at once, give the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from test_multibody_batch import states, with_custom_joint
from trees import random_tree

import contactlab.multibody as mb

POINT = np.array([0.1, 0.2, 0.3])
Call = Callable[..., np.ndarray]
CALLS: dict[str, Call] = {
    "inverse_dynamics": lambda m, n, q, v, a, f: mb.inverse_dynamics(m, q, v, a),
    "inverse_dynamics with forces": lambda m, n, q, v, a, f: mb.inverse_dynamics(m, q, v, a, f),
    "nonlinear_effects": lambda m, n, q, v, a, f: mb.nonlinear_effects(m, q, v),
    "nonlinear_effects with forces": lambda m, n, q, v, a, f: mb.nonlinear_effects(m, q, v, f),
    "forward_dynamics": lambda m, n, q, v, a, f: mb.forward_dynamics(m, q, v, a),
    "forward_dynamics with forces": lambda m, n, q, v, a, f: mb.forward_dynamics(m, q, v, a, f),
    "forward_dynamics_lagrangian": lambda m, n, q, v, a, f: mb.forward_dynamics_lagrangian(m, q, v, a, f),
    "mass_matrix": lambda m, n, q, v, a, f: mb.mass_matrix(m, q),
    "solve_mass_matrix": lambda m, n, q, v, a, f: mb.solve_mass_matrix(m, q, a),
    "point_position": lambda m, n, q, v, a, f: mb.point_position(m, q, n, POINT),
    "point_velocity": lambda m, n, q, v, a, f: mb.point_velocity(m, q, v, n, POINT),
    "point_velocity_6d": lambda m, n, q, v, a, f: mb.point_velocity_6d(m, q, v, n, POINT),
    "point_acceleration": lambda m, n, q, v, a, f: mb.point_acceleration(m, q, v, a, n, POINT),
    "point_acceleration_6d": lambda m, n, q, v, a, f: mb.point_acceleration_6d(m, q, v, a, n, POINT),
    "point_bias_acceleration": lambda m, n, q, v, a, f: mb.point_bias_acceleration(m, q, v, n, POINT),
    "point_in_body": lambda m, n, q, v, a, f: mb.point_in_body(m, q, n, POINT),
    "point_jacobian": lambda m, n, q, v, a, f: mb.point_jacobian(m, q, n, POINT),
    "point_jacobian_6d": lambda m, n, q, v, a, f: mb.point_jacobian_6d(m, q, n, POINT),
    "body_spatial_jacobian": lambda m, n, q, v, a, f: mb.body_spatial_jacobian(m, q, n),
    "center_of_mass": lambda m, n, q, v, a, f: mb.center_of_mass(m, q),
    "center_of_mass_velocity": lambda m, n, q, v, a, f: mb.center_of_mass_velocity(m, q, v),
    "center_of_mass_acceleration": lambda m, n, q, v, a, f: mb.center_of_mass_acceleration(m, q, v, a),
    "center_of_mass_jacobian": lambda m, n, q, v, a, f: mb.center_of_mass_jacobian(m, q),
    "kinetic_energy": lambda m, n, q, v, a, f: mb.kinetic_energy(m, q, v),
    "potential_energy": lambda m, n, q, v, a, f: mb.potential_energy(m, q),
    "angular_momentum": lambda m, n, q, v, a, f: mb.angular_momentum(m, q, v),
    "normalize": lambda m, n, q, v, a, f: mb.normalize(m, 1.5 * q),
    "integrate": lambda m, n, q, v, a, f: mb.integrate(m, q, v, 0.1),
    "difference": lambda m, n, q, v, a, f: mb.difference(m, m.neutral, q),
}


@pytest.mark.parametrize("model", [random_tree(1), with_custom_joint()], ids=["tree", "custom joint"])
@pytest.mark.parametrize("name", CALLS)
def test_all_at_once_is_one_by_one(name: str, model: mb.Model) -> None:
    """A batch of five equals five calls."""
    q, v, a, f = states(model, 5)
    body, call = model.names[-1], CALLS[name]
    one_by_one = np.array([call(model, body, q[i], v[i], a[i], f[i]) for i in range(5)])
    np.testing.assert_allclose(call(model, body, q, v, a, f), one_by_one, rtol=1e-13, atol=1e-14)
