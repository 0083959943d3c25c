"""Files of users: read as a whole or refused."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets.toml_file import LARGEST, read_text, tables_in


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 20_000,
        "a = " + "1" * 5_000,
        "a = 1\n\x00",
        "a = 1\na = 2",
        "a = [1,\n\n",
    ],
)
def test_what_is_no_toml(text: str) -> None:
    with pytest.raises(UsageError):
        tables_in(Path("f.toml"), text)


def long(path: Path) -> None:
    path.write_bytes(b"#" * (LARGEST + 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        Path.mkdir,
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path),
        lambda path: path.symlink_to("nowhere"),
        long,
        lambda path: path.write_bytes(b"a = '\xff'"),
    ],
)
def test_what_cannot_be_read(make: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    make(path)
    with pytest.raises(UsageError):
        read_text(path)


def test_the_longest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_bytes(b"\xc3\xa4" * (LARGEST // 2))
    assert read_text(path) == "ä" * (LARGEST // 2)


def test_a_mark_at_the_begin_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text("a = 1", encoding="utf-8-sig")
    assert read_text(tmp_path / "t.toml") == "a = 1"


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(UsageError):
        read_text(Path("a\0.toml"))
