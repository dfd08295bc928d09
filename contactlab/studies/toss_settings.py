"""Settings of cube-toss runs, what is chosen and not measured, and the choices that were fitted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

# Fitted on the 385 public tosses at k = 16 and 10 sub-steps: smallest sum of the two mean errors on a grid of 0.001.
FITTED_MU = 0.178
# Speed of approach above which a contact is an impact [m/s].
V_MIN = 1e-2


@dataclass(frozen=True)
class TossSettings:
    """Settings of a run that are chosen, not measured.

    Parameters
    ----------
    mu
        Friction coefficient between cube and board.
    edges
        Edges of the friction pyramid (even, inscribed).
    friction
        ``"pyramid"``, or ``"cone"``: Coulomb's exact cone, whatever the edges.
    substeps
        Time steps per camera sample.
    restitution
        Newton's coefficient, 0 to 1.
    impact_speed
        Speed of approach [m/s] above which a contact rebounds with it; slower ones close their gap.
    corner_radius
        Radius [m] of the cube's corners: balls that touch the cube's faces from inside.
    board_height
        Height of the board [m]; the data have it nominally at 0.
    gravity
        [m/s^2]; None for the data's.
    inertia_scale
        Factor of the data's inertia.
    stiffness, dissipation
        Of a corner on the board [N/m, N s/m]; infinite and 0 for a rigid contact. Not together with a restitution.
    members
        1: the path from the measured start. More: the medoid of that many paths, with starts and numbers drawn
        (`contactlab.studies.toss`).
    """

    mu: float = FITTED_MU
    edges: int = 16
    substeps: int = 10
    restitution: float = 0.0
    impact_speed: float = V_MIN
    corner_radius: float = 0.0
    board_height: float = 0.0
    gravity: float | None = None
    inertia_scale: float = 1.0
    stiffness: float = math.inf
    dissipation: float = 0.0
    friction: str = "pyramid"
    members: int = 1

    def __post_init__(self) -> None:
        check_settings(self, ("mu", "impact_speed", "corner_radius"), ("gravity", "inertia_scale"))
        if self.friction not in ("pyramid", "cone"):
            raise ValueError(f"friction: {self.friction!r} is neither pyramid nor cone")
        if self.edges < 4 or self.edges % 2:
            raise ValueError(f"edges: {self.edges} is not an even number >= 4")
        if self.members < 1:
            raise ValueError(f"members: {self.members} is not >= 1")
        if not math.isfinite(self.board_height):
            raise ValueError(f"board_height: {self.board_height} is not finite")

    @staticmethod
    def read(document: object) -> TossSettings:
        """Return the settings that `contactlab toss --json` wrote; a `ValueError` says which entry is none."""
        values = document.get("settings") if isinstance(document, dict) else None
        if not isinstance(values, dict):
            raise ValueError("holds no 'settings', as --json writes them")
        known = {field.name: type(field.default) for field in fields(TossSettings)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"settings: {name!r} is none of {', '.join(known)}")
            kinds = (str,) if known[name] is str else (int,) if known[name] is int else (int, float)
            missing = value is None and name in ("gravity", "stiffness")
            if not missing and (isinstance(value, bool) or not isinstance(value, kinds)):
                raise ValueError(f"settings.{name}: {value!r} is not {' or '.join(kind.__name__ for kind in kinds)}")
        given = {**values, "stiffness": math.inf} if values.get("stiffness", 0.0) is None else values
        return TossSettings(**given)


def check_settings(settings: Any, non_negative: Sequence[str], positive: Sequence[str]) -> None:
    """Raise a `ValueError` naming the first field that no run has: of these, or of rebound, corners and sub-steps."""
    for name in (*non_negative, "dissipation"):
        value = getattr(settings, name)
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name}: {value} is not a finite number >= 0")
    for name in positive:
        value = getattr(settings, name)
        if value is not None and not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name}: {value} is not a finite number > 0")
    if settings.substeps < 1:
        raise ValueError(f"substeps: {settings.substeps} is not >= 1")
    if not 0.0 <= settings.restitution <= 1.0:
        raise ValueError(f"restitution: {settings.restitution} is not in [0, 1]")
    if not settings.stiffness > 0.0:
        raise ValueError(f"stiffness: {settings.stiffness} is not > 0")
    if math.isinf(settings.stiffness) and settings.dissipation > 0.0:
        raise ValueError(f"dissipation: {settings.dissipation} without a finite stiffness")
    if math.isfinite(settings.stiffness) and settings.restitution > 0.0:
        raise ValueError(f"restitution: {settings.restitution} beside a stiffness: a spring rebounds by itself")


#: Named settings: ``rigid`` has friction alone, ``best`` was chosen and fitted on the 385 public tosses
#: (`docs/validation.md`).
MODELS = {
    "rigid": TossSettings(),
    "best": TossSettings(
        mu=0.1816,
        corner_radius=2.6e-3,
        stiffness=14.2e3,
        dissipation=55.0,
        gravity=9.65,
        inertia_scale=1.2,
        board_height=-3e-4,
        friction="cone",
    ),
}
#: What to expect of ``best``: blocks of tosses that neither the model nor its numbers have seen, with 95 % intervals.
LEFT_OUT = (
    "best, on blocks of tosses left out of its choice and fit:\n"
    "position 12.5 % (11.7 to 13.3), rotation 15.2 deg (13.3 to 17.1)\n"
    "(385 public tosses; its final numbers were fitted to all of them)"
)
