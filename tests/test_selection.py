"""How LLVM selects instructions for the functions of machine code (`selection.py`)."""

from __future__ import annotations

import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no machine code", allow_module_level=True)

from lazyfuse.backends.cpu import methods_module, record  # noqa: E402
from lazyfuse.backends.cpu.selection import hot, selected_quickly  # noqa: E402
from lazyfuse.frontend import native_methods  # noqa: E402
from lazyfuse.runtime import recorder, session  # noqa: E402

TEXT = """\
declare ptr @f(ptr, ...)

define internal ptr @calls(ptr %a) {
  %made = call ptr (ptr, ...) @f(ptr %a, ptr null)
  ret ptr %made
}

define i32 @of_two_lines(ptr %a, i64 %size,
                         ptr %out) {
  ret i32 0
}

define internal void @numbered(ptr %a) prefix i64 7 {
  ret void
}

define internal i1 @inlined(ptr %a) alwaysinline {
  ret i1 true
}

define internal i1 @works(ptr %a) hot {
  ret i1 true
}
"""


def test_functions_are_marked() -> None:
    found = selected_quickly(TEXT)
    assert found.replace(" noinline optnone", "") == TEXT
    assert found.count(" noinline optnone {") == 2
    assert "@numbered(ptr %a) noinline optnone prefix i64 7 {" in found
    assert "@inlined(ptr %a) alwaysinline {" in found
    assert "@works(ptr %a) hot {" in found
    session.backend("cpu").compiler.compile(found, level=1)  # LLVM takes it


def test_what_works_by_itself_is_hot() -> None:
    found = hot(TEXT)
    assert found.replace(" hot", "") == TEXT.replace(" hot", "")
    assert found.count(" hot {") == 3 and "@inlined(ptr %a) alwaysinline {" in found
    assert selected_quickly(found) == found
    session.backend("cpu").compiler.compile(found, level=1)


def test_all_of_the_methods_are() -> None:
    recording = native_methods._recording(lf.LazyArray)
    places = recorder.places(recording, record.ATTRIBUTES, record.place_name)
    text = methods_module.text(places, session.backend("cpu").compiler.triple)
    heads = [part.partition("{")[0] for part in text.split("\ndefine ")[1:]]
    assert len(heads) > 500
    marks = ("alwaysinline", "optnone", "hot")
    assert all(any(mark in head for mark in marks) for head in heads)
    slow = [head for head in heads if " hot" in head]
    assert 50 < len(slow) < 150  # what puts operations off
