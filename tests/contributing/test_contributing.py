"""Each example of the page for contributors applies to the checkout, and works."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support import ROOT
from tests.support.manual import pages

HERE: Final = Path(__file__).parent
PARTS: Final = (
    *("onnxpad", "passes", "tests/__init__.py", "tests/budget.py", "tests/budget.toml"),
    *("tests/case.py", "tests/support"),
)
"""What the examples change, and what runs them."""

MODEL: Final = "import onnx; onnx.save(onnx.parser.parse_model('''{}'''), 'same.onnx')"
SAME: Final = """<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 2, 8, 8] x, float[2, 2, 3, 3] w) => (float[] y)
{ [same] y = Conv <auto_pad = "SAME_UPPER"> (x, w) }"""
ASKED: Final = ["--op", "conv", "--size", "8", "--kernel", "3", "--stride", "2"]
PROVIDER: Final = """
from unittest import mock
from onnxpad.runtimes.onnxruntime import native

name = "MIGraphXExecutionProvider"
with mock.patch.object(native, "available_providers", lambda: [name, native.CPU]):
    print(native._provider(native.imported(), name, native.imported().SessionOptions()))
"""
WORKS: Final[dict[str, tuple[Sequence[str], int, str]]] = {
    "case": (["-m", "tests.case", "tests/cases/refused/circular.txt"], 0, "copies data"),
    "operator": (["-m", "tests.case", "tests/cases/fold/conv_last.txt"], 0, "made PAD201"),
    "step": (["-m", "tests.case", "tests/cases/steps/mish.txt"], 0, "made PAD207"),
    "rewrite": (["-m", "tests.case", "tests/cases/pools/drop_count.txt"], 0, "made PAD104"),
    "reason": (["-m", "tests.case", "tests/cases/refused/wraps.txt"], 0, "PAD201 wraps-round"),
    "format": (
        ["-m", "onnxpad", "check", "same.onnx", "--format", "gitlab"],
        1,
        '"check_name": "PAD101"',
    ),
    "framework": (["-m", "onnxpad", "explain", *ASKED], 0, "jax-same"),
    "provider": (["-c", PROVIDER], 0, "migraphx_fp16_enable"),
    "target": (["-m", "onnxpad", "targets", "onnx-reference", "-v"], 0, "op_lp_pool.py"),
}
"""By the name of a diff, what shows that it works: a command of Python, its exit code and output.

Without the diff, that is not what comes out.
"""


class Checkout:
    """The part of the checkout that examples change, in another folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for part in PARTS:
            given, copied = ROOT / part, folder / part
            copied.parent.mkdir(exist_ok=True)
            if given.is_dir():
                unwanted = shutil.ignore_patterns("__pycache__")
                shutil.copytree(given, copied, symlinks=True, ignore=unwanted)
            else:
                shutil.copy(given, copied)
        own = {"PYTHONPATH": str(folder), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        self.environment = {**os.environ, **own}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.python("-c", MODEL.format(SAME))

    def apply(self, diff: Path, *options: str) -> None:
        """Applies a diff, as who contributes does."""
        apply = ["git", "apply", *options, str(diff)]
        done = subprocess.run(apply, cwd=self.root, capture_output=True, text=True, check=False)
        assert not done.returncode, f"to be made anew for what is there now: {done.stderr}"

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs Python in the checkout."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("checkout"))


@pytest.mark.parametrize("name", WORKS)
def test_an_example_applies_and_works(name: str, checkout: Checkout) -> None:
    arguments, code, told = WORKS[name]
    checkout.apply(HERE / f"{name}.diff")
    try:
        done = checkout.python(*arguments)
    finally:
        checkout.apply(HERE / f"{name}.diff", "--reverse")
    assert done.returncode == code, done.stdout + done.stderr
    assert told in done.stdout


def test_all_examples_together_are_within_the_limits(checkout: Checkout) -> None:
    for name in WORKS:
        checkout.apply(HERE / f"{name}.diff")
    over = "from tests.budget import budget, wrong_limits; print(wrong_limits(budget()['package']))"
    try:
        done = checkout.python("-c", over)
    finally:
        for name in reversed(WORKS):
            checkout.apply(HERE / f"{name}.diff", "--reverse")
    assert done.stdout == "[]\n", f"python -m tests.budget --write: {done.stdout}{done.stderr}"


def test_the_page_names_each_example_and_shows_one() -> None:
    page = pages()["contributing"]
    assert {path.stem for path in HERE.glob("*.diff")} == WORKS.keys()
    assert set(re.findall(r"`(\w+)\.diff`", page)) == WORKS.keys()
    (shown,) = re.findall(r"^```diff base\n((?:.*\n)*?)```$", page, re.MULTILINE)
    assert (HERE / "step.diff").read_text(encoding="utf-8").endswith(shown)
