"""What no tolerance of the integrator says: pairs that begin or get inside one another, balls that are missed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contactlab.event_driven.candidates import BallOnBall, Candidate
from contactlab.multibody import body_poses
from contactlab.recording.long_steps import DEPTH
from contactlab.spatial.arrays import FloatArray
from contactlab.world.world import World


def too_deep(world: World, candidates: Sequence[Candidate], time: FloatArray, gaps: FloatArray) -> dict[str, str]:
    """Say by kind which pairs are deeper than the integrator makes any; times (n,), gaps (n, pairs)."""
    thick: dict[str, float] = {}
    for body, size in zip(world.surface_bodies, world.extents.thick, strict=True):
        name = world.model.names[body]
        thick[name] = min(thick.get(name, np.inf), float(size))
    bodies = ((pair.body, getattr(pair, "body_a", pair.body)) for pair in candidates)
    sizes = np.array([min(thick[name] for name in names) for names in bodies])
    depth = -gaps / sizes
    found = {}
    for kind, rows in (("overlap", depth[:1]), ("penetration", np.where(depth[:1] > DEPTH, 0.0, depth))):
        if not rows.size or rows.max() <= DEPTH:
            continue
        i, k = map(int, np.unravel_index(np.argmax(rows), rows.shape))
        how = f"{candidates[k].name}: {-gaps[i, k]:.3g} m deep"
        if kind == "overlap":
            found[kind] = f"{how} from the start, which no event closes: start them apart"
        else:
            found[kind] = f"{how} at t = {time[i]:.9g} s: smaller `max_step`, `rtol` and `atol`"
    return found


def missed(world: World, candidates: Sequence[Candidate], time: FloatArray, q: FloatArray) -> str:
    """Say which balls went through one another between two states; nothing where none did.

    Between two steps of the integrator their gap was positive at both ends, so that no event was found.
    """
    pairs = [pair for pair in candidates if isinstance(pair, BallOnBall)]
    if not pairs or len(time) < 2:
        return ""
    R, p = body_poses(world.model, q)
    number = {name: i for i, name in enumerate(world.model.names)}

    def centers(bodies: list[str], own: list[FloatArray]) -> FloatArray:
        at = [number[name] for name in bodies]
        return np.asarray(p[:, at] + np.einsum("nkij,kj->nki", R[:, at], np.array(own)))

    across = centers([pair.body for pair in pairs], [pair.center for pair in pairs])
    across = across - centers([pair.body_a for pair in pairs], [pair.center_a for pair in pairs])
    radii = np.array([(pair.radius_a, pair.radius) for pair in pairs])
    way = np.diff(across, axis=0)
    square = np.sum(way**2, axis=2)
    when = np.clip(-np.sum(across[:-1] * way, axis=2) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    nearest = np.linalg.norm(across[:-1] + when[..., None] * way, axis=2)
    apart = np.linalg.norm(across, axis=2) >= radii.sum(axis=1)
    depth = np.where(apart[:-1] & apart[1:], radii.sum(axis=1) - nearest, 0.0)
    i, k = map(int, np.unravel_index(np.argmax(depth), depth.shape))
    if depth[i, k] <= DEPTH * 2.0 * radii[k].min():
        return ""
    between = f"between t = {time[i]:.9g} s and {time[i + 1]:.9g} s"
    return f"{pairs[k].name}: they pass through one another {between}, in one step: lower `max_step`"
