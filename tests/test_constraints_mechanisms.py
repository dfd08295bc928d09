"""Mechanisms against Lagrange's equations; derivatives of constrained dynamics against differences."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from custom_constraints import Driven, Pin, Rolling, Speed
from differencing import Function, differenced, worst
from mechanisms import FourBar, SliderCrank, five_bar, five_bar_constraints
from random_rows import random_contact, random_distance, random_loop
from test_multibody_derivatives import with_rotors_and_own_joints
from trees import random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    MultibodyError,
    RigidInertia,
    Transform,
    forward_dynamics_derivatives,
    integrate,
    joints,
    kinematics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from contactlab.multibody.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    LoopConstraint,
    assemble_q,
    assemble_v,
    constraint_position_error,
    forward_dynamics_constraints,
    forward_dynamics_constraints_derivatives,
)

Method = Literal["direct", "range_space_sparse", "null_space", "kokkevis"]
LOOPS: tuple[Method, ...] = ("direct", "range_space_sparse", "null_space")
Acceleration = Callable[[np.ndarray, np.ndarray], np.ndarray]
FOUR, SLIDER = FourBar(), SliderCrank()


def runge_kutta(f: Acceleration, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """The classical method, of order 4."""
    a1 = f(q, v)
    v2 = v + h / 2 * a1
    a2 = f(q + h / 2 * v, v2)
    v3 = v + h / 2 * a2
    a3 = f(q + h / 2 * v2, v3)
    v4 = v + h * a3
    a4 = f(q + h * v3, v4)
    return q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def midpoint(f: Acceleration, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """The explicit midpoint rule, of order 2."""
    half = v + h / 2 * f(q, v)
    return q + h * half, v + h * f(q + h / 2 * v, half)


def run(
    model: Model, cs: ConstraintSet, q: np.ndarray, v: np.ndarray, step: Any, h: float, steps: int
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The last state, the largest loop error and the largest change of energy on the way."""
    tau = np.zeros(model.nv)

    def accelerate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return forward_dynamics_constraints(model, q, v, tau, cs).a

    def energy() -> float:
        return float(kinetic_energy(model, q, v) + potential_energy(model, q))

    start, drift, error = energy(), 0.0, 0.0
    for _ in range(steps):
        q, v = step(accelerate, q, v, h)
        error = max(error, float(np.abs(constraint_position_error(model, q, cs)).max()))
        drift = max(drift, abs(energy() - start))
    return q, v, error, drift


def mechanism(name: str, baumgarte: float | None) -> tuple[Model, ConstraintSet, np.ndarray, np.ndarray]:
    """A model, its loop, and an assembled state in motion."""
    if name == "four-bar":
        model = FOUR.model()
        return model, FOUR.constraints(model, baumgarte), FOUR.configuration(0.8), FOUR.velocity(0.8, 3.0)
    if name == "slider-crank":
        model = SLIDER.model()
        return model, SLIDER.constraints(model, baumgarte), *SLIDER.state(0.8, 3.0)
    model = five_bar()
    cs = five_bar_constraints(model, baumgarte)
    q = assemble_q(model, [1.9, -1.0, 1.2, 1.0], cs, np.ones(4))
    v = assemble_v(model, q.q, [1.0, 0.0, -0.5, 0.0], cs, [1.0, 0.0, 1.0, 0.0])
    assert q.converged
    assert v.converged
    return model, cs, np.array(q.q), np.array(v.v)


@pytest.mark.parametrize("method", LOOPS)
@pytest.mark.parametrize("crank", [0.8, 2.5, -1.4, 4.0])
@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_loops_accelerate_as_their_single_coordinate(method: Method, crank: float, speed: float) -> None:
    """Four-bar and slider-crank, by every method, agree with Lagrange's equation of the crank's angle."""
    model = FOUR.model()
    q, v = FOUR.configuration(crank), FOUR.velocity(crank, speed)
    motion = forward_dynamics_constraints(model, q, v, np.zeros(3), FOUR.constraints(model), method=method)
    assert motion.a[0] == pytest.approx(FOUR.crank_acceleration(crank, speed), rel=1e-9, abs=1e-9)
    pushed = forward_dynamics_constraints(model, q, v, [2.5, 0.0, 0.0], FOUR.constraints(model), method=method)
    assert pushed.a[0] == pytest.approx(FOUR.crank_acceleration(crank, speed, 2.5), rel=1e-9, abs=1e-9)
    model = SLIDER.model()
    q, v = SLIDER.state(crank, speed)
    motion = forward_dynamics_constraints(model, q, v, np.zeros(3), SLIDER.constraints(model), method=method)
    assert motion.a[0] == pytest.approx(SLIDER.crank_acceleration(crank, speed), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "five-bar"])
@pytest.mark.parametrize(("step", "order", "h"), [(runge_kutta, 4, 8e-3), (midpoint, 2, 4e-3)])
def test_energy_drifts_at_the_order_of_the_integrator(name: str, step: Any, order: int, h: float) -> None:
    """Halving the step divides the drift of energy by 2^order, stabilisation included."""
    model, cs, q, v = mechanism(name, 0.2)
    sizes = h / 2.0 ** np.arange(4)
    drifts = [run(model, cs, q, v, step, size, round(1.0 / size))[3] for size in sizes]
    slope = np.polyfit(np.log(sizes), np.log(drifts), 1)[0]
    assert order - 0.3 < slope < order + 0.3


def test_an_open_loop_closes() -> None:
    """From a state off the loop the error decays as exp(-t / T) (1 + t / T), the critically damped law."""
    model, cs, q, _ = mechanism("four-bar", 0.02)
    q = q + [0.0, 0.01, 0.0]
    before = np.linalg.norm(constraint_position_error(model, q, cs))
    last, _, _, _ = run(model, cs, q, np.zeros(3), runge_kutta, 2e-4, 500)
    after = np.linalg.norm(constraint_position_error(model, last, cs))
    assert after == pytest.approx(before * np.exp(-5.0) * 6.0, rel=0.05)


CORNERS = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]


def check(
    model: Model,
    cs: ConstraintSet,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray | None = None,
    t: float = 0.0,
    stride: float = 1e-3,
) -> None:
    """All six, to 1e-9 of their largest entries, against differences of the solve, in v of that stride."""
    nv = model.nv

    def solved(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        found = forward_dynamics_constraints(model, q, v, tau, cs, f_ext=f_ext, t=t)
        return np.concatenate([found.a, found.forces])

    def each(given: Function) -> Function:
        return lambda places: np.array([[given(x) for x in row] for row in places])

    found = forward_dynamics_constraints_derivatives(model, q, v, tau, cs, f_ext=f_ext, t=t)
    along = differenced(each(lambda x: solved(x, v, tau)), lambda ways: integrate(model, q, ways, 1.0), nv, 1e-4)
    by_speed = differenced(each(lambda x: solved(q, x, tau)), lambda ways: v + ways, nv, stride)
    by_force = differenced(each(lambda x: solved(q, v, x)), lambda ways: tau + ways, nv, 1.0)
    for number, expected in enumerate((along, by_speed, by_force)):
        assert worst(found[number], expected[:nv]) < 1e-9
        assert worst(found[3 + number], expected[nv:]) < 1e-9


def walker() -> tuple[Model, ConstraintSet]:
    """A trunk on two legs of six joints; three directions at four corners of both feet, half of them redundant."""
    builder = ModelBuilder()
    builder.add_body("trunk", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(5.0, (0.3, 0.4, 0.5)))
    feet = []
    for side in (-1.0, 1.0):
        parent, place = "trunk", Transform(p=(0.0, 0.15 * side, -0.3))
        for k, axis in enumerate(([0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0])):
            name = f"{side}{k}"
            builder.add_body(
                name,
                parent=parent,
                joint=joints.Revolute(axis),
                placement=place,
                inertia=RigidInertia.solid_box(0.5, (0.1, 0.1, 0.2)),
            )
            parent, place = name, Transform(p=(0.02, 0.0, -0.2))
        feet += [ContactConstraint(parent, corner, n) for corner in CORNERS for n in np.eye(3)]
    model = builder.build()
    return model, ConstraintSet(model, feet)


@pytest.mark.nojit
def test_four_bar() -> None:
    """On its loop and in motion, with a pull and without; one degree of freedom is left."""
    bar = FourBar()
    model = bar.model()
    for pull in (None, 0.1):
        cs, q, v = bar.constraints(model, pull), bar.configuration(0.8), bar.velocity(0.8, 3.0)
        check(model, cs, q, v, np.array([0.3, -0.2, 0.1]))
        assert np.linalg.matrix_rank(forward_dynamics_constraints_derivatives(model, q, v, v, cs).da_dtau) == 1


def test_feet_on_the_ground() -> None:
    """Redundant rows: of the shortest forces."""
    model, cs = walker()
    q, v, tau = state(model, 1)
    # Feet that turn have rows that contradict one another: those at rest, and those.
    assert forward_dynamics_constraints(model, q, 0.0 * v, tau, cs).residual < 1e-12
    # At rest all of it by v is 0, and motion quadratic in v: a longer stride leaves less of the rounding.
    check(model, cs, q, 0.0 * v, tau, stride=1e-2)
    assert forward_dynamics_constraints(model, q, v, tau, cs).residual > 1e-3
    check(model, cs, q, v, tau)


@pytest.mark.parametrize("seed", range(6))
def test_any_rows(seed: int) -> None:
    """Contacts, loops and rods, pulled back, sliding, given twice, with external forces, on joints of all kinds."""
    model = with_rotors_and_own_joints(seed) if seed % 2 else random_tree(seed, bodies=7)
    (q, v, tau), rng = state(model, seed), np.random.default_rng(seed)
    rows = [
        random_contact(model, rng),
        random_loop(model, rng, pull=0.5),
        random_loop(model, rng, sliding=True, pull=0.4),
        random_loop(model, rng),
        random_distance(model, rng, pull=0.3),
    ]
    cs = ConstraintSet(model, rows + [rows[0], rows[2], rows[4]] * (seed % 3 > 0)).with_baumgarte("contact0", 0.3)
    check(model, cs, q, v, tau, rng.standard_normal((model.nb, 6)))


def test_rows_of_ones_own() -> None:
    """Rows that depend on time, on v, not linearly; rolling, at the velocity level."""
    model = random_tree(3, bodies=6)
    q, v, tau = state(model, 3)
    cs = ConstraintSet(model, [Pin("b0", "b3", baumgarte=0.3), Driven(), Speed(), Pin("b0", "b3", baumgarte=0.3)])
    check(model, ConstraintSet(model, cs.constraints[1:]), q, v, tau, t=0.7)
    disc = ModelBuilder().add_body(
        "disc", joint=joints.FloatingBase(), inertia=RigidInertia(1.0, inertia=np.diag([0.2, 0.3, 0.2]))
    )
    model = disc.build()
    check(model, ConstraintSet(model, [Rolling()]), *state(model, 3))


def test_identities() -> None:
    """da/dtau is M^-1 without the rows' motion: symmetric, a projection; the forces carry the rest."""
    model, cs = walker()
    q, v, tau = state(model, 2)
    found = forward_dynamics_constraints_derivatives(model, kinematics(model, q, v), None, tau, cs)
    assert found._fields[:3] == ("da_dq", "da_dv", "da_dtau")
    M, K = mass_matrix(model, q), found.da_dtau
    np.testing.assert_allclose(K, K.T, atol=1e-10 * np.abs(K).max())
    np.testing.assert_allclose(K @ M @ K, K, atol=1e-10 * np.abs(K).max())
    for none in (
        ConstraintSet(model, []),
        ConstraintSet(model, [LoopConstraint("world", "world", axis=[0, 0, 0, 1, 0, 0])]),
    ):
        free = forward_dynamics_constraints_derivatives(model, q, v, tau, none)
        for one, two in zip(free[:3], forward_dynamics_derivatives(model, q, v, tau), strict=True):
            assert worst(one, two) < 1e-10
        assert free.dforces_dq.shape == (len(none), model.nv)
        assert not free.dforces_dq.any()


def test_errors() -> None:
    model, cs = walker()
    q, v, tau = state(model, 2)
    with pytest.raises(MultibodyError, match=r"^tau: must have shape \(18,\), got"):
        forward_dynamics_constraints_derivatives(model, q, v, tau[:-1], cs)
    with pytest.raises(ConstraintError, match="another model"):
        forward_dynamics_constraints_derivatives(random_tree(1), q, v, tau, cs)
