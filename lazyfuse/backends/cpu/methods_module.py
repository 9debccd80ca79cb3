"""The text of the operators of small arrays (`methods.py`), for LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lazyfuse.backends.cpu import (
    defer_text,
    methods_adopt_text,
    methods_call_text,
    methods_complex_text,
    methods_copied_text,
    methods_direct_text,
    methods_elements_text,
    methods_factors_text,
    methods_forms_text,
    methods_functions_text,
    methods_gathered_text,
    methods_into_text,
    methods_kinds_text,
    methods_loops_text,
    methods_makers_text,
    methods_masked_text,
    methods_novel_text,
    methods_numbers_text,
    methods_pairs_text,
    methods_parts_text,
    methods_passing_text,
    methods_places_text,
    methods_plain_text,
    methods_power_text,
    methods_product_text,
    methods_quick_text,
    methods_recall_text,
    methods_remembered_text,
    methods_reshapes_text,
    methods_results_text,
    methods_room_text,
    methods_rules_text,
    methods_sequences_text,
    methods_shown_text,
    methods_sizes_text,
    methods_slots_text,
    methods_small_text,
    methods_steps_text,
    methods_windows_text,
    methods_writes_text,
    record_module,
)
from lazyfuse.backends.cpu import methods_operators_text as of_operators
from lazyfuse.backends.cpu import methods_text as templates
from lazyfuse.backends.cpu import methods_ways as ways
from lazyfuse.backends.cpu.defer import CODES, STATE
from lazyfuse.backends.cpu.launch import NS_PER_THREAD, RANGES_PER_THREAD, WAKE_NS
from lazyfuse.backends.cpu.launch_cut import UNIT_ELEMENTS
from lazyfuse.backends.cpu.methods import (
    BINARY,
    CALLS,
    CLASS,
    CODE,
    COMPARISONS,
    ELLIPSIS,
    FLOAT,
    FLOAT64,
    FUNCTIONS,
    HOST,
    INT,
    INT64,
    METHODS,
    NAMED,
    NDARRAY,
    NONE,
    NONE_TYPE,
    OBJECTS,
    OPERATORS,
    OWNER,
    RECIPES,
    SLICE,
    TUPLE,
    UFUNC,
    UNARY,
)
from lazyfuse.backends.cpu.methods_kinds_text import PLAIN_TYPES
from lazyfuse.backends.cpu.short_forms import expanded
from lazyfuse.ops.rules import COMMUTING, REUSING, WORDS, Rule

#: NumPy's numbers of the dtypes that arrays have here (NPY_TYPES of its ndarraytypes.h), as bits:
#: bool to ulonglong, float, double, cfloat, cdouble, half.
_KNOWN_DTYPES = sum(1 << number for number in (*range(13), 14, 15, 23))

#: Entries of the table that putting off asks.
_DEFERRING = {
    "CLASS": CLASS, "NDARRAY": NDARRAY, "HOST": HOST, "OWNER": OWNER, "FLOAT": FLOAT, "INT": INT,
    "TUPLE": TUPLE, "CODE": CODE,
    "STRONG": FLOAT64,
}  # fmt: skip
_ASKED = "OPTIONS TRUE FALSE WARNINGS FILTERS_NAME AXIS KEEPDIMS NEW_SCALAR TYPE TEXT".split()

#: Arguments that are looked at, and that go on the stack; operands large and small together.
_MOST_ARGUMENTS, _MOST_MIXED = 64, 8
#: Axes of a window.
_MOST_AXES = 16
#: Where the types of plain arguments begin.
_PLAIN = METHODS + 2 * len(FUNCTIONS) + len(OBJECTS)
_NUMPYS = _PLAIN + len(PLAIN_TYPES)
_KINDS = methods_kinds_text.places(_PLAIN)


def text(attributes: Mapping[str, int], triple: str) -> str:
    """The module, for LLVM. `attributes`: where objects keep theirs (`record_module.text`)."""
    places = {
        "size": _NUMPYS + len(OPERATORS) + len(NAMED), "none": NONE,
        "ndarray": NDARRAY, "class_": CLASS, "host": HOST, "owner": OWNER, "float_": FLOAT,
        "int_": INT, "slice_": SLICE, "tuple_": TUPLE, "ellipsis": ELLIPSIS,
        "none_type": NONE_TYPE, "ufunc": UFUNC, "recipes": RECIPES, "float64": FLOAT64,
        "int64": INT64,
    }  # fmt: skip
    objects = {name: METHODS + 2 * len(FUNCTIONS) + number for number, name in enumerate(OBJECTS)}
    known = {**places, **objects, **attributes, **_KINDS}
    parts = [templates.HEAD.format(**places), of_operators.OPERAND.format(**places)]
    parts.append(record_module.text(known))
    asked = {name: objects[name] for name in _ASKED} | {"MISSING": _method("missing")}
    asked |= {name: _KINDS[f"T_{name}"] for name in ("NUMPYS_FLOAT", "NUMPYS_INT")}
    parts.append(defer_text.text({**_DEFERRING, **asked, "INT_LONG": INT64}))
    for name, function in BINARY.items():
        parts += _arithmetic(name, function)
    for name, number in COMPARISONS.items():
        call = f"@refused_{name}(ptr %host, ptr %operand)"
        parts.append(of_operators.COMPARISON.format(name=name, number=number))
        engine = _record(name, f"numpys_{name}")
        parts.append(_binary(name, call, of_operators.WRAP, engine, _deferred(name), _quick(name)))
    for name, function in UNARY.items():
        parts.append(f"declare ptr @{function}(ptr)")
        at_once = _numpys(name, function)
        engine = _record(name, at_once, second="null", other="null")
        parts.append(
            of_operators.UNARY.format(
                name=name, function=function, host=HOST, record=engine, method=_method(name),
                defer=_deferred(name, second="null"),
                quick=_quick(name, second="%self"),
                is_other="call i1 @is_complex(ptr %host)" if name == "abs" else "or i1 0, 0",
                may_be_other="call i1 @are_complex(ptr %self)" if name == "abs" else "or i1 0, 0",
                other_way="@modulus(ptr %self)" if name == "abs" else "@nothing()",
            )
        )  # fmt: skip
    parts.append(templates.ITEM.format(method=_method("item"), **places))
    parts.append(
        methods_call_text.CALL.format(
            method=_method("call"), absolute=objects["ABSOLUTE"], out=objects["OUT"],
            list=objects["LIST"], numpys=objects["NUMPYS"],
            defer=ways.witnessed(_method("call")) + ways.at_once("quick_call")
            + ways.put_off(ways.CALL),
            rule_none=int(Rule.NONE), rule_spread=int(Rule.SPREAD), **places,
        )
    )  # fmt: skip
    parts.append(
        methods_power_text.POWER.format(
            method=_method("power"), host=HOST, float_=FLOAT, int_=INT, power=objects["POWER"],
            squares=objects["SQUARES"],
            defer=ways.at_once("quick_power") + ways.deferred_method("__pow__"),
        )
    )  # fmt: skip
    parts += _on_small(objects, attributes, triple)
    parts.append(_slots(objects))
    return "\n".join(parts)


def _slots(objects: Mapping[str, int]) -> str:
    """What CPython calls at once."""
    calls = [
        methods_slots_text.CALL.format(
            name=name,
            method=objects[named],
            items=tuple.__basicsize__,
            vector=objects["VECTOR"],
        )
        for name, named in CALLS.items()
    ]
    return "".join((
        expanded(methods_slots_text.SLOTS, {"T_DELETE_ITEM": objects["DELETE_ITEM"]}),
        methods_slots_text.comparison(COMPARISONS),
        methods_slots_text.each(methods_slots_text.UNARY, (*UNARY, "iter")),
        methods_slots_text.each(methods_slots_text.BINARY, (*BINARY, "matmul"), class_=CLASS),
        *calls,
    ))  # fmt: skip


def _words(objects: Mapping[str, int], attributes: Mapping[str, int]) -> dict[str, int]:
    """What names stand for in the texts of functions on small arrays."""
    words: dict[str, int] = {}
    for table in _tables(objects, attributes):
        clashes = [name for name, word in table.items() if words.setdefault(name, word) != word]
        if clashes:
            raise ValueError(f"words with two meanings in machine code: {', '.join(clashes)}")
    return words


def _tables(
    objects: Mapping[str, int], attributes: Mapping[str, int]
) -> Sequence[Mapping[str, int]]:
    return (
        {name.upper(): place for name, place in attributes.items()},
        {f"T_{name}": place for name, place in objects.items()},
        {f"T_{name}": place for name, place in _DEFERRING.items()},
        {f"RULE_{rule.name}": int(rule) for rule in Rule},
        {f"T_{name.upper()}": _method(name)
         for name in "set_item product function array_ufunc class_attribute len iter".split()},
        {"T_UFUNC": UFUNC, "T_RECIPES": RECIPES, "T_INT_LONG": INT64, "T_SLICE": SLICE,
         "T_ELLIPSIS": ELLIPSIS, "T_NONE_TYPE": NONE_TYPE, "HOST_PLACE": HOST,
         "OWNER_PLACE": OWNER, "KNOWN_DTYPES": _KNOWN_DTYPES},
        {"T_RESHAPE": _plain("reshape_method"), "T_COPY_METHOD": _plain("copy_method"),
         "T_FLATTEN": _plain("flatten_method"), "FLATTEN_RULE": ways.rule_of("flatten_method")},
        {"MOST_ARGUMENTS": _MOST_ARGUMENTS, "MOST_OPERANDS": _MOST_MIXED, "MOST_AXES": _MOST_AXES,
         "QUICK_MOST": methods_loops_text.QUICK_MOST, "ROOMS": methods_room_text.ROOMS,
         "TUPLE_ITEMS": tuple.__basicsize__, "STACK_ADDRESS": methods_passing_text.ADDRESS,
         "LETTER_C": ord("c"), "LETTER_F": ord("f"),
         "LETTER_B": ord("b"), "LETTER_I": ord("i"), "LETTER_U": ord("u"), "WRITEABLE_FLAG": 0x400,
         "ALIGNED_FLAG": 0x100, "WRITE_FLAGS": methods_quick_text.WRITE_FLAGS},
        {"NS_PER_THREAD": int(NS_PER_THREAD), "WAKE_NS": int(WAKE_NS),
         "UNIT_ELEMENTS": UNIT_ELEMENTS, "RANGES_PER_THREAD": RANGES_PER_THREAD},
        _KINDS, WORDS, STATE, methods_passing_text.KINDS, defer_text.ARRAY, defer_text.NOVELTY,
        methods_rules_text.OPENS, methods_adopt_text.FLAGS, methods_product_text.SIZES,
        methods_places_text.BOUNDS, methods_makers_text.BOUNDS, methods_numbers_text.BOUNDS,
        methods_plain_text.BOUNDS, methods_gathered_text.BOUNDS, methods_elements_text.BOUNDS,
        methods_direct_text.DIRECT, methods_direct_text.FORMS,
    )  # fmt: skip


def _on_small(objects: Mapping[str, int], attributes: Mapping[str, int], triple: str) -> list[str]:
    """What calls NumPy's functions on small arrays."""
    words = _words(objects, attributes)
    texts = (
        methods_small_text.SMALL, methods_sequences_text.SEQUENCES,
        methods_kinds_text.KINDS, methods_into_text.INTO,
        methods_results_text.RESULTS, methods_functions_text.FUNCTIONS,
        methods_functions_text.FUNCTION.format(
            defer=ways.witnessed(_method("function"))
            + ways.at_once("quick_call")
            + ways.put_off(ways.CALL),
            rule_place=objects["FUNCTION_RULE"],
        ),
        methods_windows_text.WINDOWS, methods_novel_text.NOVEL, methods_rules_text.RULES,
        methods_factors_text.FACTORS, methods_forms_text.FORMS,
        methods_pairs_text.PAIRS, methods_writes_text.WRITES,
        methods_elements_text.ELEMENTS, methods_parts_text.HEAD, methods_complex_text.COMPLEX,
        methods_shown_text.SHOWN,
        methods_product_text.PRODUCT, methods_adopt_text.ADOPT, methods_places_text.PLACES,
        methods_recall_text.RECALL, methods_sizes_text.SIZES, methods_direct_text.TEXT,
        methods_steps_text.STEPS, methods_room_text.ROOM, methods_makers_text.MAKERS,
        methods_numbers_text.NUMBERS, methods_plain_text.PLAIN, methods_passing_text.PASSING,
        methods_reshapes_text.RESHAPES, methods_remembered_text.REMEMBERED,
        methods_copied_text.COPIED, methods_gathered_text.GATHERED, methods_masked_text.MASKED,
    )  # fmt: skip
    text = expanded("".join(texts), words)
    made = {**dict.fromkeys(OPERATORS, methods_functions_text.OPERATOR),
            **dict.fromkeys(NAMED, methods_functions_text.NAMED)}  # fmt: skip
    text += methods_parts_text.parts(HOST, OWNER) + methods_quick_text.text(
        words, CODES, _numpys_own(), triple
    )
    return [text] + [
        template.format(
            name=name,
            plain=_plain(name),
            method=_method(name),
            recipes=_method(name) + len(FUNCTIONS),
            is_reflected=str(name == "rmatmul").lower(),
            rule=ways.rule_of(name),
            recall=ways.recall_of(name),
            quick=ways.put_off("@quick_matmul(ptr %self, ptr %other)") if name == "matmul" else "",
            defer=ways.before(name, _plain(name), _method(name)),
        )
        for name, template in made.items()
    ]


def _plain(name: str) -> int:
    """Where NumPy's own method or operator is."""
    return _NUMPYS + (*OPERATORS, *NAMED).index(name)


def _method(name: str) -> int:
    return METHODS + FUNCTIONS.index(name)


def _arithmetic(name: str, function: str) -> list[str]:
    """An operator, reflected and in place too."""
    in_place = _numpys_own()[f"i{name}"]
    at_once, changes = _numpys(name, function), _numpys(f"i{name}", in_place)
    late, changes_late = (f.replace("numpys_", "refused_") for f in (at_once, changes))
    within = f"ptr @within_{name}" if changes != in_place else "ptr null"
    record = _record(name, at_once)
    reflected = _record(f"r{name}", at_once, first="%other", second="%self")
    if name in REUSING:
        commutes = str(name in COMMUTING).lower()
        kinds = methods_passing_text.kinds(REUSING[name])
        record, reflected = (
            f"{call[:-1]}, ptr @{changes}, i1 {commutes}, i64 {kinds})".replace(
                "@large(", "@large_or_reused("
            )
            for call in (record, reflected)
        )
    return [
        f"declare ptr @{function}(ptr, ptr)",
        f"declare ptr @{in_place}(ptr, ptr)",
        _binary(name, f"@{late}(ptr %host, ptr %operand)", of_operators.WRAP,
                record, _deferred(name), _quick(name)),
        _binary(f"r{name}", f"@{late}(ptr %operand, ptr %host)", of_operators.WRAP, reflected,
                _deferred(name, "%other", "%self"), _quick(name, "%other", "%self")),
        _binary(f"i{name}", f"@{changes_late}(ptr %host, ptr %operand)", of_operators.SAME,
                f"@large_write({_places(f'i{name}')}, ptr %self, ptr %other, ptr @{changes}, "
                f"{within})", _deferred(name, function="defer_in_place"),
                _witnessed(f"i{name}") + _quick(name, function="quick_i"), any_shape="true"),
    ]  # fmt: skip


def _witnessed(name: str) -> str:
    """What leaves a write to Python while a function is recorded."""
    call = "(ptr, ...) @PyObject_CallFunctionObjArgs(ptr %seeing, ptr %self, ptr %other, ptr null)"
    return of_operators.WITNESSED.format(method=_method(name), call=call)


def _binary(
    name: str, call: str, done: str, engine: str, defer: str, quick: str,
    any_shape: str = "false",
) -> str:  # fmt: skip
    is_in_place = engine.startswith("@large_write")
    mixed = engine.replace("@large_write", "@small_write") if is_in_place else engine
    return of_operators.BINARY.format(
        name=name, call=call, done=done, any_shape=any_shape, record=engine, defer=defer,
        mixed=mixed, host=HOST, quick=quick,
    )  # fmt: skip


def _deferred(
    name: str, first: str = "%self", second: str = "%other", function: str = "defer"
) -> str:
    """What puts an operator off where that can be done."""
    code = CODES.get("absolute" if name == "abs" else f"__{name}__")
    call = f"@{function}(i64 {code}, ptr {first}, ptr {second})"
    return "" if code is None else ways.put_off(call)


def _numpys_own() -> dict[str, str]:
    """The C functions that apply operators to arrays of NumPy's."""
    compared = {name: f"compare_{name}" for name in COMPARISONS}
    changing = {
        f"i{name}": function.replace("PyNumber_", "PyNumber_InPlace")
        for name, function in BINARY.items()
    }
    return {**BINARY, **UNARY, "abs": "absolute_of_reals", **compared, **changing}


def _numpys(name: str, function: str) -> str:
    """What does an operator on arrays of NumPy's: a C function, or what is quicker."""
    own = {*methods_quick_text.OPERATORS, *(f"i{name}" for name in methods_quick_text.CHANGING)}
    return f"numpys_{name}" if name in own else function


def _quick(
    name: str, first: str = "%self", second: str = "%other", function: str = "quick_"
) -> str:
    """What does an operator on a few elements, where there is a loop for it."""
    own = methods_quick_text.CHANGING if function == "quick_i" else methods_quick_text.OPERATORS
    if name not in own:
        return ""
    return of_operators.QUICK.format(call=f"@{function}{name}(ptr {first}, ptr {second})")


def _record(
    name: str,
    function: str,
    *,
    first: str = "%self",
    second: str = "%other",
    other: str = "%other",
) -> str:
    """The call that records an operator, or lets a C function of NumPy's compute it."""
    order = f"ptr {first}, ptr {second}, ptr %self, ptr {other}, ptr @{function}"
    return f"@large({_places(name)}, {order})"


def _places(name: str) -> str:
    """Where the recipes and the Python method of an operator are."""
    method = _method(name)
    return f"i64 {method + len(FUNCTIONS)}, i64 {method}"
