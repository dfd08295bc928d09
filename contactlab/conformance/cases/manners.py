"""Manners: the same bits twice, and the same motion in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from contactlab.conformance.case import Case, Measure, path
from contactlab.conformance.scene import Engine, Scene, box

H = 1e-3


def tumble() -> Scene:
    """Three boxes that fall, turn and meet."""
    return Scene(tuple(box((0.1, 0.08, 0.06), 1.0 + i, (0.05 * i, 0.03 * i, 0.2 + 0.25 * i), spin=(1.0, 2.0 * i, 0.5))
                       for i in range(3)))  # fmt: skip


def _bits(engine: Engine) -> list[Measure]:
    one = path(engine, tumble(), H, 1.0)
    # Another scene between them, whose memory must not be seen in the second.
    path(engine, Scene((box((0.1,) * 3, 1.0, (0.0, 0.0, 0.1)),)), H, 0.05)
    two = path(engine, tumble(), H, 1.0)
    differ = np.count_nonzero(one.poses != two.poses) + np.count_nonzero(one.velocities != two.velocities)
    return [Measure("two runs differed in so many numbers:", float(differ), 0.0)]


def _order(engine: Engine) -> list[Measure]:
    scene = tumble()
    # Until a little after the first impacts: later, tumbling makes any difference large.
    one = path(engine, scene, H, 0.3)
    two = path(engine, replace(scene, bodies=scene.bodies[::-1]), H, 0.3)
    apart = float(np.abs(one.poses[:, :, :3] - two.poses[:, ::-1, :3]).max())
    return [Measure("bodies told in reverse moved apart by", apart, 1e-6, "m")]


CASES = (
    Case("determinism", "Is a scene loaded anew, after another one, run as before, bit for bit?",
         "The same arithmetic: no bit differs", _bits),
    Case("order of bodies", "Is the motion that of the bodies in another order?",
         "The laws name no order; 1 um", _order),
)  # fmt: skip
