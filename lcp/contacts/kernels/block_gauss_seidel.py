"""Approximate compliant forces by block Gauss-Seidel over the contacts (Jourdan, Alart and Jean 1998).

A sweep computes each force from the rate of its row only, and updates the velocities. Sweeps show quickly which
contacts carry load and which slide; an active set method starts from these modes.
"""

from __future__ import annotations

from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    FrictionCone,
    contact_rates,
    friction_bound,
    mode_of,
    project_sliding,
    projected_force,
    tangential_response,
)
from lcp.contacts.kernels.contact_modes import SLIDE_EDGE
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.mode_system import apply_contact_impulse, apply_row_impulse
from lcp.contacts.kernels.packed_rows import row_dot
from lcp.contacts.kernels.solver_state import SolverState
from lcp.kernels import kernel


@kernel(inner=True)
def sweep(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> None:
    """Update every force once by Gauss-Seidel; contacts have the compliance eps, joint rows have none."""
    contacts, joined, v = search.contacts, search.joined, search.v
    change = search.scratch3_b
    for c in range(contacts.p.shape[0]):
        p = contacts.p[c]
        contact_rates(rows, polygon, c, v, 1.0, change)
        soft = tangential_response(rows, polygon, contacts, c) + eps
        if c < rows.nc:
            x = p[0] - (change[0] + (rows.gamma[c] + eps) * p[0]) / (contacts.diagonal[c] + eps)
        else:
            # A moment is bounded by the new force of its contact.
            x = contacts.p[rows.cone_contacts[c], 0]
        y = p[1] - (change[1] + eps * p[1]) / soft
        z = p[2] - (change[2] + eps * p[2]) / soft
        mu = friction_bound(rows, c)
        mode = mode_of(polygon, mu, c, x, y, z)
        if polygon.exact and mode >= SLIDE_EDGE:
            project_sliding(polygon, mu, c, False, soft, x, y, z, search.scratch3_a)
        else:
            projected_force(polygon, mu, mode, x, y, z, search.scratch3_a)
        for i in range(CONTACT_DIM):
            change[i] = search.scratch3_a[i] - p[i]
            p[i] = search.scratch3_a[i]
        apply_contact_impulse(rows, polygon, c, change, v)
    before = rows.nc + rows.nr
    for i in range(joined.p.shape[0]):
        if joined.diagonal[i] > 0.0:
            rate = row_dot(rows, before + i, v) + rows.k[before + i]
            force = joined.p[i] - (rate + joined.gamma[i] * joined.p[i]) / joined.diagonal[i]
            force = min(max(force, joined.lo[i]), joined.hi[i])
            apply_row_impulse(rows, before + i, force - joined.p[i], v)
            joined.p[i] = force
