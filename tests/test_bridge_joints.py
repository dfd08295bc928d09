"""Limits, drives, dry friction and mimic relations of joints as rows of problem data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from urdf_texts import joint, link, pair, robot

from contactlab import ConstraintSolver
from contactlab.formulation import (
    BridgeError,
    JointLimit,
    PositionDrive,
    Stabilisation,
    Thresholds,
    VelocityDrive,
    problem_data_from,
    softening,
)
from contactlab.multibody import Model, ModelBuilder, RigidInertia, joints

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


@pytest.mark.parametrize(("force", "side"), [(5.0, "upper"), (-5.0, "lower")])
def test_a_closed_limit_bears_what_pushes_against_it(force, side) -> None:
    """At its stop the cart stays and the stop's force is the push; pulled away, it is free."""
    where = [0.3] if side == "upper" else [-0.2]
    problem = pushed(force, q=where, limits=[JointLimit("cart", -0.2, 0.3)])
    for solution in both(problem):
        assert problem.row_force(f"{side} limit of cart", solution) == pytest.approx(5.0)
    free = pushed(-force, q=where, limits=[JointLimit("cart", -0.2, 0.3)])
    accel, step = both(free)
    np.testing.assert_allclose([accel.acceleration[0], step.v_plus[0] / H], -force / 2.0)


def test_limits_of_the_description_are_the_default() -> None:
    """A description's limits have rows near their ends, at acceleration level at their ends; None leaves them out."""
    model = Model.from_urdf(pair(inside="<axis xyz='0 1 0'/><limit lower='-0.5' upper='1' effort='1' velocity='1'/>"))
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


def test_a_drive_that_nothing_stops_acts_in_an_impact() -> None:
    """Without h only a drive without largest force has a row: it takes the joint to its speed at once."""
    drives = [VelocityDrive("cart", target=0.5), VelocityDrive("cart", target=2.0, max_force=10.0, name="weak")]
    problem = problem_data_from(slider(), [0.0], [0.1], drives=drives)
    assert problem.rows.velocity.labels == ("drive of cart",)
    impact = SOLVER.solve_impact_problem(problem.velocity)
    assert impact.v_plus == pytest.approx([0.5])
    assert problem.row_force("drive of cart", impact) == pytest.approx(2.0 * 0.4)


def test_limits_of_an_impact_are_the_closed_ones() -> None:
    """Without h a joint that strikes its stop is stopped, or thrown back."""
    model = slider()
    limits = [JointLimit("cart", -5.0, 0.3, restitution=0.4)]
    problem = problem_data_from(model, [0.3], [2.0], limits=limits)
    assert problem.velocity.nl == 1
    impact = SOLVER.solve_impact_problem(problem.velocity)
    assert impact.v_plus == pytest.approx([-0.8])
    assert problem.row_force("upper limit of cart", impact) == pytest.approx(2.0 * 2.8)


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
    model = Model.from_urdf(pair(kind="continuous", inside="<axis xyz='0 1 0'/><dynamics friction='0.7' damping='0'/>"))
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


def test_a_velocity_drive_off_its_speed_gives_all_its_force() -> None:
    """Towards its speed at both levels; one without largest force gets there in one step and has no acceleration."""
    problem = pushed(0.0, drives=[VelocityDrive("cart", target=0.5, max_force=4.0)])
    accel, step = both(problem)
    assert accel.acceleration[0] == pytest.approx(2.0)
    assert step.v_plus[0] / H == pytest.approx(2.0)
    strong = pushed(0.0, drives=[VelocityDrive("cart", target=0.5, name="winch")])
    assert SOLVER.solve_discretized_problem(strong.velocity, H).v_plus == pytest.approx([0.5])
    with pytest.raises(BridgeError, match="'winch' has no largest force") as error:
        strong.acceleration  # noqa: B018
    assert error.value.field == "drives"


def test_a_stiff_position_drive_is_stable_at_any_step() -> None:
    """Gains that an explicit spring would not survive lead to the target in a few large steps."""
    model, h = slider(), 0.1
    q, v = np.array([0.3]), np.zeros(1)
    for _ in range(60):
        problem = problem_data_from(model, q, v, h=h, drives=[PositionDrive("cart", 0.1, 1e6, 1e3)])
        v = SOLVER.solve_discretized_problem(problem.velocity, h).v_plus
        q = q + h * v
    np.testing.assert_allclose([q[0], v[0]], [0.1, 0.0], atol=1e-9)


def test_drive_and_friction_act_on_one_joint_together() -> None:
    """A motor of 4 N against friction of 3 N accelerates with the difference."""
    problem = pushed(0.0, friction={"cart": 3.0}, drives=[VelocityDrive("cart", target=1.0, max_force=4.0)])
    step = SOLVER.solve_discretized_problem(problem.velocity, H)
    assert step.v_plus[0] / H == pytest.approx(0.5)
    assert [row.label for row in problem.rows.velocity.B] == ["dry friction of cart", "drive of cart"]


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
    model = Model.from_urdf(text)
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
    """A kind of rows that is soft leaves no restitution to its members: the damper says what is lost."""
    limit = JointLimit("cart", upper=0.3, restitution=0.5)
    how = {"limits": Stabilisation(stiffness=1e4, dissipation=20.0)}
    soft = pushed(0.0, q=[0.2999], v=[1.0], limits=[limit], stabilisation=how)
    assert soft.velocity.kL == pytest.approx([1e-4 / H])
    sunk = pushed(0.0, q=[0.301], v=[1.0], limits=[limit], stabilisation=how)
    step = SOLVER.solve_discretized_problem(sunk.velocity, H)
    after = step.v_plus[0]
    assert step.forces.fL == pytest.approx([1e4 * (0.001 + H * after) + 20.0 * after])
    assert soft.velocity.gammaL == pytest.approx([1.0 / (1e4 * H + 20.0)])


def test_two_drives_of_one_joint_have_two_labels() -> None:
    """Forces are found by label, so labels differ: numbers behind those that nobody named, and an error for names."""
    pair_of = [VelocityDrive("cart", max_force=3.0), VelocityDrive("cart", max_force=4.0)]
    problem = pushed(9.0, drives=pair_of)
    assert problem.rows.velocity.labels == ("drive of cart", "drive of cart (2)")
    accel, step = both(problem)
    assert problem.row_force("drive of cart (2)", step) == pytest.approx(-4.0)
    problem = problem.with_released_joints(accel)
    accel = SOLVER.solve_constraint_problem(problem.acceleration)
    assert accel.acceleration[0] == pytest.approx(1.0)
    with pytest.raises(BridgeError, match="another drive") as error:
        pushed(0.0, drives=[VelocityDrive("cart", name="a"), PositionDrive("cart", 0.0, 1.0, name="a")])
    assert error.value.field == "drives[1].name"
