"""Problem data of both levels from one model at one instant, and the effect of forces on bodies.

Forces of a solution are converted to contact forces in the world and to loads on bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraint_solver.model_problem.branches import Delassus, delassus
from contactlab.constraint_solver.model_problem.inputs import LevelData, ProblemInputs, Row, RowTable
from contactlab.constraint_solver.model_problem.levels import SPINNING, acceleration_level, velocity_level
from contactlab.constraint_solver.model_problem.options import BridgeError
from contactlab.constraint_solver.solution import AccelerationSolution, Solution
from contactlab.multibody.constraints import BodyWrench, group_wrenches
from contactlab.multibody.points import body_pose
from contactlab.multibody.spatial.arrays import FloatArray, finite_array
from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData


@dataclass(frozen=True, eq=False)
class ContactLoad:
    """Load of a contact, in newtons, or in newton seconds for an impact problem.

    Attributes
    ----------
    name, body_a, body_b
        Name of the contact, and names of its bodies.
    point
        (3,) [m] contact point of B, world axes, as for the vectors below.
    normal
        (3,) unit normal from A into B.
    normal_force
        Force along the normal, >= 0.
    friction
        (3,) friction on B.
    moment
        (3,) moment on B [N m] of torsional and rolling friction.
    slides
        Whether the contact slides, by the velocity at the instant.
    """

    name: str
    body_a: str
    body_b: str
    point: FloatArray
    normal: FloatArray
    normal_force: float
    friction: FloatArray
    moment: FloatArray
    slides: bool

    @property
    def force(self) -> FloatArray:
        """Force (3,) on B: normal force and friction."""
        return self.normal_force * self.normal + self.friction

    def force_on(self, body: str) -> FloatArray:
        """Return the force (3,) on one of the two bodies."""
        if body == self.body_b:
            return self.force
        if body == self.body_a:
            return -self.force
        raise BridgeError(
            "body", f"{body!r} is not part of {self.name!r}, which is between {self.body_a!r} and {self.body_b!r}"
        )


class BodyLoad(NamedTuple):
    """Load on a body by contacts and loops: a moment about `point`, and a force; world axes."""

    moment: FloatArray
    force: FloatArray
    point: FloatArray


def row_force(level: LevelData[Any], forces: ConstraintForces, row: Row) -> float:
    """Return the force along a row; for a sliding row, the friction of the normal force of its contact."""
    if row.operator == "Q":
        contact = int(level.data.sliding_contacts[row.index])
        return -float(level.data.mu_sliding[row.index] * forces.fN[contact])
    return float(getattr(forces, f"f{row.operator}")[row.index])


LevelName = Literal["acceleration", "velocity"]


@dataclass(frozen=True, eq=False)
class ProblemRows:
    """Rows of both levels, which can differ.

    Attributes
    ----------
    acceleration, velocity
        `RowTable` of each.
    """

    _problem: ModelProblem = field(repr=False)

    @property
    def acceleration(self) -> RowTable:
        """Rows of ``problem.acceleration``."""
        return self._problem._accelerations.rows

    @property
    def velocity(self) -> RowTable:
        """Rows of ``problem.velocity``."""
        return self._problem._velocities.rows


@dataclass(frozen=True, eq=False, repr=False)
class ModelProblem(ProblemInputs):
    """A contact problem of a model at one instant; from `problem_data_from`, whose checked arguments are its fields.

    Each level is stated when it is first accessed, from copies of the arguments. Solve a level with
    `contactlab.ConstraintSolver`, and pass the solution to `contact_forces`, `forces_on` or `row_force`.

    Examples
    --------
    >>> problem = problem_data_from(model, q, v, tau, contacts=[ContactPoint("foot", x, (0, 0, 1), mu=0.8)], h=1e-3)
    >>> solution = ConstraintSolver().solve_discretized_problem(problem.velocity, problem.h)
    >>> problem.contact_forces(solution)[0].force
    >>> problem.row_force("lower limit of knee", solution)
    """

    @cached_property
    def _accelerations(self) -> LevelData[ConstraintAccelProblemData]:
        return acceleration_level(self)

    @cached_property
    def _velocities(self) -> LevelData[ConstraintVelProblemData]:
        return velocity_level(self)

    @property
    def acceleration(self) -> ConstraintAccelProblemData:
        """Data for ``solve_constraint_problem``.

        It raises if a drive requires an infinite acceleration, or if a contact has torsional or rolling friction, which
        this level does not support.
        """
        if self.loads.any() and any(c.torsional or c.rolling for c in self.contacts):
            raise BridgeError(
                "contacts", "torsional and rolling friction are known at velocity level, over a step, only"
            )
        return self._accelerations.data

    @property
    def velocity(self) -> ConstraintVelProblemData:
        """Data for ``solve_discretized_problem`` with `h`, or, without h, for ``solve_impact_problem``."""
        return self._velocities.data

    @property
    def rows(self) -> ProblemRows:
        """Meaning of every row: ``problem.rows.velocity.N[0].label``, ``problem.rows.acceleration["..."]``."""
        return ProblemRows(self)

    @property
    def sliding(self) -> tuple[str, ...]:
        """Names of the contacts that slide, by their tangential speed."""
        return tuple(self.geometry.names[i] for i in np.flatnonzero(self.slides))

    @property
    def impacts(self) -> tuple[str, ...]:
        """Closed contacts and limits that approach faster than the threshold ``rest``, which have an impact first."""
        g, v, at = self.geometry, self.kin._v, self.thresholds
        struck = np.flatnonzero((g.gap <= at.closed) & (g.approach < -at.rest))
        stops = [s.label for s in self.limit_rows if s.gap <= at.closed and s.sign * v[s.coordinate.v] < -at.rest]
        return (*(g.names[i] for i in struck), *stops)

    def contact_forces(
        self, solution: Solution | ConstraintForces, *, level: LevelName | None = None
    ) -> tuple[ContactLoad, ...]:
        """Return the load of every contact, in the given order; forces in N, or impulses in N s of an impact problem.

        Parameters
        ----------
        solution
            A solution of one of this problem's levels, or forces without a level.
        level
            Level of forces that are given without one.
        """
        stated, forces = self._read(solution, level)
        normal_force, friction, moment = (np.zeros((len(self.contacts), *size)) for size in ((), (3,), (3,)))
        normal_force[stated.contacts] = forces.fN
        place = {name: i for i, name in enumerate(self.geometry.names)}
        for row in (*stated.rows.F, *stated.rows.Q, *stated.rows.B):
            if row.direction is not None:
                along = moment if row.kind in SPINNING else friction
                along[place[row.source]] += row_force(stated, forces, row) * row.direction
        return tuple(
            ContactLoad(
                name=self.geometry.names[i],
                body_a=contact.body_a,
                body_b=contact.body_b,
                point=self.geometry.x_b[i].copy(),
                normal=contact.normal,
                normal_force=float(normal_force[i]),
                friction=friction[i],
                moment=moment[i],
                slides=bool(self.slides[i]),
            )
            for i, contact in enumerate(self.contacts)
        )

    def forces_on(
        self,
        body: str,
        solution: Solution | ConstraintForces,
        *,
        about: ArrayLike | None = None,
        level: LevelName | None = None,
    ) -> BodyLoad:
        """Return the load on a body by contacts and loops, in world axes: the moment about a point, and the force.

        Limits, mimic relations, friction and drives act between the two sides of a joint and are not included.

        Parameters
        ----------
        body
            Name of the body; "world" for the load on the world.
        solution, level
            As for `contact_forces`.
        about
            (3,) [m] in the world; by default the body's origin.
        """
        self.model.index_or_world(body)
        origin = body_pose(self.model, self.kin, body).p.copy() if about is None else about
        point = finite_array(origin, "about", (3,), BridgeError)
        moment, force, g = np.zeros(3), np.zeros(3), self.geometry
        for i, contact in enumerate(self.contact_forces(solution, level=level)):
            if body in (contact.body_a, contact.body_b):
                push = contact.force_on(body)
                at, turning = (g.x_b[i], contact.moment) if body == contact.body_b else (g.x_a[i], -contact.moment)
                moment, force = moment + turning + np.cross(at - point, push), force + push
        for wrench in self._loop_wrenches(*self._read(solution, level)):
            if wrench.body == body:
                push = wrench.wrench[3:]
                moment, force = moment + wrench.wrench[:3] + np.cross(wrench.frame.p - point, push), force + push
        return BodyLoad(moment, force, point)

    def _loop_wrenches(self, level: LevelData[Any], forces: ConstraintForces) -> list[BodyWrench]:
        """Return moments and forces of all loops, in world axes; compliant loops have boxed rows."""
        loops = self.constraint_set
        values = [row_force(level, forces, row) for row in (*level.rows.G, *level.rows.B) if row.kind == "loop"]
        if loops is None or not values:
            return []
        of_groups = (
            group_wrenches(self.model, self.kin, loops, values, group.name, frame="world", t=self.t)
            for group in loops.groups
        )
        return [wrench for wrenches in of_groups for wrench in wrenches]

    def row_force(self, label: str, solution: Solution | ConstraintForces, *, level: LevelName | None = None) -> float:
        """Return the force along the row with a label; 0 for a row that exists only at the other level."""
        stated, forces = self._read(solution, level)
        if label not in stated.rows.labels:
            other = self._velocities if stated is self._level("acceleration") else self._level("acceleration")
            if label in other.rows.labels:
                return 0.0
        return row_force(stated, forces, stated.rows[label])

    def overloaded_joints(self, solution: Solution | ConstraintForces) -> dict[str, float]:
        """Return the forces [N m or N] outside their bounds of joints that stick at acceleration level, by label.

        If there are any, the solution is not valid: see `with_released_joints`.
        """
        stated, forces = self._read(solution, "acceleration" if isinstance(solution, ConstraintForces) else None)
        beyond = {}
        for row in stated.rows.G:
            force = float(forces.fG[row.index]) if stated is self._level("acceleration") else 0.0
            if row.bounds is not None and not row.bounds[0] <= force <= row.bounds[1]:
                beyond[row.label] = force
        return beyond

    def with_released_joints(self, solution: Solution | ConstraintForces) -> ModelProblem:
        """Return a copy in which `overloaded_joints` slip at acceleration level with their maximum force.

        Solve, and repeat until `overloaded_joints` is empty; the velocity level needs no such iteration.
        """
        bounds = {row.label: row.bounds for row in self.rows.acceleration.G}
        given = dict(self.given)
        for label, force in self.overloaded_joints(solution).items():
            lo, hi = bounds[label] or (force, force)
            given[label] = min(max(force, lo), hi)
        return replace(self, given=MappingProxyType(given))

    def delassus(self, operator: Literal["N", "F", "L", "G", "B"], *, level: LevelName = "velocity") -> Delassus:
        """Return W = J M^-1 J^T for one operator's rows, applied or built through the tree: see `delassus`."""
        return delassus(self.model, self.factor, getattr(self._level(level).data, operator))

    def _level(self, name: LevelName) -> LevelData[Any]:
        """Return the data of a level by its name; raise `BridgeError` for another name."""
        if name == "acceleration":
            return self._accelerations
        if name == "velocity":
            return self._velocities
        raise BridgeError("level", f"must be 'acceleration' or 'velocity', got {name!r}")

    def _read(
        self, solution: Solution | ConstraintForces, level: LevelName | None
    ) -> tuple[LevelData[Any], ConstraintForces]:
        """Return the level of a solution, and its forces, checked for their lengths."""
        if isinstance(solution, Solution):
            name: LevelName = "acceleration" if isinstance(solution, AccelerationSolution) else "velocity"
            forces = solution.forces
        elif level is None:
            raise BridgeError("level", "is needed for forces without a level: 'acceleration' or 'velocity'")
        else:
            name, forces = level, solution
        stated = self._level(name)
        counts = tuple(len(getattr(stated.rows, operator)) for operator in "NFLGB")
        lengths = tuple(part.size for part in (forces.fN, forces.fF, forces.fL, forces.fG, forces.fB))
        if counts != lengths:
            raise BridgeError(
                "solution", f"fN, fF, fL, fG, fB of lengths {lengths}, wanted {counts}: of another problem?"
            )
        return stated, forces

    def __repr__(self) -> str:
        kind = "impact" if self.h is None else f"h={self.h:g}"
        return f"ModelProblem(nv={self.model.nv}, contacts={len(self.contacts)} ({len(self.sliding)} sliding), {kind})"
