"""Names -> our functions, for `__array_function__`: those of submodules are dotted.
`namespace.py` fills it from its tables when it is imported."""

from __future__ import annotations

from typing import Any

NATIVE: dict[str, Any] = {}
