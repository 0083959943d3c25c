"""Outcomes: a tree equals itself, whatever differs is told, and what is meant is counted apart."""

import gzip
from pathlib import Path

import pytest

from tests.outcomes import __main__ as command
from tests.outcomes import running

FAULTS = {
    "PAD101": ("exit", "print(FOUND); sys.exit(7)"),
    "PAD9": ("crash", "os.abort()"),
    "absent": ("usage", "sys.exit(2)"),
    "fill-differs": ("late", "time.sleep(99)"),
    "--format": ("findings", "print(FOUND.replace('PAD1', 'PAD2'))"),
}
"""By a word of `rule`, what one of two trees does instead of the other, and what differs then."""


def stub(path: Path, cases: str) -> Path:
    """A tree of a command line alone."""
    found = '{"findings": [{"code": "PAD1", "reason_code": "why", "node": "n"}]}'
    text = f"import os, sys, time\nFOUND = '{found}'\ndef app(words, prog_name):\n{cases}    "
    (path / "onnxpad").mkdir(parents=True)
    (path / "onnxpad" / "__init__.py").touch()
    (path / "onnxpad" / "cli.py").write_text(f"{text}print(FOUND)\n", encoding="utf-8")
    return path


def test_a_tree_equals_its_record_in_another_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, sample = tmp_path / "record.gz", ["--only", "random/1", "--sample", "5", "--jobs", "1"]
    assert command.main(["record", str(path), *sample]) == 0
    assert command.main(["--against", str(path), *sample, "--shuffled"]) == 0
    assert "all             5         5         0          0\n" in capsys.readouterr().out
    text = gzip.decompress(path.read_bytes()).decode()
    assert '"findings[].reason_code"' in text
    assert "/tmp" not in text


@pytest.mark.night
def test_a_fault_is_told_with_a_command_or_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [f"    if words[1] == {w!r}:\n        {f}; return\n" for w, (_, f) in FAULTS.items()]
    other = stub(tmp_path / "other", "".join(parts))
    monkeypatch.setattr(command, "ROOT", stub(tmp_path / "sound", ""))
    monkeypatch.setattr(running, "LATE", 3.0)
    words = ["--against", str(other), "--only", "lines/rule.", "--jobs", "1"]
    assert command.main(words) == 1
    *_, names = out = capsys.readouterr().out.partition("\n\n")
    for kind, _ in FAULTS.values():
        assert f"\n{kind}: 1\n" in "".join(out)
    assert names.count(f"\n  python -m tests.outcomes --against {other} --case lines/rule.") == 5
    assert "\n  - PAD2 - why n\n  + PAD1 - why n\n" in names
    lines = [f"lines/rule.*\t{kind}\tmeant\n" for kind, _ in FAULTS.values()]
    (tmp_path / "wanted").write_text("".join([*lines[:4], "*\tfindings:- PAD3.*\tno such\n"]))
    assert command.main([*words, "--wanted", str(tmp_path / "wanted")]) == 1
    assert "all             5         0         4          1\n" in capsys.readouterr().out
    alone = ["--case", names.partition("--case ")[2].split()[0], "--against", str(other)]
    assert command.main(alone) == 1
    assert f"there: {other}, in " in capsys.readouterr().out
