"""Tables of what is refused: each row is a call, and the field or the message of the error that it raises."""

from collections.abc import Callable
from typing import Any

import pytest

Row = tuple[str, Callable[[], Any]]


def assert_fields(error: type[Exception], *rows: Row) -> None:
    """Each call raises the error, which names the row's field."""
    for field, call in rows:
        with pytest.raises(error) as caught:
            call()
        assert caught.value.field == field, caught.value


def assert_messages(error: type[Exception] | tuple[type[Exception], ...], *rows: Row) -> None:
    """Each call raises the error, whose message has the row's pattern."""
    for pattern, call in rows:
        with pytest.raises(error, match=pattern):
            call()


def assert_named(error: type[Exception], field: str, pattern: str, call: Callable[[], Any]) -> None:
    """The call raises the error, which names the field, with a message that has the pattern."""
    with pytest.raises(error, match=pattern) as caught:
        call()
    assert caught.value.field == field, caught.value
