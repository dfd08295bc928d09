"""Which sign the tangent lever of recorded impacts has, and whether they are of rigid bodies: by momentum alone.

Across an impact, whatever the law of restitution and friction,

    P_theta = a n_theta P_y + b d_theta P_x + c P_y        rigid bodies: a = 1, b = 1, c = 0

with P the measured changes of momentum, n_theta and d_theta the stored levers; c is the distance by which the normal
impulse acts off its point. Where b is near -1 the x axis is mirrored against the sense of rotation: laws are fitted
with the *lever turned*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.lab.datasets.planar_impacts import PlanarImpacts
from contactlab.spatial.arrays import FloatArray

#: By which a and b may be off what rigid bodies have: recordings are, by a tenth, where noise is small.
_OFF = 0.5
#: Of the largest singular value of the scaled columns: below it the impacts do not tell a coefficient.
_UNSEEN = 1e-9


@dataclass(frozen=True, eq=False)
class MomentumBalance:
    """Coefficients of the balance, and half of their 95 % intervals; infinite where the impacts do not tell one."""

    values: FloatArray  # (3,) a, b, c [m]
    margins: FloatArray  # (3,)

    @property
    def lever_turned(self) -> bool:
        """Whether laws are to be fitted with the other sign of the tangent lever; as stored where it is not told."""
        return self.told and bool(self.values[1] < 0.0)

    @property
    def told(self) -> bool:
        """Whether the interval of b leaves out 0."""
        return bool(abs(self.values[1]) > self.margins[1])

    @property
    def reading(self) -> str:
        """How the tangent row is to be read, and by what right."""
        if not self.told:
            return "as stored (the balance of momentum does not tell the sign of its lever)"
        return f"{'lever turned' if self.lever_turned else 'as stored'} (by the balance of momentum)"

    def contradiction(self, *, friction: bool = True) -> str:
        """Return what speaks against rigid bodies with these levers, empty if nothing; b only where there is friction.

        The interval of a has nothing in common with 0.5 to 1.5, or that of b neither with it nor with its mirror image.
        """
        a, b = self.values[:2].tolist()
        found = []
        if abs(a - 1.0) > _OFF + self.margins[0]:
            found.append(f"a = {a:.2f} for the lever of the normal row, where rigid bodies have 1")
        if friction and abs(abs(b) - 1.0) > _OFF + self.margins[1]:
            found.append(f"b = {b:.2f} for the lever of the tangent row, where rigid bodies have 1, or -1 mirrored")
        return f"the balance of momentum has {' and '.join(found)}" if found else ""

    def __str__(self) -> str:
        (a, b, c), (da, db, dc) = self.values, self.margins
        lines = [
            f"momentum balance of the measured changes: P_theta = {a:.3f} n_theta P_y {b:+.3f} d_theta P_x "
            f"{1e3 * c:+.2f} mm P_y (rigid: 1, 1, 0; 95 %: +-{da:.3f}, {db:.3f}, {1e3 * dc:.2f} mm)"
        ]
        if self.told:
            lines.append(f"the lever d_theta of the tangent row has the {_SIGNS[self.lever_turned]}")
        else:
            lines.append("it does not tell the sign of d_theta, the lever of the tangent row: taken as stored")
        if wrong := self.contradiction():
            lines.append(f"CONTRADICTED: {wrong}; look at {SUSPECTS}")
        return "\n".join(lines)


#: What to look at where the balance does not hold.
SUSPECTS = (
    "signs and units of the levers, of omega, mass and inertia; where friction is next to none, nothing tells the "
    "lever of the tangent row"
)
_SIGNS = {False: "right sign as stored", True: "wrong sign as stored: laws are fitted with the lever turned"}


def momentum_balance(data: PlanarImpacts) -> MomentumBalance:
    """Return the coefficients of least squares, with intervals that hold for errors of any size (White 1980).

    Impacts that are no more than the coefficients fit any of them, and tell none.
    """
    P = data.mass * (data.after - data.before)
    A = np.stack((data.normal[:, 2] * P[:, 1], data.tangent[:, 2] * P[:, 0], P[:, 1]), axis=1)
    size = np.linalg.norm(A, axis=0)
    size[size == 0.0] = 1.0
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    seen = s > _UNSEEN * s[0]
    inverse = (Vt[seen].T / s[seen]) @ U[:, seen].T / size[:, None]
    values = inverse @ P[:, 2]
    margins = 1.96 * np.sqrt(((inverse * (P[:, 2] - A @ values)) ** 2).sum(axis=1))
    unseen = 1.0 - (Vt[seen] ** 2).sum(axis=0) > _UNSEEN
    return MomentumBalance(values, np.where(unseen | (len(P) <= np.count_nonzero(seen)), np.inf, margins))
