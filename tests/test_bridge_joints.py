"""Limits, drives, dry friction and mimic relations of joints as rows of problem data; arguments that are refused."""

import math
import re

import numpy as np
import pytest
from refusals import assert_fields
from urdf_texts import joint, link, pair, robot

from contactlab import ConstraintSolver
from contactlab.constraint_solver import (
    BridgeError,
    ContactPoint,
    JointLimit,
    PositionDrive,
    Stabilisation,
    Thresholds,
    VelocityDrive,
    problem_data_from,
    softening,
)
from contactlab.multibody import Model, ModelBuilder, MultibodyError, RigidInertia, joints, kinematics, load_urdf
from problem_data import ConstraintForces

SOLVER = ConstraintSolver()
H = 1e-3


def slider(mass: float = 2.0, angle: float = 0.0) -> Model:
    """A mass on a rail along x, gravity turned by an angle so that it pulls along the rail with g sin(angle)."""
    builder = ModelBuilder(gravity=(9.81 * math.sin(angle), 0.0, -9.81 * math.cos(angle)))
    builder.add_body("cart", joint=joints.Prismatic([1, 0, 0]), inertia=RigidInertia.solid_box(mass, (0.1, 0.1, 0.1)))
    return builder.build()


def both(problem):
    """Accelerations by both levels, and the solutions."""
    accel = SOLVER.solve_constraint_problem(problem.acceleration)
    step = SOLVER.solve_discretized_problem(problem.velocity, problem.h)
    return accel, step


def pushed(force: float, **options):
    return problem_data_from(slider(), options.pop("q", [0.0]), options.pop("v", [0.0]), [force], h=H, **options)


def test_limits_of_the_description_are_the_default() -> None:
    """A description's limits have rows near their ends, at acceleration level at their ends; None leaves them out."""
    model = load_urdf(pair(inside="<axis xyz='0 1 0'/><limit lower='-0.5' upper='1' effort='1' velocity='1'/>"))
    for q, labels in ((0.995, ["upper limit of j"]), (0.5, []), (-0.5, ["lower limit of j"])):
        problem = problem_data_from(model, [q], [0.0], h=H)
        assert [row.label for row in problem.rows.velocity.L] == labels
        assert problem.acceleration.nl == (1 if q == -0.5 else 0)
    assert problem_data_from(model, [1.0], [0.0], h=H, limits=None).velocity.nl == 0
    wide = problem_data_from(model, [0.5], [0.0], h=H, thresholds=Thresholds(margin=math.inf))
    assert wide.velocity.nl == 2


def test_terms_of_limits_follow_gap_speed_and_restitution() -> None:
    """KL is gap/h when open, e L v when struck, erp phi/h when beyond; stiffness gives gammaL."""
    limit = JointLimit("cart", upper=0.3, restitution=0.5)
    assert pushed(0.0, q=[0.295], limits=[limit]).velocity.kL == pytest.approx([0.005 / H])
    struck = pushed(0.0, q=[0.2999], v=[1.0], limits=[limit])
    assert struck.velocity.kL == pytest.approx([-0.5])
    assert struck.impacts == ("upper limit of cart",)
    assert SOLVER.solve_discretized_problem(struck.velocity, H).v_plus == pytest.approx([-0.5])
    assert pushed(0.0, q=[0.31], limits=[limit]).velocity.kL == pytest.approx([0.0])
    erp = pushed(0.0, q=[0.31], limits=[limit], stabilisation={"limits": Stabilisation(erp=0.1)})
    assert erp.velocity.kL == pytest.approx([-0.1 * 0.01 / H])
    soft = pushed(0.0, q=[0.31], limits=[JointLimit("cart", upper=0.3, stiffness=1e4, dissipation=20.0)])
    terms = softening(H, stiffness=1e4, dissipation=20.0)
    assert soft.velocity.gammaL == pytest.approx([float(terms.gamma)])
    assert soft.velocity.kL == pytest.approx([float(terms.rate(H, -0.01))])
    pulled = pushed(0.0, q=[0.31], limits=[limit], stabilisation={"limits": Stabilisation(baumgarte=0.1)})
    assert pulled.acceleration.kL == pytest.approx([-1.0])


def test_a_limit_takes_part_if_either_velocity_reaches_it() -> None:
    """The gap may be closed by the velocity there is or by the one that the applied forces make of it."""
    limit = [JointLimit("cart", upper=0.3)]
    for v, force, rows in ((50.0, -2e5, 1), (0.0, 1e5, 1), (5.0, 0.0, 0)):
        assert pushed(force, q=[0.26], v=[v], limits=limit).velocity.nl == rows, (v, force)


@pytest.mark.parametrize(("push", "moves"), [(2.9, False), (3.1, True), (-2.9, False), (-3.1, True)])
def test_dry_friction_holds_up_to_its_threshold(push, moves) -> None:
    """At rest a force below the bound moves nothing, one above it accelerates by what exceeds it, at both levels."""
    problem = pushed(push, friction={"cart": 3.0})
    expected = math.copysign(0.1, push) / 2.0 if moves else 0.0
    accel, step = both(problem)
    assert step.v_plus[0] / H == pytest.approx(expected, abs=1e-9)
    assert problem.row_force("dry friction of cart", step) == pytest.approx(
        -push if not moves else -math.copysign(3, push)
    )
    beyond = problem.overloaded_joints(accel)
    assert beyond == (pytest.approx({"dry friction of cart": -push}) if moves else {})
    if moves:
        problem = problem.with_released_joints(accel)
        accel = SOLVER.solve_constraint_problem(problem.acceleration)
        assert problem.overloaded_joints(accel) == {}
    assert accel.acceleration[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("speed", [0.5, -0.5])
def test_dry_friction_opposes_motion(speed) -> None:
    """A moving joint has the whole bound against its motion: no row at acceleration level, a boxed row over a step."""
    problem = pushed(1.0, v=[speed], friction={"cart": 3.0})
    expected = (1.0 - math.copysign(3.0, speed)) / 2.0
    accel, step = both(problem)
    assert problem.acceleration.nb == 0
    assert accel.acceleration[0] == pytest.approx(expected)
    assert (step.v_plus[0] - speed) / H == pytest.approx(expected)


def test_dry_friction_of_the_description_is_the_default() -> None:
    """A description's friction gives boxed rows; None leaves them out, and an impact has none."""
    model = load_urdf(pair(kind="continuous", inside="<axis xyz='0 1 0'/><dynamics friction='0.7' damping='0'/>"))
    problem = problem_data_from(model, [0.0], [0.0], h=H)
    np.testing.assert_array_equal([problem.velocity.lo, problem.velocity.hi], [[-0.7], [0.7]])
    assert problem.rows.velocity.B[0].bounds == (-0.7, 0.7)
    assert problem_data_from(model, [0.0], [0.0], h=H, friction=None).velocity.nbox == 0
    assert problem_data_from(model, [0.0], [0.0]).velocity.nbox == 0


@pytest.mark.parametrize(("max_force", "stalls"), [(12.0, False), (8.0, True)])
def test_a_velocity_drive_stalls_at_its_force_limit(max_force, stalls) -> None:
    """Against a load of 10 N it keeps its speed with 10 N if it has them, and gives all it has if not."""
    drive = VelocityDrive("cart", target=0.5, max_force=max_force)
    problem = pushed(-10.0, v=[0.5], drives=[drive])
    accel, step = both(problem)
    if stalls:
        assert problem.overloaded_joints(accel) == {"drive of cart": pytest.approx(10.0)}
        problem = problem.with_released_joints(accel)
        accel = SOLVER.solve_constraint_problem(problem.acceleration)
    expected = (8.0 - 10.0) / 2.0 if stalls else 0.0
    assert problem.row_force("drive of cart", step) == pytest.approx(min(max_force, 10.0))
    assert accel.acceleration[0] == pytest.approx(expected, abs=1e-9)
    assert (step.v_plus[0] - 0.5) / H == pytest.approx(expected, abs=1e-9)


def test_mimic_relations_are_bilateral_rows() -> None:
    """A follower keeps its ratio at both levels; its error is pulled back as its stabilisation says."""
    text = robot(
        link("a"),
        link("b"),
        link("c"),
        joint("lead", "continuous", "a", "b", "<axis xyz='0 1 0'/>"),
        joint(
            "follow", "continuous", "a", "c", "<axis xyz='0 1 0'/><mimic joint='lead' multiplier='-2' offset='0.1'/>"
        ),
    )
    model = load_urdf(text)
    v = np.zeros(2)
    lead, follow = (model.joint_data[name].v.start for name in ("lead", "follow"))
    v[lead], v[follow] = 1.0, -2.0
    q = np.zeros(2)
    q[lead], q[follow] = 0.2, 0.1 - 0.4 + 0.01
    tau = np.zeros(2)
    tau[lead] = 3.0
    how = {"mimics": Stabilisation(erp=0.5, baumgarte=(0.0, 10.0))}
    problem = problem_data_from(model, q, v, tau, h=H, stabilisation=how)
    assert [row.label for row in problem.rows.velocity.G] == ["mimic of follow"]
    accel, step = both(problem)
    assert accel.acceleration[follow] + 2 * accel.acceleration[lead] == pytest.approx(-100.0 * 0.01)
    assert step.v_plus[follow] + 2 * step.v_plus[lead] == pytest.approx(-0.5 * 0.01 / H)
    assert problem_data_from(model, q, v, tau, mimics=False).velocity.nb == 0


def test_what_gives_way_does_not_bounce_besides() -> None:
    """A soft kind of rows has no restitution of its members: the damper determines the loss."""
    limit = JointLimit("cart", upper=0.3, restitution=0.5)
    how = {"limits": Stabilisation(stiffness=1e4, dissipation=20.0)}
    soft = pushed(0.0, q=[0.2999], v=[1.0], limits=[limit], stabilisation=how)
    assert soft.velocity.kL == pytest.approx([1e-4 / H])
    sunk = pushed(0.0, q=[0.301], v=[1.0], limits=[limit], stabilisation=how)
    step = SOLVER.solve_discretized_problem(sunk.velocity, H)
    after = step.v_plus[0]
    assert step.forces.fL == pytest.approx([1e4 * (0.001 + H * after) + 20.0 * after])
    assert soft.velocity.gammaL == pytest.approx([1.0 / (1e4 * H + 20.0)])


UP = (0.0, 0.0, 1.0)
ORIGIN = (0.0, 0.0, 0.0)


def arm() -> Model:
    builder = ModelBuilder()
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_body("upper", joint=joints.Revolute([0, 1, 0]), inertia=inertia)
    builder.add_body("lower", parent="upper", joint=joints.Revolute([0, 1, 0]), inertia=inertia)
    return builder.build()


MODEL = arm()
STATE = (np.array([0.1, 0.2]), np.zeros(2))


@pytest.mark.parametrize(
    ("field", "text", "make"),
    [
        ("ContactPoint.normal", "length 2", lambda: ContactPoint("upper", ORIGIN, (0, 0, 2))),
        ("ContactPoint.normal", "shape", lambda: ContactPoint("upper", ORIGIN, (0, 1))),
        ("ContactPoint.normal", "length 0", lambda: ContactPoint("upper", ORIGIN, ORIGIN)),
        ("ContactPoint.point", "not finite", lambda: ContactPoint("upper", (0, math.nan, 0), UP)),
        ("ContactPoint.mu", "negative", lambda: ContactPoint("upper", ORIGIN, UP, mu=-0.1)),
        ("ContactPoint.mu_sliding", "exceeds", lambda: ContactPoint("upper", ORIGIN, UP, mu=0.2, mu_sliding=0.3)),
        ("ContactPoint.restitution", "between", lambda: ContactPoint("upper", ORIGIN, UP, restitution=1.5)),
        (
            "ContactPoint.restitution",
            "gives way",
            lambda: ContactPoint("upper", ORIGIN, UP, restitution=0.5, stiffness=1.0),
        ),
        ("ContactPoint.stiffness", "negative", lambda: ContactPoint("upper", ORIGIN, UP, stiffness=-1.0)),
        ("ContactPoint.dissipation", "not finite", lambda: ContactPoint("upper", ORIGIN, UP, dissipation=math.inf)),
        ("ContactPoint.radius", "negative", lambda: ContactPoint("upper", ORIGIN, UP, radius=-1.0)),
        ("ContactPoint.frame", "'local'", lambda: ContactPoint("upper", ORIGIN, UP, frame="local")),
        ("ContactPoint.surface", "'c'", lambda: ContactPoint("upper", ORIGIN, UP, surface="c")),
        ("ContactPoint.surface", "ball", lambda: ContactPoint("upper", ORIGIN, UP, surface="b", radius=0.1)),
        ("ContactPoint.name", "non-empty string", lambda: ContactPoint("upper", ORIGIN, UP, name=["a"])),
        ("ContactPoint.gap", "not finite", lambda: ContactPoint("upper", ORIGIN, UP, gap=math.inf)),
        ("JointLimit.lower", "exceeds upper", lambda: JointLimit("upper", 1.0, 0.0)),
        ("JointLimit.upper", "not finite", lambda: JointLimit("upper", upper=math.nan)),
        ("JointLimit.restitution", "between", lambda: JointLimit("upper", restitution=-0.1)),
        ("JointLimit.restitution", "gives way", lambda: JointLimit("upper", restitution=0.1, dissipation=1.0)),
        ("VelocityDrive.max_force", "negative", lambda: VelocityDrive("upper", max_force=-1.0)),
        ("VelocityDrive.target", "not finite", lambda: VelocityDrive("upper", target=math.inf)),
        ("PositionDrive.stiffness", "both 0", lambda: PositionDrive("upper", 0.0, 0.0)),
        ("PositionDrive.damping", "negative", lambda: PositionDrive("upper", 0.0, 1.0, damping=-1.0)),
        ("Stabilisation.erp", "between", lambda: Stabilisation(erp=1.2)),
        ("Stabilisation.erp", "one or the other", lambda: Stabilisation(erp=0.2, stiffness=1.0)),
        ("Stabilisation.stiffness", "negative", lambda: Stabilisation(stiffness=-1.0)),
        ("Stabilisation.baumgarte", "positive", lambda: Stabilisation(baumgarte=0.0)),
        ("Stabilisation.baumgarte", "alpha, beta", lambda: Stabilisation(baumgarte=(1.0, 2.0, 3.0))),
        ("Thresholds.slip", "negative", lambda: Thresholds(slip=-1e-6)),
        ("Thresholds.closed", "not finite", lambda: Thresholds(closed=math.inf)),
    ],
)
def test_values_that_cannot_be_are_refused_when_made(field, text, make) -> None:
    """A value out of its range raises at once and names its field."""
    with pytest.raises(BridgeError, match=text) as error:
        make()
    assert error.value.field == field


@pytest.mark.parametrize(
    ("field", "text", "options"),
    [
        (
            "contacts[1].body_b",
            "close: 'upper'",
            {"contacts": [ContactPoint("upper", ORIGIN, UP), ContactPoint("uper", ORIGIN, UP)]},
        ),
        ("contacts[0].body_a", "no body is called", {"contacts": [ContactPoint("upper", ORIGIN, UP, body_a="x")]}),
        ("contacts[0].body_b", "is body A too", {"contacts": [ContactPoint("world", ORIGIN, UP)]}),
        ("contacts[0]", "must be a ContactPoint", {"contacts": ["upper"]}),
        (
            "contacts[1].name",
            "contacts[0] too",
            {"contacts": [ContactPoint(b, ORIGIN, UP, name="a") for b in ("upper", "lower")]},
        ),
        ("limits[0].joint", "close: 'upper'", {"limits": [JointLimit("uppper", 0.0, 1.0)]}),
        ("limits[0].joint", "coordinates 0 to 0", {"limits": [JointLimit("upper", 0.0, 1.0, coordinate=1)]}),
        ("contacts", "in a list", {"contacts": ContactPoint("upper", ORIGIN, UP)}),
        ("limits", "in a list", {"limits": JointLimit("upper", 0.0, 1.0)}),
        ("limits[0].joint", "whole number", {"limits": [JointLimit("upper", 0.0, 1.0, coordinate=0.5)]}),
        ("drives", "in a list", {"drives": VelocityDrive("upper")}),
        ("stabilisation", "must be a mapping", {"stabilisation": Stabilisation()}),
        ("limits[0]", "must be a JointLimit", {"limits": [(0.0, 1.0)]}),
        ("limits", "'all'", {"limits": "all"}),
        ("drives[1].joint", "no joint", {"drives": [VelocityDrive("upper"), VelocityDrive("elbow")]}),
        ("drives[0]", "must be a VelocityDrive", {"drives": [1.0]}),
        ("friction", "no joint", {"friction": {"elbow": 1.0}}),
        ("friction['upper']", "negative", {"friction": {"upper": -1.0}}),
        ("friction", "mapping", {"friction": [1.0, 2.0]}),
        ("friction", "'urdf'", {"friction": "urdf"}),
        ("h", "positive", {"h": 0.0}),
        ("h", "positive", {"h": -1e-3}),
        ("h", "not finite", {"h": math.nan}),
        ("edges", "even", {"edges": 5}),
        ("edges", "even", {"edges": 2}),
        ("rows_at", "'middle'", {"rows_at": "middle"}),
        ("t", "not finite", {"t": math.inf}),
        ("stabilisation", "close: 'limits'", {"stabilisation": {"limit": Stabilisation()}}),
        ("stabilisation", "must be a Stabilisation", {"stabilisation": {"limits": 0.2}}),
        ("thresholds", "must be Thresholds", {"thresholds": 1e-3}),
    ],
)
def test_arguments_that_do_not_fit_are_named(field, text, options) -> None:
    """Unknown bodies and joints, wrong types and ranges raise before any work, with the place in a list."""
    with pytest.raises(BridgeError, match=re.escape(text)) as error:
        problem_data_from(MODEL, *STATE, **options)
    assert error.value.field == field


@pytest.mark.parametrize(
    ("field", "arguments", "options"),
    [
        ("q", (np.zeros(3), np.zeros(2)), {}),
        ("v", (np.zeros(2), np.zeros(3)), {}),
        ("v", (np.zeros(2), None), {}),
        ("v", (kinematics(MODEL, np.zeros(2)), None), {}),
        ("q", (kinematics(arm(), np.zeros(2), np.zeros(2)), None), {}),
        ("q", (np.array([0.0, math.nan]), np.zeros(2)), {}),
        ("tau", (*STATE, np.zeros(3)), {}),
        ("tau", (*STATE, np.array([0.0, math.inf])), {}),
        ("f_ext", STATE, {"f_ext": np.zeros((3, 6))}),
    ],
)
def test_states_that_do_not_fit_are_named(field, arguments, options) -> None:
    """Wrong shapes and infinite entries of q, v, tau and f_ext raise the errors of the multibody functions."""
    assert_fields(
        MultibodyError,
        (field, lambda: problem_data_from(MODEL, *arguments, **options)),
    )


def test_readings_refuse_forces_that_are_not_theirs() -> None:
    """Bare forces need their level, forces of another problem and unknown labels or bodies are named."""
    contact = [ContactPoint("lower", (0.1, 0, 0), UP, frame="body", mu=0.5, name="tip")]
    problem = problem_data_from(MODEL, *STATE, contacts=contact, h=1e-3)
    other = problem_data_from(MODEL, *STATE, h=1e-3)
    step = ConstraintSolver().solve_discretized_problem(problem.velocity, 1e-3)
    assert problem.contact_forces(step.forces, level="velocity")[0].name == "tip"
    assert_fields(
        BridgeError,
        ("level", lambda: problem.contact_forces(step.forces)),
        ("level", lambda: problem.contact_forces(step.forces, level="position")),
        ("solution", lambda: other.contact_forces(step)),
        ("solution", lambda: problem.contact_forces(ConstraintForces([1.0]), level="velocity")),
        ("label", lambda: problem.row_force("tip: norma", step)),
        ("body", lambda: problem.contact_forces(step)[0].force_on("upper")),
        ("about", lambda: problem.forces_on("lower", step, about=(0, 0))),
    )
    with pytest.raises(BridgeError, match="close: 'tip: normal'"):
        problem.row_force("tip: norma", step)
    with pytest.raises(MultibodyError, match="no body"):
        problem.forces_on("elbow", step)
