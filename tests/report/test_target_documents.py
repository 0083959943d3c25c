"""What is known of a target in short fits a screen, whatever the target."""

from operator import attrgetter
from pathlib import Path

import pytest

from onnxpad.report.documents.target_documents import target_document
from onnxpad.report.layout import Screen, text_of
from onnxpad.report.text import for_targets
from onnxpad.targets.known_targets import every, load
from onnxpad.targets.target import Target


@pytest.mark.parametrize("target", every(), ids=attrgetter("full_name"))
def test_a_target_is_told_in_25_lines(target: Target) -> None:
    short, whole = (
        text_of(target_document({target.full_name: target}, in_full=in_full), Screen(80))
        for in_full in (False, True)
    )
    assert short.count("\n") <= 25
    assert f"fix MODEL --target {target.full_name}" in short
    assert f"of {len(target.cells)} cells measured" in short
    assert all(cell.source in whole for cell in target.cells if len(cell.source) < 40)


def test_a_file_of_a_user_is_told_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    cells = [
        ('op = "Pad", rank = 4', "rejected"),
        ('auto_pad = ["SAME_UPPER", "SAME_LOWER"], op = "Conv"', "wrong"),
        ('op = "Conv", rank = 1, pads = "equal"', "fallback"),
        ('op = "Conv"', "right"),
        ('op = "Pad", ceil = "over"', "wrong"),
    ]
    text = [
        f'[[cell]]\nwhen = {{ {when} }}\nverdict = "{verdict}"\nsource = "it"'
        for when, verdict in cells
    ]
    path.write_text("\n".join(['title = "N"', *text]), encoding="utf-8")
    short = text_of(target_document({str(path): load(path)}, in_full=False), Screen(400))
    assert f"--target {path}\n" in short
    assert short.count("none of these forms, though models may have it: op Pad, ceil over") == 1
    (row,) = (line for line in short.splitlines() if line.strip().startswith("auto pad conv  "))
    assert "wrong" in row
    path.write_text('title = "N"', encoding="utf-8")
    assert for_targets([str(path)]) == ", for npu (no cell: not known)"
    assert for_targets(["tract", "tract@0"]) == ", for tract@0.23.9 (run)"
