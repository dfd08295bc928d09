"""The conditions of contact of one island of one step, in plain numpy, on the recorded z and velocities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.verification.contacts import ContactRows

#: A measure: condition, contact within the island (-1: the island as a whole), value.
Measure = tuple[str, int, float]
# Share of the island's largest force below which a force is as good as none: its rounding is 1e-10 of that.
NOTHING = 1e-6
# Share of the largest rate a motion of its energy can have that any rate is measured against at least.
FAINT = 1e-4
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # of a row's rate, in units of its terms before they cancel
MANY = 6  # contacts whose kN is in doubt, tried in all combinations


def island_measures(
    rows: ContactRows,
    Y: FloatArray,
    v_free: FloatArray,
    v_plus: FloatArray,
    z: FloatArray,
    h: float,
    liveliness: float,
    *,
    cone: bool = False,
) -> list[Measure]:
    """Return every condition's worst violation over its scale.

    Parameters
    ----------
    rows
        The island's contacts.
    Y
        (nc + nr, nv), row i is M^-1 applied to row i of [N; F].
    v_free, v_plus
        (nv,) velocities after the step without contacts, computed, and with them, as recorded.
    z
        (n,) as recorded: [fN | fF+ | fF- | lambda].
    h
        Step [s].
    liveliness
        `liveliness` of the island's motion without contacts.
    cone
        Whether friction has the exact cone over two tangents (in a plane, one) in place of a pyramid.
    """
    best: list[Measure] = []
    for k in _choices(rows.k):
        residual = _cone_residual if cone else _lcp_residual
        mechanics = _mechanics(rows, Y, v_free, v_plus, z, k, h, liveliness, cone)
        measures = [residual(rows, Y, v_free, z, k, h), *mechanics]
        if not best or max(value for *_, value in measures) < max(value for *_, value in best):
            best = measures
    return best


def liveliness(M: FloatArray, Y: FloatArray, v: FloatArray) -> float:
    """Return sqrt(v' M v) of the velocities v (nv,) that the rows M^-1 J_i (m, nv) can change.

    A row's rate is at most sqrt(J_i M^-1 J_i') of it: what is far below that is the rounding of the whole motion.
    """
    own = np.any(Y != 0.0, axis=0)
    return math.sqrt(max(0.0, float(v[own] @ M[np.ix_(own, own)] @ v[own])))


def _choices(k: tuple[tuple[float, ...], ...]) -> Iterator[FloatArray]:
    """Yield the vectors kN there may be; where too many are in doubt, all of one kind, then all of the other."""
    if sum(len(values) > 1 for values in k) <= MANY:
        for choice in itertools.product(*k):
            yield np.array(choice)
    else:
        yield np.array([values[0] for values in k])
        yield np.array([values[-1] for values in k])


def _lcp_residual(
    rows: ContactRows, Y: FloatArray, v_free: FloatArray, z: FloatArray, k: FloatArray, h: float
) -> Measure:
    """Return max |min(z, w)|, z in units of the largest z, w_i in units of |q_i| + max_j |M_ij| max|z|.

    A rate is not known better than to the rounding of J v_free: that of a ball that rolls without load is rounding
    alone, and is no unit for itself.
    """
    nc, nr = rows.N.shape[0], rows.F.shape[0]
    owner, cones = rows.cone, rows.leans.size
    fN, plus, minus, slack = z[:nc], z[nc : nc + nr], z[nc + nr : nc + 2 * nr], z[nc + 2 * nr :]
    J = np.vstack((rows.N, rows.F))
    response = h * J @ Y.T
    response[range(nc), range(nc)] += rows.gamma
    change = response @ np.concatenate((fN, plus - minus))
    slip = rows.F @ v_free + rows.kF
    q = np.concatenate((rows.N @ v_free + k, slip, -slip, np.zeros(cones)))
    left = rows.mu * fN[rows.leans] - np.bincount(owner, plus + minus, minlength=cones)  # of each cone
    w = q + np.concatenate((change[:nc], change[nc:] + slack[owner], slack[owner] - change[nc:], left))
    rounding = ROUNDING * (np.abs(J) @ np.abs(v_free) + np.abs(np.concatenate((k, rows.kF))))
    rounding = np.concatenate((rounding[:nc], rounding[nc:], rounding[nc:], np.zeros(cones)))
    w = np.copysign(np.maximum(np.abs(w) - rounding, 0.0), w)
    size = float(np.abs(z).max())
    largest = np.abs(response).max(axis=1)
    along = np.maximum(largest[nc:], 1.0)  # the slack of the cone enters with 1
    unit = np.abs(q) + np.concatenate((largest[:nc], along, along, np.maximum(rows.mu, 1.0))) * size
    z_part = z / size if size > 0.0 else z
    w_part = np.divide(w, unit, out=np.zeros_like(w), where=unit > 0.0)
    off = np.abs(np.minimum(z_part, w_part))
    worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
    # Row of the LCP to contact.
    owners = np.concatenate((np.arange(nc), rows.leans[owner], rows.leans[owner], rows.leans))
    return "lcp", int(owners[worst]), float(off[worst])


def _cone_residual(
    rows: ContactRows, Y: FloatArray, v_free: FloatArray, z: FloatArray, k: FloatArray, h: float
) -> Measure:
    """Return the worst contact and its |r - P_K(r - u_hat)|, u_hat = (u_N + mu |u_T|, u_T).

    r = (fN, fF) is taken in units of the largest force, u in units of |q_i| + max_j |W_ij| max |r|.
    """
    nc, nr = rows.N.shape[0], rows.F.shape[0]
    d = nr // nc
    fN, fF = z[:nc], z[nc : nc + nr] - z[nc + nr : nc + 2 * nr]
    J = np.vstack((rows.N, rows.F))
    W = h * J @ Y.T
    W[range(nc), range(nc)] += rows.gamma
    q = J @ v_free + np.concatenate((k, rows.kF))
    force = np.concatenate((fN, fF))
    size = float(np.abs(force).max(initial=0.0)) or 1.0
    u = q + W @ force
    unit = np.abs(q) + np.abs(W).max(axis=1) * size
    unit_c = np.maximum(unit[:nc], unit[nc:].reshape(nc, d).max(axis=1))
    worst, value = 0, 0.0
    for c in range(nc):
        scale, mu = unit_c[c] if unit_c[c] > 0.0 else 1.0, rows.mu[c]
        own, slip = fF[d * c : d * c + d] / size, u[nc + d * c : nc + d * c + d] / scale
        normal = fN[c] / size - (u[c] / scale + mu * np.linalg.norm(slip))
        across = own - slip
        t = float(np.linalg.norm(across))
        if normal >= 0.0 and t <= mu * normal:
            nearest, along = normal, across
        elif mu * t <= -normal:
            nearest, along = 0.0, 0.0 * across
        else:
            nearest = (normal + mu * t) / (1.0 + mu * mu)
            along = mu * nearest * across / t
        off = float(np.hypot(fN[c] / size - nearest, np.linalg.norm(own - along)))
        if not off <= value:
            worst, value = c, off
    return "lcp", worst, value


def _mechanics(
    rows: ContactRows,
    Y: FloatArray,
    v_free: FloatArray,
    v_plus: FloatArray,
    z: FloatArray,
    k: FloatArray,
    h: float,
    liveliness: float,
    cone: bool,
) -> Iterator[Measure]:
    """Yield the mechanical conditions of each contact on the recorded velocity, not on what z makes of it.

    A rate is measured against the size its terms had before cancellation, a force against the one that would change
    the row by that rate: a few units of rounding, whatever the masses, when all is well. A force is known no better
    than to the rounding of the largest one of the island, so each counts with at least a small share of it; so does a
    rate with a share of the largest one that such a motion can have.
    """
    nc, nr = rows.N.shape[0], rows.F.shape[0]
    fN, plus, minus = z[:nc], z[nc : nc + nr], z[nc + nr : nc + 2 * nr]
    f = np.concatenate((fN, plus - minus))
    J = np.vstack((rows.N, rows.F))
    speed = np.abs(v_free) + h * np.maximum(np.abs(f), NOTHING * np.abs(f).max()) @ np.abs(Y)
    give = rows.gamma * fN
    rate = J @ v_plus + np.concatenate((k + give, rows.kF))
    scale = np.abs(J) @ speed + np.concatenate((np.abs(k) + np.abs(give), np.abs(rows.kF)))
    own = np.einsum("ij,ij->i", J, Y)
    scale = np.maximum(scale, FAINT * np.sqrt(np.maximum(0.0, own)) * liveliness)
    response = h * own + np.concatenate((rows.gamma, np.zeros(nr)))
    force = np.divide(scale, response, out=np.abs(f), where=response > 0.0)
    for c in range(nc):
        product = max(abs(fN[c]) * scale[c], force[c] * abs(rate[c]))
        yield "sign", c, max(0.0, -fN[c] / _unit(force[c]))
        yield "gap", c, max(0.0, -rate[c]) / _unit(scale[c])
        yield "complementarity", c, abs(fN[c] * rate[c]) / _unit(product)
    for number, c in enumerate(rows.leans):
        own = np.flatnonzero(rows.cone == number)
        friction, slip = plus[own] - minus[own], rate[nc + own]
        # A cone of moments shares no unit of speed with the normal row.
        slip_scale = max(scale[nc + own].max(), scale[c] if number < nc else 0.0)
        slip_force = force[nc + own].max() + rows.mu[number] * force[c]
        used, bound = float((plus[own] + minus[own]).sum()), float(rows.mu[number] * fN[c])
        fastest = float(np.abs(slip).max())
        if cone:
            # Lengths over orthonormal tangents, where a pyramid has sums and the fastest edge.
            used, fastest = float(np.linalg.norm(friction)), float(np.linalg.norm(slip))
        power = max((abs(bound) + used) * slip_scale, slip_force * fastest)
        yield "sign", int(c), max(0.0, -min(plus[own].min(), minus[own].min()) / _unit(slip_force))
        yield "cone", int(c), max(0.0, used - bound) / _unit(slip_force)
        yield "dissipation", int(c), abs(float(friction @ slip) + bound * fastest) / _unit(power)


def _unit(scale: float) -> float:
    """Return the scale, or the smallest number there is: what is 0 out of nothing holds, anything else does not."""
    return scale if scale > 0.0 else float(np.finfo(float).tiny)
