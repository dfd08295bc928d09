"""Options of time stepping: one complementarity problem per island and step, at velocity level.

Defaults of margins and impact speeds depend on the world: each follows from the size of the smallest body that moves,
the weight and the step. So a world in other units, or at another scale (lengths s, times sqrt(s)), has the same
contacts and the same impacts.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

import lcp
from contactlab.collision import ContactError, check_edges
from contactlab.constraint_solver.friction_backend import (
    LAWS,
    FrictionBackend,
    friction_objection,
    law_of,
    qp_code_objection,
)
from contactlab.constraint_solver.solution import SMALLEST_FRACTION
from contactlab.constraint_solver.solver import ConstraintSolver
from contactlab.constraint_solver.strategy_solver import EqualCompliance
from contactlab.multibody.spatial.arrays import FloatArray, finite_number
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.motion import PLANAR_EDGES
from contactlab.simulation.world.world import World
from lcp.contacts.strategies import STRATEGY_NAMES, strategy_mask

# Two orthonormal tangents, each in both directions.
CONE_EDGES = 4


#: Values of `TimeStepping.on_unsolved`.
ON_UNSOLVED = ("go on", "raise")
_CHOICES = {
    "gyroscopic": tuple(layout.GYROSCOPIC_CODES),
    "integrator": ("rk4", "euler"),
    "on_unsolved": ON_UNSOLVED,
}
#: Old names of options in records and scene files, and their present names.
FORMER_OPTIONS = {
    "v_min": "restitution_threshold",
    "angle_v_min": "angle_restitution_threshold",
    "shrink": "shrink_factor",
    "grow": "growth_factor",
}

#: Residuals below it are rounding.
MIN_TOLERANCE = 1e-15
_BELOW_ONE = math.nextafter(1.0, 0.0)
# The bounds of each number, as in `finite_number`.
_BOUNDS: dict[str, dict[str, Any]] = {
    "h": {"positive": True},
    "margin": {"least": 0.0},
    "restitution_threshold": {"least": 0.0},
    "angle_margin": {"least": 0.0},
    "angle_restitution_threshold": {"least": 0.0},
    "cfm": {"least": 0.0},
    "penetration_allowance": {"least": 0.0},
    "max_depenetration_velocity": {"least": 0.0},
    "erp": {"least": 0.0, "most": 1.0},
    "tolerance": {"least": MIN_TOLERANCE, "most": _BELOW_ONE},
    "shrink_factor": {"positive": True, "least": 0.0, "most": _BELOW_ONE},
    "growth_factor": {"least": 1.0},
    "h_min": {"positive": True},
}

#: Bounds of the margin as fractions of the size, and the size if no moving body has a shape [m].
MIN_MARGIN, LARGEST_MARGIN, NO_SHAPE = 0.01, 0.1, 0.1
#: Margin of stops of angles [rad].
ANGLE_MARGIN = 1e-3
#: Minimum impact speed, in multiples of |g| h: above the speed that a falling body gains in one step.
FALLING = 1.02
#: Minimum impact speed in a world without weight, as a fraction of the size per step.
WEIGHTLESS = 1e-4
#: Arm, in sizes, that converts an impact speed to an angular speed.
ARM = 10.0


class Thresholds(NamedTuple):
    """Margins and minimum impact speeds of a step, for lengths and for angles."""

    margin: float  # [m]
    restitution_threshold: float  # [m/s]
    angle_margin: float  # [rad]
    angle_restitution_threshold: float  # [rad/s]

    def of(self, angular: int) -> tuple[float, float]:
        """Return the margin and the impact speed of a stop of an angle, or of a length."""
        return (
            (self.angle_margin, self.angle_restitution_threshold)
            if angular
            else (self.margin, self.restitution_threshold)
        )


@dataclass(frozen=True)
class Sleep:
    """Conditions under which islands at rest sleep: they are neither solved nor moved until something wakes them.

    An island falls asleep when every velocity of all its trees has stayed below ``speed`` for ``time``. Its velocities
    are set to 0, and its configuration is kept bit for bit. It wakes if it touches an awake body, a moving kinematic
    body or an external contact, if its support is gone, or if the applied force on it changes. Awake bodies include
    those that have rested for a shorter time. If joint rows take part, no island sleeps. Contacts within a sleeping
    island are not in the record.

    Parameters
    ----------
    speed
        Bound on each entry of v [m/s, rad/s].
    time
        Time for which it must be satisfied [s].
    """

    speed: float = 1e-3
    time: float = 0.5

    def __post_init__(self) -> None:
        for name in ("speed", "time"):
            self.__dict__[name] = finite_number(getattr(self, name), name, SimulationConfigError, positive=True)


# The last stepper of each world, and the stepper with its numbers there.
_LAST: WeakKeyDictionary[World, tuple[TimeStepping, TimeStepping]] = WeakKeyDictionary()


@dataclass(frozen=True)
class TimeStepping:
    """Semi-implicit first-order step of Stewart and Trinkle (1996) and Anitescu and Potra (1997).

    M (v+ - v) = h (tau + bias + contact forces) with the contact conditions at v+, then q+ = q moved along v+ for h.
    The bias (weight, velocity products) is evaluated at the start of the step. The gyroscopic torque of a tree of one
    free or ball-jointed link is an exception: by default it follows the implicit midpoint rule, which conserves energy.
    Trees of several links on which no row acts in a step move by the Runge-Kutta method, see ``integrator``. If links
    of other trees turn by more than a tenth of a radian in a step, velocity products are limited so that they give no
    energy. Every island of kinematic trees connected by contacts is one LCP.

    Parameters
    ----------
    h
        Step [s]; for an adaptive stepper the maximum.
    solver
        None, or a solver. None: forces of redundant contacts are selected by equal compliance, see
        `contactlab.EqualCompliance`. If no such forces are found, `lcp.Lemke` is called, then `lcp.default_solver()`;
        with ``friction="cone"``, `lcp.default_friction_solver()`. An LCP solver named here is called if the previous
        forces do not solve the island (see ``warm_start``); it returns any solution of the LCP. `lcp.Lemke`, alone or
        first in a `lcp.Fallback`, runs inside the compiled loop, without its time limit. Any other solver is called
        from the loop, once per island and step. With ``friction="cone"`` a friction solver is required, which solves
        all islands. A friction backend, `contactlab.ConvexRelaxation` or `contactlab.StaggeredProjections` over a
        quadratic programming solver, solves all islands with contacts. A step is then certified by the backend's
        friction law, and ``recording.coulomb_misfit`` has the violation of Coulomb's law. A quadratic programming
        solver itself, for example `lcp.OSQP`, raises an error: it solves no LCP with friction, and without friction
        either backend is the quadratic program of the normal forces.
    edges
        Edges k of the friction pyramid, even and at least 4; inscribed in the cone. The friction of a sliding contact
        points to a corner, up to 180/k degrees off the slip (22.5 with 8 edges, 45 with 4). This turns the direction of
        sliding, by up to 6 degrees with 8 edges. ``friction="cone"`` has no such error. A planar world has 2.
    margin
        A contact takes part if its gap <= margin + h max(0, -N v) [m]. The margin must cover the distance that a point
        can gain on its velocity v within a step; a larger margin only adds contacts that stay open. None: |g| h^2, but
        between a hundredth and a tenth of the thickness of the thinnest shape that moves (0.1 m if no body has a
        shape).
    friction
        ``"pyramid"`` of ``edges`` edges; or ``"cone"``: Coulomb's exact cone over two orthonormal tangents t1, t2 per
        contact (one in a planar world), isotropic, at 1.1 to 1.5 times the cost of four edges. If forces are not
        selected, or ``solver`` names a friction solver, an island is a `lcp.FrictionProblem`, solved outside the
        compiled loop, which takes a hundred times as long. Cones exclude torsional and rolling friction.
    restitution_threshold
        Speed of approach [m/s] above which a closing contact is an impact with restitution. None: 1.02 |g| h, slightly
        above the speed that a body at rest gains by its weight in a step; without weight, the thickness of the thinnest
        moving shape times 1e-4 / h. Below about 2 g h a body at rest may bounce by its own weight. Single bounces
        follow Newton's law exactly: E + h/2 m g . v is constant in free flight, and over a bounce with e = 1, so that
        energy does not drift.
    erp
        Fraction of a penetration corrected per step by velocities, 0 to 1. This adds energy; ``projection`` does not.
        The default 0 only stops the growth of penetrations. For contacts with a stiffness the spring decides instead.
    cfm
        Constraint force mixing [s/kg], 0 for none: a rigid contact with force fN moves at the speed cfm fN.
    projection
        Correct depth in the positions. If a rigid contact or stop is deeper than ``penetration_allowance``, q of its
        island is moved after the velocities of the step are found; v+ is not changed. Free bodies are shifted by their
        masses and not rotated, because a rolling body would lean. Trees with joints move by their inertia. Friction of
        the contacts limits the motion. Contacts that an impact makes in the step, and stops that v+ would pass, then
        take part in it. See `docs/theory/time_stepping.md`.
    penetration_allowance
        Depth [m] that is not corrected; None for 1e-4 of the smallest extent of the smaller body. Bodies at rest within
        it are not moved. For joint stops it is always 1e-5 rad or m.
    max_depenetration_velocity
        Maximum speed [m/s] of depth corrections. None: ``erp`` uses twice the largest extent of the smaller body per
        second, ``projection`` ten times; for joint stops 20 and 100 rad/s or m/s. ``math.inf``: no bound, and impacts
        then follow Newton's law for any gap, as in records before schema 9.
    gyroscopic
        Torque w x I w of a tree of one free or ball-jointed link: ``"implicit"``, by the midpoint rule; ``"explicit"``,
        at the start of the step, which gains energy in every step; ``"off"``: such bodies turn as if their inertia were
        a ball's, steadily, without tumbling or precession. With ``"explicit"`` velocity products of other trees are
        also evaluated at the start of the step, without a limit.
    sleep
        Conditions under which islands at rest are neither solved nor moved; None: never.
    reduce_contacts
        Keep at most four contacts of each pair of shapes, also with half-spaces: the deepest and three that spread.
        Two faces give up to eight, terrain any number; four carry the same load with a smaller LCP.
    warm_start
        Start from the previous step's forces of the same contacts, through their modes. With a named solver, forces
        near the previous ones are used without calling it, if they solve an island's LCP almost to rounding.
    tolerance
        Bound on the scaled residual of every LCP, or of a backend's law (its own tolerance if that is larger). A step
        with a larger residual is tried again, or treated by ``on_unsolved``.
    adaptive
        Try an unsolved step again from its start with a smaller h, as in steps 2 to 6 of
        `contactlab.constraint_solver.solution`: contacts, kN, M and q are formed again for that h. Accuracy does not
        control the step: a run in which all steps are solved is the same, bit for bit, with and without this option.
    shrink_factor
        Factor on h from one try to the next, between 0 and 1.
    growth_factor
        Factor on h after a step shorter than h, up to h; at least 1. The default is small because, if the full step
        keeps failing, one in four steps then pays for a failed try.
    h_min
        Minimum step [s]; None for h / 1024.
    strategies
        Names of the enabled strategies for contact forces, of `lcp.contacts.strategies`; all, except in studies of
        single strategies.
    angle_margin, angle_restitution_threshold
        ``margin`` and ``restitution_threshold`` for stops of angles [rad, rad/s]. None: the same numbers as for lengths
        if these are given. Otherwise 1e-3 rad, and the default ``restitution_threshold`` over ten times that thickness.
    on_unsolved
        Action if every strategy for an island's forces has failed. ``"go on"``: accept the best forces found, if every
        condition of their certificate is satisfied to 1e-4 of its scale and they create no energy; otherwise stop. Such
        islands are marked (`contactlab.ForceChoice.UNCERTIFIED`, ``recording.uncertified``) with a warning.
        ``"raise"``: stop.

    integrator
        Motion of trees of several links in steps without contacts, active stops, bounded drives, dry friction or loops.
        ``"rk4"``: the classical Runge-Kutta method, with as many substeps as keep the energy to 1e-6 of the kinetic
        energy. ``"euler"``: the rule above, with which chains gain and lose energy. With ``"rk4"``, trees on which only
        weights and applied forces can ever act are integrated with these. Other trees are kicked by weights, forces,
        damping and drives at the start of the step, as bodies are in flight, and then move without forces; below 1e-3
        rad in a step they keep the rule above. With ``gyroscopic="explicit"`` all trees keep it.

    Raises
    ------
    SimulationConfigError
        An option is invalid; the error names the field and the value.

    References
    ----------
    D. E. Stewart, J. C. Trinkle, Int. J. Numer. Meth. Eng. 39 (1996); M. Anitescu, F. A. Potra, Nonlinear Dynamics
    14 (1997).
    """

    h: float
    solver: lcp.Solver | lcp.FrictionSolver | FrictionBackend | None = None
    edges: int = 8
    margin: float | None = None
    restitution_threshold: float | None = None
    erp: float = 0.0
    cfm: float = 0.0
    projection: bool = True
    penetration_allowance: float | None = None
    max_depenetration_velocity: float | None = None
    gyroscopic: str = "implicit"
    sleep: Sleep | None = None
    warm_start: bool = True
    reduce_contacts: bool = False
    tolerance: float = 1e-9
    adaptive: bool = False
    shrink_factor: float = 0.5
    growth_factor: float = 1.25
    h_min: float | None = None
    friction: str = "pyramid"
    strategies: tuple[str, ...] = STRATEGY_NAMES
    on_unsolved: str = "go on"
    angle_margin: float | None = None
    angle_restitution_threshold: float | None = None
    integrator: str = "rk4"

    def __post_init__(self) -> None:
        for name, bounds in _BOUNDS.items():
            given = getattr(self, name)
            is_open = given is None and getattr(type(self), name, self) is None
            if not is_open and not (name == "max_depenetration_velocity" and given == math.inf):
                object.__setattr__(self, name, finite_number(given, name, SimulationConfigError, **bounds))
        if self.h_min is not None and self.h_min > self.h:
            raise SimulationConfigError("h_min", f"must lie between 0 and h = {self.h}, got {self.h_min}")
        if self.sleep is not None and not isinstance(self.sleep, Sleep):
            raise SimulationConfigError("sleep", f"must be a Sleep or None, got {self.sleep!r}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                known = ", ".join(map(repr, choices))
                raise SimulationConfigError(name, f"must be one of {known}, got {getattr(self, name)!r}")
        try:
            object.__setattr__(self, "edges", check_edges(self.edges))
        except ContactError as error:
            raise SimulationConfigError("edges", error.detail) from error
        try:
            object.__setattr__(self, "strategies", tuple(self.strategies))
            strategy_mask(self.strategies)
        except lcp.ProblemError as error:
            raise SimulationConfigError("strategies", str(error)) from error
        for name in ("projection", "warm_start", "reduce_contacts", "adaptive"):
            if not isinstance(getattr(self, name), bool):
                raise SimulationConfigError(name, f"must be True or False, got {getattr(self, name)!r}")
        objection = friction_objection(self.friction, self.solver)
        if objection is not None:
            raise SimulationConfigError(*objection)
        solves = self.asks_backend or hasattr(self.solver, "solve")
        if self.solver is not None and (isinstance(self.solver, type) or not solves):
            raise SimulationConfigError("solver", f"must be a solver object such as lcp.Lemke(), got {self.solver!r}")
        quadratic = qp_code_objection(self.solver)
        if quadratic is not None:
            raise SimulationConfigError("solver", quadratic)
        if self.law not in LAWS:
            raise SimulationConfigError("solver", f"states a law that is none of {', '.join(LAWS)}: {self.law!r}")

    @functools.cached_property
    def lcp_solver(self) -> Any:
        """The solver that is called: the given one, or the default one that `EqualCompliance` uses for other forces.

        With ``friction="cone"`` a friction solver; with a friction backend the solver of islands without contacts.
        """
        if self.friction == "cone":
            return EqualCompliance().cone_solver if self.solver is None else self.solver
        return EqualCompliance().lcp_solver if self.solver is None or self.asks_backend else self.solver

    @property
    def asks_backend(self) -> bool:
        """Return True if the solver is a friction backend, which solves all islands with contacts."""
        return isinstance(self.solver, FrictionBackend)

    @property
    def law(self) -> str:
        """Friction law by which its forces are certified: ``"coulomb"``, or the law of a friction backend."""
        return law_of(self.solver)

    @property
    def law_tolerance(self) -> float:
        """Bound on the residual of the friction `law`: ``tolerance``, or the friction backend's if it is larger."""
        own = getattr(self.solver, "tolerance", 0.0) if self.asks_backend else 0.0
        return max(self.tolerance, float(own))

    @property
    def solver_text(self) -> str:
        """Return the text that names the solver in records."""
        return repr(self.constraint_solver.lcp_solver or self.lcp_solver)

    @property
    def constraint_solver(self) -> ConstraintSolver:
        """Return the solver of the public path that gives a step's forces, bit for bit, from the same start."""
        solver = EqualCompliance(strategies=self.strategies) if self.solver is None else self.solver
        return ConstraintSolver(solver, self.tolerance, self.friction)

    def in_world(self, world: World) -> TimeStepping:
        """Return this stepper with its thresholds for a world; itself if all were given.

        They follow from the world's size and gravity. The result for each world's last stepper is stored.
        """
        if self.margin is not None and self.restitution_threshold is not None:
            return self
        last = _LAST.get(world)
        if last is not None and last[0] is self:
            return last[1]
        size = size_of(world)
        weight = float(np.linalg.norm(world.model.gravity))
        numbers: dict[str, Any] = {}
        if self.margin is None:
            margin = min(max(MIN_MARGIN * size, weight * self.h**2), LARGEST_MARGIN * size)
            numbers = {"margin": margin, "angle_margin": ANGLE_MARGIN}
        if self.restitution_threshold is None:
            speed = FALLING * weight * self.h if weight > 0.0 else WEIGHTLESS * size / self.h
            numbers |= {"restitution_threshold": speed, "angle_restitution_threshold": speed / (ARM * size)}
        found = replace(self, **{name: value for name, value in numbers.items() if getattr(self, name) is None})
        _LAST[world] = self, found
        return found

    @property
    def thresholds(self) -> Thresholds:
        """Margins and minimum impact speeds; only for a stepper that has all its numbers (`in_world`)."""
        if self.margin is None or self.restitution_threshold is None:
            detail = "depends on the world: use in_world(world), or a record's stepper"
            raise SimulationConfigError("margin" if self.margin is None else "restitution_threshold", detail)
        own = self.angle_margin, self.angle_restitution_threshold
        general = self.margin, self.restitution_threshold
        return Thresholds(*general, *(g if a is None else a for a, g in zip(own, general, strict=True)))

    @property
    def smallest_h(self) -> float:
        """The minimum step of an adaptive stepper [s]."""
        return SMALLEST_FRACTION * self.h if self.h_min is None else self.h_min

    @property
    def accepts_uncertified(self) -> bool:
        """Return True if a run may continue with uncertified forces."""
        return self.on_unsolved == ON_UNSOLVED[0]

    @property
    def moves_accurately(self) -> bool:
        """Return True if free trees of several links move by the Runge-Kutta method."""
        return self.integrator == "rk4" and self.gyroscopic != "explicit"

    def edges_in(self, world: World) -> int:
        """Edges of the friction pyramid in a world: 2 in a planar one; a cone has edges along its tangents."""
        edges = CONE_EDGES if self.friction == "cone" else self.edges
        return edges if world.plane is None else PLANAR_EDGES

    def next_h(self, last: float) -> float:
        """Return the step to try first [s] after one of ``last`` [s]; 0 means that there was none."""
        if not self.adaptive or last == 0.0:
            return self.h
        return min(self.h, max(self.growth_factor * last, self.smallest_h))

    @functools.cached_property
    def kernel_options(self) -> tuple[FloatArray, int]:
        """Options of the Lemke kernel, and the SOLVER code (`layout`) for the part that runs in the compiled loop."""
        # With cones a default solver is for islands without contacts, which are LCPs.
        cone, inside = self.friction == "cone", layout.SOLVER_LEMKE
        solver = EqualCompliance().lcp_solver if cone and self.solver is None else self.lcp_solver
        if type(solver) is lcp.Fallback:
            solver, inside = solver.solvers[0], layout.SOLVER_LEMKE_FIRST
        # Exactly Lemke: a subclass may override anything. A covering vector fits one problem size only.
        if type(solver) is lcp.Lemke and solver.covering_vector is None:
            return solver.kernel_options(self.tolerance), inside
        return lcp.Lemke().kernel_options(self.tolerance), layout.SOLVER_EXTERNAL

    def check_world(self, world: World) -> None:
        """Raise if the world has rows that ``friction="cone"``, or a friction backend, does not support."""
        if not world.has_moment_friction or not (self.asks_backend or self.friction == "cone"):
            return
        field, name, advice = (
            ("solver", type(self.solver).__name__, "give an LCP solver such as lcp.Lemke()")
            if self.asks_backend
            else ("friction", '"cone"', 'use friction="pyramid"')
        )
        raise SimulationConfigError(field, f"{name} does not support torsional and rolling friction; {advice}")


def size_of(world: World) -> float:
    """Return the thickness of the thinnest shape of a body that moves [m]."""
    moves = np.array([world.body_trees[body] >= 0 for body in world.surface_bodies], dtype=bool)
    thick = world.extents.min_width[moves]
    thick = thick[np.isfinite(thick)]
    return float(thick.min()) if thick.size else NO_SHAPE
