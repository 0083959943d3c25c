"""Arrays from files: read in order, refused in one line, never unpickled; and arrays compared."""

import math
import os
import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import UsageError
from onnxpad.validation.align import aligned, distance, nearest
from onnxpad.validation.compare import Tolerance, allowed, compare
from onnxpad.validation.draw import Draw, outline
from onnxpad.validation.given import MatchedInputs, _sets, matched_inputs, require_within
from tests.strategies import examples
from tests.support import parsed
from tests.support.rows import each_row

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
IDS = np.array([1, 0], np.int64)
Y = np.float32(1) + X
ALL = {"x": X, "ids": IDS, "y": Y, "z": Y}
MODEL = outline(
    parsed(
        "g (float[N,3,H,W] x, int64[2] ids) => (float[N,3,H,W] y, float[N,3,H,W] z) "
        "{ y = Relu (x) z = Gather (y, ids) }"
    )
)


def fit(inputs: Any = None, reference: Any = None) -> MatchedInputs:
    return matched_inputs(MODEL, inputs, reference)


def saved(path: Path, *arrays: Any, **named: Any) -> Path:
    np.savez(path, *arrays, **named)
    return path


def pb(path: Path, array: Any, name: str = "") -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    found = onnx.numpy_helper.from_array(np.asarray(array), name)
    path.write_bytes(found.SerializeToString())


def test_one_file_or_one_for_each_side(tmp_path: Path) -> None:
    whole = saved(tmp_path / "both.npz", **ALL)
    inputs = saved(tmp_path / "in.npz", x=X, ids=IDS)
    in_order = saved(tmp_path / "order.npz", X, IDS, Y, Y)
    pairs: list[tuple[Any, Any]] = [(None, whole), (inputs, whole), (whole, whole)]
    for given_inputs, reference in [*pairs, (None, [ALL]), (None, in_order)]:
        found = fit(given_inputs, reference)
        assert np.array_equal(found.draws[0].feeds["x"], X)
        assert np.array_equal(found.draws[0].feeds["ids"], IDS)
        assert found.expected[0].keys() == {"y", "z"}
        assert np.array_equal(found.expected[0]["y"], Y)
        assert len(found.notes) == 4 * (reference is in_order)


def test_a_single_array_and_other_names_of_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1, 2]))
    np.savez_compressed(tmp_path / "c.any", q=np.array([1]), p=np.array(2.5))
    (alone,) = _sets(tmp_path / "x.npy", "")[1]
    assert [(name, array.tolist()) for name, array in alone.items()] == [("the array", [1, 2])]
    (two,) = _sets(tmp_path / "c.any.npz", "")[1]
    assert [(name, array.tolist()) for name, array in two.items()] == [("q", [1]), ("p", 2.5)]


def test_onnx_test_data(tmp_path: Path) -> None:
    """Sets and their tensors are in the order of the numbers in their names."""
    for number in (0, 1, 2, 10):
        pb(tmp_path / f"set_{number}" / "input_0.pb", X + np.float32(number))
        pb(tmp_path / f"set_{number}" / "input_1.pb", IDS, "ids")
        pb(tmp_path / f"set_{number}" / "output_0.pb", Y, "y")
        pb(tmp_path / f"set_{number}" / "output_1.pb", Y)
    (tmp_path / "empty").mkdir()
    found = fit(tmp_path, tmp_path)
    assert [draw.feeds["x"][0, 0, 0, 0] for draw in found.draws] == [0, 1, 2, 10]
    assert [each.keys() for each in found.expected] == [{"y", "z"}] * 4
    assert len(fit(tmp_path / "set_1").draws) == 1
    for number in range(11):
        pb(tmp_path / "many" / f"input_{number}.pb", float(number))
    (many,) = _sets(tmp_path / "many", "")[1]
    assert [float(each) for each in many.values()] == [*range(11)]


def test_what_is_not_finite_or_rounded_is_said() -> None:
    for name, holes in (("x", X.copy()), ("y", Y.copy())):
        holes.flat[1] = np.nan
        (note,) = fit(None, ALL | {name: holes}).notes
        assert f"{name!r} has 1 NaN" in note
    assert fit(None, ALL | {"x": X.astype("f8") + 1e-12}).notes


def piped(path: Path) -> None:
    os.mkfifo(path)


def outside(path: Path) -> None:
    found = onnx.TensorProto(name="x", data_type=1, dims=[1])
    found.data_location = onnx.TensorProto.EXTERNAL
    found.external_data.add(key="location", value="w")
    path.write_bytes(found.SerializeToString())


def within(make: Callable[[Path], object], name: str = "input_0.pb") -> Callable[[Path], None]:
    def made(path: Path) -> None:
        path.mkdir()
        make(path / name)

    return made


def packed(**members: bytes) -> Callable[[Path], None]:
    def made(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as file:
            for name, data in members.items():
                file.writestr(name, data)

    return made


def cut(keep: int) -> Callable[[Path], None]:
    def made(path: Path) -> None:
        saved(path.with_suffix(".npz"), **ALL).rename(path)
        path.write_bytes(path.read_bytes()[:keep])

    return made


def huge(path: Path) -> None:
    np.save(path.with_suffix(".npy"), X)
    data = path.with_suffix(".npy").read_bytes()
    path.write_bytes(data.replace(b"(2, 3, 4, 5)", b"(2,9999999)1"))


class Trap:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self) -> Any:
        return Path.write_text, (Path("unpickled"), "ran")


def trapped(path: Path, save: Callable[..., None], **others: Any) -> None:
    with path.open("wb") as file:
        save(file, np.array([Trap()], object), **others)


@each_row(
    "make",
    [
        lambda path: None,
        piped,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"1, 2, 3"),
        lambda path: path.write_bytes(pickle.dumps(Trap())),
        lambda path: path.write_bytes(pickle.dumps(Trap(), protocol=2)),
        lambda path: trapped(path, np.savez, **ALL),
        lambda path: trapped(path, np.save),
        lambda path: path.write_bytes(b"PK\x03\x04 cut"),
        huge,
        packed(),
        packed(x=b"text"),
        *map(cut, (1, 10, 60, 200, -30, -1)),
        lambda path: path.mkdir(),
        within(lambda path: path.write_bytes(b"\xff\xff")),
        within(lambda path: path.write_bytes(b"\x10\x63"), "output_3.pb"),
        within(lambda path: path.mkdir()),
        within(piped),
        within(lambda path: path.symlink_to("gone")),
        within(outside),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_and_is_not_unpickled(
    make: Callable[[Path], object],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path_factory.mktemp("given") / "P"
    monkeypatch.chdir(path.parent)
    make(path)
    for pair in ((path, None), (None, path)):
        with pytest.raises(UsageError) as caught:
            fit(*pair)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "pickle" not in str(caught.value)
    assert not Path("unpickled").exists()


def test_an_array_larger_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object, **__: object) -> None:
        raise MemoryError

    np.save(tmp_path / "a.npy", np.zeros(1))
    monkeypatch.setattr(np, "load", short)
    with pytest.raises(UsageError, match="memory"):
        fit(tmp_path / "a.npy")


def test_sizes_that_the_metadata_does_not_allow_and_what_is_no_mapping() -> None:
    for neither in ([X], [], X):
        with pytest.raises(UsageError):
            fit(neither)
    draw = Draw({"x": X}, "given")
    require_within({("x", 3): Sizes(4, 8), ("x", 9): Sizes(1, 1), ("q", 0): Sizes(9, 9)}, [draw])
    with pytest.raises(UsageError):
        require_within({("x", 2): Sizes(4, 4), ("x", 3): Sizes(6, 8)}, [draw])


# Layouts


@examples(0.6)
@given(st.lists(st.integers(1, 4), max_size=5), st.lists(st.integers(1, 4), max_size=5))
def test_no_element_is_lost(shape: list[int], wanted: list[int]) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape)
    found = aligned(array, wanted)
    if found is not None:
        assert list(found.array.shape) == wanted
        assert np.array_equal(np.sort(found.array.ravel()), array.ravel())


@pytest.mark.parametrize(
    "axes", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 4, 1, 2, 3), (0, 2, 3, 4, 1)]
)
def test_where_sizes_tell_no_layout_the_nearest_is_taken(axes: tuple[int, ...]) -> None:
    shape = (2, 3, 3, 3) if len(axes) == 4 else (2, 3, 4, 3, 4)
    computed = np.arange(int(np.prod(shape))).reshape(shape)
    found = nearest(np.transpose(computed, np.argsort(axes)), computed)
    assert found is not None
    assert np.array_equal(found.array, computed)
    assert bool(found.how) == (axes != (0, 1, 2, 3))
    assert nearest(computed, np.zeros((1, 5))) is None
    assert nearest(np.full(shape, "text", object), computed.astype(object)) is not None


def test_the_distance_of_arrays_is_the_mean_of_what_is_finite() -> None:
    one, other = np.array([1.0, 5, np.nan, 2]), np.array([3.0, 4, 1, 3])
    assert distance(one, other) == distance(other, one) == 1.0
    assert distance(np.array([1], np.uint8), np.array([3], np.uint8)) == 2.0
    assert allowed(np.zeros((0, 3), np.float32), Tolerance()).size == 0


# Comparisons of drawn tensors, held against the same worked out element by element


NAN, INF = math.nan, math.inf
DEFAULTS = {"float16": (1e-2, 5e-3), "float32": (1e-4, 1e-5), "float64": (1e-9, 1e-10)}
TYPES = ("float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64")
SHAPES = ((), (1,), (5,), (2, 3), (1, 8), (2, 3, 4), (3, 0))


def drawn(draws: random.Random) -> tuple[Any, Any, Tolerance]:
    """Two tensors, of which one may differ in some elements, and a tolerance."""
    dtype, shape = draws.choice(TYPES), draws.choice(SHAPES)
    numbers = np.random.default_rng(draws.randrange(10**6))
    scale = draws.choice((1, 1, 1000, 1e-3, 0)) if dtype.startswith("f") else 1
    before: Any = np.asarray(numbers.integers(0, 9, shape) * scale).astype(dtype)
    after = before.copy()
    for _ in range(draws.choice((0, 1, 1, 2, 5))):
        if after.size:
            place = tuple(draws.randrange(size) for size in shape)
            special = draws.choice((NAN, INF, -INF))
            if dtype.startswith("f") and draws.random() < 0.2:
                after[place] = special
                if draws.random() < 0.5:
                    before[place] = special
            elif dtype == "bool":
                after[place] = not after[place]
            else:
                step = draws.choice((1, 1, 2, 1e-3, 1e-6, 0.04)) * (scale or 1)
                after[place] = after[place] + np.asarray(step).astype(dtype)
    rtol, atol = draws.choice((None, None, 0.0, 0.3)), draws.choice((None, None, None, 0.0, 1.0))
    return before, after, Tolerance(rtol, atol, draws.choice((1.0, 10.0)))


@each_row("seed", range(240), at_once=80)
def test_every_field_is_what_a_walk_over_the_elements_gives(seed: int) -> None:
    before, after, tolerance = drawn(random.Random(seed))
    with np.errstate(all="ignore"):
        check(compare("y", before, after, tolerance), before, after, tolerance)


def check(found: Any, before: Any, after: Any, tolerance: Tolerance) -> None:
    name, is_number = before.dtype.name, before.dtype.kind in "iufc"
    wide = complex if before.dtype.kind == "c" else float
    a, b = ([wide(each) for each in side.reshape(-1)] for side in (before, after))
    apart = [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y and not (x != x != y)]
    apart = [i for i in apart if not (a[i] != a[i] and b[i] != b[i])]
    gaps = {i: abs(a[i] - b[i]) for i in apart}
    special = [i for i in apart if not (np.isfinite(a[i]) and np.isfinite(b[i]))]
    finite = [i for i in apart if i not in special]
    scale = max((abs(each) for each in a if np.isfinite(each)), default=0.0) if is_number else 0.0
    relative, absolute = DEFAULTS.get(name, (0.0, 0.0))
    relative = relative * tolerance.factor if tolerance.rtol is None else tolerance.rtol
    absolute = absolute * tolerance.factor * scale if tolerance.atol is None else tolerance.atol
    allowed = [gaps[i] <= relative * abs(a[i]) + absolute for i in finite]
    assert found.equal is (not apart)
    assert found.ok is (not apart or (is_number and not special and all(allowed)))
    assert (found.dtype, found.special) == (name, len(special) if is_number else 0)
    greatest = max((gaps[i] for i in finite), default=0.0)
    if special or (apart and not is_number):
        assert math.isnan(found.max_abs)
    else:
        assert found.max_abs == greatest
        expected = 0.0 if not apart else greatest / scale if scale else INF
        assert found.max_rel == pytest.approx(expected)
    place = (special or [i for i in finite if gaps[i] == greatest] or [0])[0]
    if not apart:
        assert found.worst == ()
    elif is_number:
        assert found.worst == tuple(map(int, np.unravel_index(place, before.shape)))
    if found.ok:
        assert not found.detail
    elif found.worst:
        assert f" at {[*found.worst]}" in found.detail
    else:
        assert found.differing == len(apart)
    if before.dtype.kind == "f" and before.ndim in (1, 2) and before.shape[-1] > 1 and before.size:
        rows = zip(
            before.reshape(-1, before.shape[-1]), after.reshape(-1, before.shape[-1]), strict=True
        )
        same = [int(one.argmax()) == int(other.argmax()) for one, other in rows]
        assert found.argmax == sum(same) / len(same)
    else:
        assert found.argmax is None
    if name in DEFAULTS:
        steps = [ulps(before.reshape(-1)[i], after.reshape(-1)[i]) for i in finite]
        assert found.ulp == max(steps, default=0)


def ulps(one: Any, other: Any) -> int:
    """How many numbers of the type lie between two, one of them included."""
    kind: Any = {2: np.int16, 4: np.int32, 8: np.int64}[one.itemsize]
    ranks = []
    for each in (one, other):
        bits = int(np.asarray(each).view(kind))
        ranks.append(bits if bits >= 0 else -(bits & np.iinfo(kind).max))
    return abs(ranks[0] - ranks[1])
