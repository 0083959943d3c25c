"""Messages and arguments: what is cut, what is suggested, and what a value cannot be."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxpad.arguments import (
    codes_given,
    dims_given,
    require_positive,
    require_timeout,
    shapes_given,
    source,
)
from onnxpad.errors import OnnxpadError, UsageError, shortened
from tests.support.rows import each_row


@each_row("length", [1, 399, 400, 401, 3000, 5000])
def test_a_long_word_loses_its_middle(length: int) -> None:
    word = "".join(chr(97 + each % 26) for each in range(length))
    found = shortened(word)
    if length <= 400:
        assert found == word
    else:
        assert found == f"{word[:20]}...[{length - 100:,} characters]{word[-80:]}"
    assert shortened(f"{word} {word}/{word}") == f"{found} {found}/{found}"
    text = "ab " * 1000 + "c" * (length == 1)
    assert shortened(text) == (
        text if length > 1 else f"{text[:2500]}...[201 characters]{text[-300:]}"
    )


def test_an_error_is_one_line() -> None:
    assert str(OnnxpadError("a\nb\r\nc")) == "a b c"
    assert str(OnnxpadError()) == ""


class Sized:
    def tolist(self) -> list[int]:
        return [1, 2]


@each_row(
    ("given", "found"),
    [
        (None, {}),
        ({"x": [1]}, {"x": [1]}),
        ("x=1,2", {"x": "1,2"}),
        ("1,2", {"": "1,2"}),
        ("a=b=1", {"a=b": "1"}),
        ((1, None), {"": (1, None)}),
        (np.array([1, 2]), {"": [1, 2]}),
        (Sized(), {"": [1, 2]}),
    ],
)
def test_sizes_given(given: Any, found: dict[str, Any]) -> None:
    assert shapes_given(given) == found


KNOWN = ["PAD101", "PAD102", "PAD201"]


@each_row(
    "call",
    [
        lambda: shapes_given(range(3)),
        lambda: shapes_given(b"1,2"),
        lambda: shapes_given(5),  # type: ignore[arg-type]
        lambda: shapes_given({1: [2]}),  # type: ignore[dict-item]
        lambda: dims_given([1]),  # type: ignore[arg-type]
        lambda: dims_given({None: 2}),  # type: ignore[dict-item]
        lambda: codes_given("select", 5, KNOWN),  # type: ignore[arg-type]
        lambda: codes_given("select", [5], KNOWN),  # type: ignore[list-item]
        lambda: codes_given("ignore", "", KNOWN),
        lambda: codes_given("ignore", "PAD1,", KNOWN),
        lambda: codes_given("ignore", "pad301", KNOWN),
        lambda: source(None, "fix"),  # type: ignore[arg-type]
        lambda: source(["a"], "fix"),  # type: ignore[arg-type]
        lambda: source({"a": 1}, "fix"),  # type: ignore[arg-type]
        lambda: source(Path("a").open, "fix"),  # type: ignore[arg-type]
    ],
)
def test_what_an_argument_cannot_be(call: Callable[[], Any]) -> None:
    with pytest.raises(UsageError):
        call()


def test_codes_and_sources() -> None:
    assert codes_given("select", " pad1 ,PAD201", KNOWN) == ("PAD1", "PAD201")
    assert codes_given("select", ("PAD101", "pad2"), KNOWN) == ("PAD101", "PAD2")
    assert codes_given("select", [], KNOWN) == ()
    assert dims_given(None) == {}
    assert dims_given({"h": 3}) == {"h": 3}
    assert source("a", "fix") == source(Path("a"), "fix") == Path("a")
    assert source(bytearray(b"a"), "fix") == source(memoryview(b"a"), "fix") == b"a"


@each_row("value", [0, 0.0, 1e-9, 5, np.float32(2), None])
def test_numbers_that_are_not_negative(value: Any) -> None:
    require_positive(rtol=value)
    if value is None or value > 0:
        require_timeout(value)
    else:
        with pytest.raises(UsageError):
            require_timeout(value)


@each_row("value", [-1, -1e-9, math.nan, math.inf, "1", [1]])
def test_numbers_that_are_refused(value: Any) -> None:
    with pytest.raises(UsageError):
        require_positive(rtol=None, atol=value)
    with pytest.raises(UsageError):
        require_timeout(value)
    with pytest.raises(UsageError, match="not True"):
        require_timeout(True)
