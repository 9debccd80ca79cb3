"""What recording in machine code (`record_module.py`) has to be told of objects.

Where objects keep their attributes is measured by who loads the code (`runtime/recorder.py`) and
written into the text; the objects themselves are entries of the table.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Objects of the table: classes, sets and dicts that are looked into, prototypes, functions.
OBJECTS = (
    *("SCALAR", "FORMS", "FLOATS", "TRUE", "FALSE", "MANY"),
    *("OURS", "THEIRS", "ERROR_NAMES", "KNOWN_NAME", "STATE", "WARNINGS", "FILTERS_NAME"),
    *("CONST", "VIEW", "STORAGE", "LAYOUT", "VIEW_ARRAY"),
    *("MAP", "UPDATE", "CONST_CLASS", "SIGNATURE", "IS_COSTLY"),
    *("OPTIONS", "ORPHAN_BYTES", "TURN_DEPTH", "ORPHANED", "ENFORCE", "ACQUIRE", "RELEASE"),
    *("MEMORY", "READY", "WATCH", "GONE", "RUNS", "FORM_OF", "WRITTEN", "RECENT", "FILL"),
)
#: Attributes of which the text has to know the place, by the class that has them.
ATTRIBUTES: Mapping[str, str] = {
    "node": "shape dtype strides srcs buffer depth held users seen origin handle form",
    "map": "_mapkind is_costly",
    "mapkind": "form",
    "view": "layout",
    "update": "layout",
    "const": "value from_shape",
    "storage": "node device _thread _is_shared",
    "handle": "_storage _layout _writeable _owner _cast _host",
    "form": "shape dtype strides layout nbytes",
    "modes": "state filters first modes",
    "options": "max_pending_nodes max_pending_bytes",
    "watch": "node",
    "buffer": "pointer exclusive _block nbytes",
}
#: Their names in the text, where these are others.
_NAMES = {
    "storage__is_shared": "storage_shared",
    "options_max_pending_nodes": "options_nodes",
    "options_max_pending_bytes": "options_bytes",
}
FUNCTIONS = ("recorded", "written", "traced", "flushed", "row")


def place_name(kind: str, attribute: str) -> str:
    """What the text calls the place of an attribute."""
    name = f"{kind}_{attribute}"
    return _NAMES.get(name, name.replace("__", "_"))
