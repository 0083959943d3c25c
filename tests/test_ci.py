"""What pipelines take from the checkout: the action for GitHub, and the hook for pre-commit."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support import ROOT, onnxpad_runs
from tests.support.manual import pages

ACTION = ROOT / ".github" / "actions" / "onnxpad" / "action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
MODELS = ROOT / "models"


def scripts() -> list[str]:
    """What the steps of the action run."""
    text = ACTION.read_text(encoding="utf-8")
    return [dedent(each) for each in re.findall(r"^      run: \|\n((?:        .*\n)+)", text, re.M)]


def step(
    script: str, folder: Path, scripts: str = "bin", **given: str
) -> "subprocess.CompletedProcess[str]":
    """One step, as GitHub runs it in bash, with the `onnxpad` of this environment."""
    temporary = folder / "d:temporary"  # as Windows has it: no part of PATH
    binaries = temporary / "onnxpad" / scripts
    binaries.mkdir(parents=True, exist_ok=True)
    command = binaries / "onnxpad"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m onnxpad "$@"\n')
    command.chmod(0o755)
    usual = {"PATHS": ".", "OPTIONS": "", "SARIF": "", "RUNNER_TEMP": str(temporary)}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": os.defpath, **usual, **given},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """A folder with a model whose padding `fix` would rewrite, and one that is clean."""
    for name, model in (("bad", "mobilenet_keras"), ("good", "misconverted/strided_conv2d")):
        place = tmp_path / "work" / f"{name} models"
        place.mkdir(parents=True)
        shutil.copy(MODELS / f"{model}.onnx", place / f"{name}.onnx")
    return tmp_path / "work"


def test_scripts_are_valid() -> None:
    assert len(scripts()) == 2
    for script in scripts():
        subprocess.run(["bash", "-n", "-c", script], check=True)
        assert "${{" not in script  # what a workflow gives comes by the environment alone


def test_action_annotates(exported: Path) -> None:
    _, check = scripts()
    done = step(check, exported, PATHS="bad models\ngood models\n")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::warning file=bad models/bad.onnx,title=")
    assert step(check, exported, PATHS="good models").returncode == 0


def test_action_writes_sarif(exported: Path) -> None:
    _, check = scripts()
    options = "--ignore PAD6\n--fail-on error"
    done = step(check, exported, SARIF="new folder/found.sarif", OPTIONS=options)
    assert done.returncode == 0, done.stderr
    found = exported / "new folder" / "found.sarif"
    assert '"version": "2.1.0"' in found.read_text(encoding="utf-8")


def test_action_runs_nothing_that_is_given(exported: Path) -> None:
    _, check = scripts()
    done = step(check, exported, PATHS="$(touch owned)", OPTIONS="$(touch owned) `touch owned`")
    assert done.returncode == 2
    assert not (exported / "owned").exists()


def test_action_fails_where_a_model_cannot_be_read(exported: Path) -> None:
    (exported / "broken.onnx").write_bytes(b"no model")
    _, check = scripts()
    done = step(check, exported, SARIF="found.sarif")
    assert done.returncode == 2
    assert "broken.onnx" in done.stdout + done.stderr


def test_hook() -> None:
    text = HOOKS.read_text(encoding="utf-8")
    (entry,) = re.findall(r"^  entry: onnxpad (.*)$", text, re.M)
    assert onnxpad_runs(*entry.split(), "--help").exit_code == 0
    (files,) = re.findall(r"^  files: (.*)$", text, re.M)
    assert re.search(files, "exported/net.onnx")
    assert re.search(files, "NET.ONNX")
    assert not re.search(files, "exported/net.onnx.data")
    (hook,) = re.findall(r"^- id: (.*)$", text, re.M)
    assert f"- id: {hook}" in pages()["pipelines"]
