"""Constraint problem data: the constrained dynamics at one instant, as operators and vectors.

The package knows neither bodies nor solvers. A problem is a frozen value that can be printed, saved,
reloaded and solved again:

>>> import problem_data
>>> problem_data.ConstraintVelProblemData(M=[[1.0]], Mv=[-1.0], N=[[1.0]])
ConstraintVelProblemData(nv=1, contacts=1, friction rows=0, limits=0, bilaterals=0)

`save` writes one ``.npz`` file, without pickle and atomically; `load` checks every entry. The file holds the blocks, so
that a problem read back gives the very bits that were saved, and the mass matrix if it is known, otherwise its inverse.
A tag in it has the kind of the problem.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from problem_data.acceleration import ConstraintAccelProblemData, normal_minus_friction
from problem_data.constrained import AccelerationBlocks, ConstraintForces, VelocityBlocks
from problem_data.files import NpzFile, Source, write_npz
from problem_data.inertia import (
    SOLVE_SYMMETRY_TOLERANCE,
    InverseInertia,
    SolveInertia,
    check_symmetric_with_positive_diagonal,
    cholesky_inertia,
)
from problem_data.operators import LinearMap
from problem_data.validation import (
    FileError,
    FloatArray,
    IntArray,
    ProblemDataError,
    ProblemFileError,
    check_cones,
    checked_cone_contacts,
    checked_tree_starts,
    contact_count,
    direction_counts,
    float_array,
    force_bounds,
    format_entry,
    friction_law,
    nonnegative,
    read_only,
    rows_known,
    split_contacts,
)
from problem_data.velocity import ConstraintVelProblemData

__all__ = [
    "AccelerationBlocks", "ConstraintAccelProblemData", "ConstraintForces", "ConstraintVelProblemData", "FileError",
    "LinearMap", "ProblemDataError", "VelocityBlocks", "load", "save",
]  # fmt: skip

ACCELERATION_FORMAT = "problem_data.ConstraintAccelProblemData"
VELOCITY_FORMAT = "problem_data.ConstraintVelProblemData"
VERSION = 1
# Largest difference of a user's inertia solve from the matrix sampled from it.
RESPONSE_TOLERANCE = 1e-6
# Size of a row that is rounding, relative to the largest row.
CANCELLED = 1e-13
# Relative to |N| + mu |Q|. The rows may come from compiled code that rounds once when numpy rounds twice.
SLIDING_ROW_TOLERANCE = 1e-14

# Members of a file, and the fields of the blocks that they hold.
_VELOCITY_COUNTS = ("nc", "nr", "nl", "nb", "nbox")
_VELOCITY = {name: name for name in ("r", "mu", "J", "Y", "k", "gamma", "gammaE", "Mv", "v_free", "lo", "hi")}
_ACCELERATION_COUNTS = ("nc", "nr", "nl", "nb")
_ACCELERATION = {
    **{name: name for name in ("r", "mu_sliding", "mu_non_sliding", "J", "Q", "R", "Y", "YR", "k", "tau", "a_free")},
    "sliding_contacts": "sliding",
    "non_sliding_contacts": "non_sliding",
}

_KNOWN = ("scaleG", "errorG")

# Numbers of a problem from which on a file of mostly zeros is compressed.
_COMPRESSED_FROM = 100_000

Members = dict[str, NDArray[np.generic]]


def save(path: str | os.PathLike[str], data: ConstraintVelProblemData | ConstraintAccelProblemData) -> None:
    """Write problem data to exactly this path, as one ``.npz``.

    The file appears whole or not at all: it is written beside its final place and then renamed over it.

    Parameters
    ----------
    path : path-like
        An existing file is replaced.
    data : ConstraintVelProblemData or ConstraintAccelProblemData
    """
    if isinstance(data, ConstraintAccelProblemData):
        kind, members = ACCELERATION_FORMAT, acceleration_members(data)
    else:
        kind, members = VELOCITY_FORMAT, velocity_members(data)
    arrays = {
        "format": np.array(kind),
        "version": np.array(VERSION),
        **members,
        **inertia_members(data.M, data.solve_inertia, data.nv),
    }
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    sources = {name: Source.of(array) for name, array in arrays.items()}
    write_npz(Path(path), sources, compress=_is_mostly_zero(arrays))


def _is_mostly_zero(arrays: Members) -> bool:
    """Return True if the arrays are large and mostly zero, as the Jacobian of a pile is."""
    numbers = [array for array in arrays.values() if array.dtype.kind in "fiu"]
    size = sum(array.size for array in numbers)
    return size > _COMPRESSED_FROM and sum(map(np.count_nonzero, numbers)) < size // 2


def load(path: str | os.PathLike[str]) -> ConstraintVelProblemData | ConstraintAccelProblemData:
    """Read problem data that `save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ConstraintVelProblemData or ConstraintAccelProblemData
        Of the kind that was saved; its blocks equal the saved ones bit for bit.

    Raises
    ------
    ProblemDataError
        The file is truncated or foreign, or an entry is missing or not acceptable; file and field are named.
    FileNotFoundError
        There is no such file.
    """
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    reader = NpzFile(Path(path), lambda path, field, detail: ProblemFileError(field or "path", f"{path} {detail}"))
    arrays = reader.read_all()
    try:
        return _problem(arrays)
    except ProblemDataError as error:
        raise ProblemFileError(error.field, f"{error.message} (in {os.fspath(path)})") from error


def _problem(arrays: Members) -> ConstraintVelProblemData | ConstraintAccelProblemData:
    """Return the problem from the members of a file, on velocity or acceleration level by its ``format``."""
    form = member(arrays, "format")
    kind = str(form) if form.shape == () else ""
    if kind not in (ACCELERATION_FORMAT, VELOCITY_FORMAT):
        raise ProblemDataError("format", f"{short_repr(form)}, wanted '{VELOCITY_FORMAT}' or '{ACCELERATION_FORMAT}'")
    version = member(arrays, "version")
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != VERSION:
        raise ProblemDataError("version", f"{short_repr(version)}, this release reads {VERSION}")
    return acceleration_problem(arrays) if kind == ACCELERATION_FORMAT else velocity_problem(arrays)


def velocity_members(data: ConstraintVelProblemData) -> Members:
    """Return the arrays of velocity-level data by name, without the inertia.

    ``cone_contacts``, ``tree_starts`` and ``friction`` are left out if they have their default.
    """
    further = {"cone_contacts": data.cone_contacts} if data.ncone > data.nc else {}
    if data.tree_starts.size > 2:
        further["tree_starts"] = data.tree_starts
    if data.friction != "pyramid":
        further["friction"] = np.array(data.friction)
    return _block_members(data.blocks(), _VELOCITY_COUNTS, _VELOCITY) | further


def acceleration_members(data: ConstraintAccelProblemData) -> Members:
    """Return the arrays of acceleration-level data by name, without the inertia.

    They include ``use_complementarity_problem_solver``.
    """
    members = _block_members(data.blocks(), _ACCELERATION_COUNTS, _ACCELERATION)
    return members | {"use_complementarity_problem_solver": np.array(data.use_complementarity_problem_solver)}


def _block_members(
    blocks: VelocityBlocks | AccelerationBlocks, counts: tuple[str, ...], fields: dict[str, str]
) -> Members:
    rows = np.array([getattr(blocks, count) for count in counts], dtype=np.int64)
    # Files have these members only if they are not trivial, so that other files stay as they were before.
    known = {name: getattr(blocks, name) for name in _KNOWN if len(getattr(blocks, name))}
    return {"rows": rows, **{name: getattr(blocks, field) for name, field in fields.items()}, **known}


def _known_members(arrays: Members, nb: int) -> dict[str, Any]:
    """Return the scales and errors of the rows of G, if the file has them."""
    known = rows_known(arrays.get("scaleG"), arrays.get("errorG"), nb)
    return {name: value for name, value in known.items() if value is not None}


def velocity_problem(arrays: Members) -> ConstraintVelProblemData:
    """Return the velocity-level problem from the members of a file."""
    Mv = _vector(arrays, "Mv", None)
    mu = nonnegative("mu", member(arrays, "mu"), member(arrays, "mu").size)
    r = direction_counts(member(arrays, "r"), mu)
    nc, nr, nl, nb, nbox = counts = row_counts(arrays, *_VELOCITY_COUNTS)
    # Files have the member only if there are further cones, so that other files stay as they were before.
    cones = checked_cone_contacts(arrays["cone_contacts"] if "cone_contacts" in arrays else np.arange(mu.size), mu)
    if (nc, nr) != (contact_count(cones), sum(r.tolist())):
        raise ProblemDataError(
            "rows", f"nc, nr = {nc}, {nr}, but mu has {contact_count(cones)} entries and r adds up to {sum(r.tolist())}"
        )
    nu = nc + nr + nl
    nv, m = Mv.size, nu + nb + nbox
    gamma = nonnegative("gamma", member(arrays, "gamma"), m)
    if gamma[nu : nu + nb].any():
        raise ProblemDataError("gamma", f"not 0 in the bilateral rows, {nu} to {nu + nb - 1} of {m}")
    lo, hi = force_bounds(member(arrays, "lo"), member(arrays, "hi"), nbox)
    sizes: dict[str, Any] = dict(zip(_VELOCITY_COUNTS, counts, strict=True))
    blocks = VelocityBlocks(
        **sizes,
        nv=nv,
        r=r,
        mu=mu,
        cone_contacts=cones,
        tree_starts=checked_tree_starts(arrays.get("tree_starts"), Mv.size),
        J=_matrix(arrays, "J", m, nv),
        Y=_matrix(arrays, "Y", m, nv),
        k=_vector(arrays, "k", m),
        gamma=gamma,
        gammaE=nonnegative("gammaE", member(arrays, "gammaE"), cones.size),
        Mv=Mv,
        v_free=_vector(arrays, "v_free", nv),
        lo=lo,
        hi=hi,
        **_known_members(arrays, nb),
    )
    # As with cone_contacts: files saved before there was a choice have pyramids.
    law = friction_law(short_repr(arrays["friction"]) if "friction" in arrays else None)
    if law == "cone":
        check_cones(r, nc, blocks.gammaE)
    solve_inertia = inertia_from(arrays, nv)
    check_response(arrays, "J", "Y")
    check_response(arrays, "Mv", "v_free")
    return ConstraintVelProblemData.from_blocks(blocks, solve_inertia=solve_inertia, friction=law)


def acceleration_problem(arrays: Members) -> ConstraintAccelProblemData:
    """Return the acceleration-level problem from the members of a file."""
    tau = _vector(arrays, "tau", None)
    mu_sliding = nonnegative("mu_sliding", member(arrays, "mu_sliding"), member(arrays, "mu_sliding").size)
    static = member(arrays, "mu_non_sliding")
    mu_non_sliding = nonnegative("mu_non_sliding", static, static.size)
    r = direction_counts(member(arrays, "r"), mu_non_sliding, "mu_non_sliding")
    nv, ns, nns = tau.size, mu_sliding.size, mu_non_sliding.size
    nc, nr, nl, nb = counts = row_counts(arrays, *_ACCELERATION_COUNTS)
    if (nc, nr) != (ns + nns, sum(r.tolist())):
        raise ProblemDataError(
            "rows",
            f"nc, nr = {nc}, {nr}, but mu_sliding and mu_non_sliding have {ns} + {nns} entries and r adds up to "
            f"{sum(r.tolist())}",
        )
    sliding, non_sliding = split_contacts(
        _vector(arrays, "sliding_contacts", ns, "one entry per entry of mu_sliding"),
        _vector(arrays, "non_sliding_contacts", nns, "one entry per entry of mu_non_sliding"),
        nc,
    )
    m = nc + nr + nl + nb
    J, Q, R = _matrix(arrays, "J", m, nv), _matrix(arrays, "Q", ns, nv), _matrix(arrays, "R", nc, nv)
    _check_sliding_rows(J[:nc], Q, R, mu_sliding, sliding)
    sizes: dict[str, Any] = dict(zip(_ACCELERATION_COUNTS, counts, strict=True))
    blocks = AccelerationBlocks(
        **sizes,
        nv=nv,
        ns=ns,
        nns=nns,
        r=r,
        mu_sliding=mu_sliding,
        mu_non_sliding=mu_non_sliding,
        sliding=sliding,
        non_sliding=non_sliding,
        J=J,
        Q=Q,
        R=R,
        Y=_matrix(arrays, "Y", m, nv),
        YR=_matrix(arrays, "YR", nc, nv),
        k=_vector(arrays, "k", m),
        tau=tau,
        a_free=_vector(arrays, "a_free", nv),
        **_known_members(arrays, nb),
    )
    solve_inertia = inertia_from(arrays, nv)
    for forces, response in (("J", "Y"), ("R", "YR"), ("tau", "a_free")):
        check_response(arrays, forces, response)
    flag = member(arrays, "use_complementarity_problem_solver")
    if flag.shape != () or flag.dtype.kind != "b":
        raise ProblemDataError("use_complementarity_problem_solver", f"{short_repr(flag)}, wanted one truth value")
    return ConstraintAccelProblemData.from_blocks(
        blocks, solve_inertia=solve_inertia, use_complementarity_problem_solver=bool(flag)
    )


def _check_sliding_rows(N: FloatArray, Q: FloatArray, R: FloatArray, mu: FloatArray, sliding: IntArray) -> None:
    """Raise if R is not N - mu Q: both are stored only to keep their bits."""
    with np.errstate(over="ignore"):
        wanted = normal_minus_friction(N, Q, mu, sliding)
        scale = normal_minus_friction(np.abs(N), -np.abs(Q), mu, sliding)
        differs = ~np.isfinite(wanted) | (np.abs(R - wanted) > SLIDING_ROW_TOLERANCE * scale)
    if differs.any():
        i, j = (int(n) for n in np.argwhere(differs)[0])
        raise ProblemDataError("R", f"{format_entry('R', R, (i, j))}, but N - mu_sliding Q is {wanted[i, j]} there")


def _vector(arrays: Members, name: str, size: int | None, why: str = "") -> FloatArray:
    return float_array(name, member(arrays, name), (size,), why)


def _matrix(arrays: Members, name: str, rows: int, columns: int) -> FloatArray:
    return float_array(name, member(arrays, name), (rows, columns))


def member(arrays: Members, name: str) -> NDArray[np.generic]:
    """Return the member of this name, or raise an error that lists the members of the file."""
    if name not in arrays:
        present = ", ".join(sorted(arrays)[:20]) or "none"
        raise ProblemDataError(name, f"missing; the file holds {present}")
    return arrays[name]


def row_counts(arrays: Members, *names: str) -> tuple[int, ...]:
    """Return the numbers of rows (nc, nr, ...) that the file states, in the order of ``names``."""
    rows = member(arrays, "rows")
    if rows.shape != (len(names),) or rows.dtype.kind not in "iu" or (rows < np.int64(0)).any():
        raise ProblemDataError("rows", f"{short_repr(rows)}, wanted the {len(names)} whole numbers {', '.join(names)}")
    return tuple(int(n) for n in rows)


def inertia_members(M: FloatArray | None, solve_inertia: SolveInertia, nv: int) -> Members:
    """Return the mass matrix if it is known, otherwise its inverse (nv, nv)."""
    return {"M_inverse": solve_inertia(np.eye(nv))} if M is None else {"M": M}


def inertia_from(arrays: Members, nv: int) -> SolveInertia:
    """Return the inertia solve from the matrix in the file."""
    if "M" in arrays:
        return cholesky_inertia(arrays["M"], nv)
    if "M_inverse" not in arrays:
        raise ProblemDataError("M", "missing, and M_inverse is missing too")
    inverse: FloatArray = float_array("M_inverse", arrays["M_inverse"], (nv, nv))
    check_symmetric_with_positive_diagonal("M_inverse", inverse, SOLVE_SYMMETRY_TOLERANCE)
    return InverseInertia(read_only(inverse))


def check_response(arrays: Members, forces: str, response: str) -> None:
    """Refuse a file whose ``response`` is not M^-1 times its ``forces`` (one vector, or one per row), rounding apart.

    If M is known, the backward error |M y - f| is compared with |M| |y|, so that the condition of M has no effect on
    the test.
    """
    f = np.atleast_2d(member(arrays, forces)).astype(np.float64)
    y = np.atleast_2d(member(arrays, response)).astype(np.float64)
    matrix = np.asarray(arrays["M"] if "M" in arrays else arrays["M_inverse"], dtype=np.float64)
    given, mapped = (f, y) if "M" in arrays else (y, f)
    error = np.abs(mapped @ matrix.T - given).max(axis=1, initial=0.0)
    size = np.abs(matrix).max(initial=0.0) * np.abs(mapped).max(axis=1, initial=0.0) * max(1, matrix.shape[0])
    size = size + np.abs(given).max(axis=1, initial=0.0)
    # Terms that cancel in a row leave rounding relative to the other rows.
    wrong = np.flatnonzero(~(error <= RESPONSE_TOLERANCE * size + CANCELLED * size.max(initial=0.0)))
    if wrong.size:
        where = f"row {wrong[0]} " if f.shape[0] > 1 else ""
        raise ProblemDataError(response, f"{where}is not M^-1 times {forces} (off by {error[wrong[0]]:.1e})")


def short_repr(array: NDArray[np.generic]) -> str:
    """Return the array as text that fits into an error message."""
    return str(array)[:80] if array.size <= 8 else f"array of shape {array.shape}"


def __getattr__(name: str) -> object:
    """Raise for a name that is not here; Drake's solver is in contactlab."""
    text = f"module {__name__!r} has no attribute {name!r}"
    if name == "ConstraintSolver":
        text += ": Drake's ConstraintSolver is contactlab.ConstraintSolver here"
    raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    """List the public names, and neither modules nor imports."""
    return sorted(__all__)
