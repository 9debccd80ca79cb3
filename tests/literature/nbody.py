"""Gravitating bodies by the leapfrog method; after P. Mocz, Create your own N-body simulation."""

import numpy as np


def acceleration(pos, mass, G, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def energy(pos, vel, mass, G):
    kinetic = 0.5 * np.sum(np.sum(mass * vel**2))
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    inv_r = np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2 + (z.T - z) ** 2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    potential = G * np.sum(np.sum(np.triu(-(mass * mass.T) * inv_r, 1)))
    return kinetic, potential


N, dt, softening, G = 120, 0.01, 0.1, 1.0
np.random.seed(17)
mass = 20.0 * np.ones((N, 1)) / N
pos = np.random.randn(N, 3)
vel = np.random.randn(N, 3)
vel -= np.mean(mass * vel, 0) / np.mean(mass)

acc = acceleration(pos, mass, G, softening)
kinetic, potential = energy(pos, vel, mass, G)
energies = np.zeros((51, 2))
energies[0] = kinetic, potential
for i in range(50):
    vel += acc * dt / 2.0
    pos += vel * dt
    acc = acceleration(pos, mass, G, softening)
    vel += acc * dt / 2.0
    energies[i + 1] = energy(pos, vel, mass, G)

drift = abs(energies.sum(axis=1) / energies[0].sum() - 1).max()
print(f"energy drift: {drift:.6f}")
print("momentum zero:", np.allclose((mass * vel).sum(axis=0), 0))
print("furthest:", int(np.argmax((pos**2).sum(axis=1))))
