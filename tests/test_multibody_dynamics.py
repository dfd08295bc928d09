"""Dynamics: identities for every model and state, large models, and what is refused."""

from functools import partial

import numpy as np
import pytest
from every_joint import model_with_every_joint, random_body
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import assert_messages

from contactlab.multibody import (
    Model,
    ModelBuilder,
    angular_momentum,
    center_of_mass,
    forward_dynamics,
    forward_dynamics_lagrangian,
    integrate,
    inverse_dynamics,
    joints,
    kinetic_energy,
    linear_momentum,
    nonlinear_effects,
    random_configuration,
)
from contactlab.multibody.mass_matrix import (
    dof_parents,
    factorize_ltl,
    factorize_mass_matrix,
    mass_matrix,
    solve_mass_matrix,
)
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.arrays import MultibodyError

# Places in the row that `totals` gives.
ANGULAR, LINEAR, KINETIC = 4, 7, 10
BALL = RigidInertia.solid_sphere(1.0, 0.1)
EVERY = model_with_every_joint()
JOINTS: tuple[joints.Joint, ...] = (
    joints.Revolute((0, 0, 1)),
    joints.Revolute((1, 2, 2)),
    joints.Prismatic((1, 0, 1)),
    joints.Helical((0, 1, 1), 0.3),
    joints.Screw((1, 0, 1), (0.1, 0.3, -0.2)),
    joints.Spherical(),
    joints.EulerZYX(),
    joints.EulerXYZ(),
    joints.EulerYXZ(),
    joints.EulerZXY(),
    joints.TranslationXYZ(),
    joints.FloatingBase(),
)


@st.composite
def models(draw: st.DrawFn) -> tuple[Model, np.random.Generator]:
    """A tree of up to eight bodies with any joints, the first one at the root."""
    kinds = draw(st.lists(st.sampled_from(JOINTS), min_size=1, max_size=8))
    parents = [draw(st.integers(-1, i - 1)) for i in range(len(kinds))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    builder = ModelBuilder(rng.uniform(-10.0, 10.0, 3))
    for i, (kind, up) in enumerate(zip(kinds, parents, strict=True)):
        placement, inertia = random_body(rng)
        builder.add_body(
            f"b{i}", parent="world" if up < 0 else f"b{up}", joint=kind, placement=placement, inertia=inertia
        )
    return builder.build(), rng


def totals(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Mass, moment of mass, momenta about the world origin and kinetic energy of all bodies."""
    com, p = center_of_mass(model, q), linear_momentum(model, q, v)
    about_origin = angular_momentum(model, q, v) + np.cross(com, p)
    return np.array([model.mass, *(model.mass * com), *about_origin, *p, kinetic_energy(model, q, v)])


def relative(found: np.ndarray, expected: np.ndarray, scale: float = 1.0) -> float:
    return float(np.max(np.abs(found - expected)) / (scale + np.max(np.abs(expected))))


@given(models())
@settings(max_examples=60)
def test_forward_dynamics_inverts_inverse_dynamics(case: tuple[Model, np.random.Generator]) -> None:
    """ABA = M^-1 (tau - h), M a + h = tau, with the same M from its columns, and every solver says the same."""
    model, rng = case
    q = random_configuration(model, rng, spread=1.2)
    v, tau = rng.standard_normal((2, model.nv))
    M, h = mass_matrix(model, q), nonlinear_effects(model, q, v)
    a = forward_dynamics(model, q, v, tau)
    size = np.max(np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(tau))
    assert relative(inverse_dynamics(model, q, v, a), tau, size) < 1e-11
    assert np.max(np.abs(M @ a + h - tau)) < 1e-11 * size
    condition = np.linalg.cond(M)
    for solver in ("cholesky", "lu", "qr", "colpiv_qr", "ltl"):
        other = forward_dynamics_lagrangian(model, q, v, tau, linear_solver=solver)
        assert relative(other, a) < 1e-13 * condition
    assert relative(solve_mass_matrix(model, q, tau - h), a) < 1e-13 * condition


@given(models())
@settings(max_examples=40)
def test_mass_matrix_is_what_inverse_dynamics_is_linear_in(case: tuple[Model, np.random.Generator]) -> None:
    """Columns of M are differences of RNEA; M is symmetric positive definite; v.M v / 2 is the kinetic energy."""
    model, rng = case
    q = random_configuration(model, rng, spread=1.2)
    v = rng.standard_normal(model.nv)
    M, h = mass_matrix(model, q), nonlinear_effects(model, q, v)
    columns = np.array([inverse_dynamics(model, q, v, e) - h for e in np.eye(model.nv)]).T
    assert relative(columns, M, float(np.max(np.abs(h)))) < 1e-12
    np.testing.assert_array_equal(M, M.T)
    assert np.all(np.linalg.eigvalsh(M) > 0.0)
    assert totals(model, q, v)[KINETIC] == pytest.approx(0.5 * v @ M @ v, rel=1e-11)


@given(models())
@settings(max_examples=40)
def test_power_is_the_rate_of_energy(case: tuple[Model, np.random.Generator]) -> None:
    """d(T + V)/dt = tau.v along the motion that the forces tau cause."""
    model, rng = case
    q = random_configuration(model, rng)
    v, tau = rng.standard_normal((2, model.nv))
    a = forward_dynamics(model, q, v, tau)
    step = 1e-5

    def energy(h: float) -> float:
        at, speed = integrate(model, q, v + 0.5 * h * a, h), v + h * a
        total = totals(model, at, speed)
        return float(total[KINETIC] - model.gravity @ total[1:4])

    slope = (energy(step) - energy(-step)) / (2 * step)
    scale = 1.0 + np.abs(tau) @ np.abs(v) + abs(energy(0.0)) * (1.0 + np.max(np.abs(a)) ** 2)
    assert abs(slope - tau @ v) < 1e-6 * scale


@pytest.mark.nojit
def test_every_joint_in_one_tree() -> None:
    """The identities hold with custom joints, roots of every kind, fixed bodies and several trees."""
    rng = np.random.default_rng(3)
    q = random_configuration(EVERY, rng)
    v, tau = rng.standard_normal((2, EVERY.nv))
    M, h = mass_matrix(EVERY, q), nonlinear_effects(EVERY, q, v)
    a = forward_dynamics(EVERY, q, v, tau)
    np.testing.assert_allclose(inverse_dynamics(EVERY, q, v, a), tau, atol=1e-9)
    np.testing.assert_allclose(M @ a + h, tau, atol=1e-9)
    columns = np.array([inverse_dynamics(EVERY, q, v, e) - h for e in np.eye(EVERY.nv)]).T
    np.testing.assert_allclose(columns, M, atol=1e-11)
    factor = factorize_ltl(EVERY, M)
    np.testing.assert_allclose(factor.L.T @ factor.L, M, atol=1e-12)
    np.testing.assert_allclose(forward_dynamics_lagrangian(EVERY, q, v, tau, linear_solver="ltl"), a, rtol=1e-9)


def test_factors() -> None:
    """L is lower triangular, keeps to the branches, and its solves undo products; so does the articulated factor."""
    rng = np.random.default_rng(9)
    q = random_configuration(EVERY, rng)
    M, b, B = mass_matrix(EVERY, q), rng.standard_normal(EVERY.nv), rng.standard_normal((EVERY.nv, 5))
    factor = factorize_ltl(EVERY, M)
    np.testing.assert_array_equal(factor.L, np.tril(factor.L))
    related = np.eye(EVERY.nv, dtype=bool)
    for i, up in enumerate(dof_parents(EVERY)):
        if up >= 0:
            related[i] |= related[up]
    assert not factor.L[~related].any()
    assert np.count_nonzero(related) < 0.25 * EVERY.nv**2
    inertia = factorize_mass_matrix(EVERY, q)
    for right in (b, B):
        np.testing.assert_allclose(M @ factor.solve(right), right, atol=1e-10)
        np.testing.assert_allclose(factor.L.T @ factor.solve_lt(right), right, atol=1e-11)
        np.testing.assert_allclose(factor.L @ factor.solve_l(right), right, atol=1e-11)
        np.testing.assert_allclose(M @ inertia.solve(right), right, atol=1e-10)
        np.testing.assert_allclose(M @ solve_mass_matrix(EVERY, q, right), right, atol=1e-10)


def test_far_from_the_origin_nothing_is_lost() -> None:
    """Dynamics a thousand kilometres from the world origin are those at the origin: frames stand at the tree's root."""
    answers = []
    for place in (0.0, 1e6):
        builder = ModelBuilder()
        body_rng = np.random.default_rng(7)
        for i in range(6):
            placement, inertia = random_body(body_rng)
            if i == 0:
                placement = Transform(placement.R, placement.p + place)
            builder.add_body(
                f"b{i}",
                parent=f"b{i - 1}" if i else "world",
                joint=joints.Revolute(),
                placement=placement,
                inertia=inertia,
            )
        model = builder.build()
        q, v, tau = np.linspace(-1, 1, 6), np.linspace(1, 2, 6), np.ones(6)
        answers.append(forward_dynamics(model, q, v, tau))
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-8)


@pytest.mark.nojit
def test_euler_angles_at_their_singularity_are_named() -> None:
    """Where two axes coincide the mass matrix is singular: ABA, the factors and every solver say so, with the joint."""
    builder = ModelBuilder().add_body("gimbal", joint=joints.EulerZYX(), inertia=BALL)
    builder.add_body("link", parent="gimbal", joint=joints.Revolute(), inertia=BALL)
    model = builder.build()
    q, v, tau = np.array([0.3, np.pi / 2, 0.2, 0.5]), np.zeros(4), np.ones(4)
    assert_messages(
        MultibodyError,
        (r"singular: v\[0\], of the EulerZYX joint of 'gimbal'.*Spherical", lambda: forward_dynamics(model, q, v, tau)),
        ("of 'gimbal'", lambda: solve_mass_matrix(model, q, tau)),
        (r"H: is not positive definite.*of 'gimbal'", lambda: factorize_ltl(model, mass_matrix(model, q))),
    )
    for solver in ("cholesky", "lu", "qr", "colpiv_qr", "ltl"):
        with pytest.raises(MultibodyError, match="singular|not positive definite"):
            forward_dynamics_lagrangian(model, q, v, tau, linear_solver=solver)
    q[1] -= 1e-3
    assert np.isfinite(forward_dynamics(model, q, v, tau)).all()


@pytest.mark.nojit
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's scalars warn where compiled code is silent
def test_bad_states_are_named() -> None:
    """Wrong lengths, entries that are not finite and quaternions without unit length say which, in every function."""
    builder = ModelBuilder().add_body("base", joint=joints.FloatingBase(), inertia=BALL)
    model = builder.add_body("arm", parent="base", joint=joints.Revolute(), inertia=BALL).build()
    q, v = model.neutral, np.zeros(7)
    calls = {
        "rnea": lambda q, v, a, f=None: inverse_dynamics(model, q, v, a, f),
        "nle": lambda q, v, a, f=None: nonlinear_effects(model, q, v, f),
        "aba": lambda q, v, a, f=None: forward_dynamics(model, q, v, a, f),
        "lagrangian": lambda q, v, a, f=None: forward_dynamics_lagrangian(model, q, v, a, f),
        "crba": lambda q, v, a, f=None: mass_matrix(model, q),
        "minv": lambda q, v, a, f=None: solve_mass_matrix(model, q, a),
    }
    for name, call in calls.items():
        assert np.isfinite(call(list(q), v.astype(np.float32), np.zeros(7, dtype=int))).all()
        of_q = (
            (r"q: must have shape \(8,\), got \(7,\)", partial(call, q[:-1], v, v)),
            (r"q: entry \[7\] is nan", partial(call, np.where(np.arange(8) == 7, np.nan, q), v, v)),
            (r"q: entries \[3:7\], the quaternion of 'base', have length 2", partial(call, 2.0 * q, v, v)),
        )
        of_the_rest = (
            (r"v: must have shape \(7,\), got \(8,\)", partial(call, q, q, v)),
            (r"v: entry \[2\] is inf", partial(call, q, np.where(np.arange(7) == 2, np.inf, v), v)),
            (r"f_ext: must have shape \(2, 6\), got \(1, 6\)", partial(call, q, v, v, np.zeros((1, 6)))),
            (r"f_ext: entry", partial(call, q, v, v, np.full((2, 6), np.nan))),
        )
        assert_messages(MultibodyError, *of_q, *(() if name in ("crba", "minv") else of_the_rest))
    last = np.where(np.arange(7) == 6, np.nan, v)
    for name in ("rnea", "aba", "lagrangian", "minv"):
        assert_messages(MultibodyError, (r"(a|tau): entry \[6\] is nan", partial(calls[name], q, v, last)))
    assert_messages(
        MultibodyError,
        (
            r"linear_solver: must be one of .*cholesky.*got 'magic'",
            lambda: forward_dynamics_lagrangian(model, q, v, v, linear_solver="magic"),
        ),
        ("so large that the result is not", lambda: inverse_dynamics(model, q, np.full(7, 1e200), v)),
    )


def test_bad_states_of_custom_joints_are_not_blamed_on_the_joint() -> None:
    """A NaN that a user's joint would have seen is named as the entry of q or v that it is."""
    _, iq, iv = EVERY.packed.custom[-1]
    q, v = EVERY.neutral, np.zeros(EVERY.nv)
    bad_q, bad_v = q.copy(), v.copy()
    bad_q[iq.start], bad_v[iv.start] = np.nan, np.inf
    assert_messages(
        MultibodyError,
        (rf"q: entry \[{iq.start}\] is nan", lambda: inverse_dynamics(EVERY, bad_q, v, v)),
        (rf"v: entry \[{iv.start}\] is inf", lambda: nonlinear_effects(EVERY, q, bad_v)),
        (rf"q: entry \[{iq.start}\] is nan", lambda: mass_matrix(EVERY, bad_q)),
    )


def chain(n: int) -> Model:
    """n revolute joints in a row."""
    builder = ModelBuilder()
    for i in range(n):
        parent, place = f"b{i - 1}" if i else "world", Transform(p=(0.1, 0.0, 0.2))
        builder.add_body(f"b{i}", parent=parent, joint=joints.Revolute(np.eye(3)[i % 3]), placement=place, inertia=BALL)
    return builder.build()


def test_models_too_large_for_the_stack() -> None:
    """The same functions with a workspace of their own: q and v come back through M, h and the accelerations."""
    rng = np.random.default_rng(4)
    for model in (chain(45), chain(60)):
        q, v, a = rng.standard_normal((3, model.nv))
        tau = mass_matrix(model, q) @ a + nonlinear_effects(model, q, v)
        np.testing.assert_allclose(inverse_dynamics(model, q, v, a), tau, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(forward_dynamics(model, q, v, tau), a, rtol=1e-7, atol=1e-7)
        M = mass_matrix(model, q)
        factor = factorize_ltl(model, M)
        np.testing.assert_allclose(factor.L.T @ factor.L, M, atol=1e-13 * np.abs(M).max())
        np.testing.assert_allclose(M @ factor.solve(tau), tau, rtol=0, atol=1e-7)
    assert chain(45).packed.compact
    assert not chain(60).packed.compact
