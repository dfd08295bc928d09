"""Turning points: the homotopy behind the contact solver, dense and in forty lines, on a curve that turns back twice.

Coulomb's law is an LCP: z >= 0, w = M z + q >= 0, z w = 0. The curve w - M z - q = l r, z w = l z0 w0 leads from any
z0, w0 > 0 at l = 1 to a solution at l = 0. Friction makes M indefinite, so l can grow again along the curve. The sign
of det(M + W / Z) gives the forward direction. Without it the method stops at the first turning point.
"""

from __future__ import annotations

import numpy as np

import lcp


def friction_lcp(seed, contacts, mu, velocities):
    """Make the LCP of planar contacts with friction, in the variables (pN, f+, f-, slip speed)."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2 * contacts, velocities))
    delassus, free = rows @ rows.T, rows @ rng.standard_normal(velocities)
    NN, NT, TT = delassus[::2, ::2], delassus[::2, 1::2], delassus[1::2, 1::2]
    one, none = np.eye(contacts), np.zeros((contacts, contacts))
    M = np.block(
        [[NN, NT, -NT, none], [NT.T, TT, -TT, one], [-NT.T, -TT, TT, one], [mu * one, -one, -one, none]],
    )
    return lcp.LCP(M, np.concatenate([free[::2], free[1::2], -free[1::2], np.zeros(contacts)]))


def follow(problem, oriented=True, most=200):
    """Follow the curve from z0 = w0 = 1; z, and l after each step. Newton steps are relative: dz / z and dw / w."""
    M, q, n = problem.M, problem.q, problem.n
    z, w, l = np.ones(n), np.ones(n), 1.0
    r, product, first, path = w - M @ z - q, z * w, 0.0, [1.0]
    while l > 1e-9 and len(path) < most:
        # One matrix gives the direction of the curve, the tangent T = d(z, w) / dl, and the correction C at this l.
        K = M + np.diag(w / z)
        sign = np.linalg.slogdet(K)[0]
        first = first or sign
        miss = w - M @ z - q - l * r
        dz, cz = np.linalg.solve(K, np.column_stack((product / z - r, (l * product - z * w) / z + miss))).T
        dw, cw = M @ dz + r, M @ cz - miss
        T, C = np.concatenate((dz / z, dw / w)), np.concatenate((cz / z, cw / w))
        # The correction is at right angles to the curve, so that it works at turning points too.
        share = -(C @ T) / (T @ T + 1.0 / l**2)
        C += share * T
        part = min(1.0, 0.9 / max(-C.min(), 0.9), 0.9 * l / max(-share, 0.9 * l))
        z, w, l = z * (1.0 + part * C[:n]), w * (1.0 + part * C[n:]), l + part * share
        # The tangent: l falls while the determinant has its first sign. The step ends where products are off by half.
        T = np.concatenate((dz / z, dw / w))
        way = -1.0 if sign == first or not oriented else 1.0
        step, allowed = (0.9 if way < 0.0 else 2.0) * l, 0.5 + min(1.0, abs(z * w / (l * product) - 1.0).max())
        factor = 1.0 + way * step * T
        while factor.min() <= 0.0 or off(z * w * factor[:n] * factor[n:], (l + way * step) * product) > allowed:
            step *= 0.7
            if step < 1e-9 * l:
                return z, np.array(path)
            factor = 1.0 + way * step * T
        z, w, l = z * factor[:n], w * factor[n:], l + way * step
        path.append(l)
    return z, np.array(path)


def off(products, wanted):
    """Return the largest relative difference of the products from the wanted ones."""
    return abs(products / wanted - 1.0).max()


def turns(path):
    """Count the turning points of a path."""
    return int(np.count_nonzero(np.diff(np.sign(np.diff(path)))))


def main():
    """Follow one curve with and without the sign, and count turning points of sixty problems."""
    problem = friction_lcp(seed=48, contacts=6, mu=3.0, velocities=9)
    z, path = follow(problem)
    _, stuck = follow(problem, oriented=False)
    residual = float(abs(np.minimum(z, problem.M @ z + problem.q)).max())
    print(f"with the sign: {len(path) - 1} steps, {turns(path)} turning points, residual {residual:.0e}")
    print(f"always towards l = 0: after {len(stuck) - 1} steps l = {stuck[-1]:.2g}")
    assert residual < 1e-7
    assert turns(path) >= 2
    assert stuck[-1] > 1e-3

    paths = [follow(friction_lcp(seed, 6, 3.0, 9))[1] for seed in range(60)]
    arrived = [path for path in paths if path[-1] <= 1e-9]
    print(f"of 60 problems {len(arrived)} end at l = 0; {sum(turns(path) > 0 for path in arrived)} of them turn back")


if __name__ == "__main__":
    main()
