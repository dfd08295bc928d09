"""The tour: the code shown is the code that runs, and every scene works to the ends of its sliders."""

import gc
import socket
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from contactlab.simulation import Recording

pytest.importorskip("viser")

from contactlab.view.tour import SCENES, tour

DOCS = Path(__file__).parent.parent / "docs"
pytestmark = pytest.mark.filterwarnings("default")  # viser's own


@pytest.fixture(autouse=True)
def _collected():
    """Objects that viser leaves open are collected here, with its warnings ignored, not within another test."""
    yield
    gc.collect()


def motion(played):
    """Everything that a scene made, as arrays."""
    if isinstance(played, Recording):
        return [played.q, played.v]
    if isinstance(played, dict):
        return [array for one in played.values() for array in motion(one)]
    problem, path, iterates = played
    return [np.asarray(problem.M), path.t, path.z, np.array(iterates)]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_the_code_shown_is_the_code_that_runs(scene):
    """Pasted anywhere, it makes the same motion to the last bit; it is short, and its page is there."""
    names: dict = {}
    exec(scene.code, names)
    again = motion(names[scene.simulate.__name__](**scene.start()))
    for one, other in zip(motion(scene.simulate(**scene.start())), again, strict=True):
        assert np.array_equal(one, other)
    assert len(scene.code.splitlines()) <= 50
    assert 1 <= len(scene.sliders) <= 2
    assert (DOCS / f"{scene.page}.md").is_file()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_scene_may_be_moved_to_every_end_of_its_sliders(scene):
    """Nothing fails at a corner of the sliders, and what is made stays finite."""
    for end in ("low", "high"):
        values = {slider.name: getattr(slider, end) for slider in scene.sliders}
        assert all(np.isfinite(array).all() for array in motion(scene.simulate(**values)))


def test_grips_differ_as_the_sentence_says():
    """A vertex lets the box fall by centimetres; the cone and the selected forces hold it within a millimetre."""
    grip = next(scene for scene in SCENES if scene.name == "grip")
    fallen = {name: 0.2 - one.q[-1, 4] for name, one in grip.simulate(**grip.start()).items()}
    assert fallen["Lemke's vertex"] > 0.03
    assert max(abs(fallen["exact cone"]), abs(fallen["selected"])) < 1e-3


def test_the_tour_is_for_this_machine_alone():
    """It draws some pictures and ends; it listens at 127.0.0.1, and another address of the loopback has no server."""
    turns = iter((True, True, False))

    def connect(url):
        port = urlsplit(url).port
        with socket.create_connection(("127.0.0.1", port), timeout=60.0):
            pass
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), timeout=60.0)

    tour(port=18961, announce=connect, running=lambda: next(turns))
    assert next(turns, None) is None
