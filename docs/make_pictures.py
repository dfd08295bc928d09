"""Draw the pictures of the pages: `python docs/make_pictures.py [NAME...]`, without a display, a few minutes for all.

An example's picture is one frame of the last recording it simulates, at the time given in `pictures_of_examples.CARDS`,
or the drawing of the function with its name there. A scene's picture shows its start, its motion and its end; `hero` is
the moving picture at the top of the README. Simulated examples move in the gallery, too: the whole recording in two
seconds. Every picture is cropped, in full colour, and at most 60 KB; a moving one 120 KB, the hero 700 KB.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pictures_of_examples as own
from PIL import Image, ImageChops

import contactlab.simulation
from contactlab.simulation import Recording
from contactlab.simulation.scene import load_scene
from contactlab.view import plotting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS.parent / "examples"
WIDTHS, MOST_BYTES, MOST_MOVING = (1080, 720, 600, 480, 400, 360, 300), 60_000, 120_000


def image_of(figure: Figure) -> Image.Image:
    """A figure as pixels."""
    raw = io.BytesIO()
    figure.savefig(raw, format="png", dpi=150, facecolor="white")
    return Image.open(raw).convert("RGB")


def keep(image: Image.Image, path: Path) -> None:
    """Crop the white margin of a picture, scale it to the width of a page, and write it in full colour."""
    box = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    image = image.crop(box) if box else image
    for width in WIDTHS[image.width < 3 * image.height :]:  # strips are wider
        small = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
        path.parent.mkdir(parents=True, exist_ok=True)
        small.save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            break
    print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} KB")


def card(recording: Recording, time: float | None) -> Image.Image:
    """One state, without title and legend."""
    (axes,) = plotting.picture(recording, time).axes
    return Image.fromarray(axes.images[0].get_array())


def moving(recording: Recording, path: Path) -> None:
    """The whole recording in two seconds, with fewer and smaller frames until the file is small enough."""
    for fps, size in ((10.0, (320, 224)), (8.0, (280, 196)), (6.0, (240, 168))):
        plotting.animation(recording, path, fps=fps, speed=float(recording.time[-1]) / 2.0, size=size)
        if path.stat().st_size <= MOST_MOVING:
            break
    print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} KB")


def strip(recording: Recording, count: int = 3) -> Figure:
    """The first state, the last and some between."""
    end = recording.time[-1]
    return plotting.picture(recording, [end * i / (count - 1) for i in range(count)], size=(480, 400))


def last_recording(script: Path) -> Recording:
    """Run an example and return its last simulation, or the record of the last run that keeps one."""
    recordings: list[Recording] = []
    runs: list[contactlab.simulation.Simulation] = []
    simulate, simulation = contactlab.simulation.simulate, contactlab.simulation.Simulation

    def listening(*args: Any, **options: Any) -> Recording:
        recordings.append(simulate(*args, **options))
        return recordings[-1]

    def stepped(*args: Any, **options: Any) -> contactlab.simulation.Simulation:
        run = simulation(*args, **options)
        if options.get("record"):
            runs.append(run)
        return run

    contactlab.simulation.simulate, contactlab.simulation.Simulation = listening, stepped
    here = Path.cwd()
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # examples may leave files
            runpy.run_path(str(script), run_name="__main__")
            os.chdir(here)
    finally:
        os.chdir(here)
        contactlab.simulation.simulate, contactlab.simulation.Simulation = simulate, simulation
    if runs:
        return runs[-1].recording
    if not recordings:
        raise SystemExit(f"{script.name} simulates nothing: give it a function in docs/pictures_of_examples.py")
    return recordings[-1]


def of_page(page: Path, file: str) -> Figure:
    """The file that the blocks of a page draw, run up to the block that writes it."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    values: dict[str, Any] = {"__name__": "page"}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks:
                exec(block, values)
                if Path(file).exists():
                    return own.of_png(Path(file))
        finally:
            os.chdir(here)
    raise SystemExit(f"{page.name} writes no {file}")


def badges() -> str:
    """The distribution's metadata as badges in SVG, so that no host has to be asked for them."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pills = [("licence", project["license"]), ("Python", project["requires-python"].replace(">=", "\u2265 "))]
    pills += [("types", "checked")] if "Typing :: Typed" in project["classifiers"] else []
    parts, x = [], 0
    for name, value in pills:
        left, right = (round(7.2 * len(text)) + 14 for text in (name, value))
        parts.append(
            f'<rect x="{x}" width="{left + right}" height="20" rx="3" fill="#0072b2"/>'
            f'<path d="M{x + left} 0H{x + 3}q-3 0-3 3v14q0 3 3 3H{x + left}z" fill="#555"/>'
            f'<text x="{x + left // 2}" y="14">{name}</text><text x="{x + left + right // 2}" y="14">{value}</text>'
        )
        x += left + right + 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{x - 6}" height="20" fill="#fff" text-anchor="middle" '
        f'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{"".join(parts)}</svg>\n'
    )


def main(names: list[str]) -> None:
    """Draw all pictures, or those whose file names begin with one of the names."""
    if not names or "badges" in names:
        (DOCS / "images" / "badges.svg").write_text(badges(), encoding="utf-8")
    if not names or "hero" in names:
        path = DOCS / "images" / "hero.webp"
        view = (-0.55, -0.8, 0.17)
        plotting.animation(own.hero(), path, fps=11.0, speed=0.27, view=view, size=(1000, 420))
        print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} KB")
    for script in sorted(EXAMPLES.glob("*.py")):
        if not names or script.stem.startswith(tuple(names)):
            draw = getattr(own, f"example_{script.stem}", None)
            drawn = draw() if draw else last_recording(script)
            image = card(drawn, own.CARDS.get(script.stem)) if isinstance(drawn, Recording) else image_of(drawn)
            keep(image, DOCS / "images" / "gallery" / f"{script.stem}.png")
            if isinstance(drawn, Recording):
                moving(drawn, DOCS / "images" / "gallery" / f"{script.stem}.webp")
    for path in sorted((EXAMPLES / "scenes").glob("*.toml")):
        if not names or path.stem.startswith(tuple(names)):
            scene = load_scene(path)
            recording = contactlab.simulation.simulate(scene.world, scene.stepper, scene.duration)
            keep(image_of(strip(recording)), DOCS / "images" / "scenes" / f"{path.stem}.png")
            moving(recording, DOCS / "images" / "scenes" / f"{path.stem}.webp")

    sys.path.insert(0, str(EXAMPLES / "classics"))
    for script in sorted((EXAMPLES / "classics").glob("*.py")):
        if script.stem not in ("measure", "on_a_table") and (not names or script.stem.startswith(tuple(names))):
            keep(image_of(runpy.run_path(str(script))["picture"]()), DOCS / "images" / f"{script.stem}.png")
    for name, file in own.PAGES.items():
        if not names or name.startswith(tuple(names)):
            keep(image_of(of_page(DOCS / f"{name}.md", file)), DOCS / "images" / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
