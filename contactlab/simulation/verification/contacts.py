"""The contact rows of a portion of a record, in plain numpy: directions, rotation, kN, the forces of z."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse

from contactlab.collision import Material, PowerLaw, RestitutionLaw, combine
from contactlab.collision.material import MaxLaw
from contactlab.multibody.spatial.arrays import BoolArray, FloatArray, IntArray
from contactlab.simulation.stepping.callbacks import EXTERNAL_ID
from contactlab.simulation.verification.motion import cross
from contactlab.simulation.verification.portion import Matrix, StepSlice, distinct, sparse_rows
from contactlab.simulation.world.surface import Collider
from contactlab.simulation.world.world import World

# Relative distance from a threshold within which rounding may decide the comparison.
UNDECIDED = 1e-9

Surfaces = tuple[Material | None, Material | None]


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The nc contacts of a portion: nr friction rows, r for each contact, then the rows of moment cones."""

    at: IntArray  # (nc,) their steps in the portion
    directions: FloatArray  # (nc, 1 + r, 3) normal and friction directions, world axes
    # (nc, 2) admissible kN [m/s]: two values only if rounding decides between them.
    k: FloatArray
    mu: FloatArray  # (ncone,) coefficients of friction, then lengths of moments [m]
    # (ncone,) the contact of each cone; (nr,) the cone of each row of friction.
    cone_contacts: IntArray
    cone: IntArray
    # (nr,), (nr,), (ncone,) columns of the variables among the ones that a record has by contact.
    plus_columns: IntArray
    minus_columns: IntArray
    slack: IntArray
    gamma: FloatArray  # (nc,) softening of the normal rows [s/kg]
    kF: FloatArray  # (nr,) slip [m/s] due to the surfaces of kinematic bodies
    along: Matrix  # (nc + nr, 6 nc) directions of the rows' forces and moments; moment rows are the last rows of F

    @property
    def row_contact(self) -> IntArray:
        """Contact (nc + nr,) of every row."""
        return np.concatenate((np.arange(self.at.size), self.cone_contacts[self.cone]))

    @property
    def owners(self) -> IntArray:
        """Index of the contact of every entry of [fN | fF+ | fF- | lambda]."""
        slips = self.cone_contacts[self.cone]
        return np.concatenate((np.arange(self.at.size), slips, slips, self.cone_contacts))

    def solution(self, by_contact: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return fN (nc,), fF+ and fF- (nr,), and lambda (ncone,) of the variables (nc, w) by contact."""
        owner = self.cone_contacts[self.cone]
        plus, minus = by_contact[owner, self.plus_columns], by_contact[owner, self.minus_columns]
        return by_contact[:, 0], plus, minus, by_contact[self.cone_contacts, self.slack]


def contact_rows(portion: StepSlice, v_free: FloatArray, directions: FloatArray) -> tuple[ContactRows, Matrix]:
    """Return the contacts of a portion, and the Jacobian of their rows.

    Rows are: nc normals, r directions of each contact, then all rows of moments.

    ``v_free`` (ns, nv) is the velocity without constraint forces; ``directions`` are from `frames_of`.
    """
    recording = portion.recording
    world, stepper, rows = recording.world, recording.stepper, recording.rows
    chosen, at = portion.contacts, portion.at
    nc, r = chosen.size, directions.shape[1] - 1
    h, gap = portion.h[at], portion.column("gap")
    before, free = (normal_rates(portion, directions[:, 0], v) for v in (portion.v, v_free))
    # Contributions of moving kinematic surfaces to every rate.
    drive = np.einsum("nij,nj->ni", directions, -portion.surfaces[:, :3])
    surfaces, numbers = material_pairs(world, rows, chosen)
    springs = np.array([_spring_of(*pair) for pair in surfaces]).reshape(-1, 2)[numbers]
    stiffness, dissipation = springs.T
    rigid = ~np.isfinite(stiffness)
    restitution = pairs_of(portion, directions[:, 0])[1]
    k = normal_terms(
        gap,
        before + drive[:, 0],
        free + drive[:, 0],
        h,
        restitution,
        stepper.thresholds.restitution_threshold,
        stepper.erp,
        fastest_of(portion, PUSH_RATE),
    )  # fmt: skip
    # f = -k (gap + h u) - b u in penetration; a gap closes without force.
    gamma = np.where(rigid, stepper.cfm, 1.0 / (h * stiffness + dissipation))
    soft = np.where(gap > 0.0, gap / h, stiffness * gap * gamma)
    k = np.where(rigid[:, None], k, soft[:, None]) + drive[:, :1]
    k_moments, axes, lengths, *of_moments = moments_of(portion, surfaces, numbers, directions)
    of_sliding = np.arange(nc), np.full(nc, r), np.ones(nc, dtype=np.int64)
    contacts, counts, places = (np.concatenate(both) for both in zip(of_sliding, of_moments, strict=True))
    cone = np.repeat(np.arange(counts.size), counts)
    inner = np.arange(cone.size) - (np.cumsum(counts) - counts)[cone]
    # Forces act on the point, and moments on the angular velocity.
    own, last = np.arange(nc)[:, None], np.arange(r * nc, cone.size)[:, None]
    point, turned = 6 * own + np.arange(3), 6 * contacts[cone[r * nc :], None] + np.arange(3, 6)
    parts = [(own, point, directions[:, :1]), (nc + r * own + np.arange(r), point, directions[:, 1:])]
    along = sparse_rows([*parts, (nc + last, turned, axes[:, None])], (nc + cone.size, 6 * nc))
    found = ContactRows(
        at,
        directions,
        k,
        np.concatenate((rows["contact_mu"][chosen], lengths)),
        contacts,
        cone,
        places[cone] + inner,
        (places + counts)[cone] + inner,
        places + 2 * counts,
        gamma,
        np.concatenate((drive[:, 1:].ravel(), k_moments)),
        along,
    )
    return found, sparse.csr_matrix(along @ portion.points)


def normal_rates(
    portion: StepSlice, normals: FloatArray, v: FloatArray, part: Callable[[Any], Any] = lambda values: values
) -> FloatArray:
    """Return N v (nc,) for normals (nc, 3) and the velocities v (ns, nv) of the steps.

    With ``part=abs`` return the sums of the absolute terms of N v.
    """
    speeds = np.asarray(part(portion.points) @ part(v).ravel()).reshape(-1, 6)
    return np.asarray(np.sum(part(normals) * speeds[:, :3], axis=1))


def frames_of(normals: FloatArray, edges: int, plane: FloatArray | None) -> FloatArray:
    """Return normals (nc, 3) and the friction directions (nc, 1 + edges/2, 3) of their pyramids.

    The first one, t1, is the world axis most nearly across the normal, projected across it and normalised; in a plane
    of motion, the direction in it. Of axes equally across within 1e-9 the first one counts.
    """
    normals = np.asarray(normals)
    x, y, z = np.abs(normals).T
    first = np.where(y < x - 1e-9, 1, 0)
    axis = np.eye(3)[np.where(z < np.where(first, y, x) - 1e-9, 2, first)]
    t1 = axis - np.sum(axis * normals, axis=1, keepdims=True) * normals
    if plane is not None:
        within = np.cross(plane, normals)
        t1 = np.where(np.linalg.norm(within, axis=1, keepdims=True) < 0.5, t1, within)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    t2 = cross(normals, t1)
    angles = 2.0 * math.pi * np.arange(edges // 2) / edges
    across = np.cos(angles)[:, None] * t1[:, None] + np.sin(angles)[:, None] * t2[:, None]
    return np.concatenate((normals[:, None], across), axis=1)


def pairs_of(portion: StepSlice, normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return friction and restitution (nc,) of the pairs that touch along normals (nc, 3).

    They follow from the materials; NaN for a contact whose shapes are unknown. External contacts have the recorded
    values, NaN for values out of range. If restitution depends on the speed, the recorded one counts within the
    coefficients at the speed plus and minus its rounding.
    """
    rows, chosen = portion.recording.rows, portion.contacts
    surfaces, numbers = material_pairs(portion.recording.world, rows, chosen)
    # A shape that does not exist touches nothing: such a row is always wrong.
    known = [(math.nan, math.nan) if a is None or b is None else combine(a, b) for a, b in surfaces]
    mu = np.array([one for one, _ in known])[numbers]
    said = rows["contact_mu"][chosen], rows["contact_restitution"][chosen]
    if all(isinstance(e, float) for _, e in known):
        restitution = np.array([e for _, e in known], dtype=np.float64)[numbers]
    else:
        of_surface = np.sum(normals * portion.surfaces[:, :3], axis=1)
        speed = of_surface - normal_rates(portion, normals, portion.v)
        off = UNDECIDED * normal_rates(portion, normals, portion.v, abs)
        ends = np.array([[_coefficients(e, speed + way * off) for _, e in known] for way in (-1.0, 1.0)])
        low, high = np.sort(ends[:, numbers, np.arange(numbers.size)], axis=0)
        restitution = np.clip(said[1], low, high)
    given = rows["contact_id"][chosen] >= EXTERNAL_ID
    sound = (said[0] >= 0.0) & (said[1] >= 0.0) & (said[1] <= 1.0)
    own = [np.where(sound, values, math.nan) for values in said]
    return np.where(given, own[0], mu), np.where(given, own[1], restitution)


def _coefficients(restitution: float | RestitutionLaw, speed: FloatArray) -> FloatArray:
    """Return the restitution (nc,) at speeds of approach (nc,) [m/s]."""
    if isinstance(restitution, MaxLaw):
        return np.maximum(_coefficients(restitution.a, speed), _coefficients(restitution.b, speed))
    if isinstance(restitution, PowerLaw):
        fast = speed > restitution.threshold
        ratio = np.where(fast, speed, restitution.speed) / restitution.speed
        return np.where(fast, np.minimum(restitution.e_max, restitution.e * ratio**-restitution.exponent), 0.0)
    return np.full(speed.shape, restitution)


def material_pairs(world: World, rows: Mapping[str, Any], chosen: IntArray) -> tuple[list[Surfaces], IntArray]:
    """Return the distinct pairs of materials of the contact rows ``chosen``, and the index of the pair of each row.

    The pair of a row has the material of A, or of the half-space, and then the material of B. A material is None if
    the record does not name the shape.
    """
    materials = [surface.material for surface in world.surfaces]
    names = ("contact_half_space", "contact_shape_a", "contact_shape_b")
    found, numbers = distinct([rows[name][chosen] for name in names])
    pairs: list[Surfaces] = []
    for half_space, a, b in found.tolist():
        others, other = (world.half_space_materials, half_space) if half_space >= 0 else (materials, a)
        one = others[other] if 0 <= other < len(others) else None
        pairs.append((one, materials[b] if 0 <= b < len(materials) else None))
    return pairs, numbers


def admits(world: World, half_space: int, surface: Collider) -> bool:
    """Return True if the collision filters allow a shape to touch a half-space."""
    if not world.half_space_filters:
        return True
    category, mask = world.half_space_filters[half_space]
    return bool(surface.category & mask and category & surface.mask)


def _spring_of(one: Material | None, other: Material | None) -> tuple[float, float]:
    """Return stiffness and dissipation of two damped springs in series; infinite and 0 for rigid surfaces."""
    springs = [material for material in (one, other) if material is not None and math.isfinite(material.stiffness)]
    if not springs:
        return math.inf, 0.0
    give = sum(1.0 / material.stiffness for material in springs)
    return 1.0 / give, sum(material.dissipation / (give * material.stiffness) ** 2 for material in springs)


#: Default correction speed of velocities, in largest extents of the smaller body per second.
PUSH_RATE = 2.0


def rigid_contacts(portion: StepSlice) -> BoolArray:
    """Return a mask (nc,) of rigid contacts: h stiffness + dissipation is 0 or infinite."""
    surfaces, numbers = material_pairs(portion.recording.world, portion.recording.rows, portion.contacts)
    springs = np.array([_spring_of(*pair) for pair in surfaces]).reshape(-1, 2)[numbers]
    give = portion.h[portion.at] * springs[:, 0] + springs[:, 1]
    return np.asarray(~((give > 0.0) & np.isfinite(give)))


def extent_of(portion: StepSlice, sizes: FloatArray) -> FloatArray:
    """Return the size (nc,) [m] of the smaller shape of each contact, from ``sizes`` of all shapes.

    A contact whose shapes have no known size has the smallest size of all shapes, or 1 if there is none.
    """
    least = float(np.min(sizes, initial=np.inf))
    known = np.append(sizes, np.inf)
    size = np.minimum(known[portion.column("shape_a")], known[portion.column("shape_b")])
    return np.where(np.isfinite(size), size, least if math.isfinite(least) else 1.0)


def fastest_of(portion: StepSlice, rate: float) -> FloatArray:
    """Return the maximum correction speed (nc,) of each contact: by default ``rate`` lengths."""
    given = portion.recording.stepper.max_depenetration_velocity
    if given is not None:
        return np.full(portion.contacts.size, given)
    return rate * extent_of(portion, portion.recording.world.extents.max_length)


def normal_terms(
    gap: FloatArray,
    before: FloatArray,
    free: FloatArray,
    h: FloatArray,
    restitution: FloatArray | float,
    restitution_threshold: float,
    erp: FloatArray | float,
    fastest: FloatArray | float,
) -> FloatArray:
    """Return kN (n, 2) of impacts, or of contacts that may close their gap; both if rounding decides.

    ``fastest`` bounds the correction speed; if it is infinite an impact has e N v- for any gap.
    """
    bounce = restitution * before
    push = np.maximum(erp * np.minimum(gap, 0.0) / h, -np.asarray(fastest))
    rest = np.where(gap > 0.0, gap / h, push)
    ours = np.where(gap > 0.0, np.where(np.asarray(restitution) > 0.0, bounce, rest), np.minimum(bounce, push))
    bounce = np.where(np.isinf(fastest), bounce, ours)
    closing, fast = gap + h * free, -before - restitution_threshold
    unsure = (np.abs(closing) <= UNDECIDED * (np.abs(gap) + h * np.abs(free))) | (
        np.abs(fast) <= UNDECIDED * np.abs(before)
    )
    one = np.where(unsure | ((closing <= 0.0) & (fast > 0.0)), bounce, rest)
    return np.stack((one, np.where(unsure, rest, one)), axis=-1)


# Rolling [rad/s] below which it has no direction.
STILL = 1e-9


def moments_of(
    portion: StepSlice, surfaces: list[Surfaces], numbers: IntArray, frames: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray, IntArray]:
    """Return the cones of moments of the contacts of a portion: n cones, torsional ones first, with nt rows in all.

    The values are the contribution (nt,) of rotating kinematic bodies to the relative angular velocity [rad/s], and the
    directions (nt, 3) in world axes. Then the lengths (n,) [m] of the cones, their contacts, their numbers of
    directions, and their first columns among the variables by contact.

    ``surfaces`` are the materials of A and B of each pair in contact, None for an unknown shape; ``numbers`` (nc,) the
    pair of each contact; ``frames`` (nc, 1 + r, 3) its normal and directions of sliding friction.
    """
    world, r = portion.recording.world, frames.shape[1] - 1
    known = [
        (0.0, 0.0) if a is None or b is None else (max(a.torsional, b.torsional), max(a.rolling, b.rolling))
        for a, b in surfaces
    ]
    torsional, rolling = np.array(known).reshape(-1, 2)[numbers].T
    if world.plane is not None:
        torsional = 0.0 * torsional  # in the plane there is no spin
    surface_turning = portion.surfaces[:, 3:]
    about, over = np.flatnonzero(torsional > 0.0), np.flatnonzero(rolling > 0.0)
    axes = _axes(world, frames[over], (portion.speeds(portion.v)[:, 3:] - surface_turning)[over])
    rows = np.concatenate((about, np.repeat(over, axes.shape[1])))
    directions = np.concatenate((frames[about, 0], axes.reshape(-1, 3)))
    return (
        -np.sum(directions * surface_turning[rows], axis=1),
        directions,
        np.concatenate((torsional[about], rolling[over])),
        np.concatenate((about, over)),
        np.repeat((1, axes.shape[1]), (about.size, over.size)),
        np.repeat((2 + 2 * r, 5 + 2 * r), (about.size, over.size)),
    )


def _axes(world: World, frames: FloatArray, w: FloatArray) -> FloatArray:
    """Return the rolling directions (n, r, 3), equally spaced about the normal, with the first along w (n, 3).

    w is the relative angular velocity before the step. Without it the first tangent of ``frames`` is the first
    direction. In a planar world all directions are the plane's normal.
    """
    if world.plane is not None:
        return np.tile(world.plane, (frames.shape[0], 1, 1))
    normal, r = frames[:, 0], frames.shape[1] - 1
    across = w - np.sum(normal * w, axis=1, keepdims=True) * normal
    speed = np.linalg.norm(across, axis=1, keepdims=True)
    first = np.where(speed > STILL, across / np.maximum(speed, STILL), frames[:, 1])
    second, angles = cross(normal, first), np.pi * np.arange(r) / r
    return np.asarray(np.cos(angles)[:, None] * first[:, None] + np.sin(angles)[:, None] * second[:, None])
