"""The benchmarks: children that are ended at their limit, tables that grow, and figures that name their script."""

import importlib
import re
import sys
from pathlib import Path

import limited
import pytest
from limited import told

FOLDER = Path(limited.__file__).parent
HEAD = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); from limited import allow, tell\n"


@pytest.fixture
def script(tmp_path):
    """A script from its text."""

    def written(text: str) -> Path:
        path = tmp_path / "child.py"
        path.write_text(HEAD + text)
        return path

    return written


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the system")
def test_a_child_that_works_too_long_leaves_what_it_told(script):
    """The limit is one of the processor: nothing of the child's own has to look at a clock."""
    stuck = script("tell(row=1); print('said'); allow(1.0); tell(row=2)\nwhile True: pass")
    found = list(told(stuck, [], 60.0))
    assert found == [{"row": 1}, {"row": 2}, {"died": "stopped at its limit of the processor's seconds"}]


def test_how_a_child_ends_is_told(script):
    """A child ends normally, with an error, or killed after a time."""
    assert list(told(script("tell(a=sys.argv[1])"), ["x"], 60.0)) == [{"a": "x"}]
    assert list(told(script("raise ValueError('no such scene')"), [], 60.0)) == [{"died": "ValueError: no such scene"}]
    asleep = list(told(script("import time; time.sleep(60)"), [], 0.5))
    assert asleep[0]["died"].startswith("died of SIGKILL")


ROOT = Path(__file__).resolve().parents[1]
every = importlib.import_module("all")


def maker(command: str) -> str:
    """Return the text that a page must contain: the script, or the command."""
    words = command.split()
    return " ".join(words[:2]) if words[0] == "contactlab" else words[0]


def test_every_script_makes_a_figure_or_is_a_tool():
    """One that is added, and one that is gone, is noticed; no tool without a reason."""
    scripts = {figure.command.split()[0] for figure in every.FIGURES} - {"contactlab"}
    here = {file.name for file in (ROOT / "benchmarks").glob("*.py")} - {"all.py"}
    assert scripts | set(every.TOOLS) == here
    assert not scripts & set(every.TOOLS)
    assert all(every.TOOLS.values())
    names = [figure.name for figure in every.FIGURES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("figure", every.FIGURES, ids=lambda figure: figure.name)
def test_a_figure_is_named_where_it_stands(figure):
    """The page has the heading, and names below it the script or command that made the figures."""
    for feed in figure.feeds:
        name, heading = feed.split(": ", 1)
        page = ROOT / name if name == "README.md" else ROOT / "docs" / name
        text = re.split(rf"^#+ {re.escape(heading)}$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
        text = re.split(r"^##+ ", text, flags=re.MULTILINE)[0]
        assert maker(figure.command) in text, f"{feed} does not name {maker(figure.command)}"
