"""The contact rows of a recorded step, in plain numpy: directions, Jacobian, kN, and the forces that z stands for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import Material, combine
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping import EXTERNAL_ID
from contactlab.verification.moments import moments_of
from contactlab.verification.motion import Body

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World

# Part of a threshold within which rounding may have decided on which side of it a value lies.
UNDECIDED = 1e-9


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The nc contacts of one island; nr rows of friction, r for each contact, then those of its moments' cones."""

    numbers: NDArray[np.int64]  # (nc,) their rows in the record's contact table
    # (nc, nv), (nr, nv) Jacobians on all velocities of the world.
    N: FloatArray
    F: FloatArray
    directions: FloatArray  # (nc, 1 + r, 3) normal and friction directions, world axes
    # For each contact what kN [m/s] may be: two values only where rounding decides between them.
    k: tuple[tuple[float, ...], ...]
    mu: FloatArray  # (ncone,) coefficients of friction, then lengths of moments [m]
    # (ncone,) the contact of each cone; (nr,) the cone of each row of friction.
    leans: NDArray[np.int64]
    cone: NDArray[np.int64]
    # (ncone,) where the variables of each cone begin among those that a record keeps by contact.
    places: NDArray[np.int64]
    axes: FloatArray  # (nt, 3) directions of the rows of moments, the last ones of F
    gamma: FloatArray  # (nc,) softening of the normal rows [s/kg]
    drive: FloatArray  # (nc,) speed of approach [m/s] that kinematic bodies bring, negated
    kF: FloatArray  # (nr,) slip [m/s] that the surfaces of kinematic bodies bring
    rigid: NDArray[np.bool_]  # (nc,) whether a contact has no spring of its own

    def solution(self, by_contact: FloatArray) -> FloatArray:
        """Return z (n,) in the order of the LCP from its rows (nc, w) by contact."""
        parts: tuple[list[FloatArray], ...] = ([], [], [])
        for cone, (contact, place) in enumerate(zip(self.leans, self.places, strict=True)):
            d = int(np.count_nonzero(self.cone == cone))
            own = by_contact[contact, place : place + 2 * d + 1]
            for part, values in zip(parts, (own[:d], own[d : 2 * d], own[2 * d :]), strict=True):
                part.append(values)
        return np.concatenate([by_contact[:, 0], *(value for part in parts for value in part)])

    def moments(self, z: FloatArray) -> FloatArray:
        """Return the moments (nc, 3) of torsional and rolling friction that z stands for, on body B [N m]."""
        nc, nr = self.N.shape[0], self.F.shape[0]
        out, own = np.zeros((nc, 3)), slice(nr - self.axes.shape[0], nr)
        force = (z[nc : nc + nr] - z[nc + nr : nc + 2 * nr])[own]
        np.add.at(out, self.leans[self.cone[own]], force[:, None] * self.axes)
        return out


def contact_rows(
    world: World,
    stepper: TimeStepping,
    rows: Mapping[str, NDArray[Any]],
    numbers: NDArray[np.int64],
    bodies: dict[str, Body],
    v: FloatArray,
    v_free: FloatArray,
    h: float,
) -> ContactRows:
    """Return the rows of the contacts ``numbers`` of a record, whose step sets out from v (nv,)."""
    edges = stepper.edges_in(world)
    r = edges // 2
    directions = np.array([frame_of(rows["contact_normal"][c], edges, world.plane) for c in numbers]).reshape(
        -1, 1 + r, 3
    )
    J = np.zeros((numbers.size, 3, world.nv))
    for n, c in enumerate(numbers):
        point = rows["contact_point"][c]
        for side, sign in (("contact_body_b", 1.0), ("contact_body_a", -1.0)):
            body = int(rows[side][c])
            if body >= 0:
                J[n] += sign * bodies[world.model.names[body]].point_jacobian(point)
    projected = directions @ J
    N, F = projected[:, 0], projected[:, 1:].reshape(-1, world.nv)
    # What the surfaces of kinematic bodies bring to every rate.
    drive = np.array([directions[n] @ -_surface_velocity(world, rows, int(c)) for n, c in enumerate(numbers)]).reshape(
        -1, 1 + r
    )
    k: list[tuple[float, ...]] = []
    gamma, rigid = np.full(numbers.size, stepper.cfm), np.full(numbers.size, True)
    for n, c in enumerate(numbers):
        gap, one, other = float(rows["contact_gap"][c]), *_touching(world, rows, int(c))
        stiffness, dissipation = _spring_of(one, other)
        if np.isfinite(stiffness):
            # f = -k (gap + h u) - b u in penetration; a gap is closed freely.
            rigid[n] = False
            gamma[n] = 1.0 / (h * stiffness + dissipation)
            terms: tuple[float, ...] = (gap / h if gap > 0.0 else stiffness * gap * gamma[n],)
        else:
            restitution = pair_of(world, rows, int(c))[1]
            before, free = N[n] @ v + drive[n, 0], N[n] @ v_free + drive[n, 0]
            terms = normal_terms(gap, before, free, h, restitution, stepper.v_min, stepper.erp)
        k.append(tuple(term + drive[n, 0] for term in terms))
    surfaces = [_touching(world, rows, int(c)) for c in numbers]
    turning = moments_of(world, rows, numbers, surfaces, directions, bodies)
    nc = numbers.size
    counts = np.concatenate((np.full(nc, r), turning.counts))
    return ContactRows(
        numbers,
        N,
        np.concatenate((F, turning.J)),
        directions,
        tuple(k),
        np.concatenate((rows["contact_mu"][numbers], turning.lengths)),
        np.concatenate((np.arange(nc), turning.contacts)),
        np.repeat(np.arange(counts.size), counts),
        np.concatenate((np.ones(nc, dtype=np.int64), turning.places)),
        turning.directions,
        gamma,
        drive[:, 0],
        np.concatenate((drive[:, 1:].ravel(), turning.k)),
        rigid,
    )


def _surface_velocity(world: World, rows: Mapping[str, NDArray[Any]], c: int) -> FloatArray:
    """Return the velocity (3,) of body A's surface in row c of the contact table where A is a kinematic body."""
    i, a = int(rows["contact_step"][c]), int(rows["contact_body_a"][c])
    for row, (body, _) in enumerate(world.motions):
        if a == body:
            twist = rows["motion_twist"][i, row]
            arm = rows["contact_point"][c] - rows["motion_pose"][i, row, 9:]
            return np.asarray(twist[3:] + np.cross(twist[:3], arm))
    return np.zeros(3)


def frame_of(normal: FloatArray, edges: int, plane: FloatArray | None) -> FloatArray:
    """Return the normal and the friction directions (1 + edges/2, 3) of the pyramid.

    The first one, t1, is the normalised part across the normal of the world axis that is most across it; in a plane
    of motion, the direction in it.
    """
    t1 = np.zeros(3) if plane is None else np.cross(plane, normal)
    if np.linalg.norm(t1) < 0.5:
        t1 = np.eye(3)[int(np.argmin(np.abs(normal)))]
        t1 = t1 - (t1 @ normal) * normal
    t1 /= np.linalg.norm(t1)
    t2 = np.cross(normal, t1)
    angles = 2.0 * math.pi * np.arange(edges // 2) / edges
    return np.vstack((normal, np.outer(np.cos(angles), t1) + np.outer(np.sin(angles), t2)))


def pair_of(world: World, rows: Mapping[str, NDArray[Any]], c: int) -> tuple[float, float]:
    """Return friction and restitution of the pair that touches in row c of the contact table.

    Of a contact from outside the loop they are what the record says, within their range.
    """
    if rows["contact_id"][c] >= EXTERNAL_ID:
        mu, restitution = float(rows["contact_mu"][c]), float(rows["contact_restitution"][c])
        return (mu, restitution) if mu >= 0.0 and 0.0 <= restitution <= 1.0 else (math.nan, math.nan)
    one, other = _touching(world, rows, c)
    # A shape that is not there touches nothing: such a row is wrong whatever it says.
    return (math.nan, math.nan) if one is None or other is None else combine(one, other)


def _touching(world: World, rows: Mapping[str, NDArray[Any]], c: int) -> tuple[Material | None, Material | None]:
    """Return the materials of A and B in row c of the contact table, None for a shape that is not there."""
    materials = [surface.material for surface in world.surfaces]
    grounds = world.half_space_materials
    half_space, a, b = (int(rows[name][c]) for name in ("contact_half_space", "contact_shape_a", "contact_shape_b"))
    others, other = (grounds, half_space) if half_space >= 0 else (materials, a)
    one = others[other] if 0 <= other < len(others) else None
    return one, materials[b] if 0 <= b < len(materials) else None


def _spring_of(one: Material | None, other: Material | None) -> tuple[float, float]:
    """Return stiffness and dissipation of two springs in series, each damped; infinite and 0 for rigid surfaces."""
    springs = [material for material in (one, other) if material is not None and math.isfinite(material.stiffness)]
    if not springs:
        return math.inf, 0.0
    give = sum(1.0 / material.stiffness for material in springs)
    return 1.0 / give, sum(material.dissipation / (give * material.stiffness) ** 2 for material in springs)


def normal_terms(
    gap: float, before: float, free: float, h: float, restitution: float, v_min: float, erp: float
) -> tuple[float, ...]:
    """Return kN of an impact, or of a contact that may close its gap; both where rounding decides."""
    bounce = restitution * before
    rest = gap / h if gap > 0.0 else erp * gap / h
    closing, fast = gap + h * free, -before - v_min
    unsure = abs(closing) <= UNDECIDED * (abs(gap) + h * abs(free)) or abs(fast) <= UNDECIDED * abs(before)
    impact = closing <= 0.0 and fast > 0.0
    if unsure:
        return bounce, rest
    return (bounce,) if impact else (rest,)
