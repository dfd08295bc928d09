"""Collision filter of a compiled MuJoCo model: bits of geoms, excluded bodies, parents, explicit pairs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from contactlab.world.builder import WorldBuilder
from contactlab.world.mjcf.source import MjcfError, Source, mujoco, name_in
from contactlab.world.surface import ALL

MAX_CLASSES = 32

#: contype, conaffinity and, for a geom with individual partners, a number of its own class.
GeomClass = tuple[int, int, int]
#: Bit of each class of geoms in a world. The first belongs to default geoms, and to shapes without
#: filters.
Classes = dict[GeomClass, int]
PLAIN: GeomClass = (1, 1, 0)


def geom_filters(source: Source, geoms: list[int], classes: Classes) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """Return category and mask of each geom, and notes; new classes get the next bits of ``classes``.

    MuJoCo lets two geoms touch if the contype of either has a bit in common with the other's conaffinity. Excluded
    bodies do not touch; explicit pairs touch for any bits. Planes and geoms of the world have no moving body, so their
    exclusions are treated here too.
    """
    m, notes = source.m, list[str]()
    classes.setdefault(PLAIN, 1)
    known = classes.copy()
    special = _special_pairs(source, geoms)
    keys = _assign(m, geoms, special, known)
    if len(known) > MAX_CLASSES and special:
        notes.append("explicit contact pairs and exclusions of the world not taken: too many different ones")
        known, special = classes.copy(), {}
        keys = _assign(m, geoms, special, known)
    if len(known) > MAX_CLASSES:
        detail = f"{len(known)} different pairs with conaffinity, at most {MAX_CLASSES} are taken"
        raise MjcfError("contype", detail)
    classes.update(known)
    own = {key: g for g, key in reversed(keys.items())}
    said: dict[int, tuple[int, int]] = {}
    for g, key in keys.items():
        mask = ALL
        for other, bit in classes.items():
            may = bool(key[0] & other[1] or key[1] & other[0])
            if own.get(other, g) != g:
                may = special.get(frozenset((g, own[other])), may)
            if not may:
                mask &= ~bit
        said[g] = (classes[key], mask)
    return said, notes


def _assign(m: Any, geoms: list[int], special: dict[frozenset[int], bool], known: Classes) -> dict[int, GeomClass]:
    """Return the class of each geom, and add new classes to ``known`` with the next free bits.

    A class is (contype, conaffinity, number). Geoms of one class touch the same geoms. The number is 0 unless the geom
    is in a pair of ``special``; it distinguishes geoms with the same bits and other pairs.
    """
    partners: dict[int, set[tuple[int, bool]]] = {}
    for pair, may in special.items():
        a, b = pair
        partners.setdefault(a, set()).add((b, may))
        partners.setdefault(b, set()).add((a, may))
    numbers: dict[tuple[int, int, frozenset[tuple[int, bool]]], int] = {}
    first = 1 + max((key[2] for key in known), default=0)
    keys = {}
    for g in geoms:
        bits, number = (int(m.geom_contype[g]), int(m.geom_conaffinity[g])), 0
        if g in partners:
            number = numbers.setdefault((*bits, frozenset(partners[g])), first + len(numbers))
        keys[g] = (*bits, number)
        known.setdefault(keys[g], 1 << len(known))
    return keys


def _special_pairs(source: Source, geoms: list[int]) -> dict[frozenset[int], bool]:
    """Return pairs of geoms whose contact does not depend on their bits, unless bodies already decide it."""
    m, taken = source.m, set(geoms)
    said: dict[frozenset[int], bool] = {}
    of_body: dict[int, list[int]] = {}
    for g in geoms:
        of_body.setdefault(int(m.geom_bodyid[g]), []).append(g)
    for a, b in excluded(m):
        for g, k in itertools.product(of_body.get(a, ()), of_body.get(b, ())):
            if is_ground(source, g) or is_ground(source, k):
                said[frozenset((g, k))] = False
    for one, two in zip(m.pair_geom1, m.pair_geom2, strict=True):
        g, k = int(one), int(two)
        may = m.geom_contype[g] & m.geom_conaffinity[k] or m.geom_contype[k] & m.geom_conaffinity[g]
        if g in taken and k in taken and not (may and frozenset((g, k)) not in said):
            said[frozenset((g, k))] = True
    return said


def colliding(source: Source) -> list[int]:
    """Return the numbers of the geoms that can collide."""
    m = source.m
    if source.is_flag_disabled("contact", "constraint"):
        return []
    paired = {*map(int, m.pair_geom1), *map(int, m.pair_geom2)}
    return [g for g in range(m.ngeom) if m.geom_contype[g] or m.geom_conaffinity[g] or g in paired]


def excluded(m: Any) -> list[tuple[int, int]]:
    """Return the pairs of bodies of <exclude> elements."""
    return [(int(signature) >> 16, int(signature) & 0xFFFF) for signature in m.exclude_signature]


def is_ground(source: Source, g: int) -> bool:
    """Return True if a geom is a plane, or belongs to the world: it becomes a separate shape, without a body."""
    return bool(source.m.geom_bodyid[g] == 0 or source.m.geom_type[g] == mujoco().mjtGeom.mjGEOM_PLANE)


def ignore_bodies(builder: WorldBuilder, source: Source, geoms: list[int]) -> list[str]:
    """Exclude collisions of bodies that do not collide in MuJoCo; return notes on inexact cases.

    Bodies without joints form one weld with their parents. A weld does not touch its parent weld, unless that is the
    world. The builder excludes such pairs itself if one joint connects them; pairs connected by several joints are
    excluded here.
    """
    m, names, notes = source.m, source.bodies, list[str]()
    weld = np.asarray(m.body_weldid)
    above = weld[np.asarray(m.body_parentid)[weld]]  # parent weld of each body's weld
    with_geoms = sorted({int(m.geom_bodyid[g]) for g in geoms if m.geom_bodyid[g]})
    free_parents = source.is_flag_disabled("filterparent")
    pairs = itertools.product(with_geoms, with_geoms)
    joined = [(a, b) for a, b in pairs if weld[a] != weld[b] and weld[a] == above[b] != 0]
    if free_parents:
        single = [f"{names[a]!r} and {names[b]!r}" for a, b in joined if m.body_jntnum[weld[b]] == 1]
        if single:
            notes.append(f"contacts of bodies that one joint joins (filterparent) not taken: {', '.join(single[:8])}")
    else:
        for a, b in joined:
            if m.body_jntnum[weld[b]] > 1:
                builder.exclude_collision(names[a], names[b])
    for a, b in excluded(m):
        if a and b and a in with_geoms and b in with_geoms:
            builder.exclude_collision(names[a], names[b])
    apart = {frozenset(pair) for pair in ([] if free_parents else joined)} | {frozenset(pair) for pair in excluded(m)}
    silent = []
    for p in range(m.npair):
        g, k = int(m.pair_geom1[p]), int(m.pair_geom2[p])
        if not (is_ground(source, g) or is_ground(source, k)):
            bodies = frozenset((int(m.geom_bodyid[g]), int(m.geom_bodyid[k])))
            if bodies in apart:
                silent.append(name_in(m, "pair", p))
    if silent:
        notes.append(f"explicit contact pairs of joined or excluded bodies not taken: {', '.join(map(repr, silent))}")
    return notes
