"""Files that are there whole or not at all, where several processes write and read them at once."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onnxpad.errors import OutputError
from onnxpad.file import external
from onnxpad.file.external import write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")

LEFT = ".out.onnx.0123456789abcdef.part"


@contextmanager
def elsewhere(act: Callable[[], object]) -> Iterator[int]:
    """Acts in a fork of this process, which is gone at the end; yields its number."""
    with warnings.catch_warnings():  # the child needs none of the threads of its parent
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def ended(child: int) -> int:
    """The exit code of a child, once it has ended."""
    found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert found is not None
    return found.si_status


def is_over(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


class TestDataThatAppearsMeanwhile:
    """Another process writes the same data while this one does."""

    def test_stays_if_it_is_the_same(self, tmp_path: Path) -> None:
        data, model = tmp_path / "w.bin", tmp_path / "out.onnx"

        def content() -> Iterator[bytes]:
            yield b"da"
            data.write_bytes(b"data")
            yield b"ta"

        write_whole({data: content(), model: [b"model"]})
        assert names(tmp_path) == {"w.bin", "out.onnx"}
        assert data.read_bytes() == b"data"

    def test_is_not_replaced_if_it_differs(self, tmp_path: Path) -> None:
        data, model = tmp_path / "w.bin", tmp_path / "out.onnx"

        def content() -> Iterator[bytes]:
            yield b"data"
            data.write_bytes(b"other")

        with pytest.raises(OutputError):
            write_whole({data: content(), model: [b"model"]})
        assert names(tmp_path) == {"w.bin"}
        assert data.read_bytes() == b"other"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupt_takes_back_data_only_before_the_model_is_there(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        if moment == "after" or target.name == "w.bin":
            replace(self, target)
        if target.name == "w.bin":
            return target
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole({tmp_path / "sub" / "w.bin": [b"data"], tmp_path / "out.onnx": [b"model"]})
    assert names(tmp_path) == ({"sub", "out.onnx"} if moment == "after" else set())


def test_two_writers_and_a_reader_of_one_file(tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    wholes = [bytes([letter]) * (1 << 16) for letter in b"abc"]
    write_whole({target: [wholes[-1]]})

    def write(whole: bytes) -> None:
        parts = [whole[: 1 << 15], whole[1 << 15 :]]
        for _ in range(25):
            write_whole({target: iter(parts)})

    seen = set()
    with elsewhere(lambda: write(wholes[0])) as one, elsewhere(lambda: write(wholes[1])) as other:
        while not (is_over(one) and is_over(other)):
            found = target.read_bytes()
            assert found in wholes
            seen.add(found)
        assert [ended(one), ended(other)] == [0, 0]
    assert len(seen) > 1
    assert names(tmp_path) == {"out.onnx"}


def test_a_new_file_has_the_usual_mode_and_a_replaced_one_keeps_its_own(tmp_path: Path) -> None:
    usual, ours, kept = (tmp_path / name for name in ("usual", "ours" * 60, "kept"))
    usual.touch()
    kept.touch(0o640)
    kept.chmod(0o640)
    write_whole({ours: [b"data"]})
    write_whole({kept: [b"data"]})
    assert ours.stat().st_mode == usual.stat().st_mode
    assert kept.stat().st_mode & 0o777 == 0o640
    assert kept.read_bytes() == ours.read_bytes() == b"data"


def test_an_existing_file_is_not_taken_for_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / LEFT).write_bytes(b"another's")
    monkeypatch.setattr(external, "_temporary_name", lambda name: LEFT)
    with pytest.raises(OutputError):
        write_whole({tmp_path / "out.onnx": [b"whole"]})
    assert not (tmp_path / "out.onnx").exists()
