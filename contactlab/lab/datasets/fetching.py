"""Data sets by name: from a folder of one's own, from the cache, or from their public address, once, and checked.

A source has an address only if a public file is known whose checksum is known, too. The problems of the FCLIB
collection are kept by Git LFS: the repository's own pointers give the SHA-256 of each file, and the address names the
commit.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contactlab.lab.errors import DatasetError


@dataclass(frozen=True)
class Source:
    """A data set.

    Attributes
    ----------
    title
        What it is, and whose.
    places
        Paths at which it is looked for in the folder ``CONTACTLAB_DATA`` names: files, or folders of files.
    url
        Address of the file, empty where no public file of this form is known.
    sha256
        Of that file, hexadecimal.
    origin
        Where the originals are, for who has to bring them.
    """

    title: str
    places: tuple[str, ...]
    url: str = ""
    sha256: str = ""
    origin: str = ""


_FCLIB = "https://media.githubusercontent.com/media/FrictionalContactLibrary/fclib-library"
# The commit at which each file is had, and its SHA-256.
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
        origin="torch tensors in the GitHub repository DAIRLab/contact-nets; contactlab.lab.datasets.cube_toss says "
        "what the .npz holds",
    ),
    "elbow_toss": Source(
        "tosses of two blocks joined by a hinge, DAIR Lab, University of Pennsylvania (BSD-3-Clause)",
        ("elbow_toss", "data/elbow_toss", "elbow_toss.npz"),
        origin="the GitHub repository DAIRLab/dair_pll; contactlab.lab.datasets.cube_toss says what the .npz holds",
    ),
    "planar_impacts": Source(
        "impacts of a dropped ellipse, MIT MCube",
        ("planar_impacts", "data/planar_impacts", "planar_impacts.npz"),
        origin="MATLAB files in the GitHub repository DAIRLab/ImpactModeling; "
        "contactlab.lab.datasets.planar_impacts says what the .npz holds",
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

    The folder that the environment variable ``CONTACTLAB_DATA`` names is looked at first. What is not there is
    downloaded where a public file is known, to the cache, and not again; its SHA-256 must be the known one.

    Parameters
    ----------
    name
        A key of ``sources``.
    cache
        Folder; None for the user's own, which pooch chooses (``~/.cache/contactlab`` on Linux).
    sources
        What there is.

    Raises
    ------
    DatasetError
        An unknown name; a data set without a public file that is not in the folder; no connection; another checksum;
        ``CONTACTLAB_DATA`` names no folder.
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
    return _retrieved(name, source, cache)


def data_path(text: str | os.PathLike[str]) -> Path:
    """Return the path somebody means: that of a file or folder that exists, else that of a data set of this name."""
    path = Path(text)
    return fetch(str(text)) if not path.exists() and str(text) in SOURCES else path


def only_file(path: Path, suffix: str = ".npz") -> Path:
    """Return a file, or the only one with this ending in a folder."""
    if not path.is_dir():
        return path
    files = sorted(path.glob(f"*{suffix}"))
    if len(files) != 1:
        raise DatasetError(path, "", f"expected one {suffix}, found {', '.join(file.name for file in files) or 'none'}")
    return files[0]


def _in_own_folder(source: Source) -> Path | None:
    """Return where the data set stands in the folder of one's own."""
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


def _retrieved(name: str, source: Source, cache: str | os.PathLike[str] | None) -> Path:
    try:
        import pooch
        from requests.exceptions import RequestException
    except ModuleNotFoundError as error:
        advice = f"downloading needs {error.name}: pip install '.[lab]'"
        raise DatasetError(name, "", f"{advice}; or set {VARIABLE} to a folder with {source.places[0]}") from error
    folder = Path(pooch.os_cache("contactlab") if cache is None else cache)
    path = folder / source.places[0]
    try:
        # Its own folder under the cache: names of files are unique within a collection only.
        pooch.retrieve(source.url, f"sha256:{source.sha256}", fname=path.name, path=path.parent)
    except (RequestException, OSError, ValueError) as error:
        advice = f"set {VARIABLE} to a folder with {source.places[0]}"
        raise DatasetError(name, "", f"cannot be had from {source.url} ({error}); or {advice}") from error
    return path
