"""The project's own errors and warnings. Misuse raises NumPy's types instead."""

from __future__ import annotations


class LazyfuseError(Exception):
    """Something inside the engine failed;
    the message says on which ops and where they were recorded."""


class DeviceUnavailableError(LazyfuseError, RuntimeError):
    """The device asked for cannot be used here; the message says why and what to do."""


class FallbackError(LazyfuseError, TypeError):
    """`options(fallback="error")` is set and a function left the engine for NumPy."""


class FallbackWarning(UserWarning):
    """A function left the engine for NumPy;
    said once per call site when `options(fallback="warn")`."""


class UnfusedWarning(UserWarning):
    """A kernel could not be built, or there is no compiler:
    the plan ran op by op through NumPy."""


class VerifyError(LazyfuseError, AssertionError):
    """A stage broke an invariant of the IR: a defect of lazyfuse."""
