"""What environments are made of: gymnasium's classes, or stand-ins that say what to install."""

from __future__ import annotations

from typing import Any, NoReturn

try:
    from gymnasium import Env as BaseEnv
    from gymnasium.vector import VectorEnv as BaseVectorEnv
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith("gymnasium"):
        raise

    class BaseEnv:  # type: ignore[no-redef]
        """Stands in for gymnasium's, so that the names of `contactlab.learning` are there without it."""

        def __new__(cls, *_: Any, **__: Any) -> NoReturn:
            """Say what to install."""
            message = "gymnasium is not installed: pip install 'contactlab[learning]'"
            raise ModuleNotFoundError(message, name="gymnasium")

    BaseVectorEnv = BaseEnv

__all__ = ["BaseEnv", "BaseVectorEnv"]
