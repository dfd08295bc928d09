"""Painleve's rod over its angle and its coefficient of friction: where rigid friction has no answer, or two.

A rod of half length l slides on its low end, away from under its centre. The normal acceleration of the end is
A fN + b, with (Genot and Brogliato 1999; inertia m l^2 / kappa, kappa = 3 where uniform)::

    m A = 1 + kappa cos (cos - mu sin)       b = l thetadot^2 sin - g
    A < 0  iff  mu > (1 + kappa cos^2) / (kappa sin cos)

0 <= fN _|_ A fN + b >= 0 has one solution where A > 0; where A < 0 two for b > 0, and none for b < 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import lcp
from contactlab.formulation.acceleration import form_acceleration_lcp
from contactlab.impact.errors import ImpactError
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, finite_number
from problem_data import ConstraintAccelProblemData


@dataclass(frozen=True, eq=False)
class PainleveMap:
    """Number of solutions over angle and friction.

    Parameters
    ----------
    angles : ndarray, shape (na,)
        Of the rod above the ground [rad].
    mus : ndarray, shape (nm,)
        Coefficients of friction.
    solutions : ndarray of int, shape (na, nm)
        0, 1 or 2, by enumeration; -1 for a continuum, which the boundary itself may have.
    kappa, spin, gravity, half_length : float
        Shape of the inertia, angular velocity [rad/s], gravity [m/s^2], half length [m].
    """

    angles: FloatArray
    mus: FloatArray
    solutions: IntArray
    kappa: float
    spin: float
    gravity: float
    half_length: float

    @property
    def boundary(self) -> FloatArray:
        """Closed-form threshold of friction at each angle (na,)."""
        return painleve_threshold(self.angles, self.kappa)


def painleve_threshold(angle: ArrayLike, kappa: float = 3.0) -> FloatArray:
    """Coefficient of friction above which A < 0, for angles in (0, pi/2) [rad]."""
    theta = np.asarray(angle, dtype=np.float64)
    return np.asarray((1.0 + kappa * np.cos(theta) ** 2) / (kappa * np.sin(theta) * np.cos(theta)))


def painleve_scan(
    angles: ArrayLike,
    mus: ArrayLike,
    *,
    kappa: float = 3.0,
    spin: float = 0.0,
    gravity: float = 9.81,
    half_length: float = 1.0,
) -> PainleveMap:
    """Count the solutions of the sliding rod's contact problem at one instant, by enumeration.

    Parameters
    ----------
    angles, mus
        (na,) in (0, pi/2) [rad] and (nm,) >= 0.
    kappa
        m l^2 over the inertia about the centre, positive: 3 for a uniform rod.
    spin, gravity, half_length
        State and size of the rod; b > 0 where half_length spin^2 sin > gravity.

    Raises
    ------
    ImpactError
        An argument out of its range.
    """
    theta = finite_array(angles, "angles", (None,), ImpactError)
    friction = finite_array(mus, "mus", (None,), ImpactError)
    if np.any((theta <= 0.0) | (theta >= 0.5 * np.pi)):
        raise ImpactError("angles", "must lie between 0 and pi/2")
    if np.any(friction < 0.0):
        raise ImpactError("mus", f"must not be negative, got {friction.min()}")
    kappa = finite_number(kappa, "kappa", ImpactError)
    half_length = finite_number(half_length, "half_length", ImpactError)
    for name, value in (("kappa", kappa), ("half_length", half_length)):
        if value <= 0.0:
            raise ImpactError(name, f"must be positive, got {value}")
    counts = np.empty((theta.size, friction.size), dtype=np.int64)
    for i, angle in enumerate(theta):
        for j, mu in enumerate(friction):
            formed = form_acceleration_lcp(_sliding_rod(angle, mu, kappa, spin, gravity, half_length))
            listed = lcp.enumerate_solutions(formed.problem)
            counts[i, j] = -1 if listed.continuum or not listed.complete else len(listed.solutions)
    return PainleveMap(theta, friction, counts, kappa, spin, gravity, half_length)


def _sliding_rod(
    angle: float, mu: float, kappa: float, spin: float, gravity: float, half_length: float
) -> ConstraintAccelProblemData:
    """Problem of the rod: unit mass, coordinates (x, y, angle); the low end, left of the centre, slides to the left."""
    x, y = -half_length * np.cos(angle), -half_length * np.sin(angle)
    return ConstraintAccelProblemData(
        M=np.diag([1.0, 1.0, half_length**2 / kappa]),
        tau=[0.0, -gravity, 0.0],
        N=[[0.0, 1.0, x]],
        Q=[[-1.0, 0.0, y]],
        mu_sliding=[mu],
        sliding_contacts=[0],
        kN=[half_length * spin**2 * np.sin(angle)],
    )
