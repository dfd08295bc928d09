"""Rigorous bounds on the distance of a vector from the solution, including rounding, if the class of M allows them.

Let u lie between the bounds and v be complementary to it; then u solves the problem with q + d in place of q, where
d = v - (M u + q). For the solution z* some diagonal D with entries in [0, 1] has

    (I - D + D M) (u - z*) = -D d,

and so |u - z*| is at most

* <M>^-1 |d| for an H_+-matrix, <M> being its comparison matrix;
* |d|_2 / m in the Euclidean norm, for a positive definite M, x . M x >= m |x|_2^2;
* max over the principal blocks of |M_aa^-1 d_a|, component by component, for a P-matrix: each component of the
  solution is a quotient of two polynomials that are linear in every entry of D. So it is monotone in each entry, and
  its extremes have entries 0 or 1.

X. Chen, S. Xiang, Computation of error bounds for P-matrix linear complementarity problems, Mathematical Programming
106 (2006), and Perturbation bounds of P-matrix linear complementarity problems, SIAM Journal on Optimization 18 (2007);
R. Mathias, J.-S. Pang, Error bounds for the linear complementarity problem with a P-matrix, Linear Algebra and its
Applications 132 (1990). If such a bound determines which unknowns are at their bounds, the others solve a linear
system, and its verified solution gives a smaller bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.analysis.proven_bounds import (
    EPS,
    TINY,
    comparison,
    float_solve,
    h_matrix_vector,
    least_eigenvalue,
    lower_image,
    product,
    round_down,
    round_up,
    upper_norm,
    upper_product,
)
from lcp.analysis.sensitivity import BoxForm, box_form_at
from lcp.arrays import Vector
from lcp.factors import enclosed_rows
from lcp.interruptible import interruptible
from lcp.matrix_classes.definite import congruence
from lcp.matrix_classes.p_matrix import is_p_matrix
from lcp.matrix_classes.verdict import bits
from lcp.residuals import Problem
from lcp.result import MLCPResult, Result
from lcp.scaling import scales

_NONE = "none available"
#: Largest dense matrix whose eigenvalues or blocks are computed.
_DENSE = 3000


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBound:
    """Upper bound on the distance of z from the solution.

    Attributes
    ----------
    bound
        |z - z*| <= bound in the maximum norm; infinite if none is available.
    norm
        ``"max"``.
    matrix_class
        The class of M that proves the bound: ``"H_+"``, ``"PD"``, ``"P"``; ``"none"`` if no class was proven (then a
        finite bound is a ``local`` one).
    detail
        The method, or the reason why there is no bound.
    radius
        |z_i - z*_i| <= radius_i for each entry.
    local
        Whether z* was proven to exist within the bound, without proof that it is the only solution.
    """

    bound: float
    norm: str
    matrix_class: str
    detail: str
    radius: Vector
    local: bool = False

    @property
    def available(self) -> bool:
        """True if there is a bound."""
        return bool(np.isfinite(self.bound))

    def __str__(self) -> str:
        """Return one line: the bound, and the method or the reason why there is none."""
        which = "a solution" if self.local else "the solution"
        return f"|z - z*| <= {self.bound:.2g}, z* {which} ({self.detail})" if self.available else self.detail


@interruptible
def error_bound(
    problem: Problem, z: ArrayLike | Result | MLCPResult, *, max_n: int = 12, local: bool = False
) -> ErrorBound:
    """Compute a rigorous bound on the distance of z from the solution.

    Parameters
    ----------
    problem
        An `LCP`, `BoxLCP` or `MLCP` (its whole matrix [[A, X1], [X2, X3]] must then be in the class).
    z
        Any vector, of an `MLCP` (u, y); or a result. It need not be feasible.
    max_n
        Size up to which all 2^n principal blocks are tried; larger M must be proven H_+ or positive definite.
    local
        If M is in no class with unique solutions, prove instead that a solution exists near z. This requires that the
        unknowns between bounds are certain and their block is regular. Other solutions can exist.

    Returns
    -------
    ErrorBound
        If nothing was proven, ``bound`` is infinite and ``detail`` begins with "none available".
    """
    form, x = box_form_at(problem, z)
    n = form.size
    if n == 0:
        return ErrorBound(0.0, "max", "P", "empty", np.zeros(0))
    pair = _complementary(form, x)
    radii, why = _class_bounds(form, pair, max_n)
    if not radii:
        if local and not form.sparse:
            radius = _existence(form, pair)
            if radius is not None:
                detail = "the equations of the unknowns between their bounds were solved with verified signs"
                return _bound(x, pair, radius, "none", detail, local=True)
        return ErrorBound(np.inf, "max", "none", f"{_NONE}: {why}", np.full(n, np.inf))
    best = min(radii, key=lambda name: float(radii[name].max()))
    radius = np.minimum.reduce(list(radii.values()))
    detail = "max over D of |(I - D + D M)^-1 D d|"
    sharper = _with_certain_states(form, x, pair, radius)
    if sharper is not None:
        settled, radius = sharper
        # Any of the proven classes would have sufficed.
        return _bound(
            x, settled, radius, next(iter(radii)), f"{detail}, then the equations of the unknowns it leaves open"
        )
    return _bound(x, pair, radius, best, detail)


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """u within the bounds, with v = w + d complementary to it; d is within [low, high]; between: not at bounds."""

    u: Vector
    w: Vector
    error: Vector
    low: Vector
    high: Vector
    between: NDArray[np.bool_]


def _bound(x: Vector, pair: _Pair, radius: Vector, name: str, detail: str, *, local: bool = False) -> ErrorBound:
    """Return the error bound of x: ``radius`` about ``pair.u``, plus the distance of x from ``pair.u``."""
    total = np.where(x == pair.u, radius, round_up(round_up(np.abs(x - pair.u)) + radius))
    if not np.isfinite(total).all():
        return ErrorBound(np.inf, "max", name, f"{_NONE}: the numbers leave the range of doubles", total)
    return ErrorBound(float(total.max()), "max", name, detail, total, local)


def _complementary(form: BoxForm, x: Vector) -> _Pair:
    """Return the pair nearest to (x, M x + q): an unknown is between its bounds if x - w / m_ii is."""
    with np.errstate(over="ignore", invalid="ignore"):
        w = np.asarray(form.M @ x + form.q)
        diagonal = np.abs(form.M.diagonal())
        target = x - np.where(np.isfinite(w), w, 0.0) / np.where(diagonal > 0.0, diagonal, 1.0)
    return _pair_at(form, x, target <= form.lo, target >= form.hi)


def _pair_at(form: BoxForm, x: Vector, at_low: NDArray[np.bool_], at_high: NDArray[np.bool_]) -> _Pair:
    """Return the pair with these unknowns at their bounds and the others as in x."""
    at_high = at_high & ~at_low
    u = np.where(at_low, form.lo, np.where(at_high, form.hi, np.clip(x, form.lo, form.hi)))
    w, error = enclosed_rows(form.M, u, form.q)
    least, most = round_down(w - error), round_up(w + error)
    # v = w where its sign agrees with the bound: d = v - w is the part of w with the wrong sign, and all of w between
    # the bounds.
    low, high = -most, -least
    low = np.where(at_low, np.maximum(low, 0.0), np.where(at_high, np.minimum(low, 0.0), low))
    high = np.where(at_low, np.maximum(high, 0.0), np.where(at_high, np.minimum(high, 0.0), high))
    given = form.lo == form.hi
    low, high = np.where(given, 0.0, low), np.where(given, 0.0, high)
    return _Pair(u, w, error, low, high, ~(at_low | at_high))


def _class_bounds(form: BoxForm, pair: _Pair, max_n: int) -> tuple[dict[str, Vector], str]:
    """Return bounds of |u - z*| with the class of M on which each is based; and the reason if there is none."""
    size = np.maximum(np.abs(pair.low), np.abs(pair.high))
    if not np.isfinite(size).all():
        return {}, "the residual leaves the range of doubles"
    radii: dict[str, Vector] = {}
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if (form.M.diagonal() > 0.0).all():
            radius = _by_h_matrix(form.M, size)
            if radius is not None:
                radii["H_+"] = radius
        if form.sparse:
            return radii, "M is sparse and not proven an H_+-matrix"
        if form.size > _DENSE:
            return radii, f"M is not proven an H_+-matrix, and n = {form.size} exceeds {_DENSE} for other proofs"
        if not radii:
            radius = _by_eigenvalue(form.M, size)
            if radius is not None:
                radii["PD"] = radius
    if form.size > max_n:
        return radii, f"M is neither H_+ nor positive definite, and n = {form.size} exceeds max_n = {max_n}"
    verdict = is_p_matrix(form.M)
    if verdict:
        radius = _by_blocks(form.M, pair)
        if radius is not None:
            radii["P"] = radius
        return radii, "a principal block is too near to singular to be inverted with a proof"
    return radii, f"M is {'not ' if verdict.member is False else 'not proven to be '}a P-matrix: {verdict.detail}"


def _by_h_matrix(M: Any, size: Vector) -> Vector | None:
    """Return upper bounds of <M>^-1 size: with <M> v0 >= t0 > 0, <M>^-1 s <= v + c v0, c = max (s - <M> v)+ / t0."""
    proof = h_matrix_vector(M)
    if proof is None:
        return None
    v0, t0 = proof
    C = comparison(M)
    v = float_solve(C, size)
    if v is None or not np.isfinite(v).all():
        v = np.zeros(size.shape[0])
    v = np.maximum(v, 0.0)
    rest = np.maximum(round_up(size - lower_image(C, v)), 0.0)
    c = float(round_up((rest / t0).max()))
    radius: Vector = round_up(v + round_up(c * v0))
    return radius if np.isfinite(radius).all() else None


def _by_eigenvalue(M: Vector, size: Vector) -> Vector | None:
    """Return a bound (n,) of |u - z*| for a positive definite M from its least eigenvalue, or None if unproven.

    ``size`` (n,) bounds the residual. M is scaled to a diagonal near one.
    """
    d = congruence(M)
    scaled = M * d * d[:, None]
    if not ((np.abs(scaled) > 2.0**-900) | (M == 0.0)).all():
        return None
    least = least_eigenvalue(scaled)
    if not least > 0.0:
        return None
    radius: Vector = round_up(d * round_up(upper_norm(round_up(size * d) + TINY) / least))
    return radius if np.isfinite(radius).all() else None


def _by_blocks(M: Vector, pair: _Pair) -> Vector | None:
    """Return the largest |M_aa^-1 d_a| over all blocks."""
    n = M.shape[0]
    middle = 0.5 * pair.low + 0.5 * pair.high
    radius = round_up(np.maximum(pair.high - middle, middle - pair.low) + EPS * np.abs(middle)) + TINY
    worst = np.zeros(n)
    for code in range(1, 1 << n):
        active = list(bits(code))
        image = _inverse_image(M[np.ix_(active, active)], middle[active], radius[active])
        if image is None:
            return None
        worst[active] = np.maximum(worst[active], image)
    return worst


def _with_certain_states(form: BoxForm, x: Vector, pair: _Pair, radius: Vector) -> tuple[_Pair, Vector] | None:
    """Return a pair and a smaller radius from the linear system of unknowns between bounds, or None.

    It is None if the given radius does not determine whether each unknown is at a bound, or if the new radius is not
    smaller.
    """
    if form.sparse:
        return None
    given = form.lo == form.hi
    least, most = round_down(pair.u - radius), round_up(pair.u + radius)
    reach = upper_product(np.abs(form.M), radius)
    w_least, w_most = (
        round_down(round_down(pair.w - pair.error) - reach),
        round_up(round_up(pair.w + pair.error) + reach),
    )
    between = (least > form.lo) & (most < form.hi)
    at_low = (w_least > 0.0) | given
    at_high = (w_most < 0.0) & ~given
    if not (between | at_low | at_high).all():
        return None
    settled = _pair_at(form, pair.u, at_low & ~between, at_high & ~between)
    exact = _bounds_between(form.M, settled)
    if exact is None or exact.max() > radius.max():
        return None
    return settled, exact


def _bounds_between(M: Vector, pair: _Pair) -> Vector | None:
    """Return bounds (n,) of |M_aa^-1 w_a| for the unknowns between their bounds, zero for the others, or None."""
    active = np.flatnonzero(pair.between)
    out = np.zeros(pair.u.shape[0])
    image = _inverse_image(M[np.ix_(active, active)], pair.w[active], pair.error[active])
    if image is None:
        return None
    out[active] = image
    return out


def _inverse_image(block: Vector, value: Vector, spread: Vector) -> Vector | None:
    """Return bounds (k,) of |block^-1 e| over all |e - value| <= spread, or None if none was proven.

    With X an approximate inverse and E = I - X block, |E| <= c < 1 in the row-sum norm, any x~ has x - x~ =
    X (e - block x~) + E (x - x~), and so |x - x~|_max <= |X (e - block x~)|_max / (1 - c). S. M. Rump, Verification
    methods, Acta Numerica 19 (2010).
    """
    k = block.shape[0]
    if k == 0:
        return np.zeros(0)
    row, column = scales(np.ascontiguousarray(block))
    scaled = row[:, None] * block * column
    if not ((np.abs(scaled) > 2.0**-900) | (block == 0.0)).all():
        return None
    try:
        X = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return None
    image, error = product(X, scaled)
    off = round_up((np.abs(np.eye(k) - image) + error).sum(axis=1) * (1.0 + (k + 4) * EPS))
    c = float(off.max())
    if not c < 0.5:
        return None
    right = row * value
    y = X @ right
    image, rounding = product(scaled, y)
    gap = round_up(round_up(np.abs(right - image) * (1.0 + EPS) + rounding) + round_up(row * spread)) + TINY
    first = upper_product(np.abs(X), gap)
    largest = float(round_up(round_up(first.max() / round_down(1.0 - c)) * (1.0 + EPS)))
    bounds: Vector = round_up(column * round_up(round_up(np.abs(y) + first) + round_up(off * largest)))
    return bounds if np.isfinite(bounds).all() else None


def _existence(form: BoxForm, pair: _Pair) -> Vector | None:
    """Return the radius (n,) about ``pair.u`` within which a solution was proven to exist, or None."""
    if form.size > _DENSE:
        return None
    radius = _bounds_between(form.M, pair)
    if radius is None:
        return None
    reach = upper_product(np.abs(form.M), radius)
    least, most = round_down(pair.u - radius), round_up(pair.u + radius)
    given = form.lo == form.hi
    inside = (least >= form.lo) & (most <= form.hi)
    low_sign = (pair.u == form.lo) & (round_down(round_down(pair.w - pair.error) - reach) >= 0.0)
    high_sign = (pair.u == form.hi) & (round_up(round_up(pair.w + pair.error) + reach) <= 0.0)
    outside = ~pair.between & (low_sign | high_sign | given)
    return radius if ((pair.between & inside) | outside).all() else None
