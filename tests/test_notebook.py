"""HTML in notebooks: short tables that need no extra, load nothing, and escape names."""

import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import simulation_scenes

import lcp
from contactlab.event_driven import EventDriven, EventKind
from contactlab.multibody.joints import FloatingBase, Revolute
from contactlab.simulation import (
    HalfSpace,
    Material,
    ModelBuilder,
    RigidInertia,
    Sphere,
    TimeStepping,
    WorldBuilder,
    simulate,
)
from lcp.result import html_table

HOSTILE = "<script>alert('x')</script>\"><img src=http://x onerror=y>"
KNOWN = {"div", "b", "table", "tr", "td", "th", "svg", "polyline"}


class Page(HTMLParser):
    """Collects text, and what is open; anything that could run or fetch is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in KNOWN, tag
        assert not {name for name, _ in attrs} & {"src", "href", "onerror", "onclick"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(autouse=True)
def no_extras(monkeypatch):
    """Hide all extras, as if only the library were installed."""
    for name in ("matplotlib", "viser", "IPython", "PIL", "trimesh"):
        monkeypatch.setitem(sys.modules, name, None)


def ball(name):
    builder = WorldBuilder()
    builder.add_half_space(name, HalfSpace(), Material(0.5))
    builder.add_free_body(
        name, RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5), (0, 0, 0.12, 1, 0, 0, 0)
    )
    return builder.build()


def test_tables_are_cut_and_escaped():
    """Every cell, the head and the title."""
    page = Page(html_table(HOSTILE, [(HOSTILE, k) for k in range(50)], (HOSTILE, "number")))
    assert page.text.count(HOSTILE) == 42
    assert "40 of 50" in page.text


def test_a_recording_says_what_was_run_and_draws_its_energy():
    """Names are escaped; without steps there is no plot; an energy that is not a number is left out."""
    recording = simulate(ball(HOSTILE), TimeStepping(1e-3), steps=60)
    shown = recording._repr_html_()
    page = Page(shown)
    for words in (HOSTILE, "60 of 0.001 s", "0 .. 0.06 s", "worst certificate", repr(recording)):
        assert words in page.text
    (points,) = (part.split('"')[0] for part in shown.split('points="')[1:])
    path = np.array([pair.split(",") for pair in points.split()], dtype=float)
    assert len(path) == 61
    assert np.all(np.diff(path[:, 0]) > 0.0)
    # Energy falls at the impact: downwards is y growing.
    assert path[-1, 1] > path[0, 1]
    assert len(shown) < 5000
    assert "<svg" not in simulate(simulation_scenes.ball(0.2, 1.0), TimeStepping(2e-3), steps=0)._repr_html_()


def test_an_event_driven_run_counts_its_events():
    """It counts events by kind."""
    run = EventDriven().run(ball(HOSTILE), 0.2)
    page = Page(run._repr_html_())
    assert HOSTILE in page.text
    assert f"{len(run.of_kind(EventKind.IMPACT))} impact" in page.text


def test_results_say_how_it_ended_and_what_to_try():
    """Solved, and not; of every kind of problem; with the attempts where there were several."""
    solved = lcp.solve(lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
    page = Page(solved._repr_html_())
    assert repr(solved) in page.text
    assert solved.residual.text(solved.tolerance) in page.text
    failed = lcp.solve(lcp.LCP([[-1.0]], [-1.0]))
    page = Page(failed._repr_html_())
    assert failed.status.advice in page.text
    assert len(failed.attempts) > 1
    assert all(attempt.status.name in page.text for attempt in failed.attempts)
    mixed = lcp.solve(lcp.MLCP([[1.0]], [[0.0]], [[0.0]], [[1.0]], [1.0], [-1.0]))
    assert "MLCPResult(SOLVED" in Page(mixed._repr_html_()).text


def test_a_model_is_a_line_per_body():
    """Its joint, where it stands in v, its mass."""
    builder = ModelBuilder()
    builder.add_body("hull", joint=FloatingBase(), inertia=RigidInertia.solid_sphere(2.5, 0.1))
    builder.add_body(HOSTILE, parent="hull", joint=Revolute((0, 0, 1)), joint_name="<b>")
    model = builder.build()
    page = Page(model._repr_html_())
    for words in (HOSTILE, "FloatingBase", "0 .. 5", "2.5", "<b>", repr(model)):
        assert words in page.text
