"""Functions of SciPy and scikit-image that write into a picture, or ask for NumPy's type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = pytest.mark.engine

lf = oracle.lf
PICTURE = host.random.default_rng(0).random((12, 12))

#: Calls that write into `out`, and its dtype.
WRITING: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "erosion": (lambda nd, x, out: nd.binary_erosion(x > 0.4, output=out), "?"),
    "dilation": (lambda nd, x, out: nd.binary_dilation(x > 0.4, output=out), "?"),
    "hit or miss": (lambda nd, x, out: nd.binary_hit_or_miss(x > 0.4, output=out), "?"),
    "holes": (lambda nd, x, out: nd.binary_fill_holes(x > 0.4, output=out), "?"),
    "gradient": (lambda nd, x, out: nd.morphological_gradient(x, 3, output=out), "f8"),
    "laplace": (lambda nd, x, out: nd.morphological_laplace(x, 3, output=out), "f8"),
    "distances": (lambda nd, x, out: nd.distance_transform_edt(x > 0.4, distances=out), "f8"),
    "chessboard": (lambda nd, x, out: nd.distance_transform_cdt(x > 0.4, distances=out), "i4"),
    "watershed": (
        lambda nd, x, out: nd.watershed_ift(
            (x * 100).astype("u1"), (x > 0.9).astype("i4"), output=out
        ),
        "i4",
    ),
    "a filter": (lambda nd, x, out: nd.gaussian_filter(x, 1, output=out), "f8"),
}


@pytest.mark.parametrize("name", WRITING)
def test_outputs_of_scipy(name: str) -> None:
    """It asked whether they are arrays, made new ones, and what it computed was lost."""
    nd = pytest.importorskip("scipy.ndimage")
    call, dtype = WRITING[name]
    for before in (0, 1):  # one of which is not what is written
        expected = host.full((12, 12), before, dtype)
        call(nd, PICTURE, expected)
        with lf.options(eager_size=1000):
            found = lf.full((12, 12), before, dtype)
            call(nd, lf.array(PICTURE), found)
            assert host.array_equal(host.asarray(found), expected)
        with lf.options(eager_size=0):
            large = lf.full((12, 12), before, dtype)
            call(nd, lf.array(PICTURE), large)
            assert host.array_equal(host.asarray(large), expected)


def test_labels_are_not_lost() -> None:
    """SciPy's code for them takes NumPy's type alone, and says so."""
    nd = pytest.importorskip("scipy.ndimage")
    found = lf.zeros((12, 12), dtype="i4")
    with pytest.raises(TypeError, match="incorrect type"):
        nd.label(lf.array(PICTURE) > 0.4, output=found)


#: Functions of scikit-image on a picture.
PICTURES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "windows": lambda ski, np, x: ski.util.view_as_windows(x, (2, 3)),
    "blocks": lambda ski, np, x: ski.util.view_as_blocks(x, (3, 4)),
    "erosion": lambda ski, np, x: ski.morphology.erosion(x, np.ones((3, 3))),
    "opening": lambda ski, np, x: ski.morphology.opening(x, np.ones((3, 3), "u1")),
    "mirror": lambda ski, np, x: ski.morphology.mirror_footprint(np.array([[0, 1], [1, 1]])),
    "small objects": lambda ski, np, x: ski.morphology.remove_small_objects(x > 0.5, max_size=3),
    "histogram": lambda ski, np, x: ski.exposure.histogram(x, 5)[0],
    "equalized": lambda ski, np, x: ski.exposure.equalize_hist(x),
    "rotated": lambda ski, np, x: ski.transform.rotate(x, 30),
    "coordinates": lambda ski, np, x: ski.transform.warp(
        x, np.array(host.indices((12, 12)) * 0.9)
    ),
    "contours": lambda ski, np, x: host.concatenate(ski.measure.find_contours(x, 0.5)),
    "watershed": lambda ski, np, x: ski.segmentation.watershed(x),
    "skeleton": lambda ski, np, x: ski.morphology.skeletonize(x > 0.4),
    "phase": lambda ski, np, x: ski.restoration.unwrap_phase(np.angle(np.exp(9j * x))),
    "texture": lambda ski, np, x: ski.feature.graycomatrix((x * 7).astype("u1"), [1], [0], 8),
    "median": lambda ski, np, x: ski.filters.rank.median(
        (x * 99).astype("u1"), np.ones((3, 3), "u1")
    ),
    "moments": lambda ski, np, x: ski.measure.moments_hu(x),
    "total variation": lambda ski, np, x: ski.restoration.denoise_tv_bregman(x),
    "surface": lambda ski, np, x: ski.measure.marching_cubes(np.stack([x, x * 0.5, x]), 0.4)[0],
}


@pytest.mark.parametrize("size", [12, 120])
@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name: str, size: int) -> None:
    """They refused LazyArrays, lost what their code wrote into arrays like them, or want memory
    that they may write."""
    ski = pytest.importorskip("skimage")
    pytest.importorskip("skimage.measure")
    picture = host.tile(PICTURE, (size // 12, size // 12))
    with lf.options(eager_size=1000):  # matrices of transforms are small
        given = PICTURES[name](ski, lf, lf.array(picture))
    wanted = PICTURES[name](ski, host, picture)
    host.testing.assert_allclose(host.asarray(given), host.asarray(wanted), 1e-12)


def test_classes_of_sklearn_and_places_of_pandas() -> None:
    """Arguments that have to be instances of NumPy's type."""
    weights = pytest.importorskip("sklearn.utils.class_weight").compute_class_weight
    pandas = pytest.importorskip("pandas")
    found = weights("balanced", classes=lf.array([0, 1]), y=lf.array([0, 0, 1]))
    assert host.asarray(found).tolist() == [0.75, 1.5]
    taken = pandas.api.extensions.take(lf.array([10, 20]), [0, -1], allow_fill=True, fill_value=-1)
    assert host.asarray(taken).tolist() == [10, -1]


@pytest.mark.parametrize("size", [20, 300])
def test_relief_and_lines(size: int) -> None:
    """`hillshade` makes an array of the type that it finds, and Hough transforms ask in C."""
    colors = pytest.importorskip("matplotlib.colors")
    transform = pytest.importorskip("skimage.transform")
    heights = host.random.default_rng(0).random((size, size))
    edges = heights > 0.9
    light = colors.LightSource(315, 45)
    found = light.hillshade(lf.asarray(heights) * 1.0, vert_exag=2)
    host.testing.assert_array_equal(found, light.hillshade(heights, vert_exag=2))
    angles = lf.linspace(-1.0, 1.0, 30)
    found = transform.hough_line(lf.asarray(edges), theta=angles)
    for one, other in zip(
        found, transform.hough_line(edges, theta=host.asarray(angles)), strict=True
    ):
        host.testing.assert_array_equal(one, other)


def test_a_gram_matrix_of_ours() -> None:
    models = pytest.importorskip("sklearn.linear_model")
    x = host.random.default_rng(1).normal(size=(400, 60))
    x -= x.mean(axis=0)
    y = x @ host.arange(60.0)
    wanted = models.ElasticNet(alpha=0.1, precompute=x.T @ x).fit(x, y).coef_
    gram = lf.asarray(x).T @ lf.asarray(x)
    found = models.ElasticNet(alpha=0.1, precompute=gram).fit(x, y).coef_
    host.testing.assert_allclose(found, wanted, rtol=1e-9)
