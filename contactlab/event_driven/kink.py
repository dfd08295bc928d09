"""Where a run has no derivative."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EventKink:
    """Why a run has no derivative, or almost none.

    Parameters
    ----------
    time : float
        [s].
    contacts : tuple of str
        Which.
    why : str
        "grazing": an event function that hardly crosses zero, or a gap that does not quite close; "at once": events at
        one instant, whose order another start changes; "at the start", "at the end": an event there; "mode": an impact
        about to stick instead of slip, or the other way, or whose friction pyramid is about to turn; "from rest": slip
        that begins at rest, its direction open; "turns at rest": slip in space whose direction turns too fast to be
        followed as it comes to rest; "jam": Painleve's paradox; "sharing": redundant contacts whose share of
        the forces, a convention, moves the bodies.
    off : float
        How far: the rate of crossing over the largest it could be, or the gap left [m]; the time between the events
        [s]; the slip left [m/s], or slip or friction in parts; 0 where it is on the kink.
    """

    time: float
    contacts: tuple[str, ...]
    why: str
    off: float
