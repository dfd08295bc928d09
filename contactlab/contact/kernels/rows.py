"""One body's share of a contact's rows: how fast its point at the contact moves, and how fast it turns, world axes."""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def add_contact_columns(
    dof_parent: IntArray,
    S: FloatArray,
    last: int,
    o: FloatArray,
    x: FloatArray,
    sign: float,
    shift: int,
    P: FloatArray,
) -> None:
    """Add ``sign`` times the velocity of a body's point now at ``x`` to P, so that P v is that velocity.

    Column j is that of motion column j at x: its linear part about o and its turn across x - o. Only degrees of freedom
    between the body and the root of its tree are met: the others do not move the point.

    Parameters
    ----------
    dof_parent, S
        (nv,) the next degree of freedom towards the root, -1 for none; motion columns (nv, 6).
    last
        The degree of freedom next to the body.
    o
        (3,) origin of the tree's root link, about which the columns are.
    x
        (3,) world axes.
    shift
        Degree of freedom j stands in column j + shift of P.
    P
        (3, n)
    """
    rx, ry, rz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    j = last
    while j >= 0:
        s = S[j]
        P[0, j + shift] += sign * (s[3] + (s[1] * rz - s[2] * ry))
        P[1, j + shift] += sign * (s[4] + (s[2] * rx - s[0] * rz))
        P[2, j + shift] += sign * (s[5] + (s[0] * ry - s[1] * rx))
        j = dof_parent[j]


@kernel
def add_turning_columns(dof_parent: IntArray, S: FloatArray, last: int, sign: float, shift: int, P: FloatArray) -> None:
    """Add ``sign`` times a body's angular velocity to P, so that P v is that velocity; as `add_contact_columns`."""
    j = last
    while j >= 0:
        for i in range(3):
            P[i, j + shift] += sign * S[j, i]
        j = dof_parent[j]
