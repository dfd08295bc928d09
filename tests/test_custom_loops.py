"""Connections of bodies in worlds: custom constraints, rods, springs between points, joints that follow a curve."""

from pathlib import Path

import joint_scenes as scenes
import numpy as np
import pytest
from joint_scenes import FAST, G
from refusals import assert_fields, assert_messages
from scipy.integrate import solve_ivp

from contactlab.multibody.constraints import (
    CustomConstraint,
    DistanceConstraint,
    check_constraint,
    constraint_jacobian,
    constraint_position_error,
    forward_dynamics_constraints,
)
from contactlab.simulation import (
    Box,
    ConstantVelocity,
    HalfSpace,
    JointPolynomial,
    Material,
    ModelBuilder,
    Recording,
    RigidInertia,
    Simulation,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    World,
    WorldBuilder,
    joints,
    simulate,
    verify,
)


class Together(CustomConstraint):
    """Two carts keep their distance, from a time on and not before."""

    rows = 1

    def __init__(self, a, b, since=-np.inf):
        self.a, self.b, self.since = a, b, since

    def jacobian(self, model, q, t=0.0):
        G = np.zeros((1, model.nv))
        G[0, model.v_slice(self.a)] = 1.0
        G[0, model.v_slice(self.b)] = -1.0 if t >= self.since else 0.0
        return G

    def gamma(self, model, q, v):
        return np.zeros(1)

    def velocity_error(self, model, q, v, t=0.0):
        return self.jacobian(model, q, t) @ v


def carts():
    """Three carts with speeds of their own, three trees."""
    builder = WorldBuilder((0.0, 0.0, 0.0), **scenes.FAST)
    for name, speed in (("a", 1.0), ("b", 3.0), ("c", 5.0)):
        one = ModelBuilder((0.0, 0.0, 0.0)).add_body(
            name, joint=joints.Prismatic((1, 0, 0)), inertia=RigidInertia(1.0, (0, 0, 0), inertia=np.eye(3))
        )
        builder.add_model(one.build(), [0.0], [speed])
    return builder


@pytest.mark.parametrize(("bodies", "trees"), [(None, (0, 2)), (["a", "c"], (0, 2)), (["a", "b", "c"], (0, 1, 2))])
def test_a_constraint_joins_the_trees_it_acts_on(bodies, trees):
    """The named bodies, or else the ones in its Jacobian, are used; the motion is the same."""
    builder = carts()
    builder.add_loop(Together("a", "c"), bodies=bodies)
    world = builder.build()
    assert [row.trees for row in world.joint_rows] == [trees]
    recording = simulate(world, TimeStepping(1e-2), steps=5)
    np.testing.assert_allclose(recording.v[-1], [3.0, 3.0, 3.0], rtol=0, atol=1e-14)
    assert verify(recording).holds


@pytest.mark.parametrize("bodies", [None, ["a"]])
def test_a_constraint_that_leaves_its_trees_stops_the_run(bodies):
    """The error names the body and the missing argument; with all bodies named the run continues."""
    builder = carts()
    builder.add_loop(Together("a", "c", since=1.0), bodies=bodies)
    assert_fields(SimulationConfigError, ("bodies", lambda: simulate(builder.build(), TimeStepping(0.125), steps=20)))
    builder = carts()
    builder.add_loop(Together("a", "c", since=1.0), bodies=["a", "c"])
    assert simulate(builder.build(), TimeStepping(0.125), steps=20).v[-1, [0, 2]] == pytest.approx([2.5, 2.5])


L1, L2, M1, M2 = 1.0, 0.7, 2.0, 1.0
ORIGIN = (0.0, 0.0, 0.0)


def accelerations(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Lagrange's equations of point masses on rods at the angles a from hanging down, in the plane x, z."""
    s, c = np.sin(a[0] - a[1]), np.cos(a[0] - a[1])
    M = np.array([[(M1 + M2) * L1 * L1, M2 * L1 * L2 * c], [M2 * L1 * L2 * c, M2 * L2 * L2]])
    force = np.array([-M2 * L1 * L2 * s * w[1] ** 2, M2 * L1 * L2 * s * w[0] ** 2])
    return np.linalg.solve(M, force - G * np.array([(M1 + M2) * L1 * np.sin(a[0]), M2 * L2 * np.sin(a[1])]))


def places(a: np.ndarray, w: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, velocities and accelerations of both masses, (6,) each."""
    x, u, b = np.zeros(3), np.zeros(3), np.zeros(3)
    found = []
    for length, angle, speed, change in zip((L1, L2), a, w, rate, strict=True):
        out, along = np.array([np.sin(angle), 0, -np.cos(angle)]), np.array([np.cos(angle), 0, np.sin(angle)])
        x, u, b = x + length * out, u + length * speed * along, b + length * (change * along - speed**2 * out)
        found.append((x, u, b))
    x, u, b = (np.concatenate(part) for part in zip(*found, strict=True))
    return x, u, b


def double_pendulum(a: np.ndarray, w: np.ndarray, *, coil: bool = False) -> World:
    """Balls on rods at their centres, which nothing turns."""
    x, u, _ = places(a, w, np.zeros(2))
    builder = WorldBuilder((0.0, 0.0, -G), **FAST)
    for i, (name, mass) in enumerate((("one", M1), ("two", M2))):
        at = slice(3 * i, 3 * i + 3)
        inertia = RigidInertia.solid_sphere(mass, 0.1)
        builder.add_free_body(name, inertia, Sphere(0.1), Material(0.5), (*x[at], 1, 0, 0, 0), (*u[at], 0, 0, 0))
    builder.add_loop(DistanceConstraint("world", ORIGIN, "one", ORIGIN, L1, name="upper"))
    builder.add_loop(DistanceConstraint("one", ORIGIN, "two", ORIGIN, L2, name="lower"), erp=0.1)
    if coil:
        builder.add_spring("coil", "world", (0.3, 0.2, 0.1), "two", (0, 0.05, 0.1), 0.5, 200.0, 3.0)
    return builder.build()


def test_rods_accelerate_balls_as_lagrange_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        a, w = rng.uniform(-3, 3, 2), rng.uniform(-4, 4, 2)
        world = double_pendulum(a, w)
        motion = forward_dynamics_constraints(world.model, world.initial_q, world.initial_v, np.zeros(12), world.loops)
        _, _, expected = places(a, w, accelerations(a, w))
        np.testing.assert_allclose(motion.a.reshape(2, 6)[:, :3].ravel(), expected, atol=1e-11)


def test_a_double_pendulum_of_rods_converges_with_order_h(tmp_path: Path) -> None:
    """Against Lagrange's equations; the record is verified, and read back with its rods."""
    a, w = np.array([0.9, -0.4]), np.array([0.5, 2.0])
    world, errors = double_pendulum(a, w), []
    end = solve_ivp(lambda _, y: [*y[2:], *accelerations(y[:2], y[2:])], (0, 0.5), [*a, *w], rtol=1e-10, atol=1e-10).y[
        :, -1
    ]
    for steps in (200, 400):
        recording = simulate(world, TimeStepping(0.5 / steps, erp=0.1), steps=steps)
        errors.append(np.abs(recording.q[-1].reshape(2, 7)[:, :3].ravel() - places(end[:2], end[2:], w)[0]).max())
    assert errors[0] < 0.02
    assert errors[1] < 0.6 * errors[0]
    assert verify(recording).holds
    assert np.abs(recording.joint_rows.error).max() < 1e-3
    recording.save(tmp_path / "run.npz")
    upper, lower = Recording.open(tmp_path / "run.npz").world.joint_actions.loops
    assert (upper.constraint.name, upper.constraint.length, upper.erp) == ("upper", L1, None)
    assert isinstance(lower.constraint, DistanceConstraint)
    assert (lower.constraint.body_a, lower.constraint.body_b, lower.erp) == ("one", "two", 0.1)


def test_rods_that_cannot_be_are_refused() -> None:
    builder = WorldBuilder()
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
    assert_messages(
        SimulationConfigError,
        ("no body is called 'bal'", lambda: builder.add_loop(DistanceConstraint("world", ORIGIN, "bal", ORIGIN, 1.0))),
        (
            "Baumgarte term.*give erp instead",
            lambda: builder.add_loop(DistanceConstraint("world", ORIGIN, "ball", ORIGIN, 1.0, 0.1)),
        ),
    )


BALL, CUBE = Sphere(0.1), Box.cube(0.1)


def pair(stiffness: float, damping: float = 0.0, rest: float = 0.9) -> World:
    """Balls of 1 kg and 3 kg in empty space, 1 m apart."""
    builder = WorldBuilder((0.0, 0.0, 0.0), **FAST)
    for name, mass, x in (("a", 1.0, 0.0), ("b", 3.0, 1.0)):
        inertia = RigidInertia.solid_sphere(mass, 0.1)
        builder.add_free_body(name, inertia, BALL, Material(0.5), (x, 0, 0, 1, 0, 0, 0))
    builder.add_spring("coil", "a", (0, 0, 0), "b", (0, 0, 0), rest, stiffness, damping)
    return builder.build()


def test_two_balls_are_the_implicit_oscillator_of_their_reduced_mass() -> None:
    """Step by step x+ = x + h u+, m u+ = m u - h (K x+ + D u+); their momentum stays."""
    K, D, h, m = 300.0, 2.0, 1e-3, 0.75
    recording = simulate(pair(K, D), TimeStepping(h), steps=400)
    x, u = 0.1, 0.0
    for k in range(400):
        u = (m * u - h * K * x) / (m + h * D + h * h * K)
        x += h * u
        np.testing.assert_allclose(recording.q[k + 1, 7] - recording.q[k + 1, 0] - 0.9, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(recording.joint_rows.force[k], -(K * x + D * u), rtol=0, atol=1e-9)
    np.testing.assert_allclose(recording.v[:, 0] + 3.0 * recording.v[:, 6], 0.0, atol=1e-12)
    assert verify(recording).holds
    ledger = recording.ledger
    np.testing.assert_allclose(ledger.drives, np.diff(recording.kinetic), atol=1e-12)
    np.testing.assert_allclose(ledger.residual, 0.0, atol=1e-12)


def test_any_stiffness_is_stable_along_the_spring() -> None:
    run = Simulation(pair(1e9, 1e3), TimeStepping(0.01))
    run.step(n=50)
    np.testing.assert_allclose(run.q[[0, 7]], [0.075, 0.975], atol=1e-6)


def test_a_pendulum_on_a_spring_hangs_at_its_length() -> None:
    """A spring between a link and the world, attached away from their frames' origins, keeps a hinged bar level."""
    model, builder = ModelBuilder((0, 0, -G)), WorldBuilder((0, 0, -G))
    bar = RigidInertia(2.0, (0.5, 0, 0), inertia=np.diag([0.01, 0.2, 0.2]))
    model.add_body("bar", joint=joints.Revolute((0, 1, 0)), inertia=bar)
    builder.add_model(model.build())
    stretch = 2.0 * G * 0.5 / 1.0 / 400.0
    builder.add_spring("rope", "world", (1.0, 0.1, 2.0), "bar", (1.0, 0.1, 0.0), 2.0 - stretch, 400.0, 30.0)
    world = builder.build()
    run = Simulation(world, TimeStepping(0.01))
    run.step(n=200)
    np.testing.assert_allclose(run.q, 0.0, atol=1e-10)
    assert check_constraint(world.model, world.joint_actions.loops[0].constraint).ok
    free = pair(1.0)
    assert check_constraint(free.model, free.joint_actions.loops[0].constraint).ok


def test_a_crate_on_the_ground_is_pulled_when_the_spring_beats_friction() -> None:
    """Contacts and springs are one problem: it stays under 0.5 m g, and the record is verified."""
    for stretch, moves in ((0.02, False), (0.06, True)):
        builder = WorldBuilder((0.0, 0.0, -G))
        builder.add_half_space("floor", HalfSpace(), Material(0.5))
        crate = RigidInertia.solid_box(2.0, (0.1,) * 3)
        builder.add_free_body("crate", crate, CUBE, Material(0.5), (0, 0, 0.1, 1, 0, 0, 0))
        builder.add_spring("rope", "world", (1.0 + stretch, 0, 0), "crate", (0, 0, -0.1), 1.0, 200.0)
        recording = simulate(builder.build(), TimeStepping(0.005), steps=20)
        assert bool(abs(recording.v[-1, 0]) > 0.01) is moves
        assert verify(recording).holds


def test_its_law_is_that_of_mujocos_tendons_through_two_sites() -> None:
    """For rotated bodies in motion, off their origins: the forces on all coordinates."""
    mujoco = pytest.importorskip("mujoco")
    body = (
        '<body name="{0}" pos="{1} 0 0"><freejoint/><geom type="sphere" size=".1"/><site name="{0}" pos="{2}"/></body>'
    )
    m = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 0"/><worldbody>
        {body.format("a", 0, ".1 .2 .3")}{body.format("b", 1, "0 -.1 .2")}
        </worldbody><tendon><spatial stiffness="70" damping="3" springlength=".4">
        <site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    )
    builder = WorldBuilder()
    for name in ("a", "b"):
        builder.add_free_body(name, RigidInertia.solid_sphere(1.0, 0.1), BALL, Material(0.5))
    builder.add_spring("coil", "a", (0.1, 0.2, 0.3), "b", (0, -0.1, 0.2), 0.4, 70.0, 3.0)
    world = builder.build()
    d, rng = mujoco.MjData(m), np.random.default_rng(1)
    for _ in range(3):
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.5)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        G = constraint_jacobian(world.model, d.qpos, world.loops)
        force = -70.0 * constraint_position_error(world.model, d.qpos, world.loops) - 3.0 * G @ d.qvel
        np.testing.assert_allclose(G.T @ force, d.qfrc_passive, rtol=0, atol=1e-11)


def test_a_spring_to_a_body_that_moves_as_told_is_refused() -> None:
    """Rows see such a body where it began: the spring would pull towards there."""
    builder = WorldBuilder()
    builder.add_kinematic_body("hand", BALL, Material(0.5), ConstantVelocity(velocity=np.array((1.0, 0, 0))))
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), BALL, Material(0.5), (1, 0, 0, 1, 0, 0, 0))
    builder.add_spring("rope", "hand", (0, 0, 0), "ball", (0, 0, 0), 1.0, 10.0)
    with pytest.raises(SimulationConfigError, match="loop.*joins 'hand', whose motion it would not see"):
        builder.build()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"body_b": "c"}, "no body is called 'c'"),
        ({"body_b": "a"}, "body_b.*is body_a too"),
        ({"point_a": (0, 0)}, r"point_a.*\(3,\), got \(2,\)"),
        ({"rest_length": -1.0}, "rest_length.*must not be negative, got -1.0"),
        ({"stiffness": 0.0}, "stiffness.*both 0"),
        ({"name": "coil"}, "name.*'coil' is the name of another spring"),
    ],
)
def test_springs_that_cannot_be_are_refused(arguments: dict[str, object], message: str) -> None:
    builder = WorldBuilder()
    for name in ("a", "b"):
        builder.add_free_body(name, RigidInertia.solid_sphere(1.0, 0.1), BALL, Material(0.5))
    good = {"name": "new", "body_a": "a", "point_a": (0, 0, 0), "body_b": "b", "point_b": (0, 0, 0)}
    good |= {"rest_length": 1.0, "stiffness": 1.0}
    builder.add_spring(**(good | {"name": "coil"}))  # type: ignore[arg-type]
    with pytest.raises(SimulationConfigError, match=message):
        builder.add_spring(**(good | arguments))  # type: ignore[arg-type]


CURVE = (0.1, 0.5, -0.3, 0.2, 0.05)


def coupled_carts(polynomial: JointPolynomial, start=(0.1, 0.0), speed=(0.0, 0.0)):
    """Two carts of 1 and 2 kg on rails along x."""
    model = ModelBuilder((0.0, 0.0, 0.0))
    for name, mass in (("tail", 1.0), ("lead", 2.0)):
        model.add_body(name, joint=joints.Prismatic((1, 0, 0)), inertia=RigidInertia(mass, inertia=np.eye(3)))
    builder = WorldBuilder((0.0, 0.0, 0.0))
    builder.add_model(model.build(), start, speed)
    builder.add_loop(polynomial)
    return builder.build()


def test_jacobian_and_gamma_are_the_derivatives_of_the_error():
    """Tested by finite differences, and in a run with constant energy."""
    constraint = JointPolynomial("tail", "lead", CURVE)
    report = check_constraint(coupled_carts(constraint).model, constraint)
    assert report.ok, report


@pytest.mark.parametrize("coefficients", [CURVE, (0.1, 0, 2), (0.1,)])
def test_the_motion_is_that_of_the_reduced_system(coefficients):
    """(m p'^2 + M) x'' + m p' p'' x'^2 = F, in one coordinate, to the first order of the step."""
    polynomial = np.polynomial.Polynomial(coefficients)
    slope, bend = polynomial.deriv(), polynomial.deriv(2)
    x, u = 0.2, 1.0
    start, speed = (polynomial(x), x), (slope(x) * u, u)
    world = coupled_carts(JointPolynomial("tail", "lead", coefficients), start, speed)

    def rates(_, state):
        y, w = state
        return w, (1.5 - slope(y) * bend(y) * w * w) / (slope(y) ** 2 + 2.0)

    end, errors = solve_ivp(rates, (0.0, 0.3), (x, u), rtol=1e-10, atol=1e-12).y[0, -1], []
    for h in (1e-3, 5e-4):
        steps = round(0.3 / h)
        recording = simulate(world, TimeStepping(h), steps=steps, tau=[0.0, 1.5])
        errors.append(abs(recording.q[-1, 1] - end))
        assert abs(recording.q[-1, 0] - polynomial(recording.q[-1, 1])) < 2 * h
        assert verify(recording).holds
    assert errors[0] < 2e-3
    assert errors[1] < 0.6 * errors[0] + 1e-7


def test_a_joint_that_follows_none_is_held():
    """It does not move under any push, and the other joint does."""
    world = coupled_carts(JointPolynomial("tail", None, [0.1]))
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
    """Its compliant rows, as stiff as its step allows, move in the same way for two hundred steps."""
    mujoco = pytest.importorskip("mujoco")
    from contactlab.simulation.world.mjcf import load_mjcf

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
