"""Functions of SciPy's and scikit-learn's that take any library of the Array API, as a program:
`python -m tests.array_api_programs`. Both ask the environment when they are imported. Prints what
does not give an Array with the values that NumPy's arrays give; see `test_ecosystem_array_api.py`.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from scipy import cluster, fft, integrate, ndimage, signal, special, stats
from scipy.optimize import elementwise
from sklearn import metrics
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import LabelEncoder, MinMaxScaler, PolynomialFeatures, StandardScaler

from lazyfuse import array_api

Data = dict[str, Any]
#: Rows; small arrays are NumPy's.
SIZES = (60, 20_000)


def data(size: int) -> Data:
    draw = np.random.default_rng(2)
    x = draw.normal(size=(size, 5))
    labels = (x[:, 0] + x[:, 1] / 2 + draw.normal(size=size) / 10 > 0).astype("i8")
    target = x @ np.arange(5.0) + draw.normal(size=size) / 10
    return {"x": x, "labels": labels, "target": target, "other": draw.normal(size=(size, 5))}


def root(d: Data) -> Any:
    """Of many equations at once."""
    begin = 0 * d["target"]
    found = elementwise.find_root(
        lambda x, c: x**3 + x - c, (begin - 9, begin + 9), args=(d["target"] / 9,)
    )
    return found.x


PROGRAMS: dict[str, Callable[[Data], Any]] = {
    "zscore": lambda d: stats.zscore(d["x"], axis=0),
    "ttest": lambda d: stats.ttest_ind(d["x"], d["other"]).pvalue,
    "describe": lambda d: stats.describe(d["target"]).variance,
    "skew": lambda d: stats.skew(d["x"]),
    "pearson": lambda d: stats.pearsonr(d["target"], d["x"][:, 4]).statistic,
    "rank": lambda d: stats.rankdata(d["target"]),
    "entropy": lambda d: stats.entropy(d["x"] ** 2),
    "detrend": lambda d: signal.detrend(d["target"]),
    "convolve": lambda d: signal.convolve(d["target"], d["target"][:20]),
    "dct": lambda d: fft.dct(d["target"]),
    "filter": lambda d: ndimage.gaussian_filter(d["x"], 1.5),
    "trapezoid": lambda d: integrate.cumulative_trapezoid(d["target"]),
    "logsumexp": lambda d: special.logsumexp(d["x"], axis=1),
    "whiten": lambda d: cluster.vq.whiten(d["x"]),
    "roots": root,
    "scaler": lambda d: StandardScaler().fit_transform(d["x"]),
    "range": lambda d: MinMaxScaler().fit_transform(d["x"]),
    "polynomials": lambda d: PolynomialFeatures().fit_transform(d["x"]),
    "labels": lambda d: LabelEncoder().fit_transform(d["labels"]),
    "components": lambda d: PCA(3, svd_solver="full").fit_transform(d["x"]),
    "ridge": lambda d: Ridge(solver="svd").fit(d["x"], d["target"]).predict(d["x"]),
    "ridges": lambda d: RidgeCV().fit(d["x"], d["target"]).predict(d["x"]),
    "discriminant": lambda d: (
        LinearDiscriminantAnalysis().fit(d["x"], d["labels"]).predict_proba(d["x"])
    ),
    "logistic": lambda d: LogisticRegression().fit(d["x"], d["labels"]).predict_proba(d["x"]),
    "bayes": lambda d: GaussianNB().fit(d["x"], d["labels"]).predict_proba(d["x"]),
    "mixture": lambda d: (
        GaussianMixture(2, init_params="random", random_state=0).fit(d["x"]).predict_proba(d["x"])
    ),
    "errors": lambda d: array_api.asarray(
        metrics.mean_squared_error(d["target"], d["target"] * 0.9)
    ),
    "confusion": lambda d: metrics.confusion_matrix(d["labels"], 1 - d["labels"]),
}


def difference(program: Callable[[Data], Any], size: int) -> str:
    """What is wrong, if anything is."""
    plain = data(size)
    wanted = np.asarray(program(plain))
    try:
        found = program({name: array_api.asarray(value) for name, value in plain.items()})
    except Exception as error:  # a library refuses it
        return f"{type(error).__name__}: {error}"
    if type(found) is not array_api.Array:
        return f"is {type(found)}"
    # solvers that go on until little changes
    is_close = np.allclose(np.asarray(found), wanted, rtol=1e-6, atol=1e-6)
    return "" if is_close else "has other values"


def main() -> None:
    sklearn.set_config(array_api_dispatch=True)
    for name, program in PROGRAMS.items():
        for size in SIZES:
            wrong = difference(program, size)
            if wrong:
                print(f"{name}, {size}: {wrong}")


if __name__ == "__main__":
    main()
