"""Runs functions on threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any


def concurrently(work: Callable[..., Any], each: Iterable[tuple[Any, ...]]) -> None:
    """Call `work` with each of these arguments, on a thread of its own; wait for all."""
    threads = [threading.Thread(target=work, args=arguments) for arguments in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
