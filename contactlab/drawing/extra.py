"""Error that names the extra to install if a drawing library is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def require_viz() -> Iterator[None]:
    """Name the extra to install in errors of an import within this context."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed: pip install '.[viz]'"
        raise ModuleNotFoundError(message, name=error.name) from error
