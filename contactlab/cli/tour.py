"""`contactlab tour`: six scenes to touch in the browser of this machine."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from contactlab.cli import arguments as kinds

EPILOG = "It is served to this machine alone, until Ctrl-C. Keys: N next scene, P previous, R reset, H halt or go on."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    parser.add_argument("--port", type=kinds.positive_integer, default=8080, help="where (default %(default)s)")
    parser.add_argument("--docs", metavar="URL", help="address of the built pages, to which scenes then link")
    parser.add_argument(
        "--html",
        type=Path,
        metavar="DIR",
        help="write each scene as one HTML file that opens offline, and serve nothing",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve the tour, or write it."""
    try:
        from contactlab.tour import tour, write_replays

        if arguments.html is not None:
            for path in write_replays(arguments.html):
                print(f"wrote {path}")
            return 0

        def announce(url: str) -> None:
            kinds.say_address(url, arguments.port)
            if not arguments.no_browser:
                webbrowser.open(url)

        tour(port=arguments.port, docs=arguments.docs, announce=announce)
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing; pip install '.[viz]'")
        return 1
    return 0
