"""Data sets by name: from a folder of one's own, from the cache, or from their public address, once, and checked."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from contactlab.lab.datasets.sources import SOURCES, Source
from contactlab.lab.errors import DatasetError

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
        advice = f"downloading needs {error.name}: pip install 'contactlab[lab]'"
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
