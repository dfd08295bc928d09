"""What the pages rest on, without building them: every page is reached, pictures are there and small, names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for folder in ("", "theory") for path in (DOCS / folder).glob("*.md"))
MOST_BYTES = 60_000


def test_every_page_is_in_a_table_of_contents() -> None:
    """`docs/index.md` names every page, so that the build, for which an orphan is an error, goes through."""
    listed = set(re.findall(r"^([\w/]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in PAGES} - {"index"}
    assert pages - listed == set()
    assert {name for name in listed if not (DOCS / f"{name}.md").exists()} <= {"api/index", "gallery/index"}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.stem)
def test_pages_that_are_named_exist(page: Path) -> None:
    """What a page calls `docs/NAME.md` or `NAME.md` is a page, and its pictures are files."""
    text = page.read_text(encoding="utf-8")
    for named in re.findall(r"`([\w/]+\.md)`", text):
        places = (ROOT, DOCS, page.parent)
        assert any((place / named).is_file() for place in places), f"{page.name} names {named}"
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        place = target.partition("#")[0]
        # A page may lead elsewhere; the gallery's page is made when the pages are built.
        if place and "://" not in place and not place.startswith("gallery/"):
            assert (page.parent / place).exists(), f"{page.name} leads to {target}"


@pytest.mark.parametrize(("kind", "sources"), [("gallery", "examples/*.py"), ("scenes", "examples/scenes/*.toml")])
def test_gallery_has_its_pictures(kind: str, sources: str) -> None:
    """Each example and scene has one, drawn by `docs/make_pictures.py`, and none is left of what is gone."""
    drawn = {path.stem: path.stat().st_size for path in (DOCS / "images" / kind).glob("*.png")}
    assert set(drawn) == {path.stem for path in ROOT.glob(sources)}
    assert max(drawn.values()) <= MOST_BYTES
