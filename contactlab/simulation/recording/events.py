"""The events of a record: contacts made and broken, sliding, solver statistics, unsolved islands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.constraint_solver.certificate import ForceChoice
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.stepping.contact_table import CertificateTable, IntArray
from contactlab.simulation.stepping.kernels.layout import OPEN, SLIDE

if TYPE_CHECKING:
    from contactlab.simulation.recording.record import Record


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


@dataclass(frozen=True)
class ContactEvent:
    """A change between two bodies from one step to the next.

    Attributes
    ----------
    kind
        ``made``: an impulse acts between them, and none did in the previous step; ``broken``: none acts any more;
        ``slip``: one of their contacts slides, and all stuck before; ``stick``: all stick, and one slid before.
    step, time
        The first step after the change, and its start [s].
    a, b
        Names: body or half-space, and body. "world" if an external contact touches the world.
    """

    kind: str
    step: int
    time: float
    a: str
    b: str


@dataclass(frozen=True, eq=False)
class SolverStatistics:
    """The solver's work, step by step (n_steps,), and the time of the run.

    Attributes
    ----------
    pivots, warm_start_solves, islands, contacts
        Iterations of the solver, islands solved by the warm start, islands, and contacts.
    selected, not_selected
        Islands with selected forces, and islands without them in which forces should be selected
        (`contactlab.ForceChoice`).
    uncertified
        Unsolved islands with which the run continued (`Recording.uncertified`).
    portions, seconds
        (m,) The run by portions: the step before which each ended, and its time [s] without compilation. Empty if the
        record has no timings. Timings differ between runs that are otherwise equal.
    """

    pivots: np.ndarray
    warm_start_solves: np.ndarray
    islands: np.ndarray
    contacts: np.ndarray
    selected: np.ndarray
    not_selected: np.ndarray
    uncertified: np.ndarray
    portions: np.ndarray
    seconds: FloatArray

    def __str__(self) -> str:
        steps, total = self.pivots.size, float(self.seconds.sum())
        rate = f", {steps / total:.0f} steps/s" if total > 0.0 and steps else ""
        asked, missed = self.selected.sum() + self.not_selected.sum(), self.not_selected.sum()
        selection = f", {missed} of {asked} islands not selected" if asked else ""
        lost = self.uncertified.sum()
        selection += f", {lost} of {self.islands.sum()} islands not certified" if lost else ""
        return (
            f"{steps} steps, {self.islands.sum()} islands "
            f"({self.warm_start_solves.sum()} solved by the previous contacts), "
            f"{self.contacts.sum()} contacts, {self.pivots.sum()} pivots{selection}{rate}"
        )


def contact_events(recording: Record) -> tuple[ContactEvent, ...]:
    """Return the events of a record in the order of their steps; in its first step contacts are made."""
    table = recording.contacts
    names, grounds = recording.world.model.names, recording.world.half_space_names
    # One number for each pair, independent of which body is A.
    first = np.where(table.half_space >= 0, -2 - table.half_space, np.minimum(table.body_a, table.body_b))
    second = np.where(table.half_space >= 0, table.body_b, np.maximum(table.body_a, table.body_b))
    touching = table.mode != OPEN
    pairs, number = np.unique(np.stack((first, second), axis=1)[touching], axis=0, return_inverse=True)
    # One number for each pair and step; the next one is the same pair in the next step.
    n = recording.n_steps
    at, place = np.unique(number.reshape(-1) * n + table.step[touching], return_inverse=True)
    slides = np.bincount(place.reshape(-1), weights=table.mode[touching] == SLIDE) > 0.0
    pair, step = np.divmod(at, max(n, 1))
    follows = (np.diff(at, prepend=-2) == 1) & (step > 0)
    kinds = np.where(~follows, "made", np.where(slides, "slip", "stick"))
    begun = np.flatnonzero(~follows | (slides != np.roll(slides, 1)))
    gone = np.flatnonzero(~np.append(follows[1:], False)[: at.size] & (step + 1 < n))
    found = [
        *zip(step[begun], pair[begun], kinds[begun], strict=True),
        *((step[k] + 1, pair[k], "broken") for k in gone),
    ]

    def named(k: int) -> tuple[str, str]:
        one, other = pairs[k]
        return grounds[-2 - one] if one < -1 else ("world" if one < 0 else names[one]), names[other]

    return tuple(
        ContactEvent(str(kind), int(step), float(recording.time[step]), *named(k)) for step, k, kind in sorted(found)
    )


def solver_statistics(recording: Record) -> SolverStatistics:
    """Return the solver statistics of a record."""
    contacts = np.bincount(recording.rows["contact_step"], minlength=recording.n_steps)
    empty = np.zeros(0)
    return SolverStatistics(
        recording.pivots,
        recording.warm_start_solves,
        recording.islands,
        contacts,
        recording.count_by_choice(ForceChoice.EQUAL_COMPLIANCE),
        recording.count_by_choice(ForceChoice.OTHER_SOLUTION),
        recording.count_by_choice(ForceChoice.UNCERTIFIED),
        recording.timings.get("timing_step", empty.astype(np.int64)),
        recording.timings.get("timing_seconds", empty),
    )
