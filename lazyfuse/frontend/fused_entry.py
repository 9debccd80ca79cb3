"""Calls of fused functions in machine code: what that is told of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.frontend.convert import source
from lazyfuse.frontend.handle import Handle, handle
from lazyfuse.frontend.native_methods import native_sample
from lazyfuse.frontend.signature import plain_mark
from lazyfuse.ir.storage import Storage
from lazyfuse.runtime import replay_code


def can_enter(fused: Any) -> bool:
    """Whether calls of fused functions are machine code, from now on at the latest."""
    if not config.current().native or config.current().float_errors == "check":
        return False
    if replay_code.is_installed():
        return True
    sample, kind = native_sample(), type(fused)
    storage = Storage(source(np.empty(1), "cpu"), "cpu")
    node, large = storage.node, handle(Handle._concrete, storage)
    parts = {
        "HOST": (sample.wrapper, sample.array), "OWNER": (sample.wrapper, sample.owner),
        "STORAGE": (large, storage), "LAYOUT": (large, large._layout), "NODE": (storage, node),
        "DEVICE": (storage, storage.device), "THREAD": (storage, storage._thread),
        "IS_SHARED": (storage, False), "FORM": (node, node.formed()),
        "BUFFER": (node, node.buffer), "ENTRIES": (fused, fused._entries),
    }  # fmt: skip
    objects = {"CLASS": Handle._concrete, "MARKER": plain_mark}
    return replay_code.install(kind, parts, objects, kind.__call__.__doc__ or "")
