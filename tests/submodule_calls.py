"""Example calls for every function of `linalg`, `fft` and `random`, as program text.

s  float64 (3, 3), symmetric and regular    k  float64 (2, 3, 3)    z  complex128 (3, 4)
v  float64 (3,)                             a  float64 (6,)         m  float64 (3, 4)
"""

from __future__ import annotations

import numpy as host


def arrays() -> dict[str, host.ndarray]:
    """Make the arrays of the calls."""
    s = host.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 5.0]])
    m = host.arange(12.0).reshape(3, 4) - 4.5
    return {
        "s": s,
        "k": host.stack((s, s @ s + 1)),
        "z": m + 1j * m[::-1],
        "v": host.array([1.0, -2.0, 0.5]),
        "a": host.array([2.5, -1.0, 3.0, 0.0, 2.5, 7.25]),
        "m": m,
    }


LINALG: dict[str, list[str]] = {
    "cholesky": ["f(s)", "f(k, upper=True)"],
    "cond": ["f(s)", "f(s, 1)"],
    "cross": ["f(v, s)"],
    "det": ["f(s)", "f(k)"],
    "diagonal": ["f(k)", "f(k, offset=1)"],
    "eig": ["tuple(f(s))"],
    "eigh": ["tuple(f(s))"],
    "eigvals": ["f(s)"],
    "eigvalsh": ["f(k)"],
    "inv": ["f(s)", "f(k)"],
    "lstsq": ["f(m.T, [1.0, 2, 3, 4])"],
    "matmul": ["f(s, k)"],
    "matrix_norm": ["f(k)", "f(k, ord=1, keepdims=True)"],
    "matrix_power": ["f(s, 5)", "f(k, 0)", "f(s, -2)"],
    "matrix_rank": ["f(s)"],
    "matrix_transpose": ["f(m)"],
    "multi_dot": ["f([s, s, v])", "f([m.T, s, m])"],
    "norm": ["f(m)", "f(v, 1)", "f(m, axis=1)", "f(s, 'nuc')", "f(z)", "f(m, 'fro', (0, 1))"],
    "outer": ["f(v, a)"],
    "pinv": ["f(m)"],
    "qr": ["tuple(f(s))", "f(m, mode='r')"],
    "slogdet": ["tuple(f(s))"],
    "solve": ["f(s, v)", "f(k, s)"],
    "svd": ["tuple(f(m))", "f(m, compute_uv=False)"],
    "svdvals": ["f(m)"],
    "tensordot": ["f(m, s, (0, 0))"],
    "tensorinv": ["f(s[:2, :2], ind=1)"],
    "tensorsolve": ["f(s, v)"],
    "trace": ["f(k)"],
    "vecdot": ["f(z, z)", "f(m, m, axis=0)"],
    "vector_norm": ["f(m)", "f(m, axis=0, ord=3)", "f(v, ord=1)"],
}

FFT: dict[str, list[str]] = {
    "fft": ["f(a)", "f(m, axis=0)", "f(a, 9, norm='ortho')", "f(z, 2)", "f(z.T)"],
    "fft2": ["f(m)", "f(z, s=(4, 2), axes=(0, 1))"],
    "fftfreq": ["f(7, 0.1)"],
    "fftn": ["f(m)", "f(z, axes=[1], norm='forward')"],
    "fftshift": ["f(m)", "f(a, axes=0)"],
    "hfft": ["f(z)"],
    "ifft": ["f(a)", "f(z, norm='ortho')"],
    "ifft2": ["f(z)"],
    "ifftn": ["f(z)"],
    "ifftshift": ["f(a)"],
    "ihfft": ["f(a)"],
    "irfft": ["f(z)", "f(a, 7)"],
    "irfft2": ["f(z)"],
    "irfftn": ["f(z)"],
    "rfft": ["f(a)", "f(m.astype('f4'))", "f(a > 1)"],
    "rfft2": ["f(m)"],
    "rfftfreq": ["f(8)"],
    "rfftn": ["f(m)"],
}

#: Arguments of the methods of a generator; the old functions take the same.
DRAWS: dict[str, list[str]] = {
    "beta": ["2.0, 3.0, 4"],
    "binomial": ["10, 0.3, 4"],
    "bytes": ["5"],
    "chisquare": ["3, 4"],
    "choice": ["a, 3", "5, 4, False", "m, 2"],
    "dirichlet": ["[1.0, 2, 3], 2"],
    "exponential": ["2.0, (2, 2)", "a - a.min()"],
    "f": ["3, 4, 2"],
    "gamma": ["2.0, 1.0, 3"],
    "geometric": ["0.3, 3"],
    "gumbel": ["size=3"],
    "hypergeometric": ["5, 6, 7, 3"],
    "laplace": ["size=3"],
    "logistic": ["size=3"],
    "lognormal": ["size=3"],
    "logseries": ["0.4, 3"],
    "multinomial": ["9, [0.2, 0.3, 0.5], 2"],
    "multivariate_normal": ["v, s, 2"],
    "negative_binomial": ["3, 0.4, 3"],
    "noncentral_chisquare": ["3, 1.0, 3"],
    "noncentral_f": ["3, 4, 1.0, 3"],
    "normal": ["0, 1, (2, 3)", "v, 2.0", ""],
    "pareto": ["3.0, 3"],
    "permutation": ["5", "a", "m"],
    "poisson": ["3.0, 4"],
    "power": ["3.0, 4"],
    "random": ["3", ""],
    "rayleigh": ["size=3"],
    "standard_cauchy": ["3"],
    "standard_exponential": ["3"],
    "standard_gamma": ["2.0, 3"],
    "standard_normal": ["3"],
    "standard_t": ["3, 4"],
    "triangular": ["0, 1, 2, 3"],
    "uniform": ["0, 1, 3", "a, a + 1"],
    "vonmises": ["0.0, 1.0, 3"],
    "wald": ["1.0, 2.0, 3"],
    "weibull": ["2.0, 3"],
    "zipf": ["2.5, 3"],
}

#: What only the new generator has, and what only the old functions have.
NEW_DRAWS = {
    "integers": ["10, size=4", "2, 9, (2, 2), dtype='i4'"],
    "multivariate_hypergeometric": ["[3, 4, 5], 4, 2"],
    "permuted": ["m, axis=1"],
}
OLD_DRAWS = {
    "rand": ["2, 3", ""],
    "randint": ["10, size=4"],
    "randn": ["2, 3"],
    "random_sample": ["3"],
    "ranf": ["3"],
    "sample": ["3"],
}
