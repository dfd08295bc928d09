"""The memory of collision detection between shapes: what does not change, and workspaces.

Sizes: n shapes, those of the bodies first, then the half-spaces of the world; m materials.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.stepping.kernels.layout import FloatArray, IntArray

# Shapes whose pairs fit a contact id, next to 31 bits of a feature; and the lowest of all ids. The ids of pairs are
# negative: those of half-spaces with support points are not.
MAX_SHAPES: Final = 1 << 16
FEATURE_BITS: Final = 31
LOWEST_ID: Final = -(1 << 63)


class Collision(NamedTuple):
    """Shapes that may touch one another."""

    kind: IntArray  # (n,), and the next four: `contactlab.contact.kernels.layout`
    size: FloatArray
    place: FloatArray
    data: FloatArray
    loops: IntArray
    body: IntArray  # (n,) -1 for the world's half-spaces
    link: IntArray  # (n,) the link it moves with, negative when fixed to the world; those of one link never touch
    half_space: IntArray  # (n,) number of the world's half-space, -1 for other shapes
    category: IntArray  # (n,) bits, as `sweep_and_prune.candidates` takes them
    mask: IntArray  # (n,)
    excluded: IntArray  # ascending: the pairs i n + j, i < j, that never touch besides
    material: IntArray  # (n,)
    pair_mu: FloatArray  # (m, m)
    poses: FloatArray  # (n, 12) of the shapes in the world
    boxes: FloatArray  # (n, 6) bounds, moved out by the reach
    predicted: FloatArray  # (n, 12) poses predicted for the end of the step
    deviation: FloatArray  # (n,) m: how far the shape then has left its straight way, at most
    reach: FloatArray  # (n,) m: share in the gap up to which contacts are looked for
    order: IntArray  # (n,) by which the last sweep went
    keys: FloatArray  # (n,)
    pairs: IntArray  # (capacity,) candidates
    work: FloatArray  # of `collide_pair`
    ints: IntArray
    points: FloatArray  # (capacity, 7) contacts of one pair
    features: IntArray  # (capacity,)
