"""Painleve's paradox: rigid friction may admit no acceleration, or several, in any mechanism and for Painleve's rod.

At one instant the normal acceleration of a sliding contact is A fN + b, with A = N M^-1 (N - mu Q)' and b for
the motion without it. 0 <= fN _|_ A fN + b >= 0 has one solution if A > 0. If A < 0 it has two for b > 0 and none for
b < 0: then an impulse stops the slip. Several contacts, and contacts at rest, need their LCP.

For a rod of half length l that slides on its low end, away from under its centre (Genot and Brogliato 1999; inertia m
l^2 / kappa, kappa = 3 for a uniform rod)::

    m A = 1 + kappa cos (cos - mu sin)       b = l thetadot^2 sin - g
    A < 0  iff  mu > (1 + kappa cos^2) / (kappa sin cos)
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraint_solver.acceleration import AccelerationLCP, form_acceleration_lcp
from contactlab.constraint_solver.blocks import free_motion
from contactlab.constraint_solver.uniqueness import VelocityCount, motion_is_unique
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError, IntArray, finite_array, finite_number
from problem_data import ConstraintAccelProblemData

# Relative to the largest force or acceleration: smaller values count as zero.
_NONE = 1e-9


class InstantMode(enum.IntEnum):
    """Accelerations that rigid friction admits at a contact at one instant."""

    #: on a boundary up to rounding, or too many unknowns
    UNDECIDED = -1
    #: no acceleration satisfies the laws: an impulse stops the slip
    JAMS = 0
    #: no force
    LEAVES = 1
    #: it has a force and slides, or begins to
    SLIDES = 2
    STICKS = 3


@dataclass(frozen=True, eq=False)
class PainleveMap:
    """Solutions of the contact problem at one instant, over parameters; arrays have an axis for each parameter.

    Parameters
    ----------
    axes : dict
        Values of each parameter, by name, in the order of the array axes.
    solutions : ndarray of int
        Number of accelerations (`motion_is_unique`); -1 if it is undecided.
    mode : ndarray of int
        `InstantMode` of the chosen contact in the chosen branch.
    force : ndarray
        Its normal force in that branch [N]; NaN without a solution.
    acceleration : ndarray, shape (..., nv)
        Acceleration in that branch; NaN without a solution.
    """

    axes: dict[str, FloatArray]
    solutions: IntArray
    mode: IntArray
    force: FloatArray
    acceleration: FloatArray


T = TypeVar("T")


def parameter_grid(
    axes: Mapping[str, ArrayLike],
) -> tuple[dict[str, FloatArray], list[tuple[tuple[int, ...], dict[str, float]]]]:
    """Return the values (k,) of each parameter, and the index and parameters of every combination."""
    if not axes:
        raise ImpactError("axes", "are none: give values of at least one parameter")
    values = {name: finite_array(given, f"axes[{name!r}]", (None,), ImpactError) for name, given in axes.items()}
    for name, given in values.items():
        if not given.size:
            raise ImpactError("axes", f"{name!r} has no values")
    places = np.ndindex(*(given.size for given in values.values()))
    return values, [
        (place, {name: float(given[i]) for (name, given), i in zip(values.items(), place, strict=True)})
        for place in places
    ]


def problem_at(problem: Callable[..., T], at: Mapping[str, float], kind: type[T]) -> T:
    """Return the problem of a point; raise with its parameters if it has another type than ``kind``."""
    data = problem(**at)
    if not isinstance(data, kind):
        raise ImpactError("problem", f"must return {kind.__name__}, got {type(data).__name__} at {dict(at)}")
    return data


def painleve_map(
    problem: Callable[..., ConstraintAccelProblemData],
    axes: Mapping[str, ArrayLike],
    *,
    contact: int = 0,
    branch: Literal["open", "pressed"] = "open",
) -> PainleveMap:
    """Count and classify the solutions of the contact problem of any mechanism at one instant.

    Parameters
    ----------
    problem : callable
        Function that returns the problem for parameters given by name, for example
        ``constraint_solver.problem_data_from(model, q, v, contacts=...).acceleration``.
    axes : mapping
        Values (k,) of each parameter by its name; all combinations are solved.
    contact : int
        Number of the contact whose mode and force are returned.
    branch : {"open", "pressed"}
        Choice among several solutions: the one with the smallest, or the largest, force at this contact. The laws do
        not decide; on stiff springs the pressed solution is unstable, and the contact opens or jams.

    Raises
    ------
    ImpactError
        An axis has no values, or a problem has a wrong type or no such contact; the error names the parameters.
    """
    if branch not in ("open", "pressed"):
        raise ImpactError("branch", f"must be 'open' or 'pressed', got {branch!r}")
    values, points = parameter_grid(axes)
    shape = tuple(given.size for given in values.values())
    counts, modes = np.full(shape, -1, dtype=np.int64), np.full(shape, int(InstantMode.UNDECIDED), dtype=np.int64)
    force = np.full(shape, np.nan)
    acceleration: FloatArray | None = None
    for point, at in points:
        data = problem_at(problem, at, ConstraintAccelProblemData)
        if not 0 <= contact < data.nc:
            raise ImpactError("contact", f"{contact} is none of the {data.nc} at {at}")
        if acceleration is None:
            acceleration = np.full((*shape, data.nv), np.nan)
        found = motion_is_unique(data, max_n=14)
        if found.verdict is VelocityCount.NOT_SEARCHED:
            continue
        counts[point] = len(found.solutions)
        modes[point] = InstantMode.JAMS
        if found.solutions:
            z = sorted(found.solutions, key=lambda z: float(z[contact]), reverse=branch == "pressed")[0]
            modes[point], force[point], acceleration[point] = _mode(form_acceleration_lcp(data), z, contact)
    assert acceleration is not None
    return PainleveMap(values, counts, modes, force, acceleration)


def _mode(formed: AccelerationLCP, z: FloatArray, contact: int) -> tuple[InstantMode, float, FloatArray]:
    """Return the mode and normal force of a contact, and the acceleration, of one solution."""
    forces, acceleration = formed.unpack(z)
    data, b = formed.data, formed.data.blocks()
    fN = float(forces[contact])
    if fN <= _NONE * float(np.abs(forces).max(initial=0.0)):
        return InstantMode.LEAVES, 0.0, acceleration
    resting = np.flatnonzero(~np.isin(np.arange(data.nc), data.sliding_contacts))
    place = np.flatnonzero(resting == contact)
    if not place.size:
        return InstantMode.SLIDES, fN, acceleration
    own = data.nc + int(b.r[: place[0]].sum()) + np.arange(int(b.r[place[0]]))
    rates = b.J[own] @ acceleration + b.k[own]
    made = np.abs(formed.rows.responses).T @ np.abs(forces[: formed.rows.responses.shape[0]])
    sizes = np.abs(b.J[own]) @ (np.abs(free_motion(b)) + made) + np.abs(b.k[own])
    held = own.size > 0 and bool((np.abs(rates) <= _NONE * sizes.max()).all())
    return InstantMode.STICKS if held else InstantMode.SLIDES, fN, acceleration


def painleve_threshold(angle: ArrayLike, kappa: float = 3.0) -> FloatArray:
    """Return the coefficient of friction above which the rod has A < 0, for angles in (0, pi/2) [rad]."""
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
    branch: Literal["open", "pressed"] = "open",
) -> PainleveMap:
    """Return `painleve_map` of the sliding rod, over "angle" and "mu".

    Parameters
    ----------
    angles, mus
        (na,) in (0, pi/2) [rad] and (nm,) >= 0.
    kappa
        m l^2 over the inertia about the centre, positive: 3 for a uniform rod.
    spin, gravity, half_length
        State and size of the rod; b > 0 if half_length spin^2 sin > gravity.
    branch
        As for `painleve_map`.

    Raises
    ------
    ImpactError
        An argument is out of its range.
    """
    theta = finite_array(angles, "angles", (None,), ImpactError)
    friction = finite_array(mus, "mus", (None,), ImpactError)
    if np.any((theta <= 0.0) | (theta >= 0.5 * np.pi)):
        raise ImpactError("angles", "must lie between 0 and pi/2")
    if np.any(friction < 0.0):
        raise ImpactError("mus", f"must not be negative, got {friction.min()}")
    k = finite_number(kappa, "kappa", ImpactError, positive=True)
    length = finite_number(half_length, "half_length", ImpactError, positive=True)

    def rod(angle: float, mu: float) -> ConstraintAccelProblemData:
        """Return the rod of unit mass, coordinates (x, y, angle); the low end, on the left, slides to the left."""
        x, y = -length * np.cos(angle), -length * np.sin(angle)
        return ConstraintAccelProblemData(
            M=np.diag([1.0, 1.0, length**2 / k]),
            tau=[0.0, -gravity, 0.0],
            N=[[0.0, 1.0, x]],
            Q=[[-1.0, 0.0, y]],
            mu_sliding=[mu],
            sliding_contacts=[0],
            kN=[-y * spin**2],
        )

    return painleve_map(rod, {"angle": theta, "mu": friction}, branch=branch)
