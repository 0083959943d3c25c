"""Where results and pages go, and where never: without a command. What shells complete."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from onnxpad.cli.options import Asked, _codes, _targets
from onnxpad.cli.output import require_page, target_of
from onnxpad.errors import OnnxpadError, OutputError, UsageError, let_through
from tests.support.rows import each_row


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Models, one of them under several names, arrays, and what is no file."""
    (tmp_path / "m.onnx").write_bytes(b"m")
    (tmp_path / "m.fixed.onnx").write_bytes(b"older")
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    (tmp_path / "linked.html").symlink_to("m.onnx")
    (tmp_path / "default.onnx").write_bytes(b"d")
    (tmp_path / "default.fixed.onnx").symlink_to("default.onnx")
    os.link(tmp_path / "m.onnx", tmp_path / "hard.onnx")
    (tmp_path / "arrays.npz").touch()
    os.link(tmp_path / "arrays.npz", tmp_path / "hard.npz")
    (tmp_path / "sub").mkdir()
    (tmp_path / "taken.onnx").touch()
    (tmp_path / "notes.txt").write_bytes(b"PK")
    (tmp_path / "taken.fixed.onnx").mkdir()
    return tmp_path


@each_row(
    ("model", "output", "in_place", "target"),
    [
        ("m.onnx", None, False, "m.fixed.onnx"),
        ("m.onnx", "new.onnx", False, "new.onnx"),
        ("m.onnx", "sub/new", False, "sub/new/m.onnx"),
        ("m.onnx", "sub", False, "sub/m.onnx"),
        ("m.onnx", None, True, "m.onnx"),
        ("link.onnx", None, True, "m.onnx"),
        ("link.onnx", None, False, "link.fixed.onnx"),
        ("m.fixed.onnx", None, False, "m.fixed.fixed.onnx"),
        ("v1.2", None, False, "v1.2.fixed.onnx"),
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
        ("m.onnx", "notes.txt", False, UsageError),
        ("default.onnx", None, False, UsageError),
        ("m.onnx", "new", True, UsageError),
        ("m.onnx", "sub/../m.onnx", False, UsageError),
        ("m.onnx", "link.onnx", False, UsageError),
        ("m.onnx", "hard.onnx", False, UsageError),
        ("m.onnx", "arrays.npz", False, UsageError),
        ("m.onnx", "hard.npz", False, UsageError),
        ("m.onnx", "-", False, UsageError),
        ("m.onnx", "arrays.npz/sub", False, OutputError),
        ("taken.onnx", None, False, OutputError),
        ("m.onnx", os.devnull, False, OutputError),
        ("m.onnx", "no/new.onnx", False, OutputError),
    ],
)
def test_where_no_result_can_go(
    model: str, output: str | None, in_place: bool, kind: type, folder: Path
) -> None:
    given = None if output is None else Path(output) if output == "-" else folder / output
    path = folder / "arrays.npz"
    for arrays in cast("list[dict[str, Any]]", [{"inputs": path}, {"references": [path]}]):
        with pytest.raises(OnnxpadError) as caught:
            target_of(
                Asked(model=folder / model, output=given, in_place=in_place, **arrays), "fixed"
            )
        assert type(caught.value) is kind


@each_row(
    ("content", "is_page"),
    [
        (b"", True),
        (b"<!DOCTYPE html><html>", True),
        (b"\n  <!doctype HTML>", True),
        (b"<HTML lang='en'>", True),
        (b"\x08\x0a\x12", False),
        (b"x <html>", False),
        (b"<svg>", False),
    ],
)
def test_only_a_page_is_replaced_by_a_page(content: bytes, is_page: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(content)
    if is_page:
        require_page(Asked(html=page))
    else:
        with pytest.raises(UsageError):
            require_page(Asked(html=page))
    assert page.read_bytes() == content


@each_row(
    ("name", "error"),
    [
        ("-", UsageError),
        ("m.onnx", UsageError),
        ("linked.html", UsageError),
        ("gone.onnx", UsageError),
        ("sub", OutputError),
        ("missing/page.html", OutputError),
        ("sub/page.html", OutputError),
        ("new.html", None),
    ],
)
def test_where_a_page_may_be_written(
    name: str, error: type[Exception] | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: path.name != "sub")
    asked = Asked(html=Path("-") if name == "-" else folder / name)
    given = (None, folder / "m.onnx", folder / "gone.onnx")
    if error is None:
        require_page(asked, *given)
        require_page(Asked(html=None), folder)
    else:
        with pytest.raises(error):
            require_page(asked, *given)


def test_what_is_completed() -> None:
    assert _codes("PAD90") == ["PAD901", "PAD903"]
    assert _codes("PAD1,PAD20,PAD70")[:2] == ["PAD1,PAD20,PAD701", "PAD1,PAD20,PAD702"]
    assert _targets("openv") == ["openvino"]


class _Handler:
    def method(self, *_: object) -> None:
        raise TimeoutError("a limit")


def _handle(*_: object) -> None:
    raise TimeoutError("a limit")


@each_row(
    ("handler", "wrapped"),
    [(_handle, 0), (_handle, 2), (_Handler().method, 0), (_Handler().method, 1)],
)
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
