"""Proximal points with growing weights from nearby forces, each by Newton's method with a line search.

With previous forces p0 and a weight t = rho / (diagonal response) of each row, the next forces are p = P(p0 - t s) at
their rates s. With a large rho and the right modes one point is enough (`proximal_points`). If the modes are still
unknown, a small rho distinguishes them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lcp.compiler.kernels import copy_array
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    ContactState,
    FrictionCone,
    fill_contact_rates,
    fill_force_jacobian,
    normal_row,
    proximal_response,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.mode_system import apply_contact_impulse
from lcp.contacts.kernels.proximal_points import ROUNDING, bounded_force, natural_residual
from lcp.contacts.kernels.solver_state import SolverState, copy_rows, factor_system, recover_velocity
from lcp.kernels import Floats, kernel

# First rho, for residuals as fractions of the speed.
FIRST: Final = 0.05
# Fraction of the residual at which a proximal point is accepted, Newton steps for it, and halvings of a step.
INNER: Final = 0.03
STEPS: Final = 15
HALVINGS: Final = 6
# Factor of rho if residuals fall slowly, its inverse after a failure, and the range of rho.
RAISE: Final = 10.0
LOWER: Final = 0.25
MOST: Final = 1e9
LEAST: Final = 1.0
SLOW: Final = 0.3  # factor of a slow decrease
# Residuals, as fractions of the speed, at which it ends, and below which forces are judged.
CONVERGED_RESIDUAL: Final = 1e-12
WORTH: Final = 1e-8


class ProximalState(NamedTuple):
    """Memory of the method."""

    before: Floats  # (n, 3) p0
    best: Floats  # (n, 3)
    v: Floats  # (nv,)
    F: Floats  # (nv,)
    G: Floats  # (nv,)


@kernel
def proximal_state_float_size(n: int, nv: int) -> int:
    """Return the number of floats of `ProximalState`."""
    return 2 * CONTACT_DIM * n + 3 * nv


@kernel(inner=True)
def proximal_state_views(n: int, nv: int, memory: Floats) -> ProximalState:
    """Return views of ``memory``, of `proximal_state_float_size` numbers, as the method's state."""
    vectors = view_2d(memory, 6 * n, 3, nv)
    return ProximalState(
        view_2d(memory, 0, n, CONTACT_DIM),
        view_2d(memory, 3 * n, n, CONTACT_DIM),
        vectors[0],
        vectors[1],
        vectors[2],
    )


@kernel(inline=True)
def weights_of(
    rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, rho: float
) -> tuple[float, float]:
    """Return rho over the responses of a contact along its normal and its tangents, 0 for a row that moves nothing."""
    own, soft = contacts.diagonal[normal_row(rows, c)], tangential_response(rows, polygon, contacts, c)
    return (rho / own, rho / soft) if own > 0.0 else (0.0, 0.0)


@kernel(inner=True)
def proximal_residual(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: ProximalState, rho: float, v: Floats
) -> float:
    """Fill the rates s at v, the modes, the forces p = P(p0 - t s) and ``memory.G`` = v_free + h sum Y' p - v.

    P projects to the cones and bounds, p0 is in ``memory.before``, and t is ``rho`` over a row's response. Return the
    largest |G|.
    """
    contacts, ncone = search.contacts, rows.r.shape[0]
    G = memory.G
    nv = v.shape[0]
    # rates of the contacts at v, and G without impulses
    fill_contact_rates(rows, polygon, v, 1.0, contacts.s)
    for i in range(nv):
        G[i] = rows.v_free[i] - v[i]
    # forces from the rates, with the impulses they add to G
    for c in range(contacts.p.shape[0]):
        s, before, p = contacts.s[c], memory.before[c], contacts.p[c]
        # step lengths along the normal and in the tangential plane
        weight, soft = weights_of(rows, polygon, contacts, c, rho)
        x = (before[0] - weight * s[0]) / (1.0 + weight * rows.gamma[normal_row(rows, c)])
        if c < ncone:
            y, z = before[1] - soft * s[1], before[2] - soft * s[2]
            contacts.mode[c] = proximal_response(rows, polygon, c, 1.0 / soft, x, y, z, p)
        else:
            p[0] = bounded_force(rows, search, c, x)
        apply_contact_impulse(rows, polygon, c, p, G)
    # largest entry of G
    largest = 0.0
    for i in range(nv):
        largest = max(largest, abs(G[i]))
    return largest


@kernel(inner=True)
def newton_step(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: ProximalState, rho: float
) -> bool:
    """Replace the residual ``memory.F`` by K^-1 F, the Newton step of v in the state's modes.

    Return False if K is singular.
    """
    # derivative of each contact's force by its rates
    contacts = search.contacts
    for c in range(contacts.p.shape[0]):
        weight, soft = weights_of(rows, polygon, contacts, c, rho)
        weight /= 1.0 + weight * rows.gamma[normal_row(rows, c)]
        fill_force_jacobian(rows, polygon, c, contacts.mode[c], weight, soft, contacts.B[c])
    # form and factor the matrix, then solve for the step
    if not factor_system(rows, polygon, search):
        return False
    solve_panels(search.trees, search.K, memory.F)
    return True


@kernel(inner=True)
def continue_proximal_newton(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: ProximalState, least: float, most: int
) -> tuple[int, float]:
    """Move the state's forces to forces of the rigid problem; return the number of systems solved, and the residual.

    ``least`` is the residual at entry, where v and s belong to the forces. At most ``most`` systems are solved. On
    return the state has the forces of least residual.
    """
    # start from the state's forces, which are also the best so far
    v, trial = search.v, memory.v
    nv = v.shape[0]
    copy_rows(search.contacts.p, memory.before)
    copy_rows(search.contacts.p, memory.best)
    last = least
    # a smaller residual permits a larger step length
    rho = max(LEAST, min(FIRST * search.speed / max(least, 1e-12 * search.speed), MOST))
    spent = 0
    slow = 0
    # outer loop: one proximal problem each, around the forces in memory.before
    while least > CONVERGED_RESIDUAL * search.speed and spent < most:
        size = proximal_residual(rows, polygon, search, memory, rho, v)
        enough = INNER * least + ROUNDING * search.speed
        # inner loop: Newton's method for G = 0
        steps = 0
        while size > enough and steps < STEPS and spent < most:
            steps += 1
            spent += 1
            copy_array(memory.G, memory.F)
            if not newton_step(rows, polygon, search, memory, rho):
                break
            # halve the step until G is smaller
            share = 1.0
            smaller = size
            for _ in range(HALVINGS):
                for i in range(nv):
                    trial[i] = v[i] + share * memory.F[i]
                smaller = proximal_residual(rows, polygon, search, memory, rho, trial)
                if smaller < size:
                    break
                share *= 0.5
            if not smaller < size:
                break
            # accept the step
            copy_array(trial, v)
            size = smaller
        # measure the forces by the law itself, and keep the best
        misfit = natural_residual(rows, polygon, search)
        if misfit < least:
            least = misfit
            copy_rows(search.contacts.p, memory.best)
        # accepted: the new forces become the center of the next proximal problem
        if size <= enough or misfit <= last:
            copy_rows(search.contacts.p, memory.before)
            slow = slow + 1 if misfit > SLOW * last else 0
            # raise rho if progress is slow although the inner problem is easy
            if slow >= 2 or (steps <= 2 and misfit > 0.1 * last):
                rho = min(RAISE * rho, MOST)
                slow = 0
            last = misfit
        else:
            # failed: return to the best forces with a smaller rho
            rho *= LOWER
            if rho < LEAST:
                break
            copy_rows(memory.best, search.contacts.p)
            copy_rows(search.contacts.p, memory.before)
            recover_velocity(rows, polygon, search)
            last = least
            slow = 0
    # leave the best forces in the state
    copy_rows(memory.best, search.contacts.p)
    return spent, least
