"""Allocation and growth of the compiled loop's arrays; their meaning is in `kernels.arrays`."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.multibody import workspace
from contactlab.multibody.model import head_views
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import IslandWork, MomentFriction, StepWork
from contactlab.simulation.stepping.packing import as_array, free_size, new_record
from contactlab.simulation.stepping.prepared import lcp_variables_per_contact, world_arrays
from contactlab.simulation.world.world import World
from lcp.contacts.strategies import strategy_mask


class OutOfMemoryError(MemoryError):
    """Error for arrays of ``wanted`` bytes, more than the ``there`` bytes available."""

    def __init__(self, wanted: int, there: int) -> None:
        super().__init__(wanted, there)
        self.wanted, self.there = wanted, there


# Number of bytes below which the available memory is not checked.
LITTLE = 1 << 24

# Initial sizes of the buffers. 16 contacts give an LCP of 288 variables with 16 edges.
FIRST_CONTACTS = 64
FIRST_ISLAND_CONTACTS = 16
FIRST_ISLAND_NV = 6


def new_settings(stepper: TimeStepping, edges: int) -> tuple[layout.StepControl, layout.Parameters]:
    """Return new records of a run's control and parameters, filled from the stepper's options."""
    control, parameters = new_record(layout.StepControl), new_record(layout.Parameters)
    cone, sleep, any_solver = stepper.friction == "cone", stepper.sleep, stepper.solver is None
    same = ("growth_factor", "erp", "cfm", "tolerance", "warm_start", "adaptive", "projection")
    values = {
        **{name: getattr(stepper, name) for name in same},
        "solver": stepper.kernel_options[1],
        "edges": edges,
        "exact_cone": cone,
        "backend": stepper.asks_backend,
        # Forces near the previous ones are proposed only for pyramids. A solver named with exact cones, or a friction
        # backend, solves every island.
        "use_strategies": any_solver or not (cone or stepper.asks_backend),
        "require_equal_compliance": any_solver,
        "enabled_strategies": strategy_mask(stepper.strategies),
        "reduce": stepper.reduce_contacts,
        "sleep": sleep is not None,
        "gyroscopic": layout.GYROSCOPIC_CODES[stepper.gyroscopic],
        "accurate": stepper.moves_accurately,
        "h_max": stepper.h,
        "allowance": -1.0 if stepper.penetration_allowance is None else stepper.penetration_allowance,
        "fastest": -1.0 if stepper.max_depenetration_velocity is None else stepper.max_depenetration_velocity,
        "sleep_speed": 0.0 if sleep is None else sleep.speed,
        "sleep_time": 0.0 if sleep is None else sleep.time,
    }
    write_numbers(parameters, values | stepper.thresholds._asdict())
    return control, parameters


def write_numbers(record: Any, values: Mapping[str, float]) -> None:
    """Write values of a record by name."""
    for name, value in values.items():
        record[name] = value


def new_work(world: World, contacts: int, edges: int) -> StepWork:
    """Allocate the arrays of a step for at most ``contacts`` contacts."""
    width, packed = lcp_variables_per_contact(edges, world.has_moment_friction), world_arrays(world).packed
    nq, nv, trees = world.nq, world.nv, packed.trees.shape[0] - 1
    W = workspace(world.model)
    S, _, origins, *_ = head_views(W, world.model)
    lengths = {
        "nq": nq,
        "nv": nv,
        "nt": trees,
        "nt + 1": trees + 1,
        "nk": len(world.motions),
        "np": packed.points.shape[0],
        "L": int(packed.trees[-1, layout.TREE_BLOCK]),
        "free": free_size(packed),
        "contacts": contacts,
        "w": width,
    }
    return StepWork(workspace(world.model), W, S, origins, **StepWork.zeros(lengths, first="q"))


def allocate_buffers(
    world: World, stepper: TimeStepping, edges: int, held: int, *, selects: bool
) -> tuple[StepWork, IslandWork, MomentFriction | None]:
    """Allocate the memory of a run that begins with ``held`` contacts; it grows on demand.

    ``edges``: of a friction cone. ``selects``: whether forces of equal compliance are selected. Without torsional and
    rolling friction the third value is None.
    """
    arrays = world_arrays(world)
    points = arrays.packed.radii.size * arrays.packed.offsets.size
    if arrays.collision is not None:
        points = max(points, FIRST_CONTACTS)
    work = new_work(world, max(held, min(points, FIRST_CONTACTS), 1), edges)
    contacts, nv = min(points, FIRST_ISLAND_CONTACTS), min(world.nv, FIRST_ISLAND_NV)
    options, _ = stepper.kernel_options
    resists, trees = arrays.moments is not None, min(nv, work.union_find_parent.size)
    island = new_island(contacts, nv, trees, edges, options, moments=resists, selects=selects)
    return work, island, None if arrays.moments is None else new_moments(arrays.moments, contacts, edges)


def new_island(
    contacts: int,
    nv: int,
    trees: int,
    edges: int,
    options: layout.FloatArray,
    rows: int = 0,
    variables: int = 0,
    *,
    moments: bool = False,
    selects: bool = False,
) -> IslandWork:
    """Allocate arrays of an island: at most ``contacts`` contacts on ``trees`` trees with ``nv`` velocities in all.

    ``rows`` and ``variables`` are the sizes with joint rows, if larger: all rows, all variables of the LCP. With
    ``moments`` every contact may have torsional and rolling friction. If forces are selected (``selects``), no LCP
    with more than `layout.MAX_UNKNOWNS` unknowns is formed.
    """
    from lcp.contacts.kernels.contact_system import SPAN_INTS
    from lcp.contacts.kernels.island_acceptance import STATE
    from lcp.contacts.kernels.solver_state import state_int_size
    from lcp.contacts.kernels.strategies import workspace_float_size
    from lcp.kernels.lemke import INFO_SIZE, lemke_float_size, lemke_int_size

    m = max(rows, contacts * (1 + edges // 2) * (2 if moments else 1))
    n = max(variables, contacts * lcp_variables_per_contact(edges, moments))
    dense = min(n, layout.MAX_UNKNOWNS) if selects else n
    cones = contacts * (layout.CONES if moments else 1)
    lengths = {
        "ncone": cones,
        "m": m,
        "n": n,
        "nv": nv,
        "nv + 1": nv + 1,
        "10 nv": 10 * nv,
        "m nv": m * nv,
        "dense dense": dense * dense,
        "r": edges // 2,
        "spans": SPAN_INTS,
        "trees + 1": trees + 1,
        "state": STATE,
        "strategy floats": int(workspace_float_size(contacts, cones, m - contacts, m, nv)),
        "strategy ints": int(state_int_size(cones, m, trees)),
        "lemke floats": int(lemke_float_size(dense)),
        "lemke ints": int(lemke_int_size(dense)),
        "info": INFO_SIZE,
    }
    # Check first: the system may promise more memory than it has, or refuse it without the amounts.
    axes_of = {name: axes for name, (_, *axes) in IslandWork.arrays.items() if name not in ("progress", "options")}
    sizes = [[lengths[axis] if isinstance(axis, str) else axis for axis in axes] for axes in axes_of.values()]
    check_memory(8 * sum(map(math.prod, sizes)))
    arrays = IslandWork.zeros(lengths, first="r")
    return IslandWork(progress=as_array(new_record(layout.IslandProgress)), options=options, **arrays)


def grow_island(
    island: IslandWork, edges: int, trees: int, *, moments: bool, selects: bool
) -> tuple[int, int, IslandWork]:
    """Allocate half as much again for the island that is too large; return its contacts, velocities and arrays."""
    progress = island.progress[0]
    nc, of_joints = progress.nc, progress.nl + progress.nbox
    contacts, nv, rows, variables = (
        max(int(wanted), size * 3 // 2) if wanted > size else size
        for wanted, size in (
            (nc, island.r.size // (layout.CONES if moments else 1)),
            (progress.nv, island.Mv.size),
            (nc + progress.nr + of_joints + progress.ng, island.k.size),
            (nc + 2 * progress.nr + progress.ncone + of_joints + progress.nbox, island.q.size),
        )
    )
    options = island.options
    grown = new_island(contacts, nv, min(nv, trees), edges, options, rows, variables, moments=moments, selects=selects)
    return contacts, nv, grown._replace(progress=island.progress)


def check_memory(wanted: int) -> None:
    """Raise `OutOfMemoryError` if this process has less than ``wanted`` bytes available."""
    if wanted > LITTLE:
        there = memory_bytes()
        if wanted > there:
            raise OutOfMemoryError(wanted, there)


def memory_bytes() -> int:
    """Return the memory available to this process [bytes]: physical memory, or a smaller limit of process or cgroup."""
    limits = [1 << 62]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        limits += [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit >= 0]
    with contextlib.suppress(ValueError, OSError):
        # Limit of a container.
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits)


def new_moments(moments: MomentFriction, contacts: int, edges: int) -> MomentFriction:
    """Return the lengths of a world with capacity for an island of ``contacts`` contacts."""
    return moments._replace(axes=np.zeros((contacts * (1 + edges // 2), 3)))
