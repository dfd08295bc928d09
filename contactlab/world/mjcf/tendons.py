"""Gravity compensation, springs and dampers of tendons, read from a compiled MuJoCo model."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.world.mjcf.actions import tendon_terms
from contactlab.world.mjcf.passive import Attached, Lifted, PassiveForces, Tendon
from contactlab.world.mjcf.source import SCALAR, Source, name_in


def passive_forces(source: Source) -> PassiveForces:
    """Return what a file's bodies and tendons do by themselves, as far as it is taken."""
    m, lifted, tendons = source.m, list[Lifted](), list[Tendon]()
    if source.off("passive") or (source.off("spring") and source.off("damper")):
        return PassiveForces()
    if not source.off("gravity"):
        for i in np.flatnonzero(m.body_gravcomp):
            share = float(m.body_mass[i] * m.body_gravcomp[i])
            lifted.append(Lifted(Attached(source.bodies[i], np.array(m.body_ipos[i])), share))
    for t in range(m.ntendon):
        stiffness = 0.0 if source.off("spring") else float(m.tendon_stiffness[t])
        damping = 0.0 if source.off("damper") else float(m.tendon_damping[t])
        if (stiffness or damping) and is_taken_tendon(m, t):
            tendons.append(_tendon(source, t, stiffness, damping))
    return PassiveForces(tuple(lifted), tuple(tendons))


def is_taken_tendon(m: Any, t: int) -> bool:
    """Whether the spring and damper of a tendon are taken: along sites, or of hinges and slides; linear."""
    import mujoco

    for field in ("tendon_stiffnesspoly", "tendon_dampingpoly", "tendon_springyield"):
        if np.any(getattr(m, field, np.zeros(m.ntendon))[t]):
            return False
    terms, path = tendon_terms(m, t), range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t])
    if terms is None:
        return all(m.wrap_type[wrap] == mujoco.mjtWrap.mjWRAP_SITE for wrap in path)
    return all(m.jnt_type[j] in SCALAR for j in terms)


def _tendon(source: Source, t: int, stiffness: float, damping: float) -> Tendon:
    m, points, terms = source.m, list[Attached](), tendon_terms(source.m, t)
    if terms is None:
        for wrap in range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t]):
            site = int(m.wrap_objid[wrap])
            body, point = int(m.site_bodyid[site]), np.array(m.site_pos[site])
            points.append(Attached(source.bodies[body], point if body else source.pose.apply(point)))
    summed = {} if terms is None else terms
    return Tendon(
        name=name_in(m, "tendon", t),
        points=tuple(points),
        terms=tuple((source.moved[j], factor) for j, factor in summed.items()),
        offset=sum(factor * float(m.qpos0[m.jnt_qposadr[j]]) for j, factor in summed.items()),
        stiffness=stiffness,
        damping=damping,
        rest=(float(m.tendon_lengthspring[t, 0]), float(m.tendon_lengthspring[t, 1])),
    )
