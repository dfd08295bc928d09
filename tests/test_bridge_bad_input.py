"""What the bridge refuses, and which field it names."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from contactlab import ConstraintSolver
from contactlab.formulation import (
    BridgeError,
    ContactPoint,
    JointLimit,
    PositionDrive,
    Stabilisation,
    Thresholds,
    VelocityDrive,
    problem_data_from,
)
from contactlab.multibody import Model, ModelBuilder, MultibodyError, RigidInertia, joints, kinematics
from problem_data import ConstraintForces

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
    """Wrong shapes and entries that are not finite in q, v, tau and f_ext are those of the multibody functions."""
    with pytest.raises(MultibodyError) as error:
        problem_data_from(MODEL, *arguments, **options)
    assert error.value.field == field


def test_kinematics_may_stand_for_the_state() -> None:
    """A `Kinematics` with velocities gives the same problem as q and v."""
    q, v = STATE[0], np.array([0.3, -0.2])
    contact = [ContactPoint("lower", (0.1, 0, 0), UP, frame="body", mu=0.5)]
    one = problem_data_from(MODEL, q, v, contacts=contact, h=1e-3).velocity.blocks()
    for given in ((kinematics(MODEL, q, v), None), (kinematics(MODEL, q), v)):
        other = problem_data_from(MODEL, *given, contacts=contact, h=1e-3).velocity.blocks()
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_problem_owns_its_arguments() -> None:
    """Arrays changed afterwards change nothing, although each level is stated only when it is asked for."""
    q, v, tau = np.array([0.1, 0.2]), np.zeros(2), np.ones(2)
    problem = problem_data_from(MODEL, q, v, tau, h=1e-3)
    expected = problem_data_from(MODEL, q.copy(), v.copy(), tau.copy(), h=1e-3).velocity.Mv
    q += 1.0
    tau += 1.0
    np.testing.assert_array_equal(problem.velocity.Mv, expected)
    assert problem.velocity is problem.velocity


def test_readings_refuse_forces_that_are_not_theirs() -> None:
    """Bare forces need their level, forces of another problem and unknown labels or bodies are named."""
    contact = [ContactPoint("lower", (0.1, 0, 0), UP, frame="body", mu=0.5, name="tip")]
    problem = problem_data_from(MODEL, *STATE, contacts=contact, h=1e-3)
    other = problem_data_from(MODEL, *STATE, h=1e-3)
    step = ConstraintSolver().solve_discretized_problem(problem.velocity, 1e-3)
    assert problem.contact_forces(step.forces, level="velocity")[0].name == "tip"
    for field, call in (
        ("level", lambda: problem.contact_forces(step.forces)),
        ("level", lambda: problem.contact_forces(step.forces, level="position")),
        ("solution", lambda: other.contact_forces(step)),
        ("solution", lambda: problem.contact_forces(ConstraintForces([1.0]), level="velocity")),
        ("label", lambda: problem.row_force("tip: norma", step)),
        ("body", lambda: problem.contact_forces(step)[0].force_on("upper")),
        ("about", lambda: problem.forces_on("lower", step, about=(0, 0))),
    ):
        with pytest.raises(BridgeError) as error:
            call()
        assert error.value.field == field
    with pytest.raises(BridgeError, match="close: 'tip: normal'"):
        problem.row_force("tip: norma", step)
    with pytest.raises(MultibodyError, match="no body"):
        problem.forces_on("elbow", step)
