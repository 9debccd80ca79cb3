"""Laplace's equation by Jacobi's iteration; after L. Barba, 12 steps to Navier-Stokes, step 9."""

import numpy as np

nx = ny = 61
x = np.linspace(0, 2, nx)
y = np.linspace(0, 1, ny)
dx, dy = x[1] - x[0], y[1] - y[0]

p = np.zeros((ny, nx))
p[:, 0] = 0
p[:, -1] = y
p[0, :] = p[1, :]
p[-1, :] = p[-2, :]

l1norm, steps = 1.0, 0
pn = np.empty_like(p)
while l1norm > 1e-3 and steps < 2000:
    pn = p.copy()
    p[1:-1, 1:-1] = (
        dy**2 * (pn[1:-1, 2:] + pn[1:-1, 0:-2]) + dx**2 * (pn[2:, 1:-1] + pn[0:-2, 1:-1])
    ) / (2 * (dx**2 + dy**2))
    p[:, 0] = 0
    p[:, -1] = y
    p[0, :] = p[1, :]
    p[-1, :] = p[-2, :]
    l1norm = (np.sum(np.abs(p[:]) - np.abs(pn[:]))) / np.sum(np.abs(pn[:]))
    steps += 1

print(steps, l1norm)
np.set_printoptions(precision=6, suppress=True)
print(p[::12, ::12])
gy, gx = np.gradient(p, dy, dx)
print(np.unravel_index(np.argmax(np.hypot(gx, gy)), p.shape))
np.set_printoptions(edgeitems=3, precision=8, suppress=False)
