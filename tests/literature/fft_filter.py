"""A noisy signal cleaned by its spectrum; after Brunton and Kutz, Data-Driven Science and
Engineering, 2.2."""

import numpy as np

rng = np.random.default_rng(4)
dt = 0.0005
t = np.arange(0, 4, dt)
clean = np.sin(2 * np.pi * 50 * t) + np.sin(2 * np.pi * 120 * t)
noisy = clean + 2.5 * rng.standard_normal(t.size)

n = len(t)
fhat = np.fft.fft(noisy, n)
psd = (fhat * np.conj(fhat) / n).real
freq = (1 / (dt * n)) * np.arange(n)
half = np.arange(1, np.floor(n / 2), dtype="int")

keep = psd > 300
fhat = keep * fhat
filtered = np.fft.ifft(fhat).real

print("peaks:", freq[half][psd[half] > 300])
print(
    "error before and after:",
    np.round(np.sqrt(np.mean((noisy - clean) ** 2)), 6),
    np.round(np.sqrt(np.mean((filtered - clean) ** 2)), 6),
)

spectrum = np.fft.rfft(noisy * np.hanning(n))
decibels = 20 * np.log10(np.abs(spectrum) + 1e-12)
strongest = np.argsort(decibels)[::-1][:6]
print(np.sort(strongest))
smooth = np.convolve(noisy, np.ones(9) / 9, mode="same")
print(smooth.shape, np.round(smooth[::2000], 6))
