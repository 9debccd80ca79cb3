"""The Mandelbrot set, escaped points removed; after N. Rougier, From Python to NumPy, 4.2."""

import numpy as np


def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, itermax, horizon=2.0):
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(xmin, xmax, xn)[Xi]
    Y = np.linspace(ymin, ymax, yn)[Yi]
    C = X + Y * 1j
    N_ = np.zeros(C.shape, dtype=int)
    Z_ = np.zeros(C.shape, dtype=complex)
    Xi.shape = Yi.shape = C.shape = xn * yn

    Z = np.zeros(C.shape, complex)
    for i in range(itermax):
        if not len(Z):
            break
        np.multiply(Z, Z, Z)
        np.add(Z, C, Z)
        I = abs(Z) > horizon
        N_[Xi[I], Yi[I]] = i + 1
        Z_[Xi[I], Yi[I]] = Z[I]
        np.logical_not(I, I)
        Z = Z[I]
        Xi, Yi = Xi[I], Yi[I]
        C = C[I]
    return Z_.T, N_.T


Z, N = mandelbrot(-2.25, 0.75, -1.25, 1.25, 180, 150, 40)
print(N.shape, N.dtype, (N == 0).sum(), np.bincount(N.ravel())[:8])
with np.errstate(invalid="ignore", divide="ignore"):
    smooth = np.nan_to_num(N + 1 - np.log2(np.log(abs(Z))), neginf=0.0, posinf=0.0)
print(f"{smooth.mean():.9f}")
