"""The names of `lazyfuse`: what each name of NumPy is here.

`lookup(name)` is the module's `__getattr__`. `kind(name)` tells how a name is made, one of

    native      recorded by own code: operations, views, creation
    composed    NumPy's own Python code over native names (`rehost.py`)
    call        a library call that is recorded; its neighbours still fuse (`library.py`)
    numpy's     NumPy draws, reads or makes it at once: random numbers, files, windows
    fallback    computed at once by NumPy, counted, and refused when asked (`fallback.py`)
    same        the very object of NumPy: dtypes, constants, printing, errors

The first table that lists a name decides. Names of submodules are dotted: `linalg.norm`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
from collections.abc import Mapping
from functools import cache, partial, reduce, wraps
from typing import Any

import numpy as np
from numpy._core import multiarray

from lazyfuse import config
from lazyfuse.frontend import (
    buffers,
    converter,
    creation,
    exchange,
    fallback,
    files,
    functions,
    joining,
    linalg,
    manipulation,
    moves,
    older,
    others,
    picking,
    quantiles,
    ranges,
    reductions,
    registry,
    relayout,
    scans,
    sorting,
    statistics,
    transforms,
    views,
)
from lazyfuse.frontend.array import LazyArray
from lazyfuse.frontend.array_api import ArrayNamespaceInfo
from lazyfuse.frontend.convert import ForeignError, is_subclass
from lazyfuse.frontend.function import Function
from lazyfuse.frontend.grids import Grid
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.homes import at_home
from lazyfuse.frontend.iteration import nditer
from lazyfuse.frontend.lib import lib
from lazyfuse.frontend.methods import open_bounds
from lazyfuse.frontend.rehost import Host
from lazyfuse.frontend.shortcuts import remembered, several
from lazyfuse.frontend.ufunc import UFUNCS, Product, Ufunc
from lazyfuse.ops.rules import Rule, of_numpys
from lazyfuse.runtime.caller import call_as_user

#: Names of own modules; what NumPy calls the same is the same object.
_OWN: Mapping[types.ModuleType, str] = {
    creation: "array asarray asanyarray ascontiguousarray asfortranarray zeros ones empty full "
    "zeros_like ones_like empty_like full_like arange eye identity",
    buffers: "frombuffer",
    exchange: "from_dlpack",
    files: "load",
    manipulation: "reshape ravel transpose matrix_transpose swapaxes "
    "squeeze expand_dims atleast_1d atleast_2d atleast_3d copy repeat",
    views: "flip flipud fliplr rot90 diagonal broadcast_to broadcast_arrays",
    joining: "concatenate stack vstack hstack array_split split vsplit hsplit dsplit unstack roll",
    picking: "take compress choose nonzero put putmask place",
    reductions: "sum prod max min amax amin any all count_nonzero argmax argmin",
    scans: "cumsum cumprod cumulative_sum cumulative_prod",
    statistics: "mean var std trace",
    sorting: "unique_values",
    functions: "where round around astype copyto shape ndim size result_type "
    "can_cast isscalar may_share_memory shares_memory",
}

#: Those of one array whose other arguments are axes, dtypes and the like.
_REMEMBERED = (
    *_OWN[reductions].split(),
    *_OWN[statistics].split(),
    *"copy astype round around array zeros_like ones_like empty_like full_like".split(),
)

#: Recorded library calls.
_CALLS: Mapping[types.ModuleType, str] = {
    linalg: "dot inner vdot",
    quantiles: "median quantile percentile",
    sorting: "sort argsort partition argpartition lexsort searchsorted",
}

#: NumPy's Python code over the names above.
_COMPOSED = (
    "clip moveaxis real imag nan_to_num apply_along_axis "
    "allclose angle append apply_over_axes argwhere array_equal array_equiv average block "
    "column_stack convolve corrcoef correlate cov cross delete diag diag_indices "
    "diag_indices_from diagflat diff digitize dstack ediff1d einsum extract fill_diagonal fix "
    "flatnonzero fromfunction geomspace gradient histogram2d i0 indices insert interp isclose "
    "iscomplex iscomplexobj isfortran isneginf isposinf isreal isrealobj iterable ix_ kron "
    "linspace logspace mask_indices meshgrid nanargmax nanargmin nancumprod nancumsum "
    "nanmax nanmean nanmin nanprod nanstd nansum nanvar "
    "outer pad piecewise polyadd polyder polyint polymul polysub polyval ptp "
    "put_along_axis real_if_close require resize rollaxis select sinc sort_complex "
    "take_along_axis tensordot tile trapezoid tri tril tril_indices_from trim_zeros triu "
    "triu_indices_from unwrap vander "
    "linalg.cross linalg.diagonal linalg.matmul linalg.matrix_norm linalg.matrix_power "
    "linalg.matrix_transpose linalg.multi_dot linalg.norm linalg.outer linalg.tensordot "
    "linalg.trace linalg.vecdot linalg.vector_norm "
    "fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn "
    "fft.ifftshift fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn"
).split()


def _outer(a: Any, b: Any, out: Any = None) -> Any:
    """The products of all pairs of elements of two vectors; None for all else."""
    if not (type(a) is type(b) is LazyArray and out is None and a.ndim == b.ndim == 1):
        return None
    return a[:, None] * b


#: Shorter ways for usual calls of some of them; they give None for others.
_SHORTER: Mapping[str, Any] = {
    "angle": functions.angle,
    "block": joining.block,
    "clip": functions.clipped,
    "diag": views.diag,
    "extract": picking.extract,
    "flatnonzero": picking.flatnonzero,
    "imag": functions.imag,
    "linspace": ranges.linspace,
    "nan_to_num": functions.nan_to_num,
    "outer": _outer,
    "pad": moves.pad,
    "real": functions.real,
}

#: Those of one array that record the same for all its values, by recipes (`recipes.py`).
_RECALLED = frozenset("angle diff ediff1d nan_to_num pad sinc trapezoid".split())

#: What NumPy draws, reads or makes: arrays come back as LazyArrays, and nothing is counted.
_NUMPYS = (
    "bartlett blackman hamming hanning kaiser tril_indices triu_indices fromfile "
    "fromiter fromregex fromstring genfromtxt loadtxt save savetxt savez savez_compressed "
    "array2string array_repr array_str einsum_path nested_iters bmat asmatrix asarray_chkfinite "
    "busday_count busday_offset datetime_as_string datetime_data info is_busday isnat "
).split()

#: Objects whose index expressions make arrays.
GRIDS = ("r_", "c_", "mgrid", "ogrid")

#: Functions about dtypes, errors and printing, which take no arrays.
_SAME = frozenset(
    "dtype errstate seterr geterr seterrcall geterrcall setbufsize getbufsize printoptions "
    "set_printoptions get_printoptions finfo iinfo promote_types issubdtype min_scalar_type "
    "show_config show_runtime test broadcast_shapes typename isdtype get_include vectorize "
    "frompyfunc mintypecode ndindex format_float_positional format_float_scientific "
    "base_repr binary_repr common_type".split()
)

#: Those that give a view of an array for plain arguments.
_VIEWS = frozenset(("moveaxis", "rollaxis"))

#: Private names that are NumPy's: what other libraries give for an argument that is not given, and
#: where their old names of modules are now.
_PRIVATE = ("_NoValue", "_core")

#: NumPy's second names.
_ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift", "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift", "conj": "conjugate", "mod": "remainder",
    "pow": "power", "true_divide": "divide", "concat": "concatenate", "permute_dims": "transpose",
}  # fmt: skip

_COMPILED: Any = importlib.import_module("numpy._core._multiarray_umath")

#: Private C functions of NumPy that its Python code calls, and ours.
_PRIMITIVES = {
    id(multiarray.c_einsum): linalg.einsum,
    id(multiarray.correlate): linalg.correlate,
    id(multiarray.correlate2): linalg.correlate2,
    id(multiarray.interp): sorting.interp,
    id(_COMPILED._monotonicity): sorting.monotonicity,
    id(_COMPILED._array_converter): converter.ArrayConverter,
    **transforms.TRANSFORMS,
}

#: Functions that NumPy's code applies to its own numbers, not to the user's arrays.
_ON_NUMBERS = {
    "numpy.fft._pocketfft": ("sqrt", "reciprocal", "take"),
    "numpy.lib._arraypad_impl": ("_as_pairs",),
}

SUBMODULES = ("linalg", "fft", "random")
#: NumPy's modules of which some functions are ours (`own_modules.py`).
_OWN_MODULES = ("polynomial", "rec")
#: The modules that have what is ours of them; random numbers are imported when asked for.
_MEMBERS = {
    "linalg.det": "linalg", "fft.fftfreq": "transforms", "fft.rfftfreq": "transforms",
    **dict.fromkeys(
        (f"random.{name}" for name in (
            "Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "RandomState", "SFC64",
            "SeedSequence", "default_rng", "mtrand",
        )),
        "sampling",
    ),
}  # fmt: skip
_MEMBER_KINDS = {"linalg": "call", "fft": "native", "random": "numpy's"}


def _listed(table: Mapping[types.ModuleType, str]) -> dict[str, Any]:
    return {
        name: getattr(module, name) for module, names in table.items() for name in names.split()
    }


#: Functions that make arrays of NumPy's own class of those of classes derived from it.
_OF_VALUES = frozenset(("asarray", "ascontiguousarray", "asfortranarray"))


def _guarded(name: str, function: Any) -> Any:
    """A function of the namespace: arrays that only NumPy knows (objects, strings, dates, masked)
    go to NumPy's. It has NumPy's signature, unless it takes more than NumPy's function does, and
    its docstring when it has none of its own."""
    public = getattr(np, name)

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if _is_anothers(name, kwargs):
            return public(*args, **kwargs)
        if others.decide(public, args, kwargs):
            return others.call(public, args, kwargs)
        if args and is_subclass(args[0]):
            if name not in _OF_VALUES:
                return fallback.call(public, *args, **kwargs)
            args = (np.asarray(args[0]), *args[1:])
        try:
            return function(*args, **kwargs)
        except ForeignError:
            return fallback.call(public, *args, **kwargs)

    guarded.asks_others = True  # type: ignore[attr-defined]  # functions take attributes
    guarded.__module__, guarded.__qualname__ = "lazyfuse", name
    guarded.__name__ = public.__name__
    guarded.__doc__ = function.__doc__ or public.__doc__
    _sign(guarded, public)
    return guarded


def _sign(function: Any, public: Any) -> None:
    """Give a function the signature of NumPy's, unless it takes more than that does."""
    if hasattr(public, "__signature__"):
        function.__signature__ = public.__signature__
        return
    inner = getattr(public, "__wrapped__", public)
    text = getattr(inner, "__text_signature__", None)
    has_signature = text or isinstance(inner, types.FunctionType)
    if has_signature and not _takes_more(function.__wrapped__, inner):
        function.__wrapped__ = inner
        function.__text_signature__ = text


#: Functions whose `like=` names the array of the library that is to make the array.
_LIKE = frozenset(
    "arange array asanyarray asarray ascontiguousarray asfortranarray empty eye frombuffer "
    "fromfunction full identity ones require tri zeros".split()
)


def _is_anothers(name: str, kwargs: dict[str, Any]) -> bool:
    """Whether `like=` asks for another library's array, or is wrong: NumPy knows. Arrays of ours
    and NumPy's ask for one of ours, and are taken out."""
    if "like" not in kwargs or name not in _LIKE:
        return False
    like = kwargs["like"]
    if like is not None and not isinstance(like, Handle) and type(like) is not np.ndarray:
        return True
    del kwargs["like"]
    return False


def _takes_more(function: Any, numpys: Any) -> bool:
    """Whether a function has keywords that NumPy's does not have (the Array API's)."""
    code = inspect.unwrap(function).__code__
    own = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    text = getattr(numpys, "__text_signature__", None)
    known = re.findall(r"\w+", text) if text else inspect.getargs(numpys.__code__).args
    return not {*own} <= {*known}


def _native() -> dict[str, Any]:
    listed = {**_listed(_OWN), **_listed(_CALLS), **older.FUNCTIONS}
    own = {name: _guarded(name, function) for name, function in listed.items()}
    own["where"] = several(own["where"])
    own |= {name: remembered(own[name]) for name in _REMEMBERED}
    own["roll"] = remembered(own["roll"], is_for_any_shape=False)  # by an axis, and around its end
    functions = {name: Function(name, engine, getattr(np, name)) for name, engine in own.items()}
    names: dict[str, Any] = {**UFUNCS, **functions}
    names.update({alias: names[name] for alias, name in _ALIASES.items()})
    names["ndarray"] = LazyArray
    names["ufunc"] = Ufunc
    names["lib"] = lib
    names["nditer"] = nditer
    names["__array_namespace_info__"] = ArrayNamespaceInfo
    return names


NATIVE: Mapping[str, Any] = _native()


def lookup(name: str) -> Any:
    """What `lazyfuse.<name>` is.
    Raises: AttributeError for names that NumPy does not have either."""
    if name in (*SUBMODULES, "testing"):
        return importlib.import_module(f"lazyfuse.{name}")
    if name not in NATIVE and name.startswith("_") and name not in _PRIVATE:
        raise AttributeError(f"module 'lazyfuse' has no attribute {name!r}")
    # of what NumPy gives when it is asked for, it has something to say, each time
    is_kept = name in NATIVE or name in _OWN_MODULES or name in vars(np)
    return _kept(name) if is_kept else _found(name)


def made() -> dict[str, Any]:
    """The names that need not be made first: those that record, NumPy's types and its constants.
    The module has them from the start, for programs that look into `vars(np)`."""
    same = {
        name: value
        for name, value in vars(np).copy().items()  # which other threads add to
        if not name.startswith("_") and kind(name, value) == "same"
    }
    return {**same, **NATIVE}


@cache
def _kept(name: str) -> Any:
    """What a name is, which the module keeps: a lookup costs more than a small sum."""
    return vars(sys.modules["lazyfuse"]).setdefault(name, _found(name))


def _found(name: str) -> Any:
    if name in NATIVE:
        return NATIVE[name]
    if name in GRIDS:
        return Grid(name, HOST)
    if name in _OWN_MODULES:
        own_modules = importlib.import_module("lazyfuse.frontend.own_modules")
        return own_modules.OwnModule(_of_numpy(name), {})
    return _adapted(name, _of_numpy(name))


def _of_numpy(name: str) -> Any:
    """NumPy's object. Raises: AttributeError in NumPy's words, which say what took its place."""
    try:
        return call_as_user(getattr, np, name)
    except AttributeError as error:
        words = str(error).replace("module 'numpy'", "module 'lazyfuse'")
        raise AttributeError(words) from None


@cache
def member(module: str, name: str) -> Any:
    """What `lazyfuse.<module>.<name>` is, for a submodule of functions.
    Raises: AttributeError for names that NumPy does not have either."""
    dotted = f"{module}.{name}"
    plain = getattr(getattr(np, module), name)
    if dotted not in _MEMBERS:
        return _adapted(dotted, plain)
    own = getattr(importlib.import_module(f"lazyfuse.frontend.{_MEMBERS[dotted]}"), name)
    return own if module == "random" else Function(dotted, own, plain)


def _adapted(name: str, value: Any) -> Any:
    """Our version of NumPy's value, by the tables."""
    match kind(name, value):
        case "composed":
            engine = _spared(name, value, at_home(HOST.function(value)))
            if name == "clip":
                engine = several(engine, choice=open_bounds)
            if name in _VIEWS:
                engine = relayout.remembered(engine)
            engine = _shortened(name, engine)
            if name in _RECALLED:
                engine = remembered(engine, is_for_any_shape=False)
            return Function(name, engine, value)
        case "numpy's":
            is_writing = fallback.writes_first(value)
            engine = Outside(name, value, fallback.write if is_writing else fallback.run)
            is_drawn = name.startswith("random.") and not is_writing
            return Function(name, engine, value) if is_drawn else engine
        case "fallback":
            engine = Outside(name, value, fallback.call)
            told = partial(fallback.announce, name, "NumPy")
            return Function(name, engine, value, Rule.ANY, told, larger=of_numpys(name))
    return value


def _spared(name: str, public: Any, composed: Any) -> Any:
    """NumPy's code on our names; an array that only NumPy knows goes to NumPy's own function."""

    @wraps(composed)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _is_anothers(name, kwargs):
            return public(*args, **kwargs)
        if others.decide(public, args, kwargs):
            return others.call(public, args, kwargs)
        if args and isinstance(args[0], np.ndarray) and not fallback.is_known(args[0].dtype):
            return fallback.call(public, *args, **kwargs)
        return composed(*args, **kwargs)

    call.asks_others = True  # type: ignore[attr-defined]  # functions take attributes
    return call


def _shortened(name: str, composed: Any) -> Any:
    """A composed function, or the shorter way in the usual case."""
    shorter = _SHORTER.get(name)
    if shorter is None:
        return composed

    @wraps(composed)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = shorter(*args, **kwargs)
        if found is not None:
            return found
        if kwargs.get("device") is None:
            return composed(*args, **kwargs)
        with config.options(device=str(kwargs["device"])):  # numbers become arrays there, too
            return composed(*args, **kwargs)

    call.asks_others = True  # type: ignore[attr-defined]  # functions take attributes
    return call


def kind(name: str, value: Any) -> str:
    """How a name of NumPy is made here; see the module."""
    if name in NATIVE:
        recorded = name in _listed(_CALLS) or isinstance(NATIVE[name], Product)
        return "call" if recorded else "native"
    if name in _COMPOSED or name in GRIDS:
        return "composed"
    if name in (*SUBMODULES, *_OWN_MODULES, "testing"):
        return "native"
    if name in _MEMBERS:
        return _MEMBER_KINDS[name.partition(".")[0]]
    if isinstance(value, type | types.ModuleType) or not callable(value) or name in _SAME:
        return "same"
    return "numpy's" if name in _NUMPYS or name.startswith("random.") else "fallback"


def _find(name: str) -> Any:
    """Our object for a public name, for NumPy's code."""
    module, _, inner = name.rpartition(".")
    if module in SUBMODULES:
        return member(module, inner)
    first, *rest = name.split(".")
    return reduce(getattr, rest, lookup(first))


HOST = Host(_find, _PRIMITIVES, _ON_NUMBERS)


class Outside:
    """A NumPy function on LazyArrays: arguments are materialized, results wrapped. `run` says
    whether its calls are counted."""

    def __init__(self, name: str, function: Any, run: Any) -> None:
        self._name = name
        self._call = partial(run, function)
        self.__name__ = getattr(function, "__name__", name)
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _find, (self._name,)

    def __eq__(self, other: object) -> bool:
        """As NumPy's function, which a table of a class's own functions is asked for."""
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return f"<lazyfuse's {self._name}, by NumPy>"


def numpy_names() -> list[str]:
    """The names of NumPy that are names here."""
    return sorted({*NATIVE, *np.__all__} - {"core", "f2py"})  # long to import, and old


def names() -> list[str]:
    """All names, for `dir(lazyfuse)`."""
    package = vars(sys.modules["lazyfuse"])
    own = (name for name in package if name.startswith("__") or not name.startswith("_"))
    return sorted({*own, *package["__all__"], *numpy_names()})


registry.NATIVE.update(NATIVE)
registry.MADE_LATE.update(dict.fromkeys((*_COMPOSED, *_MEMBERS), _find))
registry.NATIVE["lib.stride_tricks.sliding_window_view"] = lib.stride_tricks.sliding_window_view
