"""Where results go, what shells hand over, and errors that a signal raised: without a command."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onnxpad.cli.options import Asked, _codes, _targets
from onnxpad.cli.output import target_of
from onnxpad.errors import OnnxpadError, OutputError, UsageError, let_through
from tests.support.rows import each_row


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.onnx").write_bytes(b"m")
    (tmp_path / "m.fixed.onnx").write_bytes(b"older")
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    os.link(tmp_path / "m.onnx", tmp_path / "hard.onnx")
    (tmp_path / "sub").mkdir()
    return tmp_path


@each_row(
    ("model", "output", "in_place", "target"),
    [
        ("m.onnx", None, False, "m.fixed.onnx"),
        ("m.onnx", "new.onnx", False, "new.onnx"),
        ("m.onnx", "sub/new", False, "sub/new"),
        ("m.onnx", None, True, "m.onnx"),
        ("link.onnx", None, True, "m.onnx"),
        ("link.onnx", None, False, "link.fixed.onnx"),
        ("m.fixed.onnx", None, False, "m.fixed.fixed.onnx"),
        ("absent", None, False, "absent.fixed.onnx"),
    ],
)
def test_the_path_of_a_result(
    model: str, output: str | None, in_place: bool, target: str, folder: Path
) -> None:
    given = None if output is None else folder / output
    asked = Asked(model=folder / model, output=given, in_place=in_place)
    assert target_of(asked, "fixed") == folder / target


@each_row(
    ("model", "output", "in_place", "kind"),
    [
        ("sub", None, False, UsageError),
        ("m.onnx", "new", True, UsageError),
        ("m.onnx", "m.onnx", False, UsageError),
        ("m.onnx", "link.onnx", False, UsageError),
        ("m.onnx", "hard.onnx", False, UsageError),
        ("m.onnx", "sub", False, OutputError),
        ("m.onnx", "no/new", False, OutputError),
    ],
)
def test_where_no_result_can_go(
    model: str, output: str | None, in_place: bool, kind: type, folder: Path
) -> None:
    given = None if output is None else folder / output
    with pytest.raises(OnnxpadError) as caught:
        target_of(Asked(model=folder / model, output=given, in_place=in_place), "fixed")
    assert type(caught.value) is kind


def test_a_dash_names_no_file_and_nothing_given_is_replaced(folder: Path) -> None:
    model = folder / "m.onnx"
    with pytest.raises(UsageError, match="--output"):
        target_of(Asked(model=model, output=Path("-")), "fixed")
    with pytest.raises(UsageError):
        target_of(Asked(model=model, output=model), "matched")
    assert target_of(Asked(model=model, output=None), "matched").name == "m.matched.onnx"
    arrays = folder / "arrays.npz"
    arrays.touch()
    os.link(arrays, folder / "hard.npz")
    for name in ("inputs", "reference"):
        for same in (arrays, folder / "hard.npz"):
            with pytest.raises(UsageError):
                target_of(Asked(model=model, output=same, **{name: arrays}), "fixed")


def test_what_is_completed() -> None:
    assert _codes("PAD90") == ["PAD901", "PAD903"]
    assert _codes("PAD1,PAD20,PAD70")[:2] == ["PAD1,PAD20,PAD701", "PAD1,PAD20,PAD702"]
    assert _targets("openv") == ["openvino"]


class _Handler:
    def method(self, *_: object) -> None:
        raise TimeoutError("a limit")


def _handle(*_: object) -> None:
    raise TimeoutError("a limit")


@each_row("handler", [_handle, _Handler().method])
@pytest.mark.parametrize("wrapped", [0, 1, 2])
def test_what_a_handler_raised_is_let_through(handler: Callable[..., Any], wrapped: int) -> None:
    def fails() -> None:
        handler(signal.SIGUSR1, None)

    for _ in range(wrapped):

        def fails(inner: Callable[[], None] = fails) -> None:  # type: ignore[misc]
            try:
                inner()
            except Exception as error:
                raise ValueError("wrapped") from error

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises((TimeoutError, ValueError)) as caught:
            fails()
        with pytest.raises(TimeoutError, match="a limit"):
            let_through(caught.value)
    finally:
        signal.signal(signal.SIGUSR1, before)
    let_through(caught.value)  # it is no handler's any more
