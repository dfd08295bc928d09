"""Acceleration-level problem data as the members of a file, and back."""

from __future__ import annotations

import numpy as np

from problem_data.acceleration import ConstraintAccelProblemData
from problem_data.blocks import AccelerationBlocks
from problem_data.contact_lists import split_contacts
from problem_data.errors import ProblemDataError
from problem_data.members import Members, check_response, inertia_from, member, row_counts, short
from problem_data.sliding_friction import normal_minus_friction
from problem_data.validation import FloatArray, IntArray, direction_counts, entry, float_array, nonnegative

# Relative to |N| + mu |Q|. The rows may come from compiled code that rounds once where numpy rounds twice.
SLIDING_ROW_TOLERANCE = 1e-14


def acceleration_members(data: ConstraintAccelProblemData) -> Members:
    """The blocks and the choice of solver, without the inertia."""
    blocks = data.blocks()
    return {
        "rows": np.array([blocks.nc, blocks.nr, blocks.nl, blocks.nb], dtype=np.int64),
        "r": blocks.r,
        "mu_sliding": blocks.mu_sliding,
        "mu_non_sliding": blocks.mu_non_sliding,
        "sliding_contacts": blocks.sliding,
        "non_sliding_contacts": blocks.non_sliding,
        "J": blocks.J,
        "Q": blocks.Q,
        "R": blocks.R,
        "Y": blocks.Y,
        "YR": blocks.YR,
        "k": blocks.k,
        "tau": blocks.tau,
        "a_free": blocks.a_free,
        "use_complementarity_problem_solver": np.array(data.use_complementarity_problem_solver),
    }


def acceleration_problem(arrays: Members) -> ConstraintAccelProblemData:
    """The problem from the members of a file, every one of them checked."""
    tau = float_array("tau", member(arrays, "tau"), (None,))
    mu_sliding = nonnegative("mu_sliding", member(arrays, "mu_sliding"), member(arrays, "mu_sliding").size)
    static = member(arrays, "mu_non_sliding")
    mu_non_sliding = nonnegative("mu_non_sliding", static, static.size)
    r = direction_counts(member(arrays, "r"), mu_non_sliding, "mu_non_sliding")
    nv, ns, nns = tau.size, mu_sliding.size, mu_non_sliding.size
    nc, nr, nl, nb = row_counts(arrays, "nc", "nr", "nl", "nb")
    if (nc, nr) != (ns + nns, sum(r.tolist())):
        raise ProblemDataError(
            "rows",
            f"nc, nr = {nc}, {nr}, but mu_sliding and mu_non_sliding have {ns} + {nns} entries and r adds up to "
            f"{sum(r.tolist())}",
        )
    sliding, non_sliding = split_contacts(
        float_array("sliding_contacts", member(arrays, "sliding_contacts"), (ns,), "one entry per entry of mu_sliding"),
        float_array(
            "non_sliding_contacts",
            member(arrays, "non_sliding_contacts"),
            (nns,),
            "one entry per entry of mu_non_sliding",
        ),
        nc,
    )
    m = nc + nr + nl + nb
    J = float_array("J", member(arrays, "J"), (m, nv))
    Q = float_array("Q", member(arrays, "Q"), (ns, nv))
    R = float_array("R", member(arrays, "R"), (nc, nv))
    _check_sliding_rows(J[:nc], Q, R, mu_sliding, sliding)
    blocks = AccelerationBlocks(
        nv=nv,
        nc=nc,
        ns=ns,
        nns=nns,
        nr=nr,
        nl=nl,
        nb=nb,
        r=r,
        mu_sliding=mu_sliding,
        mu_non_sliding=mu_non_sliding,
        sliding=sliding,
        non_sliding=non_sliding,
        J=J,
        Q=Q,
        R=R,
        Y=float_array("Y", member(arrays, "Y"), (m, nv)),
        YR=float_array("YR", member(arrays, "YR"), (nc, nv)),
        k=float_array("k", member(arrays, "k"), (m,)),
        tau=tau,
        a_free=float_array("a_free", member(arrays, "a_free"), (nv,)),
    )
    solve_inertia = inertia_from(arrays, nv)
    for forces, response in (("J", "Y"), ("R", "YR"), ("tau", "a_free")):
        check_response(arrays, forces, response)
    return ConstraintAccelProblemData.from_blocks(
        blocks, solve_inertia=solve_inertia, use_complementarity_problem_solver=_flag(arrays)
    )


def _check_sliding_rows(N: FloatArray, Q: FloatArray, R: FloatArray, mu: FloatArray, sliding: IntArray) -> None:
    """Raise where R is not N - mu Q: the two are stored apart to keep their bits, not to differ."""
    with np.errstate(over="ignore"):
        wanted = normal_minus_friction(N, Q, mu, sliding)
        scale = normal_minus_friction(np.abs(N), -np.abs(Q), mu, sliding)
        differs = ~np.isfinite(wanted) | (np.abs(R - wanted) > SLIDING_ROW_TOLERANCE * scale)
    if differs.any():
        i, j = (int(n) for n in np.argwhere(differs)[0])
        raise ProblemDataError("R", f"{entry('R', R, (i, j))}, but N - mu_sliding Q is {wanted[i, j]} there")


def _flag(arrays: Members) -> bool:
    flag = member(arrays, "use_complementarity_problem_solver")
    if flag.shape != () or flag.dtype.kind != "b":
        raise ProblemDataError("use_complementarity_problem_solver", f"{short(flag)}, wanted one truth value")
    return bool(flag)
