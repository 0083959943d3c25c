"""Arrays in files: what is read of each kind, in which order, and what is said of a bad one."""

import os
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onnxpad.errors import UsageError
from onnxpad.validation.draw import outline
from onnxpad.validation.given import _listed, _natural, _sets
from tests.support import parsed
from tests.support.rows import each_row

MODEL = outline(
    parsed("g (float[1, 2, 3, 4] x, float s) => (float[1, 2, 3, 4] y, float[] z) "
           "{ y = Relu (x) z = Neg (x) }")
)  # fmt: skip


def tensor(folder: Path, name: str, value: float, called: str = "") -> None:
    folder.mkdir(exist_ok=True)
    found = numpy_helper.from_array(np.array(value, np.float32), called)
    (folder / f"{name}.pb").write_bytes(found.SerializeToString())


def read(path: Path) -> list[list[tuple[str, Any]]]:
    return [[(name, array.tolist()) for name, array in some.items()] for some in _sets(path, "")[1]]


def test_arrays_of_one_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1, 2]))
    assert read(tmp_path / "a.npy") == [[("the array", [1, 2])]]
    np.savez(tmp_path / "b.npz", q=np.array([1]), p=np.array(2.5), x=np.array("t"))
    expected = [[("q", [1]), ("p", 2.5), ("x", "t")]]
    assert read(tmp_path / "b.npz") == expected
    np.savez_compressed(tmp_path / "c.any", q=np.array([1]), p=np.array(2.5), x=np.array("t"))
    assert read(tmp_path / "c.any.npz") == expected


def test_tensors_of_a_folder_and_of_those_inside(tmp_path: Path) -> None:
    top = tmp_path / "t"
    for number in (0, 1, 2, 10):
        tensor(top, f"input_{number}", number)
    tensor(top, "output_0", 20, "named")
    (top / "readme.txt").write_text("no tensor")
    assert read(top) == [[*((f"input_{n}", float(n)) for n in (0, 1, 2, 10)), ("named", 20.0)]]
    tensor(top / "set_10", "output_0", 3, "y")
    tensor(top / "set_2", "input_0", 4)
    (top / "empty").mkdir()
    assert read(top)[1:] == [[("input_0", 4.0)], [("y", 3.0)]]
    assert read(top / "set_2") == [[("input_0", 4.0)]]


NO_ARRAYS = "has something else than arrays, or nothing; write it with numpy.savez"
NO_FILE = "is not a readable .npz or .npy file; write it with numpy.savez or numpy.save"
NO_TENSOR = "is not a serialized TensorProto"
NO_REGULAR = "is not a regular file; save the arrays to a file first"


def piped(path: Path) -> None:
    os.mkfifo(path)


def outside(path: Path) -> None:
    found = onnx.TensorProto(name="x", data_type=1, dims=[1])
    found.data_location = onnx.TensorProto.EXTERNAL
    found.external_data.add(key="location", value="w")
    (path / "input_0.pb").write_bytes(found.SerializeToString())


def within(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def made(path: Path) -> None:
        path.mkdir()
        make(path if name == "." else path / name)

    return made


def packed(**members: bytes) -> Callable[[Path], None]:
    def made(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as file:
            for name, data in members.items():
                file.writestr(name, data)

    return made


def objects(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.array([{}]))


def array(path: Path, **arrays: Any) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


@each_row(
    ("make", "said"),
    [
        (lambda path: None, "P cannot be read: No such file or directory"),
        (piped, f"P {NO_REGULAR}"),
        (lambda path: path.write_bytes(b""), f"P: {NO_FILE}"),
        (lambda path: path.write_bytes(b"1, 2, 3"), f"P: {NO_FILE}"),
        (lambda path: path.write_bytes(pickle.dumps([1])), f"P: {NO_FILE}"),
        (objects, f"P: {NO_FILE}"),
        (lambda path: array(path, x=np.array([{}])), f"P: {NO_FILE}"),
        (lambda path: path.write_bytes(b"PK\x03\x04 cut"), f"P: {NO_FILE}"),
        (packed(), f"P: {NO_ARRAYS}"),
        (packed(x=b"text"), f"P: {NO_ARRAYS}"),
        (lambda path: path.mkdir(),
         "P: has no input_0.pb, which folders of ONNX test data have"),
        (within("input_0.pb", lambda path: path.write_bytes(b"\xff\xff")), f"I: {NO_TENSOR}"),
        (within("output_3.pb", lambda path: path.write_bytes(b"\x10\x63")),
         f"P/output_3.pb: {NO_TENSOR}"),
        (within("input_0.pb", lambda path: path.mkdir()), f"I {NO_REGULAR}"),
        (within("input_0.pb", piped), f"I {NO_REGULAR}"),
        (within("input_0.pb", lambda path: path.symlink_to("gone")),
         "I cannot be read: No such file or directory"),
        (within(".", outside), "I: keeps its data in another file; save it as one"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read(
    make: Callable[[Path], object], said: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("given") / "P"
    make(path)
    with pytest.raises(UsageError) as caught:
        _sets(path, "")[1]
    text = str(caught.value).replace(f"{path}/input_0.pb", "I").replace(str(path), "P")
    assert text == said


def test_an_array_larger_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object, **__: object) -> None:
        raise MemoryError

    np.save(tmp_path / "a.npy", np.zeros(1))
    monkeypatch.setattr(np, "load", short)
    said = re.escape("a.npy: contains an array larger than the memory of this machine")
    with pytest.raises(UsageError, match=said):
        _sets(tmp_path / "a.npy", "")


def test_names_in_a_list() -> None:
    assert _listed("ab") == "'a', 'b'"
    assert _natural(Path("d/input_10b2.pb")) == ["input_", 10, "b", 2, ".pb"]
