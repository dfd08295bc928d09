"""K = 1 + J' D J of contacts between bodies, as 6 x 6 blocks: assembled, factorised without pivoting, solved with.

Contact c has the rows ``rows[e]`` (3, 6) at the bodies ``bodies[e]``, e in ``starts[c]:starts[c + 1]``; D is a block
(3, 3) of each contact, unsymmetric where it slides. A body is any six velocities in which the inertia is 1.

The bodies stand in the order of elimination. What elimination makes of the rows of body k fills its diagonal block and
those at the later bodies ``later[x]``, x in ``fill[k]:fill[k + 1]``, ascending: ``upper[x]`` in row k, ``lower[x]`` in
column k.
"""

from __future__ import annotations

from typing import NamedTuple

from lcp.kernels import Floats, Ints, kernel

SIZE = 6  # velocities of a body


class BodySystem(NamedTuple):
    """Contacts with friction between bodies: y = y_free + J' p, u = J y + bias."""

    starts: Ints  # (nc + 1,)
    bodies: Ints  # (ne,)
    rows: Floats  # (ne, 3, 6)
    fill: Ints  # (nb + 1,)
    later: Ints  # (nf,)
    mu: Floats  # (nc,)
    weight: Floats  # (nc,) largest diagonal entry of J J' at each contact
    bias: Floats  # (nc, 3)
    y_free: Floats  # (nb, 6)


class BlockFactors(NamedTuple):
    """K, or its factors."""

    diagonal: Floats  # (nb, 6, 6)
    lower: Floats  # (nf, 6, 6)
    upper: Floats  # (nf, 6, 6)
    work: Floats  # (18, 6)


@kernel(inner=True)
def copy_rows(source: Floats, target: Floats) -> None:
    """Copy a matrix."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel(inline=True)
def place_of(fill: Ints, later: Ints, k: int, j: int) -> int:
    """Where body j > k stands among the later ones of body k."""
    low = fill[k]
    high = fill[k + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if later[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline=True)
def block_of(system: BodySystem, factors: BlockFactors, a: int, b: int) -> Floats:
    """The block of K in the row of body a and the column of body b."""
    if a == b:
        block = factors.diagonal[a]
    elif a < b:
        block = factors.upper[place_of(system.fill, system.later, a, b)]
    else:
        block = factors.lower[place_of(system.fill, system.later, b, a)]
    return block


@kernel(inner=True)
def assemble_blocks(system: BodySystem, D: Floats, factors: BlockFactors) -> None:
    """Fill the blocks of K."""
    starts, bodies, rows = system.starts, system.bodies, system.rows
    diagonal, lower, upper, work = factors
    diagonal[:] = 0.0
    lower[:] = 0.0
    upper[:] = 0.0
    for k in range(diagonal.shape[0]):
        for i in range(SIZE):
            diagonal[k, i, i] = 1.0
    for c in range(D.shape[0]):
        for e in range(starts[c], starts[c + 1]):
            column = rows[e]
            for i in range(3):
                for j in range(SIZE):
                    work[i, j] = D[c, i, 0] * column[0, j] + D[c, i, 1] * column[1, j] + D[c, i, 2] * column[2, j]
            for g in range(starts[c], starts[c + 1]):
                row = rows[g]
                a = bodies[g]
                b = bodies[e]
                block = block_of(system, factors, a, b)
                for i in range(SIZE):
                    for j in range(SIZE):
                        block[i, j] += row[0, i] * work[0, j] + row[1, i] * work[1, j] + row[2, i] * work[2, j]


@kernel(inner=True)
def invert_block(A: Floats, inverse: Floats) -> None:
    """Gauss and Jordan's elimination without pivoting; A is destroyed."""
    for i in range(SIZE):
        for j in range(SIZE):
            inverse[i, j] = 1.0 if i == j else 0.0
    for k in range(SIZE):
        factor = 1.0 / A[k, k]
        for j in range(SIZE):
            A[k, j] *= factor
            inverse[k, j] *= factor
        for i in range(SIZE):
            if i != k and A[i, k] != 0.0:
                factor = A[i, k]
                for j in range(SIZE):
                    A[i, j] -= factor * A[k, j]
                    inverse[i, j] -= factor * inverse[k, j]


@kernel(inner=True)
def factor_blocks(system: BodySystem, factors: BlockFactors) -> None:
    """Replace K by its factors: inverses of the pivots, and the multipliers of the rows below in place of ``lower``."""
    fill, later = system.fill, system.later
    diagonal, lower, upper, work = factors
    inverse = work[SIZE : 2 * SIZE]
    product = work[2 * SIZE : 3 * SIZE]
    for k in range(diagonal.shape[0]):
        pivot = diagonal[k]
        invert_block(pivot, inverse)
        for i in range(SIZE):
            for j in range(SIZE):
                pivot[i, j] = inverse[i, j]
        for x in range(fill[k], fill[k + 1]):
            multiplier = lower[x]
            for i in range(SIZE):
                for j in range(SIZE):
                    total = 0.0
                    for l in range(SIZE):
                        total += multiplier[i, l] * pivot[l, j]
                    product[i, j] = total
            a = later[x]
            for i in range(SIZE):
                for j in range(SIZE):
                    multiplier[i, j] = product[i, j]
            for y in range(fill[k], fill[k + 1]):
                b = later[y]
                row = upper[y]
                block = block_of(system, factors, a, b)
                for i in range(SIZE):
                    for j in range(SIZE):
                        block[i, j] -= (
                            product[i, 0] * row[0, j]
                            + product[i, 1] * row[1, j]
                            + product[i, 2] * row[2, j]
                            + product[i, 3] * row[3, j]
                            + product[i, 4] * row[4, j]
                            + product[i, 5] * row[5, j]
                        )


@kernel(inner=True)
def solve_blocks(system: BodySystem, factors: BlockFactors, x: Floats) -> None:
    """Replace x (nb, 6) by K^-1 x, K as factorised."""
    fill, later = system.fill, system.later
    diagonal, lower, upper, _ = factors
    nb = diagonal.shape[0]
    for k in range(nb):
        for e in range(fill[k], fill[k + 1]):
            for i in range(SIZE):
                for j in range(SIZE):
                    x[later[e], i] -= lower[e, i, j] * x[k, j]
    for at in range(nb):
        k = nb - 1 - at
        for e in range(fill[k], fill[k + 1]):
            for i in range(SIZE):
                for j in range(SIZE):
                    x[k, i] -= upper[e, i, j] * x[later[e], j]
        x0 = x[k, 0]
        x1 = x[k, 1]
        x2 = x[k, 2]
        x3 = x[k, 3]
        x4 = x[k, 4]
        x5 = x[k, 5]
        P = diagonal[k]
        for i in range(SIZE):
            x[k, i] = P[i, 0] * x0 + P[i, 1] * x1 + P[i, 2] * x2 + P[i, 3] * x3 + P[i, 4] * x4 + P[i, 5] * x5


@kernel(inner=True)
def contact_motion(system: BodySystem, y: Floats, biased: bool, u: Floats) -> None:
    """Fill u (nc, 3) = J y, and the bias where ``biased``."""
    starts, bodies, rows = system.starts, system.bodies, system.rows
    for c in range(u.shape[0]):
        for i in range(3):
            total = system.bias[c, i] if biased else 0.0
            for e in range(starts[c], starts[c + 1]):
                for j in range(SIZE):
                    total += rows[e, i, j] * y[bodies[e], j]
            u[c, i] = total


@kernel(inner=True)
def add_impulses(system: BodySystem, p: Floats, y: Floats) -> None:
    """Add J' p to y (nb, 6)."""
    starts, bodies, rows = system.starts, system.bodies, system.rows
    for c in range(p.shape[0]):
        for e in range(starts[c], starts[c + 1]):
            for i in range(3):
                for j in range(SIZE):
                    y[bodies[e], j] += rows[e, i, j] * p[c, i]


@kernel
def moved_by(system: BodySystem, p: Floats, y: Floats, u: Floats) -> None:
    """Fill y and u under the impulses p (nc, 3)."""
    copy_rows(system.y_free, y)
    add_impulses(system, p, y)
    contact_motion(system, y, True, u)
