"""Principal components of standardized data; after S. Raschka, Python Machine Learning, 5.1."""

import numpy as np

rng = np.random.default_rng(5)
latent = rng.normal(size=(1500, 3)) * [5.0, 2.0, 0.5]
X = latent @ rng.normal(size=(3, 12)) + 0.3 * rng.normal(size=(1500, 12))
X[:, 4] *= 100

X_std = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
cov_mat = np.cov(X_std.T)
eigen_vals, eigen_vecs = np.linalg.eigh(cov_mat)

order = np.argsort(eigen_vals)[::-1]
eigen_vals, eigen_vecs = eigen_vals[order], eigen_vecs[:, order]
eigen_vecs *= np.sign(eigen_vecs[np.abs(eigen_vecs).argmax(axis=0), range(12)])
var_exp = eigen_vals / eigen_vals.sum()
cum_var_exp = np.cumsum(var_exp)
kept = int(np.searchsorted(cum_var_exp, 0.95)) + 1
print("components for 95 %:", kept)
print(np.round(var_exp, 6))

W = eigen_vecs[:, :kept]
scores = X_std.dot(W)
restored = scores @ W.T
residual = np.linalg.norm(X_std - restored) / np.linalg.norm(X_std)
print(f"residual {residual:.6f}")

singular = np.linalg.svd(X_std, compute_uv=False)
print("svd agrees:", np.allclose(singular**2 / (len(X) - 1), eigen_vals))
print("uncorrelated:", np.allclose(np.corrcoef(scores.T), np.eye(kept), atol=1e-8))
