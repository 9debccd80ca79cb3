"""Options priced by simulated paths; after Y. Hilpisch, Python for Finance, 12."""

import math

import numpy as np

S0, K, T, r, sigma = 100.0, 105.0, 1.0, 0.05, 0.2
M, I = 50, 20_000
dt = T / M
np.random.seed(1000)

z = np.random.standard_normal((M + 1, I // 2))
z = np.concatenate((z, -z), axis=1)
z = (z - z.mean()) / z.std()

S = np.zeros_like(z)
S[0] = S0
for t in range(1, M + 1):
    S[t] = S[t - 1] * np.exp((r - 0.5 * sigma**2) * dt + sigma * math.sqrt(dt) * z[t])

european = math.exp(-r * T) * np.mean(np.maximum(S[-1] - K, 0))
asian = math.exp(-r * T) * np.mean(np.maximum(S[1:].mean(axis=0) - K, 0))
alive = (S < 130).all(axis=0)
barrier = math.exp(-r * T) * (np.maximum(S[-1] - K, 0) * alive).sum() / I
print(f"european {european:.6f} asian {asian:.6f} barrier {barrier:.6f}")

paths = S0 * np.exp(np.cumsum((r - 0.5 * sigma**2) * dt + sigma * math.sqrt(dt) * z[1:], axis=0))
print("paths agree:", np.allclose(paths, S[1:]))

h = np.maximum(K - S, 0)  # an American put, after Longstaff and Schwartz
V = h[-1].copy()
df = math.exp(-r * dt)
for t in range(M - 1, 0, -1):
    money = h[t] > 0
    reg = np.polyfit(S[t, money], V[money] * df, 3)
    C = np.polyval(reg, S[t, money])
    V *= df
    V[money] = np.where(C > h[t, money], V[money], h[t, money])
american = df * V.mean()
print(f"american {american:.4f}")
print(np.round(np.percentile(S[-1], [5, 50, 95]), 6))
