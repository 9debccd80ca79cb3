"""What machine code tries before NumPy's function is called: each is a piece of LLVM text that
gives a result or goes on; see `methods_module.py`."""

from __future__ import annotations

from lazyfuse.backends.cpu import methods_folds_text, methods_product_text, methods_reshapes_text
from lazyfuse.backends.cpu import methods_operators_text as of_operators
from lazyfuse.backends.cpu.defer import CODES
from lazyfuse.ops.rules import METHODS as RULES
from lazyfuse.ops.rules import Rule, in_one, middling

#: Of the methods in machine code, those that write into their array.
_WRITING = frozenset("fill sort partition".split())


def before(name: str, plain: int, method: int) -> str:
    """What a method tries first; `plain`: where NumPy's own is, `method`: where Python's is."""
    usual = reshaped(name) + folded(name) + deferred_method(name) + of_memory(name, plain)
    return (witnessed(method) if public_name(name) in _WRITING else "") + usual


def witnessed(method: int) -> str:
    """What leaves a call to Python while a function is recorded: it may write."""
    call = "@general(ptr %seeing, ptr %self, ptr %args, i64 %count, ptr %names)"
    return of_operators.WITNESSED.format(method=method, call=call)


def recall_of(name: str) -> str:
    """The function that knows what came of such calls on arrays of the engine."""
    is_view = public_name(name) in methods_reshapes_text.METHODS
    return "remembered_view" if is_view else "remembered"


def of_memory(name: str, plain: int) -> str:
    """What lets NumPy multiply vectors and matrices that are in memory."""
    return methods_product_text.DOT.format(plain=plain) if name == "dot_method" else ""


def reshaped(name: str) -> str:
    """What gives an array of the engine another shape."""
    public = public_name(name)
    return at_once(f"engine_{public}") if public in methods_reshapes_text.ORDERED else ""


def public_name(name: str) -> str:
    return name.removesuffix("_method")


def rule_of(name: str) -> int:
    """The rule of a method that is called by name, or of an operator; of products Python decides,
    where NumPy is not asked at once."""
    public = public_name(name)
    rule = RULES.get(public, Rule.NONE)
    is_known = rule in (Rule.FIRST, Rule.SPREAD, Rule.TIMES)
    return in_one(rule, middling(public)) if is_known else int(Rule.NONE)


def deferred_method(name: str) -> str:
    """What puts a method off where that can be done."""
    if name == "astype_method":
        late = put_off("@defer_cast(ptr %self, ptr %args, i64 %count, ptr %names)")
        return at_once("quick_astype") + late
    code = CODES.get(public_name(name))
    call = f"@defer_method(i64 {code}, ptr %self, ptr %args, i64 %count, ptr %names)"
    return "" if code is None else put_off(call)


def at_once(function: str) -> str:
    """What calls a function of `methods_quick_text.py` with all arguments."""
    call = f"@{function}(ptr %self, ptr %args, i64 %count, ptr %names)"
    return of_operators.QUICK.format(call=call)


def folded(name: str) -> str:
    """What reduces a few elements to one, or copies an array."""
    fold = public_name(name)
    if fold == "copy":
        return at_once("quick_copy")
    if fold not in methods_folds_text.FOLDS:
        return ""
    call = f"@quick_fold(ptr @fold_{fold}, ptr %self, i64 %count, ptr %names)"
    return of_operators.QUICK.format(call=call)


#: What puts a function off.
CALL = "@deferred_call(ptr %self, ptr %args, i64 %count, ptr %names)"


def put_off(call: str) -> str:
    """What gives the result of a call that puts an operation off, where it does."""
    return of_operators.DEFER.format(call=call)
