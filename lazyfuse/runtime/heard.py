"""Operators of NumPy, called from inside the package at little cost, and heard.

NumPy gives its warnings at the line that called it, which would be one of ours. So an operator
runs in a context of its own, where `np.errstate` has a listener take down what NumPy says;
afterwards, in the user's context again, it is said at the user's line, as the errstate there wants
it. That adds about 0.1 us to an operator that meets no condition.

The context holds nothing else, so only what calls nobody back may run in it. All else goes by
`call_as_user`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from threading import get_ident
from typing import Any

import numpy as np

from lazyfuse.ops.float_flags import BITS
from lazyfuse.runtime.caller import user_frame, warn_here
from lazyfuse.runtime.error_modes import current_modes, keyword_of, tell

#: What NumPy has said and nobody was told yet, by thread.
messages: dict[int, list[str]] = {}


class _Listener:
    """Takes NumPy's messages in `np.errstate(all="log")`."""

    def write(self, text: str) -> None:
        message = text.removeprefix("Warning: ").rstrip()
        messages.setdefault(get_ident(), []).append(message)


listening = Context()
listening.run(np.seterr, all="log")
listening.run(np.seterrcall, _Listener())
#: A context can be entered once at a time, so each operator takes a copy.
_context = listening.copy


def heard(operator: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    """`operator(*operands, **keywords)`, whose floating point conditions are told the user as
    `np.errstate` says. Raises: what the operator raises; FloatingPointError, or what a handler or
    a filter raises, when the operator is done."""
    value = quietly(operator, *operands, **keywords)
    if messages:
        tell_heard()
    return value


def quietly(operator: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    """`operator(*operands, **keywords)`, whose floating point conditions are taken down:
    `tell_heard` tells them, where user code may run. Raises: what the operator raises."""
    try:
        return _context().run(operator, *operands, **keywords)
    except BaseException:
        forget()
        raise


def forget() -> None:
    """Forget what NumPy said of this thread's operator."""
    messages.pop(get_ident(), None)


def tell_heard() -> None:
    """Tell the user what NumPy said of this thread's operator, if it did. Raises:
    FloatingPointError, or what a handler or a filter raises."""
    said = messages.pop(get_ident(), ())
    if not said:
        return
    modes = current_modes()
    bits = sum({BITS[keyword_of(message)] for message in said})
    frame = user_frame(0) if bits & modes.reported else None
    if frame is None:
        return
    for message in said:
        if modes.by_name[keyword_of(message)] == "warn":
            warn_here(message)
        else:
            tell((frame.f_code, frame.f_lasti, modes), message, bits)
