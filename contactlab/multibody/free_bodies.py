"""A set of free rigid bodies: names, inertias and gravity, packed for the kernels."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.errors import MultibodyError
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.spatial.inertia import RigidInertia

__all__ = ["FreeBodies", "PackedBodies"]

# How far a quaternion's length may be from 1; rounding alone stays below 1e-15 per step.
UNIT_TOLERANCE = 1e-6


class PackedBodies(NamedTuple):
    """Structure of arrays the kernels take: C-contiguous float64. Not to be modified."""

    mass: FloatArray  # (nb,) [kg]
    com: FloatArray  # (nb, 3) [m], body axes
    inertia: FloatArray  # (nb, 3, 3) [kg m^2], about the com, body axes
    inertia_inv: FloatArray  # (nb, 3, 3) [1/(kg m^2)]
    gravity: FloatArray  # (3,) [m/s^2], world axes


@dataclass(frozen=True, eq=False, init=False)
class FreeBodies:
    """Free rigid bodies under gravity.

    Body i owns q[7i:7i+7] = (x, y, z, qw, qx, qy, qz), its origin [m] and unit quaternion, and v[6i:6i+6] = (velocity
    of its origin in WORLD axes [m/s], angular velocity in BODY axes [rad/s]).

    Parameters
    ----------
    names
        One distinct, non-empty name per body.
    inertias
        One `RigidInertia` per body.
    gravity
        (3,) [m/s^2], world axes.

    Attributes
    ----------
    packed
        The arrays the kernels take. They are writable, because a read-only array is another type to a compiled kernel,
        and shared by every caller: never modify them. The attributes ``mass``, ``com``, ``inertia``, ``inertia_inv``
        and ``gravity`` are read-only views of them.
    """

    names: tuple[str, ...]
    inertias: tuple[RigidInertia, ...]
    packed: PackedBodies

    def __init__(
        self, names: Iterable[str], inertias: Iterable[RigidInertia], gravity: ArrayLike = (0.0, 0.0, -9.81)
    ) -> None:
        object.__setattr__(self, "names", _checked_names(names))
        object.__setattr__(self, "inertias", tuple(inertias))
        if len(self.inertias) != len(self.names):
            raise MultibodyError("inertias", f"{len(self.inertias)} given for {len(self.names)} names")
        for name, inertia in zip(self.names, self.inertias, strict=True):
            if not isinstance(inertia, RigidInertia):
                raise MultibodyError("inertias", f"body {name!r} has a {type(inertia).__name__}, not a RigidInertia")
        acceleration = finite_array(gravity, "gravity", (3,), MultibodyError)
        object.__setattr__(self, "packed", _packed(self.inertias, acceleration))

    @property
    def nb(self) -> int:
        """Number of bodies."""
        return len(self.names)

    @property
    def nq(self) -> int:
        """Length of q, 7 per body."""
        return 7 * self.nb

    @property
    def nv(self) -> int:
        """Length of v, 6 per body."""
        return 6 * self.nb

    @property
    def mass(self) -> FloatArray:
        """Masses (nb,) [kg], read-only."""
        return read_only(self.packed.mass)

    @property
    def com(self) -> FloatArray:
        """Centres of mass (nb, 3) [m] in body axes, read-only."""
        return read_only(self.packed.com)

    @property
    def inertia(self) -> FloatArray:
        """Inertias (nb, 3, 3) [kg m^2] about the centres of mass, body axes, read-only."""
        return read_only(self.packed.inertia)

    @property
    def inertia_inv(self) -> FloatArray:
        """Inverses of the inertias (nb, 3, 3), read-only."""
        return read_only(self.packed.inertia_inv)

    @property
    def gravity(self) -> FloatArray:
        """Gravity (3,) [m/s^2] in world axes, read-only."""
        return read_only(self.packed.gravity)

    def index(self, name: str) -> int:
        """Return the number of the body ``name``; an unknown one is a `MultibodyError` that suggests close names."""
        if name in self.names:
            return self.names.index(name)
        close = difflib.get_close_matches(str(name), self.names)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"bodies: {', '.join(self.names[:8])}"
        raise MultibodyError("name", f"no body is called {name!r}; {hint}")

    def q_slice(self, name: str) -> slice:
        """Where the configuration of a body stands in q."""
        i = self.index(name)
        return slice(7 * i, 7 * i + 7)

    def v_slice(self, name: str) -> slice:
        """Where the velocity of a body stands in v."""
        i = self.index(name)
        return slice(6 * i, 6 * i + 6)

    def neutral(self) -> FloatArray:
        """Return the configuration with every body at the world origin, unturned."""
        return np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], self.nb)

    def check_q(self, q: ArrayLike) -> FloatArray:
        """Return a copy of ``q`` (nq,); a `MultibodyError` names a bad entry or the body of a non-unit quaternion."""
        array = self._checked(q, "q", 7)
        for i, name in enumerate(self.names):
            length = float(np.linalg.norm(array[7 * i + 3 : 7 * i + 7]))
            if not abs(length - 1.0) <= UNIT_TOLERANCE:
                where = f"q[{7 * i + 3}:{7 * i + 7}]"
                raise MultibodyError("q", f"the quaternion of body {name!r} ({where}) has norm {length}, not 1")
        return array

    def check_v(self, v: ArrayLike, field: str = "v") -> FloatArray:
        """Return a copy of ``v`` (nv,), or of any vector of that length; a `MultibodyError` names a bad entry."""
        return self._checked(v, field, 6)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float) -> FloatArray:
        """Return the configuration (nq,) after ``dt`` [s] at constant ``v``: exact, with unit quaternions."""
        from contactlab.multibody.kernels.free_body import integrate_body

        configuration, velocity = self.check_q(q), self.check_v(v)
        step = finite_number(dt, "dt", MultibodyError)
        after = np.empty(self.nq)
        for i in range(self.nb):
            q7 = configuration[7 * i : 7 * i + 7]
            integrate_body(q7, velocity[6 * i : 6 * i + 6], step, after[7 * i : 7 * i + 7])
        return after

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """Kinetic energy [J]."""
        return float(self._energies(self.check_q(q), self.check_v(v))[:, 0].sum())

    def potential_energy(self, q: ArrayLike) -> float:
        """Potential energy [J] of gravity, zero for a centre of mass at the world origin."""
        return float(self._energies(self.check_q(q), np.zeros(self.nv))[:, 1].sum())

    def mass_matrix(self, q: ArrayLike) -> FloatArray:
        """Mass matrix M(q) (nv, nv), one 6 x 6 block per body."""
        from contactlab.multibody.kernels.free_body import apply_inertia, rotation

        configuration = self.check_q(q)
        matrix = np.zeros((self.nv, self.nv))
        R, unit, column = np.empty((3, 3)), np.zeros(6), np.empty(6)
        for i in range(self.nb):
            rotation(configuration[7 * i : 7 * i + 7], R)
            for j in range(6):
                unit[:] = 0.0
                unit[j] = 1.0
                apply_inertia(self.packed.mass[i], self.packed.com[i], self.packed.inertia[i], R, unit, column)
                matrix[6 * i : 6 * i + 6, 6 * i + j] = column
        return matrix

    def solve_mass_matrix(self, q: ArrayLike, b: ArrayLike) -> FloatArray:
        """M(q)^-1 b for a vector (nv,) or the columns of a matrix (nv, k), in closed form body by body."""
        from contactlab.multibody.kernels.free_body import rotation, solve_inertia_row

        configuration = self.check_q(q)
        shape: tuple[int | None, ...] = (self.nv,) if np.ndim(b) == 1 else (self.nv, None)
        # Row-contiguous right-hand sides: the kernel takes one contiguous 6-vector at a time.
        rows = np.atleast_2d(finite_array(b, "b", shape, MultibodyError).T).copy()
        R = np.empty((3, 3))
        for i in range(self.nb):
            rotation(configuration[7 * i : 7 * i + 7], R)
            for row in rows:
                b6 = row[6 * i : 6 * i + 6]
                solve_inertia_row(self.packed.mass[i], self.packed.com[i], self.packed.inertia_inv[i], R, b6, b6)
        return rows[0] if np.ndim(b) == 1 else np.ascontiguousarray(rows.T)

    def _energies(self, q: FloatArray, v: FloatArray) -> FloatArray:
        from contactlab.multibody.kernels.free_body import body_energy

        pack, energies = self.packed, np.empty((self.nb, 2))
        for i in range(self.nb):
            q7, v6 = q[7 * i : 7 * i + 7], v[6 * i : 6 * i + 6]
            body_energy(pack.mass[i], pack.com[i], pack.inertia[i], pack.gravity, q7, v6, energies[i])
        return energies

    def _checked(self, value: ArrayLike, field: str, width: int) -> FloatArray:
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.shape == (width * self.nb,) and not np.all(np.isfinite(array)):
            entry = int(np.argmin(np.isfinite(array)))
            name = self.names[entry // width]
            raise MultibodyError(field, f"entry [{entry}] (body {name!r}) is {array[entry]}, not finite")
        return finite_array(value, field, (width * self.nb,), MultibodyError)


def _checked_names(names: Iterable[object]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise MultibodyError("names", f"must be a sequence of names, got the single string {names!r}")
    checked: list[str] = []
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise MultibodyError("names", f"entry [{i}] must be a non-empty string, got {name!r}")
        if name in checked:
            raise MultibodyError("names", f"entry [{i}] {name!r} is used already by entry [{checked.index(name)}]")
        checked.append(name)
    return tuple(checked)


def _packed(inertias: tuple[RigidInertia, ...], gravity: FloatArray) -> PackedBodies:
    nb = len(inertias)
    inertia = np.array([body.inertia for body in inertias], dtype=np.float64).reshape(nb, 3, 3)
    inverse = np.linalg.inv(inertia)
    return PackedBodies(
        mass=np.array([body.mass for body in inertias], dtype=np.float64),
        com=np.array([body.com for body in inertias], dtype=np.float64).reshape(nb, 3),
        inertia=inertia,
        # inv leaves an asymmetry of rounding size, which M^-1 would inherit.
        inertia_inv=np.ascontiguousarray(0.5 * (inverse + inverse.transpose(0, 2, 1))),
        gravity=gravity,
    )
