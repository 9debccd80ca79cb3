"""Clusters by Lloyd's algorithm; after J. VanderPlas, Python Data Science Handbook, 5.11."""

import numpy as np


def find_clusters(X, n_clusters, rseed=2):
    rng = np.random.RandomState(rseed)
    i = rng.permutation(X.shape[0])[:n_clusters]
    centers = X[i]
    while True:
        distances = ((X[:, np.newaxis, :] - centers[np.newaxis, :, :]) ** 2).sum(axis=-1)
        labels = distances.argmin(axis=1)
        new_centers = np.array([X[labels == i].mean(0) for i in range(n_clusters)])
        if np.all(centers == new_centers):
            break
        centers = new_centers
    return centers, labels


rng = np.random.RandomState(0)
true_centers = rng.uniform(-8, 8, (4, 2))
truth = rng.randint(0, 4, 3000)
X = true_centers[truth] + 0.9 * rng.randn(3000, 2)

centers, labels = find_clusters(X, 4)
order = np.lexsort((centers[:, 1], centers[:, 0]))
centers, sizes = centers[order], np.bincount(labels)[order]
print(centers)
print(sizes, sizes.sum() == len(X))

inertia = 0.0
for i, center in enumerate(centers):
    members = X[labels == order[i]]
    inertia += ((members - center) ** 2).sum()
    print(i, len(members), f"{members.std():.6f}")
print(f"{inertia:.6f}")
