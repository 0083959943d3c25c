"""Results that replace earlier ones with their external data: both fit at any moment."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import onnx
import pytest

from onnxpad.errors import OutputError
from onnxpad.file import external
from onnxpad.file.proto_walk import tensors
from onnxpad.graph import Graph
from tests.file.test_atomic_write import elsewhere, ended
from tests.file.test_external_data import everything, padded_conv, refer, split


def told(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """The model with the elements of all its tensors inside, as onnx reads them."""
    for tensor in tensors(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
            tensor.ClearField("data_location")
            del tensor.external_data[:]
    return model


EVENTS = {"open", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.truncate"}
"""What a process does to files."""


def export(folder: Path, night: int, name: str = "net.onnx", *, data: str = "w.bin") -> Path:
    """Exports a model once more: the weight is another each night, and `pads` is elsewhere."""
    folder.mkdir(exist_ok=True)
    model = padded_conv()
    weight, pads = model.graph.initializer
    for tensor, location, raw in (
        (weight, data, bytes([night]) * 216),
        (pads, "pads.bin", pads.raw_data + bytes(night)),
    ):
        (folder / location).write_bytes(raw)
        length = len(tensor.raw_data)
        tensor.ClearField("raw_data")
        refer(tensor, location, length=length)
    (folder / name).write_bytes(model.SerializeToString())
    return folder / name


def night_of(path: Path) -> int:
    """The night of which the model at a path is, with all that it refers to."""
    model = told(onnx.load(path, load_external_data=False), path.parent)
    (night,) = {*model.graph.initializer[0].raw_data}
    assert model.graph.initializer[1] == padded_conv().graph.initializer[1]
    return int(night)


def save(source: Path, target: Path) -> tuple[Path, ...]:
    return Graph.load(source).model.write(target)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out" / "net.onnx"


@pytest.fixture
def source(tmp_path: Path, target: Path) -> Path:
    """The second export; the first was written."""
    target.parent.mkdir()
    save(export(tmp_path / "in", 1), target)
    return export(tmp_path / "in", 2)


def test_all_is_as_if_nothing_had_been_there(source: Path, target: Path) -> None:
    before = everything(source.parent)
    target.with_name("w.bin").chmod(0o640)
    written = save(source, target)
    assert everything(target.parent) == everything(source.parent) == before
    assert {*written} == {target.with_name("w.bin"), target.with_name("pads.bin")}
    assert target.with_name("w.bin").stat().st_mode & 0o777 == 0o640
    assert save(source, target) == ()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")
def test_a_kill_at_any_moment_leaves_a_model_with_its_own_data(source: Path, target: Path) -> None:
    old, nights, moment = everything(target.parent), set[int](), 0
    while True:
        moment += 1
        for path in target.parent.iterdir():
            path.unlink()
        for name, content in old.items():
            target.with_name(name).write_bytes(content)
        with elsewhere(partial(save_until, moment, source, target)) as child:
            code = ended(child)
        nights.add(night_of(target))
        if not code:
            break
        assert code == 9
        # Whatever it left, the next night's result is as any, and nothing else is there.
        save(export(source.parent, 3), target)
        left = {name: data for name, data in everything(target.parent).items() if name[0] != "."}
        assert left == everything(source.parent)
        export(source.parent, 2)
    assert nights == {1, 2}
    assert moment > 10


def save_until(moment: int, source: Path, target: Path) -> None:
    """Saves, and is dead before it does so many things to files there."""
    place, count = str(target.parent), 0

    def hook(event: str, details: tuple[object, ...]) -> None:
        nonlocal count
        count += event in EVENTS and str(details[0]).startswith(place)
        if count == moment:
            os._exit(9)

    sys.addaudithook(hook)
    save(source, target)


def test_data_that_another_model_reads_stays(tmp_path: Path, source: Path, target: Path) -> None:
    """Two models of one file, exported and written one after the other."""
    names = ("net.onnx", "twin.onnx")
    for night in (3, 4, 5):
        for name in names:
            export(source.parent, night, name)
        for name in names if night != 4 else names[::-1]:
            save(source.with_name(name), target.with_name(name))
            there = {each: night_of(target.with_name(each)) for each in names if night > 3}
            assert there.get(name, night) == night
            assert {*there.values()} <= {night - 1, night}
        assert {night_of(target.with_name(each)) for each in names} == {night}
        assert target.with_name("w.bin").read_bytes() == bytes([night]) * 216
        assert len([*target.parent.glob("w-*.bin")]) <= 1
    above = tmp_path / "above.onnx"
    model = onnx.load(target, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "out/w.bin"
    above.write_bytes(model.SerializeToString())
    save(export(source.parent, 6), target)
    assert target.with_name("w.bin").read_bytes() == bytes([5]) * 216
    assert night_of(target) == 6


def test_what_is_of_others_is_refused(source: Path, target: Path) -> None:
    data = target.with_name("w.bin")
    cases: list[Callable[[], object]] = [
        target.unlink,
        lambda: target.write_bytes(b"no model"),
        lambda: split(padded_conv(), target.parent, {}).read_bytes(),
    ]
    for spoil in cases:
        spoil()
        before = everything(target.parent)
        with pytest.raises(OutputError, match=r"w\.bin differs .* or remove that file"):
            save(source, target)
        assert everything(target.parent) == before
    data.unlink()
    target.with_name("pads.bin").unlink()
    save(source, target)
    assert night_of(target) == 2


def test_another_name_of_the_model_shares_nothing(source: Path, target: Path) -> None:
    target.with_name("alias.onnx").symlink_to(target)
    save(source, target)
    assert night_of(target.with_name("alias.onnx")) == 2
    assert not [*target.parent.glob("w-*.bin")]


def test_the_data_of_the_input_stays(source: Path, target: Path) -> None:
    """Also where an older model at the path refers to it, and the input is no `.onnx` by name."""
    inside = target.parent / "sub" / "net"
    (inside.parent / "sub").mkdir(parents=True)
    inside.with_name("w.bin").write_bytes(source.with_name("pads.bin").read_bytes())
    (inside.parent / "sub" / "w.bin").write_bytes(bytes([3]) * 216)
    model = onnx.load(source, load_external_data=False)
    weight, pads = model.graph.initializer
    weight.external_data[0].value = "sub/w.bin"
    target.write_bytes(model.SerializeToString())
    pads.external_data[0].value = "w.bin"
    inside.write_bytes(model.SerializeToString())
    before = everything(target.parent)
    with pytest.raises(OutputError, match=r"w\.bin differs"):
        save(inside, target)
    assert everything(target.parent) == before


def test_names_like_those_of_stand_ins_are_kept(source: Path, target: Path) -> None:
    other = target.with_name("w-0123456789abcdef.bin")
    other.write_bytes(b"somebody's")
    save(source, target)
    assert other.read_bytes() == b"somebody's"
    assert night_of(target) == 2
    data = export(source.parent, 3).with_name("w.bin")
    taken = external._stand_in(target.with_name("w.bin"), data)
    taken.write_bytes(b"somebody's")
    with pytest.raises(OutputError):
        save(source, target)
    assert taken.read_bytes() == b"somebody's"


def test_the_model_keeps_a_stand_in_that_cannot_become_the_data(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(external, "_temporary_name", lambda name: f"{'x' * 300}{name}")
        patched.setattr(external, "write_whole", lambda files: [*map(plainly, files.items())])
        written = save(source, target)
    assert night_of(target) == 2
    assert all(path.stem[-17] == "-" for path in written)
    save(source, target)
    assert everything(target.parent) == everything(source.parent)


def plainly(item: tuple[Path, external.Content]) -> None:
    path, content = item
    path.write_bytes(b"".join(content))
