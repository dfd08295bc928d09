"""The joint methods of the world builder; joints are named by their own names or by the bodies they move."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraint_solver.model_problem.drives import DRIVE_NAMES, Drive
from contactlab.constraint_solver.model_problem.options import JointLimit
from contactlab.multibody import BodySpec, Model, ModelBuilder, UrdfModel, apply_mimic
from contactlab.multibody.bodies import WORLD, positions
from contactlab.multibody.constraints import ConstraintError, ConstraintSet
from contactlab.multibody.spatial.arrays import FloatArray, close_names, finite_array, finite_number
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.joint_actions import Coefficient, JointActions, Loop, MimicJoint, PointSpring

#: "model" for the limits of the model's description, None for none, or `JointLimit` values.
Limits = Literal["model"] | Iterable[JointLimit] | None
#: "model" for the values of the model's description, None for none, or a number by joint.
Coefficients = Literal["model"] | Mapping[str, float] | None

# Maximum deviation of a mimic joint at the start [rad or m].
FOLLOWS = 1e-9


class JointBuilder:
    """Collects joint actions; `WorldBuilder` is one."""

    def __init__(self, gravity: ArrayLike) -> None:
        self._gravity = finite_array(gravity, "gravity", (3,), SimulationConfigError)
        self._bodies: dict[str, tuple[BodySpec, FloatArray, FloatArray]] = {}
        self._efforts: dict[str, FloatArray] = {}  # by body: effort limits of a description for drives of its joint
        self._joints: dict[str, str] = {}  # names of joints, if a model has them, and the bodies they move
        self._actions = JointActions()

    def add_joint_limit(self, limit: JointLimit) -> None:
        """Add a range of a joint's coordinate, whose ends are stops.

        A rigid limit uses the stepper's ``erp`` and ``cfm``; see `JointLimit` for other options.
        """
        check_type("limit", limit, JointLimit)
        body, _ = self._with_position("limit", limit.joint, limit.coordinate)
        self._add_actions(limits=dataclasses.replace(limit, joint=body))

    def add_joint_damping(self, joint: str, damping: float, *, coordinate: int | None = None) -> None:
        """Add viscous damping [N m s/rad or N s/m] of one coordinate of a joint, or of all.

        The force -damping v is taken at the end of the step: it dissipates energy for any step and any coefficient.
        """
        self._add_actions(damping=self._coefficients("damping", joint, damping, coordinate))

    def add_joint_friction(self, joint: str, friction: float, *, coordinate: int | None = None) -> None:
        """Add dry friction of one coordinate of a joint, or of all: up to ``friction`` [N m or N] against motion.

        Sticking is decided together with all contacts, so a joint at rest under a smaller force stays at rest.
        """
        self._add_actions(friction=self._coefficients("friction", joint, friction, coordinate))

    def add_drive(self, drive: Drive) -> None:
        """Add a motor: a drive of `contactlab.constraint_solver`, such as a `VelocityDrive` or a `PositionDrive`.

        Its force is taken at the end of the step, so that it is stable for any gains and any step. The same law in a
        ``tau`` function, evaluated at the start of the step, needs gains below 4 m / h^2 and 2 m / h. The target can
        change during a run: see ``targets`` of `simulate`. On a joint of `add_model` or `add_urdf` with
        ``effort_limits``, a drive without a ``max_force`` has the effort limit of the description.
        """
        if not isinstance(drive, Drive):
            raise SimulationConfigError("drive", f"must be a {DRIVE_NAMES}, got {type(drive).__name__}")
        where = self._with_position if drive.needs_position else self._coordinate
        body, coordinate = where("drive", drive.joint, drive.coordinate)
        if body in self._efforts and math.isinf(drive.max_force):
            drive = dataclasses.replace(drive, max_force=float(self._efforts[body][coordinate]))
        name = drive.name
        if name is None:
            several = self._bodies[body][0].joint.nv > 1
            stem = f"drive of {drive.joint}{f'[{drive.coordinate}]' if several else ''}"
            name, number = stem, 1
            while self._actions.drive_number(name) >= 0:
                number += 1
                name = f"{stem} ({number})"
        elif self._actions.drive_number(name) >= 0:
            raise SimulationConfigError("drive", f"{name!r} is the name of another drive too")
        self._add_actions(drives=dataclasses.replace(drive, joint=body, name=name))

    def add_loop(self, loop: Any, *, erp: float | None = None, bodies: Iterable[str] | None = None) -> None:
        """Add an equation between bodies: a loop, distance, contact or custom constraint (`multibody.constraints`).

        Parameters
        ----------
        loop
            One constraint, or several; bodies by their names in the world. Redundant rows are allowed.
        erp
            Fraction of the position error that a step corrects, 0 to 1; None for the stepper's. With 0 the loop opens
            by a distance of order h over time. Baumgarte terms act on accelerations, which a step does not have: they
            raise an error.
        bodies
            Bodies of a custom constraint; their trees are solved together. By default they are found from its Jacobian
            at the start and at a few states near it: the trees in whose columns it is not 0 at one of them. If a row
            later acts on another tree, the run stops with an error that names the body. Such constraints need
            ``bodies``.
        """
        share = None if erp is None else finite_number(erp, "erp", SimulationConfigError, least=0.0, most=1.0)
        about = None if bodies is None else tuple(bodies)
        for name in about or ():
            self._need_body(name, "bodies")
        checked = tuple(Loop(one, share, about) for one in (loop if isinstance(loop, list | tuple) else [loop]))
        for one in checked:
            for name in one.joined or ():
                if name != WORLD:
                    self._need_body(name, "loop")
            if getattr(one.constraint, "baumgarte", None) is not None:
                detail = "has a Baumgarte term, which acts on accelerations; give erp instead"
                raise SimulationConfigError("loop", detail)
        model = model_of((spec for spec, *_ in self._bodies.values()), self._gravity)
        try:
            ConstraintSet(model, [one.constraint for one in (*self._actions.loops, *checked)])
        except ConstraintError as error:
            raise SimulationConfigError("loop", str(error)) from error
        self._add_actions(loops=checked)

    def add_spring(
        self,
        name: str,
        body_a: str,
        point_a: ArrayLike,
        body_b: str,
        point_b: ArrayLike,
        rest_length: float,
        stiffness: float,
        damping: float = 0.0,
    ) -> None:
        """Add a spring and damper between a point of one body and a point of another (see `PointSpring`).

        Parameters
        ----------
        name
            Name in tables and in the ledger's drives, different from other springs.
        body_a, body_b
            Names of bodies; "world" for a fixed point.
        point_a, point_b
            (3,) [m] in body coordinates.
        rest_length
            [m].
        stiffness, damping
            [N/m] and [N s/m].
        """
        taken = [one.constraint.name for one in self._actions.loops if isinstance(one.constraint, PointSpring)]
        if name in taken:
            raise SimulationConfigError("name", f"{name!r} is the name of another spring too")
        a, b = (np.asarray(point, dtype=np.float64) for point in (point_a, point_b))
        self.add_loop(PointSpring(body_a, a, body_b, b, rest_length, stiffness, damping, name))

    def add_actions(self, actions: JointActions) -> None:
        """Add all joint actions of another world, whose bodies this one must have."""
        for limit in actions.limits:
            self.add_joint_limit(limit)
        for one in actions.damping:
            self.add_joint_damping(one.body, one.value, coordinate=one.coordinate)
        for one in actions.friction:
            self.add_joint_friction(one.body, one.value, coordinate=one.coordinate)
        for drive in actions.drives:
            self.add_drive(drive)
        for follower in actions.mimics:
            for body in (follower.body, follower.followed):
                self._with_position("follower", body, 0)
            self._add_actions(mimics=follower)
        for loop in actions.loops:
            self.add_loop(loop.constraint, erp=loop.erp, bodies=loop.bodies)

    def _add_actions(self, **more: Any) -> None:
        changed = {
            field: (*getattr(self._actions, field), *(value if isinstance(value, tuple) else (value,)))
            for field, value in more.items()
        }
        self._actions = dataclasses.replace(self._actions, **changed)

    def _need_body(self, body: str, field: str) -> None:
        if body not in self._bodies:
            raise SimulationConfigError(field, f"no body is called {body!r}{close_names(body, self._bodies)}")

    def _coordinate(self, field: str, joint: str, coordinate: int) -> tuple[str, int]:
        """Return the body that a joint moves, and the coordinate, which it must have."""
        body = self._joints.get(joint, joint)
        if body not in self._bodies:
            # A fixed joint, on which no action is possible.
            body = next((name for name, (spec, *_) in self._bodies.items() if spec.joint_name == joint), joint)
        if body not in self._bodies:
            known = [*self._joints, *self._bodies]
            so_far = "" if known else ": add the model or the bodies first"
            raise SimulationConfigError(field, f"no joint is called {joint!r}{close_names(joint, known)}{so_far}")
        nv = self._bodies[body][0].joint.nv
        if coordinate not in range(nv):
            has = f"has coordinates 0 to {nv - 1}, got {coordinate!r}" if nv else "is fixed: it does not move"
            raise SimulationConfigError(field, f"joint {joint!r} {has}")
        return body, int(coordinate)

    def _with_position(self, field: str, joint: str, coordinate: int) -> tuple[str, int]:
        """Return body and number of a joint's coordinate; raise if it has no position, as in a quaternion."""
        body, number = self._coordinate(field, joint, coordinate)
        if positions(self._bodies[body][0].joint)[number] is None:
            detail = f"coordinate {number} of {joint!r} turns an orientation: it has no position of its own"
            raise SimulationConfigError(field, detail)
        return body, number

    def _coefficients(self, field: str, joint: str, value: float, coordinate: int | None) -> tuple[Coefficient, ...]:
        """Return a coefficient for one coordinate of a joint, or for all if ``coordinate`` is None."""
        number = finite_number(value, field, SimulationConfigError, least=0.0)
        body, first = self._coordinate(field, joint, 0 if coordinate is None else coordinate)
        each = range(self._bodies[body][0].joint.nv) if coordinate is None else (first,)
        return tuple(Coefficient(body, one, number) for one in each)

    def _start(self, model: Model, q: ArrayLike | None, mimics: bool) -> ArrayLike | None:
        """Return the start of a model, with mimic joints in agreement; raise if one deviates."""
        if not (mimics and isinstance(model, UrdfModel) and model.mimics):
            return q
        wanted = apply_mimic(model, model.neutral if q is None else q)
        if q is not None:
            off = np.abs(np.asarray(q, dtype=np.float64) - wanted)
            if off.max() > FOLLOWS:
                at = int(np.argmax(off))
                name = next(joint.name for joint in model.joints if joint.q.start <= at < joint.q.stop)
                detail = (
                    f"joint {name!r} deviates by {off[at]:.3g} from the joint it follows; "
                    "use contactlab.multibody.apply_mimic"
                )
                raise SimulationConfigError("q", detail)
        return wanted

    def _take_joints(
        self,
        model: Model,
        prefix: str,
        limits: Limits,
        damping: Coefficients,
        friction: Coefficients,
        mimics: bool,
        effort_limits: bool,
    ) -> None:
        """Add joint limits, damping, friction and mimics from the description, or the given values instead.

        None adds none. Names of joints that differ from their bodies' names are stored, and with ``effort_limits`` the
        efforts, which bound later drives.
        """
        joints = model.joints if isinstance(model, UrdfModel) else ()
        moving = [joint for joint in joints if joint.v.stop > joint.v.start]
        for body in model.bodies:
            if body.joint.nv and body.joint_name != body.name:
                self._joints[prefix + body.joint_name] = prefix + body.name
        if limits == "model":
            for body in model.bodies:
                for k, lower, upper in body.limits.ranges():
                    self.add_joint_limit(JointLimit(prefix + body.joint_name, lower, upper, coordinate=k))
        elif limits is not None:
            for limit in _listed("limits", limits):
                self.add_joint_limit(dataclasses.replace(limit, joint=prefix + limit.joint))
        for field, given, add in (
            ("damping", damping, self.add_joint_damping),
            ("friction", friction, self.add_joint_friction),
        ):
            if given == "model":
                values = {joint.name: getattr(joint, field) for joint in moving if getattr(joint, field) > 0.0}
            elif given is None:
                values = {}
            elif isinstance(given, Mapping):
                values = dict(given)
            else:
                raise SimulationConfigError(field, f"must be 'model', None or a mapping from joints, got {given!r}")
            for name, value in values.items():
                add(prefix + name, value)
        if mimics and isinstance(model, UrdfModel):
            for name, mimic in model.mimics.items():
                # A joint whose name is also its body's name is found by the body.
                follower, leader = (self._joints.get(prefix + joint, prefix + joint) for joint in (name, mimic.joint))
                self._add_actions(mimics=MimicJoint(follower, leader, mimic.multiplier, mimic.offset))
        if effort_limits:
            self._efforts |= {prefix + body.name: np.asarray(body.limits.effort) for body in model.bodies}


def _listed(field: str, values: Any) -> tuple[JointLimit, ...]:
    """Return joint limits as a tuple, with their types checked."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SimulationConfigError(field, f"must be 'model', None or JointLimits, got {values!r}")
    listed = tuple(values)
    for i, one in enumerate(listed):
        check_type(f"{field}[{i}]", one, JointLimit)
    return listed


def model_of(specs: Iterable[BodySpec], gravity: ArrayLike) -> Model:
    """Return the model of bodies, in this order."""
    builder = ModelBuilder(gravity)
    for body in specs:
        builder.add_spec(body)
    return builder.build()
