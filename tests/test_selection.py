"""Which functions of machine code LLVM selects instructions for with care (`selection.py`)."""

from __future__ import annotations

import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no machine code", allow_module_level=True)

from lazyfuse.backends.cpu.selection import quick_but_where_it_computes  # noqa: E402

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

define internal i1 @inlined(ptr %a) alwaysinline {
  ret i1 true
}

define internal double @adds(double %a) {
  %sum = fadd double %a, 1.0
  ret double %sum
}

define void @loads(ptr %a) {
  %four = load <4 x float>, ptr %a
  ret void
}
"""


def test_what_only_calls_is_selected_quickly() -> None:
    found = quick_but_where_it_computes(TEXT)
    heads = {
        line.partition("@")[2].partition("(")[0]: "noinline optnone {" in line
        for line in found.replace(",\n", ",").splitlines()
        if line.startswith("define")
    }
    expected = {
        "calls": True,
        "of_two_lines": True,
        "inlined": False,
        "adds": False,
        "loads": False,
    }
    assert heads == expected
    assert found.replace(" noinline optnone", "") == TEXT


def test_the_operators_are_marked() -> None:
    """Loops over elements are not; LLVM takes the text."""
    import lazyfuse as lf
    from lazyfuse.backends.cpu import methods_module, record
    from lazyfuse.frontend import native_methods
    from lazyfuse.runtime import recorder, session

    places = recorder.places(
        native_methods._recording(lf.LazyArray), record.ATTRIBUTES, record.place_name
    )
    compiler = session.backend("cpu").compiler
    lines = methods_module.text(places, compiler.triple).splitlines()
    heads = [line for line in lines if line.startswith("define")]
    quick = [line for line in heads if "optnone" in line]
    assert len(quick) > len(heads) // 2
    assert any("@lf_item(" in line for line in quick)
    for name in ("loop_add_double", "pairwise_double", "max_i64"):
        assert not any(f"@{name}(" in line for line in quick)
        assert any(f"@{name}(" in line for line in heads)
