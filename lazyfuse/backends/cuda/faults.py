"""What CUDA reports -> errors that say what to do.

CUDA's errors are known by name, so that this needs neither cupy nor a GPU.
"""

from __future__ import annotations

from lazyfuse.errors import DeviceUnavailableError

#: The classes of cupy whose message begins with the name of CUDA's error.
_CUDA_ERRORS = frozenset(("CUDARuntimeError", "CUDADriverError"))
_GONE = (
    "the GPU works no more for this process: arrays that were not copied to the host are lost; "
    "start the process again, and see nvidia-smi and the system's log"
)
_TOO_OLD = (
    "the driver is too old for the installed CUDA: update it, or install lazyfuse[cuda12] "
    "in place of lazyfuse[cuda13]"
)
_TOO_NEW = "the installed CUDA does not know this GPU: install lazyfuse[cuda13]"
_NO_GPU = "no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES"
#: Parts of the names of CUDA's errors, without case and underscores, and what to do.
_ADVICE = {
    "insufficientdriver": _TOO_OLD,
    "unsupportedptxversion": _TOO_OLD,
    "systemdrivermismatch": "restart the machine: its driver was updated while in use",
    "nokernelimagefordevice": _TOO_NEW,
    "nobinaryforgpu": _TOO_NEW,
    "errornodevice": _NO_GPU,
    "invaliddevice": "there is no GPU of this number: lazyfuse.devices() lists those there are",
    "unavailable": "another process has the GPU for itself, or it is in a prohibited mode",
    "illegaladdress": _GONE,
    "misalignedaddress": _GONE,
    "launchfail": _GONE,
    "launchtimeout": _GONE,
    "illegalinstruction": _GONE,
    "hardwarestackerror": _GONE,
    "eccuncorrectable": _GONE,
    "devicelost": _GONE,
    "contextisdestroyed": _GONE,
    "unknown": _GONE,
}


def advice(error: BaseException) -> str:
    """What to do about an error of CUDA."""
    name = str(error).partition(":")[0].replace("_", "").lower()
    return next((text for part, text in _ADVICE.items() if part in name), "see nvidia-smi")


def is_cudas(error: BaseException) -> bool:
    """Whether an error is CUDA's own: of its runtime or its driver."""
    return type(error).__name__ in _CUDA_ERRORS


class Reported:
    """A context in which errors of CUDA become DeviceUnavailableError, with what to do; all else
    passes.
    """

    __slots__ = ("device",)

    def __init__(self, device: str) -> None:
        self.device = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.tell(error)

    def tell(self, error: BaseException) -> None:
        """Raise DeviceUnavailableError for an error of CUDA. For what runs so often that entering
        a context would show."""
        if is_cudas(error):
            message = f"{self.device} failed: {error}. What to do: {advice(error)}"
            raise DeviceUnavailableError(message) from error
