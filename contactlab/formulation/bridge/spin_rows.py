"""Torsional and rolling friction of contacts at a known load: boxed rows of the relative angular velocity.

A contact that is a small patch resists spin about its normal n with up to rho_t f_N, and rolling, the part of the
relative angular velocity w across n, with up to rho_r f_N; the radii rho are lengths [m]. With f_N known, both are rows
with constant bounds,

    s = d . (w_B - w_A),   |moment along d| <= rho f_N,

for d = n, and for d along the present rolling and across it: straight rolling then has its bound exactly, and no other
direction more than the root of 2 of it. f_N is given, as a rule that of the step before: the bounds lag by a step.

Source: A. Tasora, M. Anitescu, A complementarity-based rolling friction model for rigid contacts, Meccanica 48 (2013),
with the cone of the moments cut to a box and its size taken from the step before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from contactlab.contact.friction_pyramid import tangent_frame
from contactlab.formulation.bridge.branches import SparseRows, turning_rows
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.formulation.bridge.options import at_least_zero
from contactlab.formulation.bridge.rows import Row
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.errors import close_names

if TYPE_CHECKING:
    from contactlab.formulation.bridge.contact_geometry import ContactPoint
    from contactlab.formulation.bridge.inputs import Inputs

#: Kinds of these rows.
SPINNING = ("torsional friction", "rolling friction")
# [rad/s] below which rolling has no direction.
_STILL = 1e-9


def checked_loads(
    contacts: tuple[ContactPoint, ...], names: tuple[str, ...], loads: Mapping[str, float] | None
) -> FloatArray:
    """Return the load (nc,) [N] of every contact; contacts with spin friction need one."""
    out = np.zeros(len(contacts))
    if loads is not None and not isinstance(loads, Mapping):
        raise BridgeError("loads", f"must be a mapping from names of contacts, got {type(loads).__name__}")
    given = dict(loads or {})
    for i, (contact, name) in enumerate(zip(contacts, names, strict=True)):
        if name in given:
            out[i] = at_least_zero(given.pop(name), f"loads[{name!r}]")
        elif contact.torsional or contact.rolling:
            raise BridgeError("loads", f"{name!r} has torsional or rolling friction: its normal force [N] is needed")
    for name in given:
        raise BridgeError("loads", f"no contact is called {name!r}{close_names(name, names)}")
    return out


def spin_rows(p: Inputs) -> tuple[SparseRows | None, list[tuple[Row, float]]]:
    """Return the rows of all closed contacts with spin friction, and what each stands for with its bound [N m]."""
    g = p.geometry
    found: list[tuple[int, FloatArray, Row, float]] = []
    for c, contact in enumerate(p.contacts):
        bounds = (contact.torsional * float(p.loads[c]), contact.rolling * float(p.loads[c]))
        if bounds == (0.0, 0.0) or g.gap[c] > p.thresholds.closed:
            continue
        directions = _directions(p, c)
        for number, d in enumerate(directions):
            kind, bound = SPINNING[min(number, 1)], bounds[min(number, 1)]
            if bound > 0.0:
                label = f"{g.names[c]}: {kind}" + (f" {number}" if number else "")
                d.flags.writeable = False
                bodies = (contact.body_a, contact.body_b)
                row = Row("B", 0, kind, g.names[c], label, *bodies, direction=d, bounds=(-bound, bound))
                found.append((c, d, row, bound))
    if not found:
        return None, []
    places: IntArray = np.array([c for c, *_ in found], dtype=np.int64)
    directions = [d for _, d, *_ in found]
    J = turning_rows(g.at, np.array(directions), g.link_a[places], g.link_b[places], g.nv)
    return J, [(row, bound) for *_, row, bound in found]


def _directions(p: Inputs, c: int) -> list[FloatArray]:
    """The normal, the direction of rolling, and the one across both."""
    g = p.geometry
    n = np.array(g.normal[c])
    at = np.array([c], dtype=np.int64)
    w_b, _ = g.at.velocities(g.link_b[at], g.x_b[at])
    w_a, _ = g.at.velocities(g.link_a[at], g.x_a[at])
    rolling = (w_b - w_a)[0]
    rolling = rolling - (n @ rolling) * n
    speed = float(np.linalg.norm(rolling))
    first = rolling / speed if speed > _STILL else tangent_frame(n)[0]
    return [n, first, np.cross(n, first)]
