"""Surface properties, restitution as a function of the approach speed, properties and friction pyramid of a contact.

The compiled step calls the same kernels of the pyramid.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.spatial.arrays import (
    ContactError,
    FloatArray,
    check_type,
    finite_array,
    finite_number,
    set_fields,
)


@runtime_checkable
class RestitutionLaw(Protocol):
    """Restitution that depends on the speed of approach."""

    def at(self, speed: float) -> float:
        """Return the coefficient, 0 to 1, for a speed of approach >= 0 [m/s]."""
        ...


@dataclass(frozen=True)
class PowerLaw:
    """e(v) = min(e_max, e (v / speed)^-exponent), and 0 below a threshold.

    Parameters
    ----------
    e
        Coefficient at ``speed``, 0 to 1.
    speed
        Reference speed of approach [m/s], positive.
    exponent
        Loss of restitution with speed: 1/4 for contacts that yield (Johnson 1985, section 11.5), 0 for a constant.
    threshold
        Speed of approach [m/s] up to which nothing rebounds.
    e_max
        Largest coefficient, at most 1.

    Raises
    ------
    ContactError
        A parameter out of its range.

    References
    ----------
    K. L. Johnson, Contact Mechanics (1985), eq. 11.47.

    Examples
    --------
    >>> brass = PowerLaw(0.6, speed=1.0)
    >>> brass.at(1.0), round(brass.at(16.0), 6)
    (0.6, 0.3)
    """

    e: float
    speed: float = 1.0
    exponent: float = 0.25
    threshold: float = 0.0
    e_max: float = 1.0

    def __post_init__(self) -> None:
        most = {"e": 1.0, "exponent": math.inf, "threshold": math.inf, "e_max": 1.0}
        checked = {
            name: finite_number(getattr(self, name), name, ContactError, least=0.0, most=most[name]) for name in most
        }
        checked["speed"] = finite_number(self.speed, "speed", ContactError, positive=True)
        set_fields(self, **checked)

    def at(self, speed: float) -> float:
        """Return the coefficient for a speed of approach [m/s]."""
        from contactlab.collision.kernels.contact_rows import restitution_at

        return float(restitution_at(law_numbers(self), float(speed)))


def law_numbers(restitution: float | PowerLaw) -> FloatArray:
    """Return the parameters (5,) of a law for the kernels; a constant coefficient is a law without a threshold."""
    if isinstance(restitution, PowerLaw):
        own = restitution
        return np.array([own.e, own.speed, own.exponent, own.threshold, own.e_max])
    return np.array([restitution, 1.0, 0.0, -np.inf, 1.0])


@dataclass(frozen=True)
class MaxLaw:
    """Restitution between two materials: the larger coefficient at every speed."""

    a: float | RestitutionLaw
    b: float | RestitutionLaw

    def at(self, speed: float) -> float:
        """Return the coefficient for a speed of approach [m/s]."""
        return max(one.at(speed) if isinstance(one, RestitutionLaw) else one for one in (self.a, self.b))


@dataclass(frozen=True)
class Material:
    """Surface of a body.

    Parameters
    ----------
    mu
        Coefficient of friction, >= 0 (static and kinetic friction are equal).
    restitution
        Coefficient of restitution, 0 (no rebound) to 1; or a `PowerLaw` of the speed of approach.
    stiffness
        Normal stiffness of the surface at a contact [N/m]; infinite for a rigid one.
    dissipation
        Damping of that spring [N s/m].
    torsional
        Length rho_t [m]: a contact resists spin about its normal with a torque of up to rho_t times its normal force,
        like friction on a patch of this size.
    rolling
        Length rho_r [m]: a contact resists rolling, a rotation about any axis perpendicular to the normal, with a
        torque of up to rho_r times its normal force. rho_r is the largest offset of the normal force from the contact's
        middle.
    priority
        Integer: of two surfaces, the one of higher priority determines ``mu`` of their contact.

    Raises
    ------
    ContactError
        A value is out of its range or not finite; a damper is given without a spring; or a spring, whose rebound is
        elastic, is given with a coefficient of restitution.
    """

    mu: float
    restitution: float | PowerLaw = 0.0
    stiffness: float = math.inf
    dissipation: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    priority: int = 0

    def __post_init__(self) -> None:
        at_least_zero = ("mu", "dissipation", "torsional", "rolling")
        numbers = {name: finite_number(getattr(self, name), name, ContactError, least=0.0) for name in at_least_zero}
        restitution = self.restitution
        if not isinstance(restitution, PowerLaw):
            restitution = finite_number(restitution, "restitution", ContactError, least=0.0, most=1.0)
        stiffness = math.inf
        if self.stiffness != math.inf:
            stiffness = finite_number(self.stiffness, "stiffness", ContactError, positive=True)
            if restitution != 0.0:
                raise ContactError("restitution", f"must be 0 with a stiffness, got {restitution}: a spring rebounds")
        elif numbers["dissipation"] > 0.0:
            detail = f"needs a finite stiffness, got {numbers['dissipation']} for a rigid surface"
            raise ContactError("dissipation", detail)
        set_fields(self, **numbers, stiffness=stiffness, restitution=restitution)
        check_type(self.priority, int, "priority", ContactError, "a whole number")


def combine(a: Material, b: Material) -> tuple[float, float | RestitutionLaw]:
    """Return the coefficients (mu, e) of a contact between two materials: sqrt(mu_a mu_b), and the larger restitution.

    If priorities differ, mu is taken from the material of higher priority. If one material has a speed-dependent law,
    the contact has the larger coefficient at each speed.
    """
    mu, (one, other) = math.sqrt(a.mu * b.mu), (a.restitution, b.restitution)
    if a.priority != b.priority:
        mu = max(a, b, key=lambda material: material.priority).mu
    if isinstance(one, PowerLaw) or isinstance(other, PowerLaw):
        return mu, one if one == other else MaxLaw(one, other)
    return mu, max(one, other)


def combine_compliance(a: Material, b: Material) -> tuple[float, float]:
    """Return the stiffness [N/m] and dissipation [N s/m] of a contact between two materials: their springs in series.

    k = 1/(1/k_a + 1/k_b), infinite if both are rigid. Each material has the fraction k/k_i of the deformation, and b =
    b_a (k/k_a)^2 + b_b (k/k_b)^2 is the damper with the same dissipation.
    """
    softness = 1.0 / a.stiffness + 1.0 / b.stiffness
    if softness == 0.0:
        return math.inf, 0.0
    k = 1.0 / softness
    return k, a.dissipation * (k / a.stiffness) ** 2 + b.dissipation * (k / b.stiffness) ** 2


def combine_moments(a: Material, b: Material) -> tuple[float, float]:
    """Return the lengths [m] of torsional and rolling friction between two materials: the larger of each."""
    return max(a.torsional, b.torsional), max(a.rolling, b.rolling)


def unit_vector(value: ArrayLike, field: str) -> FloatArray:
    """Return ``value`` (3,) divided by its length; a `ContactError` if it is zero."""
    vector = finite_array(value, field, (3,), ContactError)
    largest = float(np.max(np.abs(vector)))
    if largest == 0.0:
        raise ContactError(field, "is zero and gives no direction")
    # A vector of unit length keeps its bits, so that normalising twice does not move a surface.
    if largest < 2.0 and abs(float(vector @ vector) - 1.0) <= 4.0 * np.finfo(np.float64).eps:
        return vector
    # Scaled by the largest entry first: squares of tiny or huge entries would underflow or overflow.
    vector = vector / largest
    return np.asarray(vector / np.linalg.norm(vector))


#: Maximum number of edges. The pyramid is then within 5e-6 of the cone, and a contact has as many unknowns as edges.
MAX_EDGES = 1000


def check_edges(edges: int) -> int:
    """Return the number of edges k of a pyramid as an int; raise `ContactError` unless it is even and at least 4.

    The pyramid is spanned by k/2 directions and their negatives, so k is even; with k = 2 it would not span the plane.
    """
    try:
        k = operator.index(edges)
    except TypeError as cause:
        raise ContactError("edges", f"must be an integer, got {edges!r}") from cause
    if k < 4 or k % 2:
        raise ContactError("edges", f"must be even and at least 4, got {k}")
    if k > MAX_EDGES:
        raise ContactError("edges", f'must be at most {MAX_EDGES}, got {k}: `friction="cone"` has them all')
    return k


def tangent_frame(normal: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the tangents t1, t2 (3,) of a contact normal (3,), with t1 x t2 = normal.

    t1 is the normalised component, perpendicular to the normal n, of the world axis with the smallest |n_i|; t2 = n x
    t1. Of entries that differ by at most 1e-9, the first is used.
    """
    from contactlab.collision.kernels.contact_rows import tangents

    n = unit_vector(normal, "normal")
    t1, t2 = np.empty(3), np.empty(3)
    tangents(n, t1, t2)
    return t1, t2


def edge_directions(normal: ArrayLike, edges: int = 8) -> FloatArray:
    """Return the spanning directions (k/2, 3) of the inscribed pyramid of k edges: at the angles 2 pi j/k from t1.

    A friction force along them is limited by the sum of magnitudes <= mu f_N. In the least favourable direction the
    pyramid transmits cos(pi/k) of the cone's force: 29 % less with 4 edges, 7.6 % with 8, 1.9 % with 16.
    """
    from contactlab.collision.kernels.contact_rows import edge

    k = check_edges(edges)
    t1, t2 = tangent_frame(normal)
    directions = np.empty((k // 2, 3))
    for j in range(k // 2):
        edge(j, k, t1, t2, directions[j])
    return directions
