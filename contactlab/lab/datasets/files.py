"""Data sets by name, from a local folder, from the cache, or downloaded once from a public address and verified.

A source has an address only if a public file with a known checksum exists. Git LFS stores the problems of the FCLIB
collection: the pointers in the repository contain the SHA-256 of each file, and the address contains the commit.

Arrays of an ``.npz`` are checked when they are read, because a file can have any contents.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from problem_data.files import NpzFile
from problem_data.validation import FileError


class DatasetError(FileError):
    """A data file that cannot be used: unreadable, of another kind, truncated, or with an invalid entry.

    Parameters
    ----------
    path
        The file.
    field
        The array at fault, with the index of its first offending entry if there is one (``pos[12, 2]``); empty if the
        whole file is at fault.
    message
        The error, with the offending value.
    """

    def __init__(self, path: str | Path, field: str, message: str) -> None:
        self.path, self.field, self.message = Path(path), field, message
        super().__init__(f"{path}: {field}: {message}" if field else f"{path}: {message}")

    def __reduce__(self) -> tuple[type[DatasetError], tuple[Path, str, str]]:
        """Rebuild from the three arguments, so that worker processes can return the error."""
        return type(self), (self.path, self.field, self.message)


@dataclass(frozen=True)
class Source:
    """A data set.

    Attributes
    ----------
    title
        Title and authors of the data set.
    places
        Paths of the data set in the folder named by ``CONTACTLAB_DATA``: files, or folders of files.
    url
        Address of the file, empty if no public file in this form is known.
    sha256
        SHA-256 of this file, hexadecimal.
    origin
        Address of the original data, for data sets that users must provide themselves.
    """

    title: str
    places: tuple[str, ...]
    url: str = ""
    sha256: str = ""
    origin: str = ""


_FCLIB = "https://media.githubusercontent.com/media/FrictionalContactLibrary/fclib-library"
# Commit and SHA-256 of each file.
_FCLIB_FILES = {
    "Capsules/Capsules-i10069-520.hdf5": (
        "b6203dec7845c3ad4ce0f0c305cf10544dae4261",
        "4ed861e4173df52e5f9e6d7a0a7c462f19ea20a9dca47de8fb7fa8a4e19fe56d",
    ),
    "Chain/Chain-i92-70.hdf5": (
        "cb223ffd76a6609bae46cfd41dbccfbc5f46293f",
        "5468eec7fb6d6dc1f3ed5a504b5706f7cc82b7b644e99ba8c202278f7a35f1f0",
    ),
    "BoxesStack/BoxesStack1-i10267-324.hdf5": (
        "f53395d89c97c777f68405f511a15406b08c1b19",
        "12a7ed61f60c1f7a680508fa1a99e79ec0604d6e005f623da0cdf3b46f129553",
    ),
    "100_PR_PerioBox/LMGC_100_PR_PerioBox-i00085-38-01500.hdf5": (
        "e846a9cf0c0f2165122a5c0342d47c3b52cec6db",
        "9c4b8408695aa3994aedf154c6125e65ef8264e3bcf59a90d1fad5d282c1e2c0",
    ),
    "945_SP_Box_PL/LMGC_945_SP_Box_PL-i00017-2348-00003.hdf5": (
        "61c57afbc5f00c2b487a173154985f55cf6438f5",
        "46a97ed3797d9d331ae5f48137a7cac5a54646bfaef4d8d7ca4d75bae9247ffa",
    ),
    "Aqueduct_PR/LMGC_AqueducPR-i00001-4476-00048.hdf5": (
        "8ae72105d99bfb5d086e8273993cab47778cecf2",
        "77284e6bd21198b1b4ee7b38c2ae3ca6c9ff5998fd2a546a9e483407521f3378",
    ),
}

#: Data sets by name.
SOURCES: dict[str, Source] = {
    "cube_toss": Source(
        "tosses of an acrylic cube, DAIR Lab, University of Pennsylvania (BSD-3-Clause)",
        ("cube_toss", "data/cube_toss", "cube_toss.npz"),
        origin="torch tensors in the GitHub repository DAIRLab/contact-nets; contactlab.lab.datasets.recordings says "
        "what the .npz holds",
    ),
    "elbow_toss": Source(
        "tosses of two blocks joined by a hinge, DAIR Lab, University of Pennsylvania (BSD-3-Clause)",
        ("elbow_toss", "data/elbow_toss", "elbow_toss.npz"),
        origin="the GitHub repository DAIRLab/dair_pll; benchmarks/elbow_tosses.py says what the .npz holds",
    ),
    "planar_impacts": Source(
        "impacts of a dropped ellipse, MIT MCube",
        ("planar_impacts", "data/planar_impacts", "planar_impacts.npz"),
        origin="MATLAB files in the GitHub repository DAIRLab/ImpactModeling; "
        "contactlab.lab.datasets.recordings says what the .npz holds",
    ),
    "lcp": Source("40 LCPs, drawn and from small scenes", ("lcp", "problems/lcp"), origin="made for this project"),
    "lcp_toss": Source(
        "LCPs met while stepping cube tosses", ("lcp_toss", "problems/lcp_toss"), origin="made for this project"
    ),
    "lcp_mlcp": Source(
        "small LCPs and MLCPs of Siconos' tests (Apache-2.0)",
        ("lcp_mlcp", "problems/lcp_mlcp"),
        origin="text files in the GitHub repository siconos/siconos, numerics/src/LCP/test/data and MLCP/test/data, "
        "which are read as they are",
    ),
    "fclib": Source(
        "a folder of FCLIB problems",
        ("fclib", "problems/fclib"),
        origin="the GitHub repository FrictionalContactLibrary/fclib-library (Git LFS); single problems of it have "
        "names of their own, fclib/...",
    ),
    **{
        f"fclib/{path.rpartition('/')[2].removesuffix('.hdf5')}": Source(
            f"FCLIB collection, {path.partition('/')[0]} (Acary, Bremond, Koziara, Perignon, INRIA RT-444, 2014)",
            (f"fclib/{path}", f"fclib/{path.rpartition('/')[2]}"),
            f"{_FCLIB}/{commit}/{path}",
            sha256,
        )
        for path, (commit, sha256) in _FCLIB_FILES.items()
    },
}


VARIABLE = "CONTACTLAB_DATA"


def fetch(name: str, *, cache: str | os.PathLike[str] | None = None, sources: Mapping[str, Source] = SOURCES) -> Path:
    """Return the path of a data set, a file or a folder of files.

    The folder named by the environment variable ``CONTACTLAB_DATA`` is searched first. If the data set is not there and
    a public file is known, the file is downloaded once, to the cache. Its SHA-256 must be the known one.

    Parameters
    ----------
    name
        A key of ``sources``.
    cache
        Folder of the cache; by default the user's cache folder, chosen by pooch (``~/.cache/contactlab`` on Linux).
    sources
        Known data sets by name.

    Raises
    ------
    DatasetError
        The name is unknown; a data set without a public file is not in the folder; there is no connection; the checksum
        differs; or ``CONTACTLAB_DATA`` does not name a folder.
    """
    if name not in sources:
        close = difflib.get_close_matches(name, sources, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sources)}"
        raise DatasetError(name, "", f"no data set of this name; {hint}")
    source = sources[name]
    place = _in_own_folder(source)
    if place is not None:
        return place
    if not source.url:
        raise DatasetError(
            name,
            "",
            f"no public file of {source.title} is known: set {VARIABLE} to a folder with {source.places[0]}"
            + (f" ({source.origin})" if source.origin else ""),
        )
    return _download(name, source, cache)


def data_path(text: str | os.PathLike[str]) -> Path:
    """Return the path ``text`` if it exists, otherwise the path of the data set of this name."""
    path = Path(text)
    return fetch(str(text)) if not path.exists() and str(text) in SOURCES else path


def only_file(path: Path, *names: str) -> Path:
    """Return a file, or the only ``.npz`` of a folder with arrays of these names; raise for none or several."""
    if not path.is_dir():
        return path
    files = files_with(path, *names)
    if len(files) != 1:
        wanted = f" with {', '.join(names)}" if names else ""
        found = ", ".join(file.name for file in files) or "none"
        raise DatasetError(path, "", f"expected one .npz{wanted}, found {found}")
    return files[0]


def _in_own_folder(source: Source) -> Path | None:
    """Return the path of the data set in the folder named by ``CONTACTLAB_DATA``, or None if it is not there."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise DatasetError(folder, "", f"{VARIABLE} names no folder")
    for place in source.places:
        path = folder / place
        if path.exists():
            if source.sha256 and path.is_file():
                _require_checksum(path, source.sha256)
            return path
    return None


def _require_checksum(path: Path, sha256: str) -> None:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise DatasetError(path, "", f"is not the known file: its SHA-256 is {digest}, wanted {sha256}")


def _download(name: str, source: Source, cache: str | os.PathLike[str] | None) -> Path:
    """Return the path of a file in the cache, after its download if it is missing there; its checksum is verified."""
    try:
        import pooch
        from requests.exceptions import RequestException
    except ModuleNotFoundError as error:
        advice = f"downloading needs {error.name}: pip install '.[lab]'"
        raise DatasetError(name, "", f"{advice}; or set {VARIABLE} to a folder with {source.places[0]}") from error
    path = Path(pooch.os_cache("contactlab") if cache is None else cache) / source.places[0]
    try:
        # A subfolder per collection, because file names are unique only within a collection.
        pooch.retrieve(source.url, f"sha256:{source.sha256}", fname=path.name, path=path.parent)
    except (RequestException, OSError, ValueError) as error:
        advice = f"set {VARIABLE} to a folder with {source.places[0]}"
        raise DatasetError(name, "", f"cannot be had from {source.url} ({error}); or {advice}") from error
    return path


#: Suffixes of common data files that are not supported here.
_OTHERS = (".csv", ".tsv", ".txt", ".json", ".mat")


class Arrays:
    """Arrays of a file, all read and verified by their checksums.

    A `DatasetError` names the file, the array and its first offending entry. The constructor refuses a file that is not
    an `.npz` or is truncated. The methods refuse a missing array, a wrong shape or dtype, NaN and infinity.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._arrays = _open(self.path).read_all()

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def ndim(self, name: str) -> int:
        """Return the number of axes of an array, unchecked."""
        return self._arrays[name].ndim if name in self else 0

    def numbers(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """Return an array of a given shape (None: any length) as contiguous float64."""
        return self._require_array(name, shape, "fiu", "real numbers").astype(np.float64, copy=False)

    def integers(self, name: str, *shape: int | None) -> NDArray[np.int64]:
        """Return an array of a given shape (None: any length) as contiguous int64."""
        return self._require_array(name, shape, "iu", "integers").astype(np.int64, copy=False)

    def floats(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """Return an array of finite floats, as `numbers`; an entry that is not finite raises."""
        value = self.numbers(name, *shape)
        require(self.path, name, np.isfinite(value), lambda at: f"{value[at]} is not a finite number")
        return value

    def positive(self, name: str) -> float:
        """Return a single positive number."""
        value = float(self.floats(name))
        if value <= 0.0:
            raise DatasetError(self.path, name, f"{value} is not positive")
        return value

    def table(self, wanted: Mapping[str, str], **sizes: int) -> dict[str, Any]:
        """Return arrays by name, each of the kind in ``wanted``; missing ``optional`` ones are omitted.

        A kind is ``positive`` (one number > 0), or ``float`` or ``int`` with sizes, such as ``float n 3``. A named size
        matches any length on first use, and must have the same length in later arrays.
        """
        found: dict[str, Any] = {}
        for name, wish in wanted.items():
            kind, *words = wish.removeprefix("optional ").split()
            if wish.startswith("optional ") and name not in self:
                continue
            if kind == "positive":
                found[name] = self.positive(name)
                continue
            shape = [int(word) if word.isdigit() else sizes.get(word) for word in words]
            found[name] = self.integers(name, *shape) if kind == "int" else self.floats(name, *shape)
            sizes |= zip(words, found[name].shape, strict=True)
        return found

    def _require_array(self, name: str, shape: tuple[int | None, ...], kinds: str, wanted: str) -> NDArray[np.generic]:
        """Return an array after a check of its presence, its dtype's kind, and its shape (None: any length)."""
        if name not in self:
            raise DatasetError(self.path, name, "missing array")
        value = self._arrays[name]
        if value.dtype.kind not in kinds:
            raise DatasetError(self.path, name, f"dtype {value.dtype}, expected {wanted}")
        if value.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True)):
            lengths = ", ".join("any" if n is None else str(n) for n in shape)
            expected = f"({lengths}{',' if len(shape) == 1 else ''})"
            raise DatasetError(self.path, name, f"shape {value.shape}, expected {expected}")
        return value


def array_names(path: Path) -> AbstractSet[str]:
    """Return the names of the arrays of a file; raise `DatasetError` for another kind of file."""
    return _open(path).members.keys()


def files_with(path: Path, *names: str) -> list[Path]:
    """Return the file, or the ``.npz`` files in a folder, that contain arrays of all these names."""
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    return [file for file in files if not names or array_names(file) >= set(names)]


def require(path: Path, name: str, holds: NDArray[np.bool_], detail: Callable[[tuple[int, ...]], str]) -> None:
    """Raise a `DatasetError` that names the first entry for which a condition is false, as ``name[i, j]``.

    ``detail`` returns the text of the error for an index.
    """
    bad = np.argwhere(~holds)
    if len(bad):  # not bad.size: the index of a scalar's only entry has no entries
        index = tuple(bad[0].tolist())
        raise DatasetError(path, f"{name}[{', '.join(map(str, index))}]" if index else name, detail(index))


def _open(path: Path) -> NpzFile:
    """Open an .npz file; a missing file or another format raises."""
    if not path.is_file():
        raise DatasetError(path, "", "no such file" if not path.exists() else "not a file")
    if path.suffix.lower() in _OTHERS:
        detail = "is not an .npz: write one by numpy.savez, with the arrays that the help of the command names"
        raise DatasetError(path, "", f"{detail} (docs/validation.md has an example)")
    return NpzFile(path, DatasetError)
