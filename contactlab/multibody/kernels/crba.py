"""The composite-rigid-body algorithm: the mass matrix (Featherstone 2008, section 6.2), in world axes."""

from __future__ import annotations

from contactlab.multibody.kernels.codes import FLOATING, GOOD, NOT_FINITE
from contactlab.multibody.kernels.free_root import free_root_block, project_on_free_root
from contactlab.multibody.kernels.inertias import inertia_times, world_inertias
from contactlab.multibody.kernels.layout import Tree, tree
from contactlab.multibody.kernels.poses import poses
from contactlab.multibody.kernels.sizes import POSES
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def crba(
    I: IntArray, F: FloatArray, q: FloatArray, custom: FloatArray, W: FloatArray, ready: int, M: FloatArray
) -> int:
    """Fill M (nv, nv), zeroed by the caller; `GOOD`, or what stopped it.

    Only entries between degrees of freedom of one branch are written: the others are zero in every configuration.
    """
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = M.shape[0]
    f = frames(W, nl, nv)
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    B = rows_at(W, f.start, nl, 10)
    world_inertias(t, f.R, f.p, B)
    return composite_matrix(t, f.S, t.dof_parent, B, 0, nl, M)


@kernel(inline=True)
def composite_matrix(
    t: Tree, S: FloatArray, branch: IntArray, B: FloatArray, first: int, last: int, M: FloatArray
) -> int:
    """Fill M (n, n), the mass matrix of links first ... last - 1, which must be whole trees; `GOOD` or `NOT_FINITE`.

    ``B`` (nl, 10) holds the inertias of the links (`world_inertias`) and becomes that of the composites. ``S`` (n, 6)
    and ``branch`` (n,) are the motion columns of these links and the next degree of freedom towards the root, counted
    from the first of them. Entries off the branches are left alone. Rotors stand on the diagonal.
    """
    begin = t.iv[first]
    rest = 0.0
    for i in range(last - 1, first - 1, -1):
        Bi = B[i]
        up = t.parent[i]
        root = t.root[i]
        at = t.iv[root] - begin
        free = t.kind[root] == FLOATING and at >= 0
        if up >= 0:
            Bu = B[up]
            for k in range(10):
                Bu[k] += Bi[k]
        elif free:
            rest += 0.0 * free_root_block(Bi, S, at, M)
            continue
        # Paths to the root end before a free body, whose entries come in one go.
        end = at + 6 if free else 0
        for j in range(t.iv[i + 1] - begin - 1, t.iv[i] - begin - 1, -1):
            # The force that moves everything beyond joint j at unit acceleration, felt by each joint on the way.
            a, b, c, d, e, g = inertia_times(Bi, S[j])
            rest += 0.0 * (a + b + c + d + e + g)
            row = M[j]
            k = j
            # Compared with 0 too: the compiler then knows that no index counts from the end.
            while k >= 0:
                if k < end:
                    break
                s = S[k]
                value = s[0] * a + s[1] * b + s[2] * c + (s[3] * d + s[4] * e + s[5] * g)
                row[k] = value
                M[k, j] = value
                k = branch[k]
            if free and j >= 0:
                project_on_free_root(a, b, c, d, e, g, S, at, j, M)
    for j in range(t.iv[last] - begin):
        M[j, j] += t.armature[begin + j]
    return GOOD if rest == 0.0 else NOT_FINITE
