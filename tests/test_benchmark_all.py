"""The list of what makes the figures: every script is in it, every page named says by what, and the command goes on."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
every = importlib.import_module("all")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


def sections(page: Path) -> dict[str, str]:
    """Text by heading; code is of its section."""
    found: dict[str, str] = {}
    heading, fenced = "", False
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            heading = line.strip("# ")
        found[heading] = f"{found.get(heading, '')}{line}\n"
    return found


def page_of(name: str) -> Path:
    """A page by its name."""
    return ROOT / name if name == "README.md" else ROOT / "docs" / name


def maker(command: str) -> str:
    """What a page has to name: the script, or the command."""
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
        text = sections(page_of(name))[heading]
        assert maker(figure.command) in text, f"{feed} does not name {maker(figure.command)}"


def test_every_dated_figure_says_what_made_it():
    """Below a heading with a date stands a script or a command, or the list says why there is none."""
    pages = [
        page for page in sorted((ROOT / "docs").glob("**/*.md")) if page.name not in ("changelog.md", "releases.md")
    ]
    listed = {feed for figure in every.FIGURES for feed in figure.feeds}
    for page in (*pages, ROOT / "README.md"):
        if "api" in page.parts or "_build" in page.parts:
            continue
        for heading, text in sections(page).items():
            if DATE.search(text):
                place = f"{page.name}: {heading}"
                assert place in listed or every.BY_HAND.get(place), f"{place}: what made its figures?"


def test_places_by_hand_are_there():
    """None is left of a section that is gone."""
    for place in every.BY_HAND:
        name, heading = place.split(": ", 1)
        assert DATE.search(sections(page_of(name))[heading]), place


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of scripts: one that prints, one that fails until a file is there, one that writes tables."""
    (tmp_path / "says.py").write_text("print('a table')\nprint('the end')\n")
    (tmp_path / "fails.py").write_text(
        f"import pathlib, sys\nif not pathlib.Path({str(tmp_path / 'mended')!r}).exists(): sys.exit('no such thing')\n"
    )
    (tmp_path / "writes.py").write_text(
        "import pathlib, sys\npathlib.Path(sys.argv[2] + '.csv').write_text(sys.argv[1])\n"
    )
    monkeypatch.setattr(every, "__file__", str(tmp_path / "all.py"))
    monkeypatch.setattr(
        every,
        "FIGURES",
        (
            every.Figure("says", "says.py", ("a.md: A",)),
            every.Figure("fails", "fails.py", ("a.md: B",)),
            every.Figure("writes", "writes.py {stones} {out}", ("a.md: C",)),
        ),
    )
    return tmp_path


def test_the_command_goes_on(folder, capsys):
    """A failure stops nothing and is tried again; what is done is not; data that is missing is named; all is told."""
    out = folder / "results"
    asked = ["--out", str(out), "--date", "2026-01-01"]
    assert every.main(asked) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("says: done in")
    assert said[0].endswith("; the end")
    assert said[1].startswith("fails: failed (1) in")
    assert said[1].endswith("; no such thing")
    assert said[2] == "writes: left: give --data stones=PATH"
    assert (out / "says_2026-01-01.txt").read_text() == "a table\nthe end\n"
    (folder / "mended").touch()
    assert every.main([*asked, "--data", "stones=granite"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "says: done"
    assert said[1].startswith("fails: done in")
    assert (out / "writes_2026-01-01.csv").read_text() == "granite"
    rows = [json.loads(line) for line in (out / "all_2026-01-01.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["done", "failed (1)", "done", "done"]
    assert every.main([*asked, "--list", "--only", "says", "writes"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"says: done in \d+ s, 2026-01-01\n    says.py\n    feeds a.md: A\n", listed)
    assert "fails" not in listed
    assert every.main(["--only", "nothing"]) == 2
