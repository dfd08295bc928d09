"""Notebooks of the first hours, made from their pages and run: `notebooks/NAME.ipynb`, which the pages link to.

The output that a page shows in a `text` block is left out: a notebook shows its own. A notebook is run again when its
page or the version of the package has changed. Run as a script, this file makes them without the pages.

The configuration value `notebooks_not_run` names pages whose notebooks are written but not run: `sphinx-build -D
notebooks_not_run=tutorial_solver`, as in `.ci/run`, because that tutorial's races take minutes.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from sphinx.application import Sphinx

import contactlab

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:# |<!-- )([\w-]+\.(?:py|toml|urdf))(?: -->)?\n")
#: Links lead to pages, which do not come with a notebook.
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)[^)]*\)")
PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n?", re.MULTILINE)
#: Names of the notebook itself, for readers of the page.
DOWNLOAD = re.compile(r"^.*\{download\}.*\n", re.MULTILINE)


def notebook_of(page: str) -> nbformat.NotebookNode:
    """The cells of a page: prose, code, files by `%%writefile`, commands by `!`."""
    cells, at, ran = [], 0, False
    for match in BLOCK.finditer(page):
        prose = page[at : match.start()]
        language, text = match[1], match[2].rstrip("\n")
        cells += prose_cells(prose)
        named, shown = FILE.match(match[2]), ran and language == "text" and not prose.strip()
        ran = language in ("python", "sh")
        if named:
            cells.append(nbformat.v4.new_code_cell(f"%%writefile {named[1]}\n{text}"))
        elif language == "python":
            cells.append(nbformat.v4.new_code_cell(text))
        elif language == "sh":
            cells.append(nbformat.v4.new_code_cell("\n".join(f"!{line}" for line in text.splitlines())))
        elif not shown:
            cells.append(nbformat.v4.new_markdown_cell(f"```{language}\n{text}\n```"))
        at = match.end()
    cells += prose_cells(page[at:])
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


def prose_cells(text: str) -> list[nbformat.NotebookNode]:
    """Prose without links to pages and without pictures, which the cells draw themselves."""
    text = LINK.sub(r"\1", PICTURE.sub("", DOWNLOAD.sub("", text))).strip()
    return [nbformat.v4.new_markdown_cell(text)] if text else []


def write_notebooks(app: Sphinx) -> None:
    """Make the notebooks of the pages that are built."""
    make_notebooks(Path(app.srcdir), app.config.notebooks_not_run)


def make_notebooks(docs: Path, not_run: Collection[str] = ()) -> None:
    """Make a notebook for each page of a first hour, and run it unless its page is in ``not_run``."""
    for page in sorted(docs.glob("tutorial_*.md")):
        notebook = notebook_of(page.read_text(encoding="utf-8"))
        made_of = hashlib.sha256(f"{contactlab.__version__}\n{nbformat.writes(notebook)}".encode()).hexdigest()
        path = docs / "notebooks" / page.name.replace(".md", ".ipynb")
        if path.exists() and nbformat.read(path, as_version=4)["metadata"].get("made_of") == made_of:
            continue
        path.parent.mkdir(exist_ok=True)
        if page.stem in not_run:
            nbformat.write(notebook, path)
            continue
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to((docs.parent / "examples").resolve())
            resources = {"metadata": {"path": folder}}
            # Commands come from the environment that builds the pages.
            env = {
                **os.environ,
                "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            }
            client = NotebookClient(
                notebook, timeout=600, startup_timeout=300, kernel_name="python3", resources=resources
            )
            client.execute(env=env)
        notebook["metadata"]["made_of"] = made_of
        nbformat.write(notebook, path)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the notebooks."""
    app.add_config_value("notebooks_not_run", [], "", list)
    app.connect("builder-inited", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    make_notebooks(Path(__file__).resolve().parents[1])
