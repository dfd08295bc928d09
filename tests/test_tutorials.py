"""The tutorials run: each page from top to bottom, in a separate folder, with the printed output of the page.

The pages on theory and the pages for users of other programs run too. The language of a block decides its use: `python`
runs in the page's only namespace; `sh` is a list of `contactlab` commands; a block whose first line is `# NAME.toml`,
`# NAME.py` or `<!-- NAME.urdf -->` becomes that file; a `text` block directly after one that runs is its output, in
which `...` matches anything. `bash` is only for the reader.
"""

import doctest
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contactlab.cli import main

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [
    *sorted(DOCS.glob("tutorial_*.md")),
    *sorted(DOCS.glob("theory/*.md")),
    *(
        DOCS / f"{name}.md"
        for name in (
            "from_siconos",
            "from_mujoco",
            "from_path",
            "complementarity",
            "extending",
            "control",
            "derivatives",
            "exercises",
            "falling_rod",
            "grains",
            "how_to_choose",
            "learning",
            "impact",
            "materials",
        )
        if (DOCS / f"{name}.md").exists()
    ),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:# |<!-- )([\w-]+\.(?:py|toml|urdf))(?: -->)?\n")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, text and line on the page, and the expected output, None for any."""

    language: str
    text: str
    line: int
    expected: str | None


def blocks_of(page: str) -> list[Block]:
    """Return the blocks that run, each with the output block after it."""
    found = [(match[1], match[2], page.count("\n", 0, match.start()) + 1, match) for match in BLOCK.finditer(page)]
    blocks = []
    for here, (language, text, line, match) in enumerate(found):
        if language in ("python", "sh", "toml", "xml"):
            behind = found[here + 1] if here + 1 < len(found) else None
            follows = behind is not None and behind[0] == "text" and not page[match.end() : behind[3].start()].strip()
            blocks.append(Block(language, text, line, behind[1] if behind and follows else None))
    return blocks


def run_commands(text: str) -> None:
    """Run every line as a command that has to succeed."""
    for line in text.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or ["contactlab", "--help"]
        assert program == "contactlab", f"{line}: tutorials run no other program; `bash` blocks are not run"
        assert main(arguments) == 0, line


def run_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a page's blocks in order and compare what they print."""
    values: dict[str, Any] = {"__name__": "tutorial"}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        name = FILE.match(block.text)
        if name or block.language in ("toml", "xml"):
            if name:
                Path(name[1]).write_text(block.text, encoding="utf-8")
            continue
        if block.language == "sh":
            run_commands(block.text)
        else:
            exec(compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True), values)
        printed = capsys.readouterr().out
        if block.expected is not None:
            assert doctest.OutputChecker().check_output(block.expected, printed, OPTIONS), (
                f"{page.name}, line {block.line}: expected\n{block.expected}\nprinted\n{printed}"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.slow
def test_tutorial_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page runs and prints its output."""
    if ".add_mjcf(" in page.read_text(encoding="utf-8"):
        pytest.importorskip("mujoco", reason="the page reads a MuJoCo file (extra mjcf)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # Paths on pages are relative to the folder of the project.
    (tmp_path / "examples").symlink_to(Path(__file__).parents[1] / "examples")
    run_page(page, capsys)
