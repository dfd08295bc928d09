"""The gallery, written from `examples/`: a page for each script with its text, picture and code, and one of scenes.

Nothing is run here: the tests run every example, and `docs/make_pictures.py` draws the pictures.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

CELL = re.compile(r"^# %%.*\n", re.MULTILINE)


def write_gallery(app: Sphinx) -> None:
    """Write `gallery/`, changing only files whose text differs."""
    docs = Path(app.srcdir)
    folder, examples = docs / "gallery", docs.parent / "examples"
    folder.mkdir(exist_ok=True)
    scripts = sorted(examples.glob("*.py"))
    made = {f"{script.stem}.md": example_page(script, docs) for script in scripts}
    made["scenes.md"] = scenes_page(sorted((examples / "scenes").glob("*.toml")), docs)
    made["index.md"] = index_page(scripts, docs)
    for old in folder.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def heading_and_text(script: Path) -> tuple[str, str]:
    """Title of a script, which is the part of its docstring before the colon, and the rest."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
    title, colon, rest = text.partition(": ")
    if not colon or "\n" in title:
        title, _, rest = text.partition("\n")
    rest = rest.strip()
    return title.rstrip("."), rest[:1].upper() + rest[1:]


def example_page(script: Path, docs: Path) -> str:
    """Heading, picture and text, then the cells of the script; the comment that opens a cell is prose."""
    heading, text = heading_and_text(script)
    source = script.read_text(encoding="utf-8")
    body = source[source.index("from __future__") :] if "from __future__" in source else source
    parts = [f"# {heading}", text, *picture(docs, "gallery", script.stem, heading)]
    parts.append(f"`examples/{script.name}`: run it with `python examples/{script.name}`.")
    for cell in CELL.split(body):
        lines = cell.splitlines()
        prose = 0
        while cell is not body and prose < len(lines) and lines[prose].startswith("# "):
            prose += 1
        parts += [" ".join(line.removeprefix("# ") for line in lines[:prose])]
        code = "\n".join(lines[prose:]).strip("\n")
        parts += [f"```python\n{code}\n```"] if code else []
    return "\n\n".join(part for part in parts if part) + "\n"


def picture(docs: Path, kind: str, name: str, alt: str) -> list[str]:
    """The picture of an example or scene, if there is one."""
    drawn = (docs / "images" / kind / f"{name}.png").is_file()
    return [f"![{alt}](../images/{kind}/{name}.png)"] if drawn else []


def thumbnail(docs: Path, kind: str, name: str, alt: str) -> list[str]:
    """The moving picture, if there is one, and the still for readers who want no motion."""
    still = picture(docs, kind, name, alt)
    if not (docs / "images" / kind / f"{name}.webp").is_file():
        return still
    return [f"{still[0]}{{.still}}![{alt}](../images/{kind}/{name}.webp){{.moves}}"]


def index_page(scripts: list[Path], docs: Path) -> str:
    """Cards in the order of the scripts."""
    cards = []
    for script in scripts:
        title, _ = heading_and_text(script)
        shown = [f"[{image}]({script.stem}.md)" for image in thumbnail(docs, "gallery", script.stem, title)]
        card = "\n\n".join([*shown, f"[{title}]({script.stem}.md)"])
        cards.append(f":::{{container}} card\n{card}\n:::")
    return "\n\n".join(
        [
            "# Gallery",
            "Short scripts, simple ones first; each asserts the physics it shows, and the suite runs them all. "
            "Scenes in files are on [a page of their own](scenes.md). Arrows are contact forces: green where a "
            "contact sticks, vermilion where it slides.",
            "::::{container} gallery\n" + "\n".join(cards) + "\n::::",
            "```{toctree}\n:hidden:\n\nscenes\n" + "\n".join(script.stem for script in scripts) + "\n```\n",
        ]
    )


def scenes_page(scenes: list[Path], docs: Path) -> str:
    """Every scene: its picture, the comment that opens it, the file."""
    parts = [
        "# Scenes",
        "Files in `examples/scenes/`, format in `docs/scenes.md`. Run and look at one with\n\n"
        "```sh\ncontactlab run examples/scenes/dominoes.toml --out dominoes.npz\n"
        "contactlab replay dominoes.npz\n```",
    ]
    for scene in scenes:
        source = scene.read_text(encoding="utf-8")
        settings = tomllib.loads(source)
        title = settings.get("scene", settings).get("name", scene.stem)
        comment = []
        for line in source.splitlines():
            if not line.startswith("#"):
                break
            comment.append(line.lstrip("# "))
        parts += [f"## {title[0].upper()}{title[1:]}", " ".join(comment), *thumbnail(docs, "scenes", scene.stem, title)]
        parts += [f"<details><summary>{scene.name}</summary>", f"```toml\n{source.rstrip()}\n```", "</details>"]
    return "\n\n".join(parts) + "\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the pages."""
    app.connect("builder-inited", write_gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
