"""Kernels of multibody called as a compiled loop would: layout, workspaces, sines, arrays of other kinds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from every_joint import random_body
from test_multibody_dynamics import chain

from contactlab.multibody import joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.configuration import random_configuration
from contactlab.multibody.dynamics import forward_dynamics, inverse_dynamics, nonlinear_effects
from contactlab.multibody.kernels.ltl import factor_ltl
from contactlab.multibody.kernels.revolute import sines_cosines
from contactlab.multibody.mass_matrix import dof_parents, factorize_ltl, mass_matrix
from contactlab.spatial.errors import MultibodyError


@pytest.mark.nojit
def test_sines_and_cosines() -> None:
    """Within one unit in the last place of the library's: all sizes, near the zeros of both, where it takes over."""
    rng = np.random.default_rng(3)
    quarters = rng.integers(-60000, 60000, 2000) * (np.pi / 2)
    few = [0.0, -0.0, 1e-300, np.pi / 4, -np.pi / 4, np.nextafter(np.pi / 4, 1.0), 1e5, -1e5]
    for angles in (*(rng.uniform(-s, s, 2000) for s in (1e-3, 1.0, 4.0, 1e5)), quarters, 0.5 * quarters, np.array(few)):
        sines, cosines = angles.copy(), np.empty_like(angles)
        sines_cosines(sines, cosines)
        np.testing.assert_array_max_ulp(sines, np.sin(angles), 1)
        np.testing.assert_array_max_ulp(cosines, np.cos(angles), 1)
    beyond = np.array([1.0, 2e5, -1e22, np.pi])
    sines, cosines = beyond.copy(), np.empty(4)
    sines_cosines(sines, cosines)
    np.testing.assert_array_max_ulp(sines, np.sin(beyond), 1)
    np.testing.assert_array_max_ulp(cosines, np.cos(beyond), 1)


def test_models_too_large_for_the_stack() -> None:
    """The same functions with a workspace of their own: q and v come back through M, h and the accelerations."""
    rng = np.random.default_rng(4)
    for model in (chain(45), chain(60)):
        q, v, a = rng.standard_normal((3, model.nv))
        tau = mass_matrix(model, q) @ a + nonlinear_effects(model, q, v)
        np.testing.assert_allclose(inverse_dynamics(model, q, v, a), tau, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(forward_dynamics(model, q, v, tau), a, rtol=1e-7, atol=1e-7)
    assert chain(45).packed.compact
    assert not chain(60).packed.compact


def test_arrays_of_other_kinds_do_not_compile_again() -> None:
    """Strided, read-only and integer arrays give the same numbers at once, not after seconds of compiling."""
    model = chain(7)
    q, v, a = np.random.default_rng(0).standard_normal((3, 7))
    expected = inverse_dynamics(model, q, v, a)
    strided = np.repeat(q, 2)[::2]
    frozen = v.copy()
    frozen.flags.writeable = False
    start = time.perf_counter()
    np.testing.assert_array_equal(inverse_dynamics(model, strided, frozen, list(a)), expected)
    np.testing.assert_array_equal(forward_dynamics(model, strided, frozen, a), forward_dynamics(model, q, v, a))
    assert time.perf_counter() - start < 0.5


def test_both_ways_of_factorising_agree() -> None:
    """On two arms of 25 what the tree makes zero stays zero in the dense way; few degrees of freedom go the other."""
    builder = ModelBuilder()
    for arm in "lr":
        for i in range(25):
            placement, inertia = random_body(np.random.default_rng(i))
            parent = f"{arm}{i - 1}" if i else "world"
            joint = joints.Revolute(np.eye(3)[i % 3])
            builder.add_body(f"{arm}{i}", parent=parent, joint=joint, placement=placement, inertia=inertia)
    model = builder.build()
    assert model.packed.chain
    assert not chain(7).packed.chain
    M, b = mass_matrix(model, random_configuration(model, 1)), np.arange(50.0)
    factor = factorize_ltl(model, M)
    assert not factor.L[25:, :25].any()
    other = np.tril(M)
    factor_ltl(dof_parents(model), False, np.empty(50), other)
    np.testing.assert_allclose(factor.L, other, atol=1e-13 * np.max(np.abs(other)))
    for solve in (factor.solve, factor.solve_l, factor.solve_lt):
        np.testing.assert_allclose(solve(b), solve(np.stack([b, b], axis=1))[:, 0], rtol=1e-9)
    M[40, 3] = M[3, 40] = 1.0
    with pytest.raises(MultibodyError, match="no branch"):
        factorize_ltl(model, M)
