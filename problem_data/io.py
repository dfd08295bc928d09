"""Problem data in one ``.npz`` file, without pickle: written atomically, read with every entry checked.

The file holds the blocks, so that a problem read back gives the very bits that were saved, and the mass
matrix where it is known, its inverse where not.
"""

from __future__ import annotations

import os
import tokenize
import uuid
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from problem_data.blocks import VelocityBlocks
from problem_data.errors import ProblemDataError
from problem_data.inertia import (
    SOLVE_SYMMETRY_TOLERANCE,
    InverseInertia,
    SolveInertia,
    check_symmetric_with_positive_diagonal,
    cholesky_inertia,
)
from problem_data.validation import FloatArray, direction_counts, float_array, nonnegative, read_only
from problem_data.velocity import ConstraintVelProblemData

FORMAT = "problem_data.ConstraintVelProblemData"
VERSION = 1

# What numpy and zipfile raise for a file that is cut short, is not a zip, is encrypted, holds pickles or has a
# garbled array header (which numpy parses as Python text). Found by changing every byte of a good file.
_UNREADABLE = (
    ValueError,
    TypeError,
    EOFError,
    KeyError,
    RuntimeError,
    MemoryError,
    OverflowError,
    SyntaxError,
    OSError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
# The two that numpy writes; decoders of other methods have errors of their own.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def save(path: str | os.PathLike[str], data: ConstraintVelProblemData) -> None:
    """Write problem data to exactly this path, as one ``.npz``.

    The file appears whole or not at all: it is written beside its final place and then renamed over it.

    Parameters
    ----------
    path : path-like
        An existing file is replaced.
    data : ConstraintVelProblemData
    """
    blocks = data.blocks()
    arrays: dict[str, NDArray[np.generic]] = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "rows": np.array([blocks.nc, blocks.nr, blocks.nl, blocks.nb], dtype=np.int64),
        "r": blocks.r,
        "mu": blocks.mu,
        "J": blocks.J,
        "Y": blocks.Y,
        "k": blocks.k,
        "gamma": blocks.gamma,
        "gammaE": blocks.gammaE,
        "Mv": blocks.Mv,
        "v_free": blocks.v_free,
    }
    if data.M is not None:
        arrays["M"] = data.M
    else:
        arrays["M_inverse"] = data.solve_inertia(np.eye(blocks.nv))
    final = Path(path)
    partial = final.with_name(f".{final.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> ConstraintVelProblemData:
    """Read problem data that `save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ConstraintVelProblemData
        Its blocks equal the saved ones bit for bit.

    Raises
    ------
    ProblemDataError
        The file is truncated or foreign, or an entry is missing or not acceptable; file and field are named.
    FileNotFoundError
        There is no such file.
    """
    arrays = _read(Path(path))
    try:
        return _problem(arrays)
    except ProblemDataError as error:
        raise ProblemDataError(error.field, f"{error.message} (in {os.fspath(path)})") from error


def _read(path: Path) -> dict[str, NDArray[np.generic]]:
    with path.open("rb") as file:
        try:
            # Looked into as a zip first: numpy tells what is not one from its first bytes alone.
            with zipfile.ZipFile(file) as archive:
                odd = [info.filename for info in archive.infolist() if info.compress_type not in _COMPRESSIONS]
            if odd:
                raise ProblemDataError("path", f"{path} is not an .npz file: {odd[0]!r} is packed by another method")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                members = {name: arrays[name] for name in arrays.files}
        except ProblemDataError:
            raise
        except _UNREADABLE as error:
            raise ProblemDataError(
                "path", f"{path} cannot be read as an .npz file ({type(error).__name__}: {error})"
            ) from error
    # numpy hands out a member that is not an array as bytes.
    return {name: member for name, member in members.items() if isinstance(member, np.ndarray)}


def _problem(arrays: dict[str, NDArray[np.generic]]) -> ConstraintVelProblemData:
    form = _entry(arrays, "format")
    if form.shape != () or str(form) != FORMAT:
        raise ProblemDataError("format", f"{_short(form)}, wanted '{FORMAT}'")
    version = _entry(arrays, "version")
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != VERSION:
        raise ProblemDataError("version", f"{_short(version)}, this release reads {VERSION}")

    Mv = float_array("Mv", _entry(arrays, "Mv"), (None,))
    mu = nonnegative("mu", _entry(arrays, "mu"), _entry(arrays, "mu").size)
    r = direction_counts(_entry(arrays, "r"), mu)
    rows = _entry(arrays, "rows")
    if rows.shape != (4,) or rows.dtype.kind not in "iu" or (rows < np.int64(0)).any():
        raise ProblemDataError("rows", f"{_short(rows)}, wanted the 4 whole numbers nc, nr, nl, nb")
    nc, nr, nl, nb = (int(n) for n in rows)
    if (nc, nr) != (mu.size, sum(r.tolist())):
        raise ProblemDataError(
            "rows", f"nc, nr = {nc}, {nr}, but mu has {mu.size} entries and r adds up to {sum(r.tolist())}"
        )
    nv, m = Mv.size, nc + nr + nl + nb
    gamma = nonnegative("gamma", _entry(arrays, "gamma"), m)
    if gamma[m - nb :].any():
        raise ProblemDataError("gamma", f"not 0 in the bilateral rows, the last {nb} of {m}")
    blocks = VelocityBlocks(
        nv=nv,
        nc=nc,
        nr=nr,
        nl=nl,
        nb=nb,
        r=r,
        mu=mu,
        J=float_array("J", _entry(arrays, "J"), (m, nv)),
        Y=float_array("Y", _entry(arrays, "Y"), (m, nv)),
        k=float_array("k", _entry(arrays, "k"), (m,)),
        gamma=gamma,
        gammaE=nonnegative("gammaE", _entry(arrays, "gammaE"), nc),
        Mv=Mv,
        v_free=float_array("v_free", _entry(arrays, "v_free"), (nv,)),
    )
    return ConstraintVelProblemData.from_blocks(blocks, solve_inertia=_solve(arrays, nv))


def _solve(arrays: dict[str, NDArray[np.generic]], nv: int) -> SolveInertia:
    if "M" in arrays:
        return cholesky_inertia(arrays["M"], nv)
    if "M_inverse" not in arrays:
        raise ProblemDataError("M", "missing, and M_inverse is missing too")
    inverse: FloatArray = float_array("M_inverse", arrays["M_inverse"], (nv, nv))
    check_symmetric_with_positive_diagonal("M_inverse", inverse, SOLVE_SYMMETRY_TOLERANCE)
    return InverseInertia(read_only(inverse))


def _entry(arrays: dict[str, NDArray[np.generic]], name: str) -> NDArray[np.generic]:
    if name not in arrays:
        present = ", ".join(sorted(arrays)[:20]) or "none"
        raise ProblemDataError(name, f"missing; the file holds {present}")
    return arrays[name]


def _short(array: NDArray[np.generic]) -> str:
    return str(array)[:80] if array.size <= 8 else f"array of shape {array.shape}"
