"""Which bodies of a MuJoCo file may touch, by MuJoCo's rules and in a world made of it."""

import itertools

import numpy as np

from contactlab.collision import BodyShape
from contactlab.simulation.world.collision_filter import build_collision_filter, may_touch_half_space


def may_touch_in_mujoco(m):
    """Pairs of names of bodies, as its documentation has the rules; planes and geoms of the world by their own."""
    import mujoco

    names = ["world", *(m.body(i).name or f"body {i}" for i in range(1, m.nbody))]
    weld = m.body_weldid
    above = [weld[m.body_parentid[w]] for w in weld]
    excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature}
    parents = not m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    found = set()

    def label(g):
        name = m.geom(g).name or f"geom {g}"
        if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_PLANE:
            return f"plane {name}"
        return names[m.geom_bodyid[g]] if m.geom_bodyid[g] else f"world/{name}"

    for g, k in itertools.combinations(range(m.ngeom), 2):
        a, b = int(m.geom_bodyid[g]), int(m.geom_bodyid[k])
        if not (m.geom_contype[g] & m.geom_conaffinity[k] or m.geom_contype[k] & m.geom_conaffinity[g]):
            continue
        if weld[a] == weld[b] or (a, b) in excluded or (b, a) in excluded:
            continue
        if parents and weld[a] and weld[b] and (above[a] == weld[b] or above[b] == weld[a]):
            continue
        found.add(frozenset((label(g), label(k))))
    for g, k in zip(m.pair_geom1, m.pair_geom2, strict=True):
        found.add(frozenset((label(g), label(k))))
    return found


def may_touch_here(world):
    """Pairs of names of bodies, half-spaces as planes."""
    touching = build_collision_filter(world)
    of = world.surface_bodies
    names = world.model.names
    found = set()
    for i, s in itertools.product(range(len(world.surfaces)), range(len(world.half_spaces))):
        fixed = world.body_trees[of[i]] < 0
        if isinstance(world.surfaces[i].shape, BodyShape) and may_touch_half_space(world, i, s) and not fixed:
            found.add(frozenset((names[of[i]], f"plane {world.half_space_names[s]}")))
    if touching is None:
        return found
    body, link, category, mask, excluded = touching
    n = body.size
    out = np.zeros((n, n), dtype=bool)
    out.reshape(-1)[excluded] = True

    def label(i):
        return names[body[i]] if body[i] >= 0 else f"plane {world.half_space_names[i - len(world.surfaces)]}"

    return found | {
        frozenset((label(i), label(j)))
        for i, j in itertools.combinations(range(n), 2)
        if category[i] & mask[j] and category[j] & mask[i] and not out[i, j] and link[i] != link[j]
    }
