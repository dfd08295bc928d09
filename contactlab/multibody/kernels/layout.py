"""Memory layout of a model and of a workspace for the kernels: flat buffers, and the views into them.

Every array in a call from Python costs time. So a model consists of one buffer of integers and one of floats, and the
scratch memory of a call is one buffer. `tree` and `frames` cut views, which costs almost nothing in compiled code. A
finished head of a workspace can be copied from a `Kinematics` value instead of being computed.

Links are the moving frames, one per elementary joint, parents before children. A body added to the model is fixed to
one link (or to the world, -1). Spatial vectors (angular part first) have world axes and refer to the origin of the root
link of their tree. So no digits are lost far from the world origin.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.multibody.kernels import MATRICES, SCRATCH, STACK
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import stack_array, view_1d, view_2d
from lcp.kernels import kernel

stack = stack_array(STACK)


class Frames(NamedTuple):
    """Kinematics of nl links with nv degrees of freedom; see `poses` and `velocities`."""

    R: FloatArray  # (nl, 9) link axes to world axes, by rows
    p: FloatArray  # (nl, 3) origins
    S: FloatArray  # (nv, 6) motion columns
    V: FloatArray  # (nl, 6) spatial velocities
    C: FloatArray  # (nl, 6) sums of (dS/dt) v
    scratch: FloatArray  # (18,)
    turns: FloatArray  # (2 nl + 14,) sines and cosines of the joints, while poses are computed
    start: int  # offset in the workspace of the algorithm's other arrays


@kernel
def frames(W: FloatArray, nl: int, nv: int) -> Frames:
    """Return the views of the head of a workspace."""
    # offsets of the motion columns and of the poses
    a = SCRATCH + 2 * nl
    b = a + 6 * nv
    return Frames(
        view_2d(W, b, nl, 9),
        view_2d(W, b + 9 * nl, nl, 3),
        view_2d(W, a, nv, 6),
        view_2d(W, b + 12 * nl, nl, 6),
        view_2d(W, b + 18 * nl, nl, 6),
        view_1d(W, 0, MATRICES),
        view_1d(W, MATRICES, a - MATRICES),
        b + 24 * nl,
    )


# Places in the head of the integer buffer.
LINKS, NQ, NV, BODIES = range(4)

HEAD: Final = 8


class Tree(NamedTuple):
    """Views into the buffers of a model with nl links, nb added bodies."""

    parent: IntArray  # (nl,) parent link, -1 for the world
    root: IntArray  # (nl,) root link of the tree the link belongs to
    kind: IntArray  # (nl,) code of the joint
    iq: IntArray  # (nl + 1,) first entry of q
    iv: IntArray  # (nl + 1,) first entry of v
    custom: IntArray  # (nl,) row of the custom joint's numbers, -1
    dof_parent: IntArray  # (nv,) the degree of freedom next below, -1
    dof_link: IntArray  # (nv,) link the degree of freedom moves
    body_link: IntArray  # (nb,) link an added body is fixed to, -1 for the world
    R: FloatArray  # (nl, 9) placement of the joint in the parent link: rotation by rows
    p: FloatArray  # (nl, 3) and origin [m]
    axis: FloatArray  # (nl, 6) direction of rotation and of shift, joint axes
    mass: FloatArray  # (nl,) [kg] of all bodies fixed to the link
    com: FloatArray  # (nl, 3) [m] their common centre of mass, link axes
    inertia: FloatArray  # (nl, 6) [kg m^2] about it, link axes: xx, yy, zz, xy, xz, yz
    armature: FloatArray  # (nv,) [kg m^2, kg] inertia of the rotor of each degree of freedom
    body_R: FloatArray  # (nb, 9) added body in its link
    body_p: FloatArray  # (nb, 3)
    gravity: FloatArray  # (3,) [m/s^2] world axes


@kernel
def tree(I: IntArray, F: FloatArray) -> Tree:
    """Return the views, in the order and with the sizes of `contactlab.multibody.packing.pack`."""
    # sizes, and the offsets after the heads of both buffers
    nl = I[LINKS]
    nv = I[NV]
    nb = I[BODIES]
    a = HEAD
    b = 3
    # integers, then floats, in the order of the fields
    return Tree(
        view_1d(I, a, nl),
        view_1d(I, a + nl, nl),
        view_1d(I, a + 2 * nl, nl),
        view_1d(I, a + 3 * nl, nl + 1),
        view_1d(I, a + 4 * nl + 1, nl + 1),
        view_1d(I, a + 5 * nl + 2, nl),
        view_1d(I, a + 6 * nl + 2, nv),
        view_1d(I, a + 6 * nl + 2 + nv, nv),
        view_1d(I, a + 6 * nl + 2 + 2 * nv, nb),
        view_2d(F, b, nl, 9),
        view_2d(F, b + 9 * nl, nl, 3),
        view_2d(F, b + 12 * nl, nl, 6),
        view_1d(F, b + 18 * nl, nl),
        view_2d(F, b + 19 * nl, nl, 3),
        view_2d(F, b + 22 * nl, nl, 6),
        view_1d(F, b + 28 * nl, nv),
        view_2d(F, b + 28 * nl + nv, nb, 9),
        view_2d(F, b + 28 * nl + nv + 9 * nb, nb, 3),
        view_1d(F, 0, 3),
    )


@kernel(inline=True)
def model_and_workspace_views(I: IntArray, F: FloatArray, W: FloatArray) -> tuple[Tree, Frames, int, int]:
    """Return the views of a model and of the head of a workspace, and the numbers of links and degrees of freedom."""
    nl = I[LINKS]
    nv = I[NV]
    return tree(I, F), frames(W, nl, nv), nl, nv
