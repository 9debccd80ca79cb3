"""Every way to call a ufunc and its methods does what NumPy does: keywords, outputs, refusals."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import corpus, oracle
from tests.test_fusion import kernels

BINARY = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "fmin",
    "less", "logical_or", "bitwise_xor", "left_shift", "arctan2", "gcd", "copysign",
)  # fmt: skip
UNARY = ("negative", "absolute", "sqrt", "rint", "isnan", "invert", "logical_not", "sign", "exp")
SEVERAL = ("divmod", "modf", "frexp")
TYPES = ("?", "i1", "i4", "u8", "f2", "f4", "f8", "c8")
ULP = 4


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as raised:  # noqa: BLE001 - any exception type is an answer here
        return corpus.refusal(raised)


def _values(dtype: str, *shape: int) -> Any:
    values = corpus.random_values(dtype, int(host.prod(shape))).reshape(shape)
    return values % 7 if dtype[0] in "iu" else values


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", (*BINARY, *UNARY))
def test_fixed_dtypes(name: str, dtype: str) -> None:
    """`dtype=`, `signature=` and `casting=` choose the loop, or refuse, as in NumPy."""
    count = 2 if name in BINARY else 1

    def program(np: Any, x: Any) -> dict[str, Any]:
        ufunc, operands = getattr(np, name), (x, x[::-1])[:count]
        found = {}
        for asked in ("?", "i4", "f4", "c16"):
            for casting in ("same_kind", "unsafe"):
                found[f"{asked} {casting}"] = _attempt(
                    lambda a=asked, c=casting: ufunc(*operands, dtype=a, casting=c)
                )
                fixed = (asked,) * count + (None,)
                found[f"operands {asked} {casting}"] = _attempt(
                    lambda f=fixed, c=casting: ufunc(*operands, signature=f, casting=c)
                )
        return found

    oracle.check(program, _values(dtype, 3, 4), ulp=ULP, zero_sign=False)


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("name", (*BINARY, *UNARY, *SEVERAL))
def test_outputs(name: str, target: str) -> None:
    """Outputs by position and keyword, alone and in tuples, cast, masked, and broadcast into."""
    count, several = (2 if name in (*BINARY, "divmod") else 1), name in SEVERAL

    def program(np: Any, x: Any, mask: Any) -> list[Any]:
        ufunc, operands = getattr(np, name), (x, x[::-1] + 1)[:count]
        outs = [np.ones(shape, target) for shape in ((3, 4), (3, 4), (2, 3, 4), (3, 8), (4,))]
        results = []
        for number, out in enumerate(outs):
            out = out[:, ::2] if number == 3 else out
            given = (out, np.zeros(out.shape)) if several else (out,)
            results += [
                _attempt(lambda g=given: ufunc(*operands, *g) is not None),
                _attempt(lambda g=given: ufunc(*operands, out=g, where=mask) is not None),
                _attempt(lambda g=given: ufunc(*operands, out=g, casting="unsafe") is not None),
                *given,
            ]
        return results + outs

    x = _values("i4" if name in ("invert", "bitwise_xor", "left_shift", "gcd") else "f8", 3, 4)
    oracle.check(program, x, host.arange(12).reshape(3, 4) % 3 == 0, ulp=ULP, zero_sign=False)


def test_outputs_that_overlap_operands() -> None:
    """An output may be an operand, a part of it, or reversed: operands are read first."""

    def program(np: Any, x: Any) -> list[Any]:
        y = np.arange(24.0).reshape(4, 6)
        np.add(x, x[::-1], out=x)
        np.multiply(x[1:], 2, out=x[:-1])
        np.divmod(y, x + 100, out=(y, x))
        np.subtract(y.T, 1, out=y.T, where=y.T > 2)
        np.maximum(y[0], y, out=y)
        return [x, y, np.add(x, 1, x), np.add(x, 1, out=(x,)) is x]

    oracle.check_modes(program, host.arange(24.0).reshape(4, 6))


@pytest.mark.parametrize("order", ("K", "C", "F", "A", None))
def test_order(order: str | None) -> None:
    """`order=` decides the memory order of a new array."""

    def program(np: Any, x: Any) -> list[Any]:
        fortran = np.array(x, order="F")
        pairs = ((x, x), (fortran, fortran), (x, fortran), (x[:, ::2], x[:, ::2]), (x[0], x))
        return [
            *(np.add(a, b, order=order) for a, b in pairs),
            np.add(fortran, 1, order=order, where=x > -1, out=None),
            np.sqrt(x.T, order=order),
            *np.modf(fortran, order=order),
            np.add(fortran, 2, order=order, dtype="f4"),
        ]

    oracle.check(program, host.arange(12.0).reshape(3, 4))


def test_masks() -> None:
    """`where=` takes arrays, scalars and lists; it may broadcast the result."""

    def program(np: Any, x: Any, mask: Any) -> list[Any]:
        out = np.full((2, 3, 4), -1.0)
        return [
            np.add(x, 1, out=out, where=mask), np.add(x, 1, out=out, where=mask[0]),
            np.add(x, 1, out=out, where=[True, False, True, False]), np.add(x, 1, where=True),
            np.add(x, 1, out, where=False), np.add(x, 1, out=None, where=1),
            np.sqrt(x, out=out, where=x > 3), np.add(x, x, where=np.True_, out=out[0]),
            np.add(x, 1, out=None, where=np.ones((2, 1, 1), bool)).shape,
            _attempt(lambda: np.add(x, 1, out=x, where=np.ones((2, 1, 1), bool))),
            _attempt(lambda: np.add(x, 1, where=np.array([1, 0, 1, 1]), out=x)),
            _attempt(lambda: np.add(x, 1, where=x, out=x)),
        ]  # fmt: skip

    mask = host.arange(12).reshape(3, 4) % 2 == 0
    oracle.check(program, host.arange(12.0).reshape(3, 4), mask)


def test_a_mask_without_an_output_warns() -> None:
    """NumPy warns of undefined elements, at the user's line; `out=None` says they are meant."""
    x = oracle.lf.arange(4.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        oracle.lf.add(x, 1, where=x > 1)
        oracle.lf.add(x, 1, where=x > 1, out=None)
        host.add(x, 1, where=x > 1)
    assert [item.category for item in caught] == [UserWarning] * 2
    assert {item.filename for item in caught} == {__file__}


CALLS: dict[str, Callable[..., Any]] = {
    "arrays for scalars": lambda np, a, i: [
        np.add(1, 2, out=...) + 1, np.divmod(5, 2, out=...), np.add.reduce(a[0], out=...),
        np.matmul(a[0], a[1], out=...), np.add.outer(1, 2, out=...), np.clip(3, 1, 2, out=...),
        np.add.accumulate(a, out=...), np.add.reduceat(a[0], [0], out=...),
        np.sqrt(a, out=..., where=a > -1),
    ],
    "an ellipsis per result": lambda np, a, i: np.add(1, 2, out=(...,)),
    "an ellipsis by position": lambda np, a, i: np.add(1, 2, ...),
    "no mask": lambda np, a, i: np.add(a, 1, where=host._NoValue, out=a),
    "too few": lambda np, a, i: np.add(1),
    "too many": lambda np, a, i: np.add(1, 2, 3, 4),
    "none": lambda np, a, i: np.add(),
    "out twice": lambda np, a, i: np.add(a, a, a, out=a),
    "unknown keyword": lambda np, a, i: np.add(a, a, foo=1),
    "two outputs": lambda np, a, i: np.add(a, a, out=(a, a)),
    "no output": lambda np, a, i: np.add(a, a, out=()),
    "output a list": lambda np, a, i: np.add(a, a, out=[a]),
    "output a number": lambda np, a, i: np.add(a, a, out=3),
    "output None": lambda np, a, i: (np.add(a, a, None), np.add(a, a, out=(None,))),
    "output cast": lambda np, a, i: np.add(a, a, out=i),
    "output cast by rule": lambda np, a, i: np.add(i, i, out=a, casting="no"),
    "output too small": lambda np, a, i: np.add(a, a, out=np.zeros(3)),
    "output that broadcasts": lambda np, a, i: np.add(a[:, :1], a[0], out=np.zeros((1, 3))),
    "output read-only": lambda np, a, i: np.add(a, a, out=np.broadcast_to(a, (2, 3))),
    "operand cast": lambda np, a, i: np.add(a, a, dtype="i4"),
    "operand cast by rule": lambda np, a, i: np.add(i, a, casting="no"),
    "signatures": lambda np, a, i: (
        np.add(i, i, sig="dd->d"), np.add(i, i, signature="ff->f"), np.add(i, i, dtype=None),
        np.add(i, i, signature=(None, None, "f8")), np.less(i, i, signature="dd->?"),
        np.add(np.float32(1), 1.5, signature="dd->d"),
        np.add(i, i, dtype=host.dtypes.Float64DType),
        np.ldexp(a, i, signature="di->d", casting="same_kind"), np.divmod(i, 2, dtype="f8"),
    ),
    "signature of no letters": lambda np, a, i: np.add(3, 4, signature="%^->#"),
    "signature a dtype": lambda np, a, i: np.add(i, i, signature="f8"),
    "signature of one": lambda np, a, i: np.add(i, i, signature=(float,)),
    "signature too short": lambda np, a, i: np.add(i, i, signature=(float, float)),
    "signature and dtype": lambda np, a, i: np.add(i, i, signature="dd->d", dtype="f8"),
    "signature twice": lambda np, a, i: np.add(i, i, signature="dd->d", sig="dd->d"),
    "no such loop": lambda np, a, i: np.sin(i, dtype=int),
    "no such result": lambda np, a, i: np.equal(a, a, dtype=float),
    "unknown casting": lambda np, a, i: np.add(i, i, casting="foo"),
    "casting None": lambda np, a, i: np.add(i, i, casting=None),
    "unknown order": lambda np, a, i: np.add(i, i, order="X"),
    "subok": lambda np, a, i: np.add(i, i, subok=False),
    "subok no bool": lambda np, a, i: np.add(i, i, subok=None),
    "axis": lambda np, a, i: np.add(i, i, axis=0),
    "keepdims": lambda np, a, i: np.add(i, i, keepdims=True),
    "several results, one output": lambda np, a, i: np.divmod(a, 3, out=a),
    "several results, short tuple": lambda np, a, i: np.divmod(a, 3, out=(a,)),
    "several results, some outputs": lambda np, a, i: (
        np.divmod(a, 3, a), np.divmod(a, 3, out=(None, np.zeros((2, 3)))),
    ),
    "shapes": lambda np, a, i: np.add(a, np.ones(4)),
    "text": lambda np, a, i: np.add("a", 1),
    "nothing": lambda np, a, i: np.add(a, None),
    "bool": lambda np, a, i: np.negative(np.array([True])),
    "floats as bits": lambda np, a, i: np.bitwise_and(a, a),
    "objects": lambda np, a, i: np.add(i, i, dtype=object).tolist(),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_calls(case: str) -> None:
    """Odd calls do what they do in NumPy; refused ones leave their outputs alone."""
    a = host.arange(6.0).reshape(2, 3)
    oracle.check(CALLS[case], a, host.arange(6).reshape(2, 3))


METHODS: dict[str, Callable[..., Any]] = {
    "outer of arrays": lambda np, a: np.add.outer(a, a[0]),
    "outer of lists and scalars": lambda np, a: (
        np.add.outer(a, [1, 2]), np.add.outer([1, 2], 3), np.add.outer(1, 2),
        np.multiply.outer(a[0], 2.0), np.subtract.outer(3, a), host.multiply.outer(a, a),
    ),
    "outer with keywords": lambda np, a: (
        np.add.outer(a[0], a[1], dtype="f4"), np.less.outer(a, 2),
        np.add.outer(a[0], a[1], out=np.zeros((3, 3))), np.divmod.outer([5, 7], [2, 3]),
    ),
    "outer of too many axes": lambda np, a: np.add.outer(np.ones((1,) * 33), np.ones((1,) * 33)),
    "a call through the protocol": lambda np, a: a.__array_ufunc__(np.add, "__call__", a, a),
    "no ufunc through the protocol": lambda np, a: a.__array_ufunc__(1, 2),
    "an ellipsis in a tuple": lambda np, a: np.add.reduce(a, out=(...,)),
    "outer of one": lambda np, a: np.add.outer(a),
    "outer of a unary ufunc": lambda np, a: np.sqrt.outer(a, a),
    "outer of matrices": lambda np, a: np.matmul.outer(a, a),
    "reduceat": lambda np, a: (
        np.add.reduceat(a[0], [0, 2]), np.add.reduceat(a, [0, 1], axis=1),
        np.multiply.reduceat(a, np.array([1, 0, 1])), np.add.reduceat(a[0], [2, 0, 1, 1]),
        np.add.reduceat(a.T, [0, 2], axis=-2), np.add.reduceat(a > 1, [0, 1]),
        np.maximum.reduceat(a[0], []), np.add.reduceat(a[0], [0.0]), np.hypot.reduceat(a, [0]),
        np.add.reduceat(a[0], [0, 2], dtype="f4"), np.add.reduceat([1, 2, 3], [0, 1]),
        np.add.reduceat(a[0], [0, 2], 0, None, np.zeros(2)), np.subtract.reduceat(a, [1]),
    ),
    "reduceat outside": lambda np, a: np.add.reduceat(a[0], [0, 5]),
    "reduceat before": lambda np, a: np.add.reduceat(a[0], [-1]),
    "reduceat of two axes": lambda np, a: np.add.reduceat(a[0], [[0]]),
    "reduceat of a scalar": lambda np, a: np.add.reduceat(3, [0]),
    "reduceat at no axis": lambda np, a: np.add.reduceat(a, [0], axis=2),
    "reduceat in no loop": lambda np, a: np.less.reduceat(a, [0]),
    "reduce": lambda np, a: (
        np.subtract.reduce(a), np.subtract.reduce(a, axis=-1, keepdims=True), np.divide.reduce(a),
        np.hypot.reduce(a), np.power.reduce(a), np.logical_xor.reduce(a), np.arctan2.reduce(a, 1),
        np.floor_divide.reduce(a[::-1] + 1), np.left_shift.reduce(np.array([1, 2, 3])),
        np.gcd.reduce(np.array([12, 18])), np.logaddexp.reduce(a, axis=None),
        np.copysign.reduce(-a), np.equal.reduce(a > 2),
    ),
    "reduce with keywords": lambda np, a: (
        np.add.reduce(a, axis=None, dtype="f4"), np.add.reduce(a, axis=()), np.add.reduce(5),
        np.add.reduce(a, 0, None, None, False, 1, a > 1), np.add.reduce(a, initial=None),
        np.add.reduce(a, where=a > 1), np.multiply.reduce(a, where=[True, False, True]),
        np.maximum.reduce(a, where=a > 1, initial=-1),
        np.hypot.reduce(a, where=a > 1, initial=2.0),
        np.subtract.reduce(a, out=np.zeros(3, "f4")), np.add.reduce(a, out=(np.zeros(3),)),
        np.maximum.reduce(a * 1j, axis=1), np.minimum.reduce(a + 1j, axis=None),
        np.multiply.reduce(a * 1j), np.multiply.reduce(a.astype("f2") + 1, axis=1),
        np.add.reduce(a, where=a[0] > 0, keepdims=True), np.logical_and.reduce(a, dtype=object),
    ),
    "reduce of a unary ufunc": lambda np, a: np.sqrt.reduce(a),
    "reduce of several results": lambda np, a: np.divmod.reduce(a),
    "reduce without order": lambda np, a: np.subtract.reduce(a, axis=(0, 1)),
    "reduce at no axis": lambda np, a: np.hypot.reduce(a, axis=5),
    "reduce twice": lambda np, a: np.add.reduce(a, axis=(0, 0)),
    "reduce with too many": lambda np, a: np.add.reduce(a, 0, None, None, False, 0, True, 1),
    "reduce with an unknown keyword": lambda np, a: np.add.reduce(a, bar=1),
    "reduce with keepdims text": lambda np, a: np.add.reduce(a, keepdims="x"),
    "reduce masked without identity": lambda np, a: np.maximum.reduce(a, where=a > 2),
    "reduce of nothing": lambda np, a: np.divide.reduce(a[:0]),
    "reduce into a wrong shape": lambda np, a: np.subtract.reduce(a, out=np.zeros(2)),
    "reduce into two": lambda np, a: np.add.reduce(a, out=(a, a)),
    "negative powers": lambda np, a: np.power.reduce(np.array([2, -1])),
}  # fmt: skip


@pytest.mark.parametrize("case", METHODS)
def test_methods(case: str) -> None:
    """reduce, reduceat and outer of any ufunc, with every keyword."""
    oracle.check(METHODS[case], host.arange(6.0).reshape(2, 3), ulp=ULP)


PRODUCTS: dict[str, Callable[..., Any]] = {
    "axes": lambda np, a: np.matmul(a, a, axes=[(0, 1), (1, 2), (0, 1)]),
    "vecdot along an axis": lambda np, a: (
        np.vecdot(a, a, axis=0), np.vecdot(a, a, keepdims=True),
    ),
    "matvec and vecmat": lambda np, a: (
        np.matvec(a, a[0, 0]), np.vecmat(a[:, :, 0], a), np.vecdot(1j * a, a),
    ),
    "outputs": lambda np, a: (
        np.matmul(a, a, out=np.zeros((3, 3, 3))), np.matmul(a, a, np.zeros((3, 3, 3), "c16")),
        np.matmul(a, a, out=(a,)) is a, np.matmul(a[0], a[1], out=np.zeros((2, 3, 3))),
    ),
    "dtypes": lambda np, a: (
        np.matmul(a, a, dtype="f4"), np.matmul(a, a, signature="ff->f", casting="same_kind"),
        np.matmul(a, a, order="F"), np.matmul(a, a, subok=False),
    ),
    "axis of matmul": lambda np, a: np.matmul(a, a, axis=0),
    "where of matmul": lambda np, a: np.matmul(a, a, where=True),
    "axes a tuple": lambda np, a: np.matmul(a, a, axes=((0, 1), (1, 2), (0, 1))),
    "axes too few": lambda np, a: np.matmul(a, a, axes=[(0, 1)]),
    "core dimensions": lambda np, a: np.matmul(a, a[:, :2]),
    "scalars": lambda np, a: np.matmul(1, a),
    "output too small": lambda np, a: np.matmul(a, a, out=np.zeros((3, 3))),
    "output cast": lambda np, a: np.matmul(a, a, out=np.zeros((3, 3, 3), int)),
    "too many": lambda np, a: np.matmul(a, a, a, a),
    "reduce": lambda np, a: np.matmul.reduce(a),
}  # fmt: skip


@pytest.mark.parametrize("case", PRODUCTS)
def test_products(case: str) -> None:
    """matmul, vecdot, matvec and vecmat with axes, outputs, dtypes; and their refusals."""
    oracle.check(PRODUCTS[case], host.arange(27.0).reshape(3, 3, 3))


@pytest.mark.engine
def test_what_ufuncs_say_of_themselves() -> None:
    """Attributes, representation, type and pickles are those of a ufunc."""
    lf = oracle.lf
    for name in ("add", "sqrt", "divmod", "matmul", "bitwise_not", "abs"):
        own, theirs = getattr(lf, name), getattr(host, name)
        for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature",
                          "__name__", "__doc__"):  # fmt: skip
            assert getattr(own, attribute) == getattr(theirs, attribute), attribute
        assert repr(own) == repr(theirs)
        assert isinstance(own, lf.ufunc) and isinstance(theirs, lf.ufunc)
        assert pickle.loads(pickle.dumps(own)) is own and copy.deepcopy(own) is own
    assert not isinstance(lf.sum, lf.ufunc) and not isinstance(1, lf.ufunc)
    assert lf.add.resolve_dtypes((host.dtype("i4"), float, None))[2] == host.dtype("f8")


@pytest.mark.engine
def test_calls_are_recorded() -> None:
    """Keywords, methods and products leave nothing to be computed at once."""
    lf = oracle.lf
    x = lf.arange(12.0).reshape(3, 4)
    square = x @ x.T
    out = lf.zeros((3, 4))
    lf.add(x, 1, out=out, where=x > 3, casting="unsafe")
    found = [
        lf.add(x, x, dtype="f4"), lf.add(x, 1, order="F"), lf.add.outer(x, [1, 2]),
        lf.subtract.reduce(x), lf.multiply.reduceat(x, [0, 2]), lf.power.accumulate(x),
        lf.matmul(x, x.T, dtype="f4"), lf.vecdot(x, x, axis=0), lf.add.reduce(x, where=x > 2),
        lf.maximum.reduce(x + 1j, axis=0), lf.hypot.reduce(x, keepdims=True), square, out,
    ]  # fmt: skip
    assert lf.stats().fallbacks == 0 and lf.stats().kernels_launched == 0
    lf.materialize(*found)


@pytest.mark.engine
def test_scipy_special_is_recorded() -> None:
    """Its ufuncs are steps between kernels; the user's own ufuncs run at once."""
    special = pytest.importorskip("scipy.special")

    def program(np: Any, x: Any) -> list[Any]:
        return [special.erf(x * 2) + 1, special.jv(0, x), special.xlogy(x.astype("f4"), 2.0),
                special.gammaln(x[0]), special.expit(x.T)]  # fmt: skip

    x = host.linspace(0.1, 3, 12).reshape(3, 4)
    oracle.check(program, x)
    assert kernels(lambda np, x: special.erf(x * 2 + 1) - 1, x) == 2
    with pytest.raises(TypeError):
        special.erf(oracle.lf.ones(3, "c8") > 0, "x")


@pytest.mark.cpu("small arrays that are NumPy's")
def test_ufuncs_of_others_on_small_arrays_are_called_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`digamma` of three numbers was recorded, planned and run: 100 us, where it takes 0.3."""
    special = pytest.importorskip("scipy.special")
    monkeypatch.delattr("lazyfuse.frontend.recorded.elementwise")
    x = host.linspace(0.1, 3, 12).reshape(3, 4)
    with oracle.options(eager_size=4096):
        oracle.check(lambda np, x: [special.digamma(x.T), special.jv(0, x[0]), x], x)
        oracle.check(lambda np, x: special.sici(np.asarray(x)), x)
        oracle.check(lambda np, x: special.binom(x[0], "one"), x)


def test_user_ufuncs() -> None:
    """frompyfunc and vectorize see the elements."""
    add_one = host.frompyfunc(lambda item: item + 1, 1, 1)
    twice = host.vectorize(lambda item: 2 * item)
    oracle.check(lambda np, x: (add_one(x).tolist(), twice(x)), host.arange(5.0))
