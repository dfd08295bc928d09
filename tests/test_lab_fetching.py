"""Data sets by name: from a folder of one's own, or downloaded once and checked; no test leaves this machine."""

import functools
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from refusals import assert_messages

from contactlab.lab import DatasetError
from contactlab.lab.datasets import Source, fetch

CONTENT = b"what the file holds"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.SimpleHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Serve ``published`` on the loopback interface."""
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "a.hdf5").write_bytes(CONTENT)
    Handler.asked.clear()
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_address[1]}"
    serving.shutdown()
    thread.join()
    serving.server_close()


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONTACTLAB_DATA", raising=False)


def test_a_file_is_downloaded_once(server: str, tmp_path: Path) -> None:
    """Checked against its SHA-256; the second time it comes from the cache."""
    pytest.importorskip("pooch", reason="pooch is missing: pip install '.[lab]'")
    sources = {"a": Source("a file", ("set/a.hdf5",), f"{server}/a.hdf5", SHA256)}
    for _ in range(2):
        path = fetch("a", cache=tmp_path / "cache", sources=sources)
        assert path == tmp_path / "cache" / "set" / "a.hdf5"
        assert path.read_bytes() == CONTENT
    assert Handler.asked == ["/a.hdf5"]


@pytest.mark.parametrize("file", ["other.hdf5", "a.hdf5"])
def test_what_cannot_be_had_is_said(server: str, tmp_path: Path, file: str) -> None:
    """For a missing file, or another checksum, the text has advice, and the cache stays empty."""
    pytest.importorskip("pooch", reason="pooch is missing: pip install '.[lab]'")
    sources = {"a": Source("a file", ("set/a.hdf5",), f"{server}/{file}", "0" * 64)}
    with pytest.raises(DatasetError, match=r"cannot be had from http.*set CONTACTLAB_DATA to a folder with set/a"):
        fetch("a", cache=tmp_path / "cache", sources=sources)
    assert not (tmp_path / "cache" / "set" / "a.hdf5").exists()


def test_a_folder_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any of its places; a file with a known checksum must have it."""
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    monkeypatch.setenv("CONTACTLAB_DATA", str(own))
    sources = {"a": Source("a file", ("set/a.hdf5", "deep/a.hdf5"), "http://127.0.0.1:9/a.hdf5", SHA256)}
    (own / "deep" / "a.hdf5").write_bytes(CONTENT)
    assert fetch("a", cache=tmp_path, sources=sources) == own / "deep" / "a.hdf5"
    (own / "deep" / "a.hdf5").write_bytes(CONTENT + b"!")
    with pytest.raises(DatasetError, match="is not the known file"):
        fetch("a", cache=tmp_path, sources=sources)
    monkeypatch.setenv("CONTACTLAB_DATA", str(own / "nowhere"))
    with pytest.raises(DatasetError, match="CONTACTLAB_DATA names no folder"):
        fetch("a", cache=tmp_path, sources=sources)


def test_unknown_and_unpublished_names() -> None:
    """The first error suggests names, the second gives the setting and the source of the originals."""
    assert_messages(
        DatasetError,
        ("did you mean 'cube_toss'", lambda: fetch("cube_tos")),
        (r"set CONTACTLAB_DATA to a folder with cube_toss \(torch tensors", lambda: fetch("cube_toss")),
    )
