"""What processes of their own are given."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def python_path() -> str:
    """Where they import from: this checkout first, then what `PYTHONPATH` says here."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
