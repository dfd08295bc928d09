"""`contactlab replay`: look at a record, in the browser, as one HTML file, or as a page of plots."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from contactlab.cli import arguments as kinds

if TYPE_CHECKING:
    from contactlab.simulation import Recording

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "replay",
        help="look at a record: live in the browser, as HTML, as a picture",
        description=f"{__doc__} Without --html and --picture it is served to this machine alone, until Ctrl-C.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the record, .npz")
    parser.add_argument("--html", type=kinds.output_file, metavar="OUT", help="write one HTML file that opens offline")
    parser.add_argument(
        "--picture", type=kinds.output_file, metavar="OUT", help="write a PNG: energy, residuals, forces"
    )
    parser.add_argument(
        "--port", type=kinds.positive_integer, default=8080, help="of the live view (default %(default)s)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Open the record and show it."""
    from contactlab.simulation import Recording

    recording = Recording.open(arguments.file)
    try:
        _show(recording, arguments)
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing; pip install 'contactlab[viz]'")
        return 1
    return 0


def _show(recording: Recording, arguments: argparse.Namespace) -> None:
    if arguments.html is not None:
        from contactlab.viewer import write_html_replay

        print(f"wrote {write_html_replay(recording, arguments.html)}")
    if arguments.picture is not None:
        from contactlab.plotting import plot_recording

        print(f"wrote {plot_recording(recording, arguments.picture)}")
    if arguments.html is None and arguments.picture is None:
        from contactlab.viewer import serve_replay

        serve_replay(recording, port=arguments.port, announce=lambda url: print(f"{url} (Ctrl-C ends it)", flush=True))
