"""Conway's game of life, after N. Rougier, From Python to NumPy, 4.2."""

import numpy as np


def iterate(Z):
    N = (
        Z[0:-2, 0:-2]
        + Z[0:-2, 1:-1]
        + Z[0:-2, 2:]
        + Z[1:-1, 0:-2]
        + Z[1:-1, 2:]
        + Z[2:, 0:-2]
        + Z[2:, 1:-1]
        + Z[2:, 2:]
    )
    birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
    survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
    Z[...] = 0
    Z[1:-1, 1:-1][birth | survive] = 1
    return Z


glider = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]])
board = np.zeros((20, 20), dtype=int)
board[2:5, 2:5] = glider
for _ in range(24):
    iterate(board)
print(board)
rows, columns = np.nonzero(board)
print(list(zip(rows.tolist(), columns.tolist())))

np.random.seed(1)
soup = np.random.randint(0, 2, (200, 300))
soup[0, :] = soup[-1, :] = soup[:, 0] = soup[:, -1] = 0
population = []
for _ in range(60):
    iterate(soup)
    population.append(soup.sum())
population = np.array(population)
print(population, population.argmax())
