from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from mechanisms import UP, FourBar, SliderCrank, five_bar, five_bar_constraints, rod
from scipy.integrate import solve_ivp

from contactlab.constraints import (
    ConstraintSet,
    ContactConstraint,
    LoopConstraint,
    assemble_q,
    assemble_v,
    constraint_position_error,
    constraint_velocity_error,
    forward_dynamics_constraints,
)
from contactlab.multibody import (
    Model,
    ModelBuilder,
    RigidInertia,
    Transform,
    body_pose,
    forward_dynamics,
    joints,
    kinetic_energy,
    point_acceleration,
    potential_energy,
)
from contactlab.spatial import quaternion

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


@pytest.mark.parametrize("method", [*LOOPS, "kokkevis"])
@pytest.mark.parametrize("crank", [0.8, 2.5, -1.4])
def test_slider_without_mass_is_a_contact(method: Method, crank: float) -> None:
    """The rod's end held on the line by a contact row: all four methods give the slider-crank without slider mass."""
    light = SliderCrank(slider=0.0)
    builder = ModelBuilder().add_body("crank", joint=joints.Revolute(UP), inertia=rod(light.density * light.a, light.a))
    place = Transform(p=(light.a, 0.0, 0.0))
    builder.add_body(
        "rod", parent="crank", joint=joints.Revolute(UP), placement=place, inertia=rod(light.density * light.b, light.b)
    )
    model = builder.build()
    cs = ConstraintSet(model, [ContactConstraint("rod", (light.b, 0.0, 0.0), (0.0, 0.0, 1.0))])
    q, v = light.state(crank, 3.0)
    motion = forward_dynamics_constraints(model, q[:2], v[:2], np.zeros(2), cs, method=method)
    assert motion.a[0] == pytest.approx(light.crank_acceleration(crank, 3.0), rel=1e-9)
    assert constraint_velocity_error(model, q[:2], v[:2], cs) == pytest.approx(0.0, abs=1e-12)


def pendulum() -> tuple[RigidInertia, Transform]:
    """A body of three different moments, pinned at a point and along a direction."""
    inertia = RigidInertia.solid_box(1.3, (0.1, 0.2, 0.4)).moved(Transform(p=(0.05, 0.0, -0.4)))
    return inertia, Transform.rotation((0.3, 1.0, 0.2), 0.4, (0.1, -0.05, 0.2))


def hinge(X: Transform, **options: Any) -> list[LoopConstraint]:
    """Five rows that leave the turn about the frame's y axis."""
    return [LoopConstraint("world", "body", Transform(), X, axis, **options) for axis in np.eye(6)[[0, 2, 3, 4, 5]]]


def floating_pendulum(angle: float, rate: float, X: Transform) -> tuple[Model, np.ndarray, np.ndarray, Model]:
    """A free body, hinged at X to the world's y axis, its state; and the same body on a revolute joint."""
    inertia, _ = pendulum()
    free = ModelBuilder().add_body("body", joint=joints.FloatingBase(), inertia=inertia).build()
    builder = ModelBuilder().add_body("arm", joint=joints.Revolute((0.0, 1.0, 0.0)))
    jointed = builder.add_body(
        "body", parent="arm", joint=joints.Fixed(), placement=X.inverse(), inertia=inertia
    ).build()
    pose = body_pose(jointed, [angle], "body")
    omega = np.array([0.0, rate, 0.0])
    q = np.concatenate([pose.p, quaternion.from_matrix(pose.R)])
    return free, q, np.concatenate([np.cross(omega, pose.p), pose.R.T @ omega]), jointed


@pytest.mark.parametrize("method", LOOPS)
def test_five_rows_are_a_revolute_joint(method: Method) -> None:
    """A free body under hinge rows moves as on a revolute joint: accelerations of any of its points agree."""
    _, X = pendulum()
    for angle, rate in ((0.7, 0.0), (-0.3, 4.0), (2.0, -3.0)):
        model, q, v, jointed = floating_pendulum(angle, rate, X)
        cs = ConstraintSet(model, hinge(X, baumgarte=0.1))
        assert np.abs(constraint_position_error(model, q, cs)).max() < 1e-12
        a = forward_dynamics_constraints(model, q, v, np.zeros(6), cs, method=method).a
        truth = forward_dynamics(jointed, [angle], [rate], [0.0])
        for point in np.vstack([np.zeros(3), np.eye(3)]):
            want = point_acceleration(jointed, [angle], [rate], truth, "body", point)
            assert np.abs(point_acceleration(model, q, v, a, "body", point) - want).max() < 1e-9


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "five-bar"])
def test_ten_seconds(name: str) -> None:
    """For 10 s the loop stays closed, energy where it was, and the motion on the single coordinate's path."""
    model, cs, q, v = mechanism(name, 0.05)
    last, speed, error, drift = run(model, cs, q, v, runge_kutta, 1e-3, 10000)
    # The five-bar, of two degrees of freedom, whips where it is nearly stretched out.
    assert error < (1e-6 if name == "five-bar" else 1e-8)
    assert drift < (5e-4 if name == "five-bar" else 5e-7)
    if name == "five-bar":
        return
    bar: Any = FOUR if name == "four-bar" else SLIDER
    truth = solve_ivp(
        lambda t, y: [y[1], bar.crank_acceleration(y[0], y[1])],
        (0.0, 10.0),
        [q[0], v[0]],
        "DOP853",
        rtol=1e-11,
        atol=1e-11,
    ).y[:, -1]
    assert np.abs([last[0] - truth[0], speed[0] - truth[1]]).max() < 1e-4


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
