"""Completion, asked for as the scripts of the shells do; bash runs its script itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

SHOWN = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An `onnxpad` in a folder of its own, which runs this tree."""
    path = tmp_path_factory.mktemp("bin") / "onnxpad"
    lines = (f"#!{sys.executable}", "from onnxpad.__main__ import main", "main()", "")
    path.write_text("\n".join(lines), encoding="utf-8")
    path.chmod(0o755)
    return path


def environment(program: Path, **more: str) -> dict[str, str]:
    paths = os.pathsep.join((str(program.parent), os.environ.get("PATH", "")))
    home = {"HOME": str(program.parent), "PYTHONPATH": str(ROOT)}
    return {**os.environ, **home, "PATH": paths, "TERM": "dumb", **more}


def asked(program: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *words],
        env=environment(program, **more),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")


@pytest.fixture(scope="module")
def script(program: Path) -> str:
    """The script for bash."""
    found = asked(program, "--show-completion", "bash", **SHOWN)
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout


@needs_bash
@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("onnxpad v", "validate", id="command"),
        pytest.param("onnxpad fix --st", "--style --strict", id="options"),
        pytest.param("onnxpad check --select PAD4,PAD50", "PAD4,PAD501", id="lists"),
        pytest.param("onnxpad rule PAD10", "PAD101 PAD102 PAD103", id="codes"),
        pytest.param("onnxpad fix --target openv", "openvino", id="targets"),
        pytest.param("onnxpad fix mod", "", id="a file is the shell's"),
    ],
)
def test_bash_completes(program: Path, script: str, words: str, found: str) -> None:
    given = words.split(" ")
    lines = (
        script,
        f"COMP_WORDS=({' '.join(f'{word!r}' for word in given)}); COMP_CWORD={len(given) - 1}",
        "_onnxpad_completion onnxpad",
        'echo "${COMPREPLY[*]}"',
    )
    result = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)],
        env=environment(program),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    assert (sorted(result.stdout.split()), result.stderr) == (sorted(found.split()), "")
