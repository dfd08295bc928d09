"""The compiled loop: many steps in one call, resumable at every point where Python is needed.

One step is the program BEGIN -> DETECT -> ROOM -> (ISLANDS -> SOLVE -> JUDGE) per island -> FINISH. The place in it,
the island in progress and every intermediate value live in the arrays of `layout`, so returning and entering again
continues in mid-step. A solver outside this loop (NEED_SOLVE) and the one inside write the same z to the same place,
and the same residual kernel judges both.

Nothing of the state changes before FINISH. A step that failed can therefore be tried again at another h from DETECT on:
contacts, kN, M and q are formed anew for it, and the rows of islands solved already are overwritten.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.certify import certify
from contactlab.formulation.kernels.discretized_lcp import assemble_lcp
from contactlab.formulation.kernels.recover import recover
from contactlab.simulation.kernels.blocks import build_blocks, warm_vector
from contactlab.simulation.kernels.contacts import detect, free_motion, match_previous
from contactlab.simulation.kernels.finish import commit, next_state_finite, scatter_velocity, write_state
from contactlab.simulation.kernels.islands import label_islands
from contactlab.simulation.kernels.layout import (
    ADAPTIVE,
    BEGIN,
    CHUNK_CONTACTS,
    CHUNK_FULL,
    CHUNK_ISLANDS,
    CHUNK_STEPS,
    DETECT,
    DONE,
    EDGES,
    END,
    ERP,
    FAILED,
    FAILURE,
    FAILURE_LCP,
    FAILURE_NOT_FINITE,
    FINISH,
    GROW,
    H_MAX,
    HAS_Z0,
    ISLAND,
    ISLAND_CONTACTS,
    ISLAND_NV,
    ISLANDS,
    JUDGE,
    LAST_H,
    MARGIN,
    N_CONTACTS,
    N_ISLANDS,
    N_PREVIOUS,
    NEED_CALLBACK,
    NEED_SOLVE,
    NEED_SPACE,
    PAUSED,
    PIVOT_BUDGET,
    PIVOTS,
    PROGRAM,
    ROOM,
    SHRINK_H,
    SOLVE,
    SOLVER,
    SOLVER_EXTERNAL,
    SOLVER_LEMKE_FIRST,
    STEP,
    TARGET,
    TAU_CALLBACK,
    TAU_MODE,
    TAU_ZERO,
    TIME,
    TOLERANCE,
    V_MIN,
    WANT_CONTACTS,
    WANT_ISLAND_BODIES,
    WANT_ISLAND_CONTACTS,
    WARM_HIT,
    WARM_START,
    Chunk,
    H,
    Island,
    Model,
    Work,
)
from contactlab.simulation.kernels.rows import write_island, write_rows
from lcp.kernels import kernel
from lcp.kernels.codes import RUNNING, SOLVED
from lcp.kernels.lemke import PIVOTS as LEMKE_PIVOTS
from lcp.kernels.lemke import STAGE as LEMKE_STAGE
from lcp.kernels.lemke import START as LEMKE_START
from lcp.kernels.lemke import lemke_drive, lemke_float_size, lemke_int_size
from lcp.kernels.residuals import is_solved, lcp_residuals


@kernel(inline=True)
def failed(control: NDArray[np.int64], failure: int) -> int:
    """Note why the step failed and return FAILED, or SHRINK_H where it may be tried again."""
    control[FAILURE] = failure
    return SHRINK_H if control[ADAPTIVE] != 0 else FAILED


@kernel
def find_contacts(model: Model, work: Work, control: NDArray[np.int64], parameters: NDArray[np.float64]) -> int:
    """Stages 1 and 2: contacts, their rows in the previous step, islands. Returns 0, NEED_SPACE or as `failed`."""
    if not free_motion(model, work, parameters[H]):
        return failed(control, FAILURE_NOT_FINITE)
    count = detect(model, work, parameters[H], parameters[MARGIN])
    if count > work.contact_int.shape[0]:
        control[WANT_CONTACTS] = count
        return NEED_SPACE
    control[N_CONTACTS] = count
    match_previous(work, count, control[N_PREVIOUS])
    control[N_ISLANDS] = label_islands(work, count)
    control[ISLAND] = 0
    return 0


@kernel
def pose_island(
    model: Model, work: Work, island: Island, control: NDArray[np.int64], parameters: NDArray[np.float64]
) -> int:
    """Stage 3: blocks, LCP and warm start of island control[ISLAND]. Returns 0 or NEED_SPACE."""
    i = control[ISLAND]
    nc = work.contact_start[i + 1] - work.contact_start[i]
    bodies = work.body_start[i + 1] - work.body_start[i]
    r = control[EDGES] // 2
    nr = nc * r
    nv = 6 * bodies
    m = nc + nr
    n = 2 * nc + 2 * nr
    if nc > island.r.shape[0] or nv > island.Mv.shape[0]:
        control[WANT_ISLAND_CONTACTS] = nc
        control[WANT_ISLAND_BODIES] = bodies
        return NEED_SPACE
    control[ISLAND_CONTACTS] = nc
    control[ISLAND_NV] = nv
    build_blocks(model, work, island, i, parameters[H], parameters[V_MIN], parameters[ERP], control[EDGES])
    assemble_lcp(
        parameters[H],
        nc,
        nr,
        0,
        island.r[:nc],
        island.mu[:nc],
        island.J[: m * nv].reshape((m, nv)),
        island.Y[: m * nv].reshape((m, nv)),
        island.k[:m],
        island.gamma[:m],
        island.gammaE[:nc],
        island.v_free[:nv],
        island.M[: n * n].reshape((n, n)),
        island.q[:n],
    )
    control[HAS_Z0] = 0
    if control[WARM_START] != 0 and warm_vector(work, island, i, control[EDGES]):
        control[HAS_Z0] = 1
    return 0


@kernel
def judge_island(work: Work, island: Island, control: NDArray[np.int64], parameters: NDArray[np.float64]) -> bool:
    """Stage 4: decide on z by its residuals; where it solves the LCP recover forces and velocities and certify them."""
    nc = control[ISLAND_CONTACTS]
    nv = control[ISLAND_NV]
    nr = nc * (control[EDGES] // 2)
    m = nc + nr
    n = 2 * nc + 2 * nr
    z = island.z[:n]
    q = island.q[:n]
    lcp_residuals(island.M[: n * n].reshape((n, n)), q, z, island.w[:n], island.measures)
    if not is_solved(island.measures, parameters[TOLERANCE]):
        return False
    # Solved without a pivot although z = 0 is no solution: the previous step's basis did it.
    least = 0.0
    for i in range(n):
        least = min(least, q[i])
    control[WARM_HIT] = 1 if control[HAS_Z0] != 0 and control[PIVOTS] == 0 and least < 0.0 else 0

    h = parameters[H]
    J = island.J[: m * nv].reshape((m, nv))
    Y = island.Y[: m * nv].reshape((m, nv))
    v_free = island.v_free[:nv]
    f = island.f[:m]
    v_plus = island.v_plus[:nv]
    recover(h, nc, nr, 0, z, Y, v_free, f, v_plus)
    certify(
        h,
        nc,
        nr,
        0,
        island.r[:nc],
        island.mu[:nc],
        J,
        Y,
        island.k[:m],
        island.gamma[:m],
        island.gammaE[:nc],
        v_free,
        z,
        f,
        v_plus,
        island.certificate_work[:nv],
        island.certificate,
    )
    scatter_velocity(work, island, control[ISLAND])
    return True


@kernel
def run(
    model: Model,
    work: Work,
    island: Island,
    chunk: Chunk,
    control: NDArray[np.int64],
    parameters: NDArray[np.float64],
) -> int:
    """Step until control[TARGET] steps are finished or Python is needed; the reason (see `layout`) is returned."""
    h = parameters[H]
    while True:
        place = control[PROGRAM]
        if place == BEGIN:
            if control[STEP] >= control[TARGET] or parameters[TIME] >= parameters[END]:
                return DONE
            if control[CHUNK_STEPS] >= chunk.scalars.shape[0]:
                return CHUNK_FULL
            control[PROGRAM] = DETECT
            if control[TAU_MODE] == TAU_CALLBACK:
                return NEED_CALLBACK

        elif place == DETECT:
            reason = find_contacts(model, work, control, parameters)
            if reason != 0:
                return reason
            control[PROGRAM] = ROOM

        elif place == ROOM:
            # All rows of a step go into one chunk.
            contacts = control[CHUNK_CONTACTS] + control[N_CONTACTS]
            islands = control[CHUNK_ISLANDS] + control[N_ISLANDS]
            if contacts > chunk.contact_int.shape[0] or islands > chunk.island_int.shape[0]:
                return CHUNK_FULL
            control[PROGRAM] = ISLANDS

        elif place == ISLANDS:
            if control[ISLAND] >= control[N_ISLANDS]:
                control[PROGRAM] = FINISH
                continue
            reason = pose_island(model, work, island, control, parameters)
            if reason != 0:
                return reason
            if control[SOLVER] == SOLVER_EXTERNAL:
                control[PROGRAM] = JUDGE
                return NEED_SOLVE
            island.info[LEMKE_STAGE] = LEMKE_START
            control[PROGRAM] = SOLVE

        elif place == SOLVE:
            nc = control[ISLAND_CONTACTS]
            n = 2 * nc + 2 * nc * (control[EDGES] // 2)
            code = lemke_drive(
                island.M[: n * n].reshape((n, n)),
                island.q[:n],
                island.z0[:n],
                control[HAS_Z0] != 0,
                island.options,
                island.float_work[: lemke_float_size(n)],
                island.int_work[: lemke_int_size(n)],
                island.z[:n],
                island.info,
                PIVOT_BUDGET,
            )
            if code == RUNNING:
                return PAUSED
            control[PIVOTS] = island.info[LEMKE_PIVOTS]
            control[PROGRAM] = JUDGE
            if code != SOLVED and control[SOLVER] == SOLVER_LEMKE_FIRST:
                return NEED_SOLVE

        elif place == JUDGE:
            if not judge_island(work, island, control, parameters):
                return failed(control, FAILURE_LCP)
            i = control[ISLAND]
            write_rows(work, island, chunk, i, control[STEP], h, control[EDGES], control[CHUNK_CONTACTS])
            write_island(
                island,
                chunk,
                control[CHUNK_ISLANDS] + i,
                control[STEP],
                i,
                control[ISLAND_CONTACTS],
                control[PIVOTS],
                control[WARM_HIT],
            )
            control[ISLAND] = i + 1
            control[PROGRAM] = ISLANDS

        else:  # FINISH
            if not next_state_finite(model, work, h):
                return failed(control, FAILURE_NOT_FINITE)
            row = control[CHUNK_STEPS]
            if control[TAU_MODE] != TAU_ZERO:
                for j in range(work.tau.shape[0]):
                    chunk.tau[row, j] = work.tau[j]
            commit(model, work, h, control[N_CONTACTS])
            control[N_PREVIOUS] = control[N_CONTACTS]
            parameters[TIME] += h
            parameters[LAST_H] = h
            write_state(model, work, chunk, row, parameters[TIME], h)
            control[CHUNK_STEPS] = row + 1
            control[CHUNK_CONTACTS] += control[N_CONTACTS]
            control[CHUNK_ISLANDS] += control[N_ISLANDS]
            control[STEP] += 1
            if control[ADAPTIVE] != 0:
                h = min(parameters[H_MAX], parameters[GROW] * h)
                parameters[H] = h
            control[PROGRAM] = BEGIN
