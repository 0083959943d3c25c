"""Where a page may be written: never in place of somebody's data."""

from pathlib import Path

import pytest

from onnxpad.cli.options import Asked
from onnxpad.cli.output import require_page
from onnxpad.errors import OutputError, UsageError


@pytest.mark.parametrize(
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
def test_only_a_page_is_replaced(content: bytes, is_page: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(content)
    if is_page:
        require_page(Asked(html=page))
    else:
        with pytest.raises(UsageError):
            require_page(Asked(html=page))
    assert page.read_bytes() == content


def test_pages_that_can_be_written(tmp_path: Path) -> None:
    require_page(Asked(html=None), tmp_path)
    require_page(Asked(html=tmp_path / "new.html"), None, tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("-", UsageError),
        ("model.onnx", UsageError),
        ("linked.html", UsageError),
        ("gone.onnx", UsageError),
        ("folder", OutputError),
        ("missing/page.html", OutputError),
        ("folder/page.html", OutputError),
    ],
)
def test_pages_that_cannot(
    name: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, gone = tmp_path / "model.onnx", tmp_path / "gone.onnx"
    model.write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "linked.html").symlink_to(model)
    monkeypatch.setattr("os.access", lambda path, mode: path.name != "folder")
    page = Path("-") if name == "-" else tmp_path / name
    with pytest.raises(error):
        require_page(Asked(html=page), None, model, gone)
