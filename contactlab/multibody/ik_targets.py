"""Targets of inverse kinematics, independent velocities of a model, and bounds of each coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked
from contactlab.multibody.centroidal import center_of_mass, center_of_mass_jacobian
from contactlab.multibody.configuration import integrate
from contactlab.multibody.joint_data import apply_mimic, mimic_coupling, position_limits
from contactlab.multibody.kinematics import Kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose, point_jacobian, point_jacobian_6d, point_position
from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    IntArray,
    MultibodyError,
    check_type,
    finite_array,
    set_fields,
)
from contactlab.multibody.spatial.transform import Transform

_ORIGIN = np.zeros(3)


@dataclass(frozen=True, eq=False, init=False)
class PointTarget:
    """Target: a point of a body at a given position in the world.

    Parameters
    ----------
    body
        Name of the body.
    point
        (3,) [m] in body coordinates.
    position
        (3,) [m] in the world.
    """

    rows: ClassVar[int] = 3
    body: str
    point: FloatArray
    position: FloatArray

    def __init__(self, body: str, point: ArrayLike, position: ArrayLike) -> None:
        set_fields(
            self,
            body=body,
            point=_triple("PointTarget.point", point),
            position=_triple("PointTarget.position", position),
        )

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the vector from the point to its target, (3,) [m]."""
        return np.asarray(self.position - point_position(model, at, self.body, self.point))

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the velocity of the point, (3, nv)."""
        return point_jacobian(model, at, self.body, self.point)


@dataclass(frozen=True, eq=False, init=False)
class OrientationTarget:
    """Target: a given orientation of a body.

    Parameters
    ----------
    body
        Name of the body.
    R
        Rotation matrix (3, 3), body axes to world axes.
    """

    rows: ClassVar[int] = 3
    body: str
    R: FloatArray

    def __init__(self, body: str, R: ArrayLike) -> None:
        set_fields(self, body=body, R=Transform(R).R)

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the rotation vector (3,) [rad], world axes, of the shorter turn to the target."""
        return _turn(self.R, body_pose(model, at, self.body).R)

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the angular velocity of the body, (3, nv)."""
        return point_jacobian_6d(model, at, self.body, _ORIGIN)[:3]


@dataclass(frozen=True, eq=False)
class PoseTarget:
    """Target: a given pose of a body, as orientation (rows 0 to 2) and position of its origin (rows 3 to 5).

    Parameters
    ----------
    body
        Name of the body.
    pose
        R maps body axes to world axes, p is the wanted position of the body's origin.
    """

    rows: ClassVar[int] = 6
    body: str
    pose: Transform

    def __post_init__(self) -> None:
        check_type(self.pose, Transform, "PoseTarget.pose", MultibodyError)

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the rotation vector [rad] and shift [m] to the target, (6,)."""
        pose = body_pose(model, at, self.body)
        return np.concatenate([_turn(self.pose.R, pose.R), self.pose.p - pose.p])

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the angular velocity of the body and velocity of its origin, (6, nv)."""
        return point_jacobian_6d(model, at, self.body, _ORIGIN)


@dataclass(frozen=True, eq=False, init=False)
class CenterOfMassTarget:
    """Target: the centre of mass of the whole model at a given position in the world.

    Parameters
    ----------
    position
        (3,) [m].
    """

    rows: ClassVar[int] = 3
    position: FloatArray

    def __init__(self, position: ArrayLike) -> None:
        set_fields(self, position=_triple("CenterOfMassTarget.position", position))

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the vector from the centre of mass to its target, (3,) [m]."""
        return np.asarray(self.position - center_of_mass(model, at))

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Return the velocity of the centre of mass, (3, nv)."""
        return center_of_mass_jacobian(model, at)


#: Kinds of targets of `inverse_kinematics`.
Target: TypeAlias = PointTarget | OrientationTarget | PoseTarget | CenterOfMassTarget


def _triple(name: str, value: ArrayLike) -> FloatArray:
    return finite_array(value, name, (3,), MultibodyError)


def _turn(wanted: FloatArray, R: FloatArray) -> FloatArray:
    """Return the rotation vector, world axes, from the orientation R to the wanted one."""
    return quaternion.log(quaternion.from_matrix(wanted @ R.T))


@dataclass(frozen=True, eq=False)
class ConfigurationSpace:
    """Limits and couplings of one model."""

    model: Model
    #: lower, upper: Limits (nq,); infinite if there is none.
    lower: FloatArray
    upper: FloatArray
    coordinate: IntArray  # (nv,) for each entry of v, the entry of q with this rate, or -1
    basis: FloatArray | None  # (nv, ny): v = basis y for the independent velocities y; None if all are

    def clip_to_limits(self, q: FloatArray) -> FloatArray:
        """Return the configuration with every coordinate moved within its limits and the mimic relations applied.

        If a follower exceeds its limits, the joint that it follows is moved.
        """
        out = self._enforce_limits(q)
        if self.basis is None:
            return out
        # A follower may now exceed its own limits; then the joint that it follows is moved.
        low, high = self.bounds(out)
        least = np.clip(0.0, low, np.maximum(low, high))
        return out if not least.any() else self._enforce_limits(integrate(self.model, out, self.basis @ least, 1.0))

    def random_restart(self, q: FloatArray, number: int, rng: np.random.Generator) -> FloatArray:
        """Return a random start configuration, whose distance from q grows with ``number``.

        Later restarts draw coordinates between two limits uniformly. The others change by about half a turn or two
        metres.
        """
        away = rng.standard_normal(self.model.nv) * min(0.4 * number, 2.0)
        out = integrate(self.model, q, away, 1.0)
        between = np.isfinite(self.lower) & np.isfinite(self.upper)
        anywhere = rng.uniform(self.lower[between], self.upper[between])
        out[between] = q[between] + min(0.25 * number, 1.0) * (anywhere - q[between])
        return self.clip_to_limits(out)

    def bounds(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and largest change of q along each independent velocity, in unit time."""
        seen = self.coordinate >= 0
        low, high = np.full(seen.shape, -np.inf), np.full(seen.shape, np.inf)
        at = self.coordinate[seen]
        low[seen], high[seen] = self.lower[at] - q[at], self.upper[at] - q[at]
        if self.basis is None:
            return low, high
        lowest, highest = np.full(self.basis.shape[1], -np.inf), np.full(self.basis.shape[1], np.inf)
        for dof, y in zip(*np.nonzero(self.basis), strict=True):
            ends = sorted((low[dof] / self.basis[dof, y], high[dof] / self.basis[dof, y]))
            lowest[y], highest[y] = max(lowest[y], ends[0]), min(highest[y], ends[1])
        return lowest, highest

    def reduced(self, J: FloatArray) -> FloatArray:
        """Return the Jacobian with respect to the independent velocities."""
        return J if self.basis is None else np.asarray(J @ self.basis)

    def moved(self, q: FloatArray, y: FloatArray) -> FloatArray:
        """Return the configuration after a step y of the independent velocities."""
        v = y if self.basis is None else self.basis @ y
        return self._enforce_limits(integrate(self.model, q, v, 1.0))

    def _enforce_limits(self, q: FloatArray) -> FloatArray:
        """Return q clipped to the limits, with the mimic relations applied."""
        # Steps end on the limits up to rounding.
        out = np.clip(q, self.lower, self.upper)
        return out if self.basis is None else apply_mimic(self.model, out)


def freedom_of(model: Model, limits: bool | tuple[ArrayLike, ArrayLike]) -> ConfigurationSpace:
    """Return the limits and couplings selected by ``limits`` of `inverse_kinematics`."""
    coordinate = model.position_index.copy()
    for _, _, custom in model.packed.custom:
        coordinate[custom] = -1
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    basis = None
    given: object = limits  # callers may ignore the annotation
    if isinstance(given, tuple | list) and len(given) == 2:
        lower, upper = _limit("limits[0]", given[0], model.nq), _limit("limits[1]", given[1], model.nq)
    elif not isinstance(given, bool | np.bool_):
        raise MultibodyError("limits", f"must be True, False or a pair (lower, upper), got {limits!r}")
    elif given:
        lower, upper = position_limits(model)
        basis = _independent_basis(model)
    crossed = np.flatnonzero(~(lower <= upper))
    if crossed.shape[0]:
        at = int(crossed[0])
        raise MultibodyError("limits", f"entry [{at}]: the lower limit {lower[at]} exceeds the upper, {upper[at]}")
    limited = np.isfinite(lower) | np.isfinite(upper)
    limited[coordinate[coordinate >= 0]] = False
    if limited.any():
        at = int(np.flatnonzero(limited)[0])
        raise MultibodyError("limits", f"entry [{at}] of q belongs to an orientation or a custom joint, which has none")
    return ConfigurationSpace(model, lower, upper, coordinate, basis)


def _limit(name: str, value: ArrayLike, nq: int) -> FloatArray:
    """Return limits of q as a copy (nq,), which may have infinite entries; NaN or another shape raises."""
    array = np.array(value, dtype=np.float64)
    if np.isnan(array).any():
        raise MultibodyError(name, f"entry [{int(np.flatnonzero(np.isnan(array.ravel()))[0])}] is nan")
    if array.shape != (nq,):
        return checked(name, array, nq)  # raises
    return array


def _independent_basis(model: Model) -> FloatArray | None:
    """Return the basis (nv, ny) of the velocities that keep the mimic relations; None if there are none."""
    coupling = mimic_coupling(model, model.neutral)
    G = coupling.G
    if G.shape[0] == 0:
        return None
    data = getattr(model, "joint_data", {})
    followers = np.array([data[name].v.start for name in coupling.joints])
    leaders = np.setdiff1d(np.arange(model.nv), followers)
    basis = np.zeros((model.nv, leaders.shape[0]))
    basis[leaders, np.arange(leaders.shape[0])] = 1.0
    basis[followers] = -np.linalg.solve(G[:, followers], G[:, leaders])
    return basis
