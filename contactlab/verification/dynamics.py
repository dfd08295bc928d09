"""The equations of motion of a step without contacts, in plain numpy: M, M v_free, and the energies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.verification.motion import Body, moving_bodies, tree_roots

if TYPE_CHECKING:
    from contactlab.multibody import Model

ITERATIONS = 30
SHORTEST = 1e-9  # part of a Newton step worth taking
PARTS = 1024
FEW = 0.5  # radians in a step below which its equation is always solved in one part
CLOSE = 1e-9  # relative


@dataclass(frozen=True, eq=False)
class Dynamics:
    """What a state says of the step that begins there."""

    bodies: dict[str, Body]  # frames by the bodies' names
    M: FloatArray  # (nv, nv) mass matrix
    bias: FloatArray  # (nv,) generalised force of weight and velocity products, on the left-hand side
    # (nv,) the sum of the magnitudes of ``bias``'s terms: the scale of its rounding. Lengths of vectors, not of their
    # entries: what vanishes along an axis only because the axis points there is rounding of the whole.
    force_size: FloatArray
    # (nb, 2, nv) lengths of the columns of each body's Jacobians, times its mass and its largest moment of inertia.
    spread: FloatArray
    columns: FloatArray  # (nb, 2, 3, nv) the Jacobians: of its centre of mass, of its turning
    # Energies [J].
    kinetic: float
    potential: float

    def momentum_size(self, v: FloatArray) -> FloatArray:
        """Return the magnitudes (nv,) of the terms of M v."""
        speeds = np.linalg.norm(self.columns @ v, axis=2)
        return np.asarray(np.abs(self.M) @ np.abs(v) + np.einsum("bkj,bk->j", self.spread, speeds))


def dynamics(model: Model, q: FloatArray, v: FloatArray) -> Dynamics:
    """Return the dynamics at a state; all velocity products taken there."""
    bodies = moving_bodies(model, q, v)
    heavy = [(bodies[spec.name], spec.inertia) for spec in model.bodies if spec.inertia is not None]
    M, bias, size = np.zeros((model.nv, model.nv)), np.zeros(model.nv), np.zeros(model.nv)
    spread, columns = np.zeros((len(heavy), 2, model.nv)), np.zeros((len(heavy), 2, 3, model.nv))
    potential = 0.0
    for n, (body, own) in enumerate(heavy):
        com, inertia = body.p + body.R @ own.com, body.R @ own.inertia @ body.R.T
        columns[n] = body.point_jacobian(com), body.Jw
        J, Jw = columns[n]
        M += own.mass * J.T @ J + Jw.T @ inertia @ Jw
        acceleration = body.point_acceleration(com)
        bias += J.T @ (own.mass * (acceleration - model.gravity))
        bias += Jw.T @ (inertia @ body.alpha + np.cross(body.w, inertia @ body.w))
        moment = float(np.abs(np.linalg.eigvalsh(inertia)).max())
        spread[n] = np.linalg.norm(columns[n], axis=1) * np.array([[own.mass], [moment]])
        size += spread[n, 0] * (np.linalg.norm(acceleration) + np.linalg.norm(model.gravity))
        size += spread[n, 1] * (np.linalg.norm(body.alpha) + body.w @ body.w)
        potential -= own.mass * float(model.gravity @ com)
    return Dynamics(bodies, M, bias, size, spread, columns, 0.5 * float(v @ M @ v), potential)


def free_momentum(
    model: Model, state: Dynamics, v: FloatArray, tau: FloatArray, h: float, guess: FloatArray, gyroscopic: str
) -> FloatArray:
    """Return M v_free (nv,): M v + h (tau - bias), the gyroscopic torque of single free links as the stepper takes it.

    ``guess`` (nv,) is where the search for the midpoint begins: near v_free.
    """
    momentum = state.M @ v + h * (tau - state.bias)
    if gyroscopic == "explicit":
        return momentum
    for names in _single_links(model):
        spec = model.bodies[[body.name for body in model.bodies].index(names[0])]
        body, at = state.bodies[spec.name], model.v_slice(spec.name).stop - 3
        own = slice(at, at + 3)
        about = _inertia_about(model, state, names, floating=spec.joint.chain()[0].nq == 7)
        # In the body's axes, which the joint's velocities are in.
        I = body.R.T @ about @ body.R
        w = v[own]
        if gyroscopic == "off":
            momentum[own] += h * np.cross(w, I @ w)
            continue
        # The torque beside the gyroscopic one is what makes I dw/dt = rest - w x I w the explicit motion.
        part = model.v_slice(spec.name)
        rates = np.linalg.solve(state.M[part, part], (tau - state.bias)[part])
        rest = I @ rates[-3:] + np.cross(w, I @ w)
        d = _spin(I, w, h, rest, guess[own] - w)
        momentum[own] += I @ d - h * (rest - np.cross(w, I @ w))
    return momentum


def _single_links(model: Model) -> list[list[str]]:
    """Return the trees that are one elementary motion, free or spherical: the body with the joint, then those on it."""
    trees: dict[str, list[str]] = {}
    for name, root in tree_roots(model).items():
        trees.setdefault(root, []).append(name)
    chains = {spec.name: spec.joint.chain() for spec in model.bodies}
    lengths = {root: [motion.nq for name in names for motion in chains[name]] for root, names in trees.items()}
    return [trees[root] for root in trees if lengths[root] in ([7], [4])]


def _inertia_about(model: Model, state: Dynamics, names: list[str], *, floating: bool) -> FloatArray:
    """Return the (3, 3) inertia of bodies that move as one, about their centre of mass or the joint; world axes."""
    parts = []
    for spec in model.bodies:
        if spec.name in names and spec.inertia is not None:
            body = state.bodies[spec.name]
            central = body.R @ spec.inertia.inertia @ body.R.T
            parts.append((spec.inertia.mass, body.p + body.R @ spec.inertia.com, central))
    point = state.bodies[names[0]].p
    if floating:
        point = sum((m * x for m, x, _ in parts), np.zeros(3)) / sum(m for m, _, _ in parts)
    total = np.zeros((3, 3))
    for m, x, central in parts:
        d = x - point
        total += central + m * (d @ d * np.eye(3) - np.outer(d, d))
    return total


def _spin(I: FloatArray, w: FloatArray, h: float, torque: FloatArray, guess: FloatArray) -> FloatArray:
    """Return the change (3,) of w over a step by the midpoint rule.

    A step that turns the body by a radian or more may be taken in 2, 4, ... equal parts where one is not solved. How
    many is not on record: the nearest to ``guess`` is taken, and the equation of motion then says whether it is right.
    """
    best = _midpoint(I, w, h, torque, guess)
    size = float(np.abs(w).max() + np.abs(guess).max())
    parts = 2
    while parts <= PARTS and h * size > FEW and not np.abs(best - guess).max() <= CLOSE * size:
        d = np.zeros(3)
        for _ in range(parts):
            d = d + _midpoint(I, w + d, h / parts, torque, np.zeros(3))
        if not np.abs(best - guess).max() <= np.abs(d - guess).max():
            best = d
        parts *= 2
    return best


def _midpoint(I: FloatArray, w: FloatArray, h: float, torque: FloatArray, d: FloatArray) -> FloatArray:
    """Solve I d = h torque - h (w + d/2) x I (w + d/2) by Newton's method from d."""

    def residual(d: FloatArray) -> FloatArray:
        middle = w + 0.5 * d
        return np.asarray(I @ d + h * np.cross(middle, I @ middle) - h * torque)

    def skew(x: FloatArray) -> FloatArray:
        return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])

    for _ in range(ITERATIONS):
        middle = w + 0.5 * d
        slope = I + 0.5 * h * (skew(middle) @ I - skew(I @ middle))
        change = np.linalg.solve(slope, -residual(d))
        # A full step may jump to another root, of which a fast spin has several.
        share, size = 1.0, np.linalg.norm(residual(d))
        while share > SHORTEST and not np.linalg.norm(residual(d + share * change)) < size:
            share *= 0.5
        if share <= SHORTEST:
            break
        d = d + share * change
        if np.abs(change).max() <= 1e-15 * max(np.abs(w).max(), np.abs(d).max()):
            break
    return d
