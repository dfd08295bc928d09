"""A friction problem as the rows that the attempts at contact forces take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lcp.arrays import Vector
from lcp.contacts.trees import contact_spans
from lcp.friction.blocks import Scaled
from lcp.friction.bodies import Bodies
from lcp.friction.problem import FrictionProblem, Indices

if TYPE_CHECKING:
    from lcp.contacts.kernels.contact_system import ContactSystem

# Numbers of the largest problem that is laid out.
_MOST = 400_000_000
# Part of the largest force that rounding may leave.
_DUST = 1e-14


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The rows [N; F] of a problem in its solvers' units, every contact with as many tangents as any; h is 1."""

    system: ContactSystem
    starts: Indices  # (nt + 1,) first velocity of each tree
    present: Vector  # (nc, 1 + r) 1 for components that a contact has

    def variables(self, rows: Vector) -> Vector:
        """Forces in rows (nc, 3) as variables (fN, fF+, fF-, lambda) of an LCP."""
        friction = (rows[:, : self.present.shape[1]] * self.present)[:, 1:].ravel()
        return np.concatenate(
            (rows[:, 0], np.maximum(friction, 0.0), np.maximum(-friction, 0.0), np.zeros(self.system.nc))
        )

    def forces(self, z: Vector) -> Vector:
        """Rows (nc, 3) of such variables."""
        nc, nr = self.system.nc, self.system.nr
        rows = np.zeros((nc, 3))
        rows[:, 0] = z[:nc]
        rows[:, 1 : self.present.shape[1]] = (z[nc : nc + nr] - z[nc + nr : nc + 2 * nr]).reshape(nc, -1)
        rows[:, : self.present.shape[1]] *= self.present
        return rows

    def swept(self, rows: Vector) -> Vector:
        """Forces (nc, 3) without those that are rounding of the largest one.

        They are nothing beside the rest of the problem, and everything among bodies that rest on each other as they
        move.
        """
        size = np.abs(rows).max(axis=1, initial=0.0)
        return np.where((size > _DUST * size.max(initial=0.0))[:, None], rows, 0.0)


def contact_rows(problem: FrictionProblem, bodies: Bodies, units: Scaled) -> ContactRows | None:
    """Lay a problem out between its bodies; None where it is too large.

    A contact that lacks a tangent has a row of zeros in its place: nothing moves along it, and no force comes of it.
    """
    from lcp.contacts.kernels.contact_system import ContactSystem

    nc, nv, dims = problem.nc, bodies.v_free.shape[0], problem._dims
    r = int(dims.max()) - 1
    nr = nc * r
    if nv * (nc + nr + nv) > _MOST:
        return None
    first = np.cumsum(dims) - dims
    contact = np.repeat(np.arange(nc, dtype=np.int64), dims)
    component = np.arange(problem.m, dtype=np.int64) - first[contact]
    place = np.where(component == 0, contact, nc + contact * r + component - 1)
    entries = bodies.J.tocoo()
    # Pages of zeros that nobody writes to take no memory.
    J = np.zeros((nc + nr, nv))
    J[place[entries.row], entries.col] = entries.data / np.sqrt(units.w)
    k = np.zeros(nc + nr)
    k[place] = bodies.bias / units.p
    v_free = bodies.v_free * (np.sqrt(units.w) / units.p)
    starts = bodies.starts
    spans = contact_spans(starts, nc, contact[entries.row], entries.col)
    if spans is None:
        starts, spans = np.array([0, nv], dtype=np.int64), np.zeros((0, 4), dtype=np.int64)
    else:
        spans = spans[np.concatenate((np.arange(nc), np.repeat(np.arange(nc), r)))]
    system = ContactSystem(
        h=1.0,
        nc=nc,
        nr=nr,
        nl=0,
        nb=0,
        r=np.full(nc, r, dtype=np.int64),
        mu=problem._mu,
        cone_contacts=np.arange(nc, dtype=np.int64),
        J=J,
        Y=J,
        k=k,
        gamma=np.zeros(nc + nr),
        gammaE=np.zeros(nc),
        lo=np.zeros(0),
        hi=np.zeros(0),
        v_free=v_free,
        Mv=v_free,
        spans=spans,
        own=np.zeros(0),
    )
    return ContactRows(system, starts, (np.arange(1 + r) < dims[:, None]).astype(np.float64))
