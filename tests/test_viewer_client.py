"""The live viewer as a browser sees it: a client on the loopback interface, over viser's own websocket."""

from __future__ import annotations

import gc
import queue
import socket
import threading
import urllib.request
from urllib.parse import urlsplit

import numpy as np
import pytest

from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.simulation import TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia
from contactlab.viewer import live

PATIENCE = 20.0  # seconds until what was sent must have come


@pytest.fixture(autouse=True)
def _collected():
    """What viser leaves open goes here, where its warnings pass, and not in the midst of another test."""
    yield
    gc.collect()


class Client:
    """Collects what the server sends, message by message."""

    def __init__(self, url: str) -> None:
        viser = pytest.importorskip("viser")
        client = pytest.importorskip("websockets.sync.client")
        address = f"ws://{urlsplit(url).netloc}"
        self._socket = client.connect(address, subprotocols=[f"viser-v{viser.__version__}"], max_size=None)
        self._queue: queue.Queue[dict] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        import msgspec
        import zstandard

        for frame in self._socket:
            packed = int.from_bytes(frame[8:16], "little")
            content = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(frame[16 : 16 + packed]))
            for message in content["messages"]:
                self._queue.put(message)

    def until(self, wanted) -> dict:
        """The first message that is wanted; those before it are passed over."""
        while True:
            message = self._queue.get(timeout=PATIENCE)
            if wanted(message):
                return message

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
        self._thread.join(PATIENCE)


def world():
    """A box that slides and a ball that falls."""
    builder, rough = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), rough)
    inertia = RigidInertia.solid_box(1.0, (0.1,) * 3)
    builder.add_free_body("box", inertia, Box.cube(0.1), rough, (0, 0, 0.1, 1, 0, 0, 0), (1, 0, 0, 0, 0, 0))
    builder.add_free_body("ball", inertia, Sphere(0.1), rough, (0, 1, 0.5, 1, 0, 0, 0))
    return builder.build()


@pytest.mark.filterwarnings("default")  # viser's own
def test_a_client_sees_the_bodies_where_the_simulation_has_them():
    """The page is served; shapes come on connecting, poses with every step, to the last one's numbers."""
    place = world()
    with live(place, port=18941, pace=None, fps=1e9) as view:
        with urllib.request.urlopen(view.url, timeout=PATIENCE) as page:  # our own, on this machine
            assert page.status == 200
            assert b"<html" in page.read()
        client = Client(view.url)
        names = ("/bodies/0 box", "/bodies/1 ball")
        for name in names:
            client.until(lambda message, name=name: str(message.get("name", "")).startswith(f"{name}/"))
        recording = simulate(place, TimeStepping(2e-3), steps=20, watch=view.show, chunk_steps=5)
        for body, name in enumerate(names):
            last = recording.q[-1, 7 * body : 7 * body + 3]

            def arrived(message: dict, name: str = name, last=last) -> bool:
                place = message.get("position") if message.get("name") == name else None
                return place is not None and np.allclose(place, last, rtol=0, atol=1e-6)

            assert client.until(arrived)["type"] == "SetPositionMessage"
        client.close()


@pytest.mark.filterwarnings("default")
def test_nobody_else_is_let_in():
    """The server listens at 127.0.0.1 alone: other addresses of the machine, of the loopback too, find nobody."""
    with live(world(), port=18951) as view:
        port = urlsplit(view.url).port
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE):
            pass
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), timeout=PATIENCE)
