"""The pages, without building them: all are reached, named files are there, examples and adapters run."""

import doctest
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for folder in ("", "theory") for path in (DOCS / folder).glob("*.md"))


def test_every_page_is_in_a_table_of_contents() -> None:
    """`docs/index.md` names every page, so that the build, for which an orphan is an error, goes through."""
    listed = set(re.findall(r"^([\w/]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in PAGES} - {"index"}
    assert pages - listed == set()
    assert {name for name in listed if not (DOCS / f"{name}.md").exists()} <= {"api/index", "gallery/index"}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.stem)
def test_pages_that_are_named_exist(page: Path) -> None:
    """All `docs/NAME.md` and `NAME.md` in a page are pages, and its pictures are files."""
    text = page.read_text(encoding="utf-8")
    for named in re.findall(r"`([\w/]+\.md)`", text):
        places = (ROOT, DOCS, page.parent)
        assert any((place / named).is_file() for place in places), f"{page.name} names {named}"
    for target in re.findall(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"", text):
        target = "".join(target)
        place = target.partition("#")[0]
        # A page may lead elsewhere; the gallery's page is made when the pages are built.
        if place and "://" not in place and not place.startswith("gallery/"):
            assert (page.parent / place).exists(), f"{page.name} leads to {target}"


GALLERY = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(GALLERY.glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.slow
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs as a script."""
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


PAGE = Path(__file__).resolve().parents[1] / "docs" / "derivatives_elsewhere.md"
SECTION = re.compile(r"^## (.*)\n", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ADAPTERS = ("torch", "jax", "casadi", "scipy")


def sections() -> dict[str, list[tuple[str, str]]]:
    """The blocks of each section, (language, text), by its title."""
    _, *parts = SECTION.split(PAGE.read_text(encoding="utf-8"))
    return {title: BLOCK.findall(text) for title, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("package", ADAPTERS)
@pytest.mark.slow
def test_adapter_runs(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first block and the package's blocks run from top to bottom, and print the text blocks after them."""
    pytest.importorskip(package)
    page = sections()
    values: dict[str, Any] = {"__name__": "page"}
    for language, text in page["One step as a function of vectors"] + page[package]:
        if language == "python":
            exec(compile(text, f"{PAGE.name}: {package}", "exec", dont_inherit=True), values)
        else:
            printed = capsys.readouterr().out
            assert doctest.OutputChecker().check_output(text, printed, OPTIONS), printed
