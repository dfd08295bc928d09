"""Joint rows and islands of a step or a record, one row each, with the certificates of the islands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from contactlab.constraint_solver.certificate import CONDITIONS, ForceChoice
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.stepping.record_schema import Rows, StepTable
from contactlab.simulation.world.errors import SimulationConfigError
from lcp.contacts.strategies import RECORDED, STRATEGY_NAMES


@dataclass(frozen=True, eq=False)
class JointTable(StepTable):
    """Columns of joint rows, in order of step, island, number.

    Attributes
    ----------
    step, island
        The step (from state ``step`` to ``step + 1``) and the island of that step.
    row
        Number of the row in `World.joint_rows`.
    error
        At the start of the step: signed distance from a stop, negative beyond it; position error of other rows [rad or
        m].
    force
        Mean over the step [N m or N]: away from a stop; along the coordinate of other rows; for loops with the sign
        of `LoopConstraint`.
    rate
        The row's velocity after the step, at the start's configuration [rad/s or m/s].
    z
        (n, 2) LCP variables.
    projection_multiplier
        Multiplier of the position projection [kg m, kg m^2] of a stop passed too far: the bodies were moved by
        M^-1 J^T projection_multiplier in addition to h v+; 0 of all other rows.
    """

    step: IntArray
    island: IntArray
    row: IntArray
    error: FloatArray
    force: FloatArray
    rate: FloatArray
    z: FloatArray
    projection_multiplier: FloatArray

    @classmethod
    def from_rows(cls, rows: Rows) -> JointTable:
        """Return the table with the joint columns of a record's arrays."""
        return cls(**{field.name: rows[f"joint_{field.name}"] for field in fields(cls)})

    def __repr__(self) -> str:
        return f"JointTable({len(self)} rows of joints)"

    def of(self, row: int) -> JointTable:
        """Return the table of one row, given by number."""
        return self.rows(self.row == row)


@dataclass(frozen=True, eq=False)
class CertificateTable(StepTable):
    """The certificate of each island of each step; rows in order of step and island.

    Attributes
    ----------
    step, island, n_contacts, n_joints, pivots
        Step and island of the problem, its contacts and joint rows, and the solver's iterations.
    warm_hit
        True if the solution took no pivot and started from the previous step's contacts.
    choice
        How the forces were selected among all solutions: numbers of `contactlab.ForceChoice`.
    attempt, systems
        Number of the strategy in `lcp.contacts.strategies.STRATEGY_NAMES` that found the forces, counted from 1; 0 if a
        solver found them, none did, or the record does not have it. Linear systems solved in all strategies.
    natural_map, scaled
        Residuals of the LCP, as `lcp.residuals`: max |min(z, w)|, and the scaled residual that decides. For a friction
        backend ``scaled`` is the residual of the friction law that it states
        (`contactlab.constraint_solver.friction_backend`).
    violation, scale
        (n, 12) for the mechanical conditions: `contactlab.constraint_solver.certificate.CONDITIONS`,
        `BOXED_CONDITIONS`, bilateral rows.
    distance
        Function that computes `selection` from the numbers of a step and an island; None without a record.
    """

    step: IntArray
    island: IntArray
    n_contacts: IntArray
    n_joints: IntArray
    pivots: IntArray
    warm_hit: NDArray[np.bool_]
    choice: IntArray
    attempt: IntArray
    systems: IntArray
    natural_map: FloatArray
    scaled: FloatArray
    violation: FloatArray
    scale: FloatArray
    distance: Callable[[int, int], float] | None = None

    @classmethod
    def from_rows(cls, rows: Rows, distance: Callable[[int, int], float] | None = None) -> CertificateTable:
        """Return the table with the island columns of a record's arrays."""
        from lcp.kernels.residuals import NATURAL_MAP, SCALED

        return cls(
            step=rows["island_step"],
            island=rows["island_index"],
            n_contacts=rows["island_contacts"],
            n_joints=rows["island_joints"],
            pivots=rows["island_pivots"],
            warm_hit=rows["island_warm"] != 0,
            choice=rows["island_choice"],
            attempt=rows["island_attempt"],
            systems=rows["island_systems"],
            natural_map=rows["island_measures"][:, NATURAL_MAP],
            scaled=rows["island_measures"][:, SCALED],
            violation=rows["island_certificate"][:, 0::2],
            scale=rows["island_certificate"][:, 1::2],
            distance=distance,
        )

    def __repr__(self) -> str:
        return f"CertificateTable({len(self)} islands, worst scaled residual {self.scaled.max(initial=0.0):.1e})"

    @functools.cached_property
    def selection(self) -> FloatArray:
        """Distance (n,) of the contact forces from the selected ones, by the largest force; computed when read.

        It is 0 if no other forces give the same velocities, and infinite if no forces are selected. Each problem is
        formed again and its forces are selected by the step's kernels, which takes as long as some steps; so read it of
        few `rows`. `verify` measures the same distance by another method.
        """
        if self.distance is None:
            detail = "a Simulation keeps no steps: use step(world, stepper, state) to select their forces again"
            raise SimulationConfigError("certificate", detail)
        pairs = zip(self.step.tolist(), self.island.tolist(), strict=True)
        return np.array([self.distance(step, island) for step, island in pairs], dtype=np.float64)

    def count_by_strategy(self) -> dict[str, int]:
        """Return the number of islands solved by each strategy, by name; other solvers are counted as ``"solver"``."""
        counts = np.bincount(self.attempt, minlength=len(RECORDED) + 1).tolist()
        named = zip(("solver", *RECORDED), counts, strict=True)
        return {name: count for name, count in named if count or name in ("solver", *STRATEGY_NAMES)}

    @property
    def mechanical(self) -> FloatArray:
        """Violation over scale of the worst mechanical condition, (n,)."""
        return self._worst_of(slice(None))

    @property
    def coulomb_misfit(self) -> FloatArray:
        """Violation over scale (n,) of the worst condition of Coulomb's law, of contacts only, not of limits.

        It is rounding if Coulomb's law was solved. With a friction backend that relaxes the law, it measures how much
        the forces violate Coulomb's law.
        """
        return self._worst_of([n for n, name in enumerate(CONDITIONS) if not name.startswith("limit")])

    def _worst_of(self, conditions: slice | list[int]) -> FloatArray:
        """Return (n,) the largest ratio of violation to scale of some conditions; infinite for a scale of 0.

        A condition without rows has scale 0 and violation 0: its ratio is 0.
        """
        violation, scale = self.violation[:, conditions], self.scale[:, conditions]
        ratio = np.divide(violation, scale, out=np.zeros_like(violation), where=scale > 0.0)
        ratio[(scale == 0.0) & (violation > 0.0)] = np.inf
        return np.asarray(ratio.max(axis=1, initial=0.0))

    def worst(self) -> WorstCertificate:
        """Return the maximum of each residual over the rows, with step and island of the largest scaled one.

        Without rows the maxima are 0, and step and island are -1.
        """
        at = int(np.argmax(self.scaled)) if len(self) else -1
        return WorstCertificate(
            scaled=float(self.scaled.max(initial=0.0)),
            natural_map=float(self.natural_map.max(initial=0.0)),
            mechanical=float(self.mechanical.max(initial=0.0)),
            step=int(self.step[at]) if at >= 0 else -1,
            island=int(self.island[at]) if at >= 0 else -1,
        )


@dataclass(frozen=True)
class WorstCertificate:
    """Largest values over a set of solved problems; 0 for an empty set.

    Attributes
    ----------
    scaled, natural_map
        Residuals of the LCP.
    mechanical
        Violation over scale of the mechanical conditions.
    step, island
        Row with the largest ``scaled``, -1 for an empty set.
    """

    scaled: float
    natural_map: float
    mechanical: float
    step: int
    island: int


@dataclass(frozen=True, eq=False)
class UncertifiedTable:
    """Islands with the best forces found in place of a solution; rows in order of step and island.

    Attributes
    ----------
    step, island, contacts
        Step, island, and its number of contacts.
    residual
        Scaled residual of its LCP, or of its problem with cones, which the stepper's ``tolerance`` bounds in solved
        islands. It is up to 1 if only slacks of the LCP are wrong and the forces are right. For a friction backend it
        is the residual of its own law.
    mechanical
        Violation of the laws of contact by forces and velocity, relative to the scale, in the worst condition; at most
        1e-4, otherwise the run stops. If a backend relaxes Coulomb's law, the violation of its own law.
    """

    step: IntArray
    island: IntArray
    contacts: IntArray
    residual: FloatArray
    mechanical: FloatArray

    @classmethod
    def of(cls, certificates: CertificateTable, *, relaxed: bool = False) -> UncertifiedTable:
        """Return the islands of a table whose recorded choice of forces is UNCERTIFIED.

        ``relaxed``: a friction backend solved another law than Coulomb's; ``mechanical`` is then its scaled residual.
        """
        own = certificates.rows(np.flatnonzero(certificates.choice == ForceChoice.UNCERTIFIED))
        return cls(own.step, own.island, own.n_contacts, own.scaled, own.scaled if relaxed else own.mechanical)

    def __len__(self) -> int:
        return self.step.size

    def __repr__(self) -> str:
        worst = float(self.mechanical.max(initial=0.0))
        return f"UncertifiedTable({len(self)} islands in {self.steps.size} steps, worst condition {worst:.1e})"

    @property
    def steps(self) -> IntArray:
        """The steps with such islands, without repetition."""
        return np.unique(self.step)

    @property
    def worst(self) -> int:
        """The row with the largest violation; there must be one."""
        return int(np.argmax(self.mechanical))
