"""From the LCP's variables to constraint forces and the velocity after the step."""

from __future__ import annotations

from lcp.contacts.kernels.boxed_rows import first_limit, recover_boxed_forces
from lcp.contacts.kernels.column_ranges import add_within, row_ranges
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import Floats, Ints, kernel


@kernel(inline=True)
def add_impulses(h: float, f: Floats, Y: Floats, spans: Ints, v: Floats) -> None:
    """v (nv,) += h sum_i f_i Y_i over the forces f (m,), for Y (>= m, nv) with ``column_ranges``."""
    for i in range(f.shape[0]):
        impulse = h * f[i]
        if impulse != 0.0:
            a, b, c, d = row_ranges(spans, i, v.shape[0])
            add_within(a, b, c, d, impulse, Y[i], v)


@kernel
def recover(rows: ContactSystem, z: Floats, f: Floats, v_plus: Floats) -> None:
    """Fill f = [fN | fF+ - fF- | fL | fB] (nu + nbox,) and v+ = v_free + h sum_i f_i Y_i (nv,), G eliminated.

    z (n,) solves the LCP, in the order of `discretized_lcp`.
    """
    nc = rows.nc
    nr = rows.nr
    nl = rows.nl
    limit = first_limit(rows)
    for i in range(nc):
        f[i] = z[i]
    for i in range(nr):
        f[nc + i] = z[nc + i] - z[nc + nr + i]
    for i in range(nl):
        f[nc + nr + i] = z[limit + i]
    nu = nc + nr + nl
    recover_boxed_forces(limit + nl, rows.lo, rows.hi, z, f[nu : nu + rows.lo.shape[0]])

    for p in range(v_plus.shape[0]):
        v_plus[p] = rows.v_free[p]
    add_impulses(rows.h, f, rows.Y, rows.column_ranges, v_plus)
