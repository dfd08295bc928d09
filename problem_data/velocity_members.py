"""Velocity-level problem data as the members of a file, and back."""

from __future__ import annotations

import numpy as np

from problem_data.blocks import VelocityBlocks
from problem_data.bounds import force_bounds
from problem_data.errors import ProblemDataError
from problem_data.members import Members, check_response, inertia_from, member, row_counts
from problem_data.validation import direction_counts, float_array, nonnegative
from problem_data.velocity import ConstraintVelProblemData


def velocity_members(data: ConstraintVelProblemData) -> Members:
    """The blocks, without the inertia."""
    blocks = data.blocks()
    return {
        "rows": np.array([blocks.nc, blocks.nr, blocks.nl, blocks.nb, blocks.nbox], dtype=np.int64),
        "r": blocks.r,
        "mu": blocks.mu,
        "J": blocks.J,
        "Y": blocks.Y,
        "k": blocks.k,
        "gamma": blocks.gamma,
        "gammaE": blocks.gammaE,
        "Mv": blocks.Mv,
        "v_free": blocks.v_free,
        "lo": blocks.lo,
        "hi": blocks.hi,
    }


def velocity_problem(arrays: Members) -> ConstraintVelProblemData:
    """The problem from the members of a file, every one of them checked."""
    Mv = float_array("Mv", member(arrays, "Mv"), (None,))
    mu = nonnegative("mu", member(arrays, "mu"), member(arrays, "mu").size)
    r = direction_counts(member(arrays, "r"), mu)
    nc, nr, nl, nb, nbox = row_counts(arrays, "nc", "nr", "nl", "nb", "nbox")
    if (nc, nr) != (mu.size, sum(r.tolist())):
        raise ProblemDataError(
            "rows", f"nc, nr = {nc}, {nr}, but mu has {mu.size} entries and r adds up to {sum(r.tolist())}"
        )
    nu = nc + nr + nl
    nv, m = Mv.size, nu + nb + nbox
    gamma = nonnegative("gamma", member(arrays, "gamma"), m)
    if gamma[nu : nu + nb].any():
        raise ProblemDataError("gamma", f"not 0 in the bilateral rows, {nu} to {nu + nb - 1} of {m}")
    lo, hi = force_bounds(member(arrays, "lo"), member(arrays, "hi"), nbox)
    blocks = VelocityBlocks(
        nv=nv,
        nc=nc,
        nr=nr,
        nl=nl,
        nb=nb,
        r=r,
        mu=mu,
        J=float_array("J", member(arrays, "J"), (m, nv)),
        Y=float_array("Y", member(arrays, "Y"), (m, nv)),
        k=float_array("k", member(arrays, "k"), (m,)),
        gamma=gamma,
        gammaE=nonnegative("gammaE", member(arrays, "gammaE"), nc),
        Mv=Mv,
        v_free=float_array("v_free", member(arrays, "v_free"), (nv,)),
        nbox=nbox,
        lo=lo,
        hi=hi,
    )
    solve_inertia = inertia_from(arrays, nv)
    check_response(arrays, "J", "Y")
    check_response(arrays, "Mv", "v_free")
    return ConstraintVelProblemData.from_blocks(blocks, solve_inertia=solve_inertia)
