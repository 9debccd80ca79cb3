"""Reaction and diffusion after Gray and Scott; after N. Rougier, From Python to NumPy, 4.3."""

import numpy as np

np.random.seed(2)
n = 160
Du, Dv, F, k = 0.16, 0.08, 0.060, 0.062

U = np.zeros((n + 2, n + 2))
V = np.zeros((n + 2, n + 2))
u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]

r = 15
u[...] = 1.0
U[n // 2 - r : n // 2 + r, n // 2 - r : n // 2 + r] = 0.50
V[n // 2 - r : n // 2 + r, n // 2 - r : n // 2 + r] = 0.25
u += 0.02 * np.random.uniform(-1, 1, (n, n))
v += 0.02 * np.random.uniform(-1, 1, (n, n))


def laplacian(Z):
    return Z[0:-2, 1:-1] + Z[1:-1, 0:-2] - 4 * Z[1:-1, 1:-1] + Z[1:-1, 2:] + Z[2:, 1:-1]


for step in range(200):
    Lu, Lv = laplacian(U), laplacian(V)
    uvv = u * v * v
    u += Du * Lu - uvv + F * (1 - u)
    v += Dv * Lv + uvv - (F + k) * v
    for Z in (U, V):  # periodic edges
        Z[0, :] = Z[-2, :]
        Z[-1, :] = Z[1, :]
        Z[:, 0] = Z[:, -2]
        Z[:, -1] = Z[:, 1]

print(f"u in [{u.min():.6f}, {u.max():.6f}], v in [{v.min():.6f}, {v.max():.6f}]")
print(np.histogram(v, bins=5)[0])
