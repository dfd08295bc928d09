"""Problem data of both levels from one model at one instant, and the way back from forces to what they act on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.formulation.bridge.acceleration_level import acceleration_level
from contactlab.formulation.bridge.delassus_operator import Delassus, delassus
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.formulation.bridge.inputs import Inputs, Level
from contactlab.formulation.bridge.readings import BodyLoad, ContactLoad, contact_forces, load_on, row_force
from contactlab.formulation.bridge.rows import RowTable
from contactlab.formulation.bridge.velocity_level import velocity_level
from contactlab.formulation.solution import AccelerationSolution, Solution
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import finite_array
from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData

LevelName = Literal["acceleration", "velocity"]


@dataclass(frozen=True, eq=False)
class ProblemRows:
    """The rows of both levels, which need not be the same ones.

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
class ModelProblem:
    """A contact problem of a model at one instant; from `problem_data_from`.

    Each level is stated when it is first asked for, from copies of the arguments: two levels, one instant. Solve them
    with `contactlab.ConstraintSolver`; hand the solution back to `contact_forces`, `forces_on` or `force_of`.

    Examples
    --------
    >>> problem = problem_data_from(model, q, v, tau, contacts=[ContactPoint("foot", x, (0, 0, 1), mu=0.8)], h=1e-3)
    >>> solution = ConstraintSolver().solve_discretized_problem(problem.velocity, problem.h)
    >>> problem.contact_forces(solution)[0].force
    >>> problem.force_of("lower limit of knee", solution)
    """

    _inputs: Inputs

    @cached_property
    def _accelerations(self) -> Level[ConstraintAccelProblemData]:
        return acceleration_level(self._inputs)

    @cached_property
    def _velocities(self) -> Level[ConstraintVelProblemData]:
        return velocity_level(self._inputs)

    @property
    def model(self) -> Model:
        """The model."""
        return self._inputs.model

    @property
    def h(self) -> float | None:
        """Step [s] of the velocity level; None for an impact."""
        return self._inputs.h

    @property
    def acceleration(self) -> ConstraintAccelProblemData:
        """For ``solve_constraint_problem``. Raises where no finite acceleration does what a drive asks for.

        Nor does this level know torsional and rolling friction: it raises where a contact has such.
        """
        if self._inputs.loads.any() and any(c.torsional or c.rolling for c in self._inputs.contacts):
            raise BridgeError(
                "contacts", "torsional and rolling friction are known at velocity level, over a step, only"
            )
        return self._accelerations.data

    @property
    def velocity(self) -> ConstraintVelProblemData:
        """For ``solve_discretized_problem`` with `h`, or, without h, for ``solve_impact_problem``."""
        return self._velocities.data

    @property
    def rows(self) -> ProblemRows:
        """Meaning of every row: ``problem.rows.velocity.N[0].label``, ``problem.rows.acceleration["..."]``."""
        return ProblemRows(self)

    @property
    def sliding(self) -> tuple[str, ...]:
        """Names of the contacts that slide, by their tangential speed."""
        return tuple(self._inputs.geometry.names[i] for i in np.flatnonzero(self._inputs.slides))

    @property
    def impacts(self) -> tuple[str, ...]:
        """Closed contacts and limits that approach faster than the threshold ``rest``: an impact comes first."""
        p, at = self._inputs, self._inputs.thresholds
        g, v = p.geometry, self._inputs.kin._v
        struck = np.flatnonzero((g.gap <= at.closed) & (g.approach < -at.rest))
        stops = [s.label for s in p.stops if s.gap <= at.closed and s.sign * v[s.coordinate.v] < -at.rest]
        return (*(g.names[i] for i in struck), *stops)

    def contact_forces(
        self, solution: Solution | ConstraintForces, *, level: LevelName | None = None
    ) -> tuple[ContactLoad, ...]:
        """Load of every contact, in the order given; forces in N, from an impact problem impulses in N s.

        Parameters
        ----------
        solution
            Of one of this problem's levels, or bare forces, which do not know theirs.
        level
            Level of bare forces.
        """
        stated, forces = self._read(solution, level)
        return contact_forces(self._inputs, stated, forces)

    def forces_on(
        self,
        body: str,
        solution: Solution | ConstraintForces,
        *,
        about: ArrayLike | None = None,
        level: LevelName | None = None,
    ) -> BodyLoad:
        """Load on a body by contacts and loops, in world axes: the moment about a point, and the force.

        Limits, mimic relations, friction and drives act between a joint's two sides and are not part of it.

        Parameters
        ----------
        body
            Its name; "world" for what the world bears.
        solution, level
            As for `contact_forces`.
        about
            (3,) [m] in the world; the body's origin if not given.
        """
        stated, forces = self._read(solution, level)
        point = None if about is None else finite_array(about, "about", (3,), BridgeError)
        return load_on(self._inputs, stated, forces, body, point)

    def force_of(self, label: str, solution: Solution | ConstraintForces, *, level: LevelName | None = None) -> float:
        """Force along the row of a label; 0 for a row that only the other level has."""
        stated, forces = self._read(solution, level)
        if label not in stated.rows.labels:
            other = self._velocities if stated is self._level("acceleration") else self._level("acceleration")
            if label in other.rows.labels:
                return 0.0
        return row_force(stated, forces, stated.rows[label])

    def beyond_bounds(self, solution: Solution | ConstraintForces) -> dict[str, float]:
        """Joints held at acceleration level with more force than their friction or drive has, by label [N m or N].

        Where there are any, the solution is not one: see `giving_way`.
        """
        stated, forces = self._read(solution, "acceleration" if isinstance(solution, ConstraintForces) else None)
        beyond = {}
        for row in stated.rows.G:
            force = float(forces.fG[row.index]) if stated is self._level("acceleration") else 0.0
            if row.bounds is not None and not row.bounds[0] <= force <= row.bounds[1]:
                beyond[row.label] = force
        return beyond

    def giving_way(self, solution: Solution | ConstraintForces) -> ModelProblem:
        """Copy of the problem whose joints `beyond_bounds`, at acceleration level, are not held but bear all they can.

        Solve, and repeat until `beyond_bounds` is empty; the velocity level finds this out by itself.
        """
        bounds = {row.label: row.bounds for row in self.rows.acceleration.G}
        given = dict(self._inputs.given)
        for label, force in self.beyond_bounds(solution).items():
            lo, hi = bounds[label] or (force, force)
            given[label] = min(max(force, lo), hi)
        return ModelProblem(replace(self._inputs, given=MappingProxyType(given)))

    def delassus(self, operator: Literal["N", "F", "L", "G", "B"], *, level: LevelName = "velocity") -> Delassus:
        """W = J M^-1 J^T of one operator's rows, applied or built through the tree: see `delassus`."""
        return delassus(self.model, self._inputs.factor, getattr(self._level(level).data, operator))

    def _level(self, name: LevelName) -> Level[Any]:
        if name == "acceleration":
            return self._accelerations
        if name == "velocity":
            return self._velocities
        raise BridgeError("level", f"must be 'acceleration' or 'velocity', got {name!r}")

    def _read(
        self, solution: Solution | ConstraintForces, level: LevelName | None
    ) -> tuple[Level[Any], ConstraintForces]:
        """The level of a solution, and its forces, whose lengths fit."""
        if isinstance(solution, Solution):
            name: LevelName = "acceleration" if isinstance(solution, AccelerationSolution) else "velocity"
            forces = solution.forces
        elif level is None:
            raise BridgeError("level", "bare forces do not say theirs: 'acceleration' or 'velocity'?")
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
        p = self._inputs
        kind = "impact" if p.h is None else f"h={p.h:g}"
        return f"ModelProblem(nv={p.model.nv}, contacts={len(p.contacts)} ({len(self.sliding)} sliding), {kind})"
