"""Signals: filters, mixing, spectra, levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload

TAPS = tuple(float(tap) for tap in np.hanning(18)[1:-1] / np.hanning(18).sum())


def fir_filter(xp: Any, data: Data) -> Any:
    """Filter a float32 signal with sixteen taps, written as shifted slices."""
    x = data["x"]
    stop = x.shape[0] - len(TAPS) + 1
    return sum(tap * x[place : place + stop] for place, tap in enumerate(TAPS))


def demodulate(xp: Any, data: Data) -> Any:
    """Mix a signal with a complex carrier; give amplitude and phase."""
    mixed = data["x"] * xp.exp(-0.3j * data["time"])
    return xp.abs(mixed), xp.arctan2(mixed.imag, mixed.real)


def spectrum_db(xp: Any, data: Data) -> Any:
    """Power of a complex spectrum in decibels below its largest bin."""
    z = data["z"]
    power = z.real * z.real + z.imag * z.imag
    return 10.0 * xp.log10(power / power.max() + 1e-12)


def levels(xp: Any, data: Data) -> Any:
    """Level of each windowed frame of 512 int16 samples, in decibels of full scale."""
    frames = data["frames"].astype(xp.float32) * (1.0 / 32768.0) * data["window"]
    return 10.0 * xp.log10((frames * frames).mean(axis=1) + 1e-10)


def signal_inputs(size: int) -> Data:
    """A float32 signal."""
    length = max(size, 32)
    return {"x": np.random.default_rng(60).standard_normal(length, np.float32)}


def carrier_inputs(size: int) -> Data:
    """A float64 signal and its times."""
    draw = np.random.default_rng(61)
    return {"x": draw.standard_normal(size), "time": np.arange(size, dtype=np.float64) % 4096}


def spectrum_inputs(size: int) -> Data:
    """A complex spectrum."""
    draw = np.random.default_rng(62)
    return {"z": draw.standard_normal(size) + 1j * draw.standard_normal(size)}


def frames_inputs(size: int) -> Data:
    """Frames of sound and a window."""
    draw, width = np.random.default_rng(63), min(size, 512)
    return {
        "frames": draw.integers(-9000, 9000, (max(size // width, 1), width), np.int16),
        "window": np.hanning(width + 2)[1:-1].astype(np.float32),
    }


WORKLOADS = (
    Workload("fir_filter", fir_filter, signal_inputs, 0.0, "signals"),
    Workload("demodulate", demodulate, carrier_inputs, 1e-12, "signals"),
    Workload("spectrum_db", spectrum_db, spectrum_inputs, 1e-12, "signals"),
    Workload("levels", levels, frames_inputs, 1e-5, "signals"),
)
