"""The contacts of an event-driven run as the table that records of `TimeStepping` have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.contact import RestitutionLaw
from contactlab.event_driven.candidates import BallOnBall
from contactlab.multibody import kinematics
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.contact_table import OPEN, SLIDE, STICK, ContactScope, ContactTable

if TYPE_CHECKING:
    from contactlab.event_driven.recording import EventRecording

# Slip beside which a contact sticks [m/s]: what the integrator leaves of none.
_STILL = 1e-6


def contact_table(run: EventRecording) -> ContactTable:
    """Return a row for every contact that bears a force between two states.

    Step ``i`` leads from state ``i`` to ``i + 1``: where the two share a time through impacts, with their
    impulses; else through the time between, with the trapezoid of the forces at its ends.
    """
    impulses, model = _impulses(run), run.world.model
    bodies, half_spaces = model.names, list(run.world.half_spaces)
    rows = [(int(i), int(k)) for i, k in np.argwhere(impulses.any(axis=2))]
    instants = {i: kinematics(model, run.q[i], run.v[i + 1]) for i in {i for i, _ in rows}}
    columns: dict[str, list[object]] = {name: [] for name in _NAMES}
    for i, k in rows:
        pair, impulse = run.candidates[k], impulses[i, k]
        local = pair.local(model, instants[i])
        normal, tangential = float(local.normal @ impulse), local.tangents @ impulse
        slip, e = float(np.hypot(*local.u_t)), pair.restitution
        one = {
            "step": i,
            "body_a": bodies.index(pair.body_a) if isinstance(pair, BallOnBall) else -1,
            "body_b": bodies.index(pair.body),
            "half_space": -1 if isinstance(pair, BallOnBall) else half_spaces.index(pair.half_space),
            "id": k,
            "mode": OPEN if normal <= 0.0 else SLIDE if slip > _STILL else STICK,
            "point": local.point + (0.5 * local.gap * local.normal if isinstance(pair, BallOnBall) else 0.0),
            "normal": local.normal,
            "gap": local.gap,
            "mu": pair.mu,
            "restitution": e.at(abs(local.u_n)) if isinstance(e, RestitutionLaw) else float(e),
            "impulse": impulse,
            "impulse_normal": normal,
            "impulse_tangential": tangential,
            "slip": slip,
        }
        for name, value in one.items():
            columns[name].append(value)
    n = len(rows)
    given = {name: np.array(values).reshape(n, *_TAILS.get(name, ())) for name, values in columns.items()}
    whole = {name: given[name].astype(np.int64) for name in ("step", "body_a", "body_b", "half_space", "id", "mode")}
    none = np.full(n, -1)
    rest = {"island": np.zeros(n, np.int64), "shape_a": none, "shape_b": none, "push": np.zeros(n)}
    scope = ContactScope.of(run.world, np.diff(run.time))
    return ContactTable(**(given | whole | rest), moment=np.zeros((n, 3)), scope=scope)


_TAILS = {"point": (3,), "normal": (3,), "impulse": (3,), "impulse_tangential": (2,)}
_NAMES = (
    *("step", "body_a", "body_b", "half_space", "id", "mode", "point", "normal", "gap", "mu", "restitution"),
    *("impulse", "impulse_normal", "impulse_tangential", "slip"),
)


def _impulses(run: EventRecording) -> FloatArray:
    """Return the impulses (n - 1, nk, 3) between the states, world axes [N s]."""
    h = np.diff(run.time)
    between = 0.5 * h[:, None, None] * (run.forces[:-1] + run.forces[1:])
    for i in np.flatnonzero((h == 0.0) & (run.v[:-1] != run.v[1:]).any(axis=1)):
        between[i] = sum(event.impulses for event in run.events if event.time == run.time[i])
    return between
