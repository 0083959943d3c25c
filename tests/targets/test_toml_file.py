"""Files of users: read as a whole or refused, and each error has its line."""

import os
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets.toml_file import LARGEST, Problem, _line_of, parsed, read_text

EACH = """
a = 1 # ] "
# [b
b = [ # [
  "]", '[', { c = "\\"]" }, # "
]

text = \"\"\"
x = 1 # " [ ""
\\"\"\" ["\"\"\"\"
raw = '''
y = ["''''
[t.'x.y'] # '
"#" = "#"
[[u]]
v.w = '\\'
[[u]]
v.w = "\u2028"
x = 2
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("a",), 2),
        (("b",), 4),
        (("text",), 8),
        (("raw",), 11),
        (("t", "x.y"), 13),
        (("t", "x.y", "#"), 14),
        (("u", 0), 15),
        (("u", 0, "v", "w"), 16),
        (("u", 1), 17),
        (("u", 1, "v"), 18),
        (("u", 1, "x"), 19),
        (("z",), 1),
    ],
)
def test_the_line_of_a_value(place: tuple[str | int, ...], line: int) -> None:
    assert tomllib.loads(EACH)
    assert _line_of(EACH, place) == line
    assert _line_of(EACH.replace("\n", "\r\n"), place) == line


def test_what_no_statement_has_is_on_the_first_line() -> None:
    assert _line_of("", ("title",)) == 1


def test_a_long_value_or_many_errors_take_no_long_time() -> None:
    def wrong(tables: dict[str, Any]) -> Iterator[Problem]:
        yield from (((key,), "is wrong") for key in tables)

    start = time.process_time()
    for text in (
        "a = [\n" + "1,\n" * 30_000 + "]\n",
        "".join(f"k{index} = 1\n" for index in range(6_000)),
    ):
        with pytest.raises(UsageError):
            parsed(Path("f.toml"), text, dict[str, Any], wrong)
    assert time.process_time() - start < 20


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
        parsed(Path("f.toml"), text, dict[str, Any])


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
