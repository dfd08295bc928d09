"""`contactlab replay`: look at a record, in the browser, as one HTML file, as a picture, or as plots."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from contactlab.cli import arguments as kinds
from contactlab.drawing import visual_meshes
from contactlab.lab.progress import Progress
from contactlab.simulation import Recording

EPILOG = "Without --html, --picture and --plots it is served to this machine alone, until Ctrl-C."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="the record, .npz")
    add("--html", type=kinds.output_file, metavar="OUT", help="write one HTML file that opens offline")
    add("--picture", type=kinds.output_file, metavar="OUT", help="write bodies and forces as a picture, .png")
    add("--time", type=kinds.times, metavar="T[,T...]", help="of the picture [s]; the last state without it")
    add("--plots", type=Path, metavar="DIR", help="write plots over time, .png, into a folder")
    add("--collision", action="store_true", help="draw the shapes bodies touch with, not what they look like")
    add(
        "--mesh-roots",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="where the mesh files of what robots look like are, which a record only names; may be repeated",
    )
    add("--port", type=kinds.positive_integer, default=8080, help="of the live view (default %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Open the record and show it."""
    recording = Recording.open(arguments.file, mesh_roots=arguments.mesh_roots)
    try:
        _show(recording, arguments)
    except ValueError as error:
        print(f"contactlab: error: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing; pip install '.[viz]'")
        return 1
    return 0


def _show(recording: Recording, arguments: argparse.Namespace) -> None:
    drawn = arguments.html is not None or arguments.picture is not None or arguments.plots is None
    if drawn and not arguments.collision:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            visual_meshes(recording.world)
        for warning in told:
            print(f"contactlab: {warning.message} (--mesh-roots DIR says where they are)", file=sys.stderr)
    if arguments.html is not None:
        print(f"wrote {write_html(recording, arguments.html, collision=arguments.collision)}")
    if arguments.picture is not None:
        from contactlab.plotting import picture

        picture(recording, arguments.time, path=arguments.picture, collision=arguments.collision)
        print(f"wrote {arguments.picture}")
    if arguments.plots is not None:
        for path in write_plots(recording, arguments.plots):
            print(f"wrote {path}")
    if arguments.html is None and arguments.picture is None and arguments.plots is None:
        from contactlab.viewer import show

        def announce(url: str) -> None:
            kinds.say_address(url, arguments.port)

        show(recording, port=arguments.port, collision=arguments.collision, announce=announce)


def write_html(recording: Recording, path: Path, *, collision: bool = False) -> Path:
    """Write the replay, and say on standard error how far it is."""
    from contactlab.viewer import write_html_replay

    with Progress("writing the replay", "frames") as progress:
        return write_html_replay(recording, path, collision=collision, progress=progress.update)


def write_plots(recording: Recording, folder: Path) -> list[Path]:
    """Write every plot of a record into a folder, which is made where it is not there."""
    from contactlab import plotting

    folder.mkdir(parents=True, exist_ok=True)
    plots = (
        plotting.summary, plotting.ledger, plotting.forces, plotting.modes, plotting.gaps, plotting.solver_effort,
        plotting.certificates,
    )  # fmt: skip
    return [plotting.save_figure(plot(recording), folder / f"{plot.__name__}.png") for plot in plots]
