"""Plugins of onnxruntime: found by name, loaded in a worker alone, and their faults in one line."""

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from onnxpad.errors import ProviderError
from onnxpad.runtimes import pool, providers
from onnxpad.runtimes.onnxruntime.native import plugins
from tests.support import parsed


def installed(folder: Path, name: str, code: str) -> None:
    """Puts a plugin's package into a folder."""
    module = f"onnxruntime-ep-{name}".replace("-", "_")
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: onnxruntime-ep-{name}\n")
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, where workers look too."""
    pool._end_all()
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_plugins_are_found_by_their_packages_alone(folder: Path) -> None:
    before = plugins()
    for name in ("mine", "nv-tensorrt-rtx-cu12", "web_gpu"):
        installed(folder, name, "raise SystemExit('imported')")
    (folder / "onnxruntime_ep_nv_tensorrt_rtx_cu12" / "__init__.py").unlink()  # no file of RECORD
    (folder / "onnxruntime_ep_meta-1.0.dist-info").mkdir()  # of a package that only requires one
    meta = "Metadata-Version: 2.1\nName: onnxruntime-ep-meta\n"
    (folder / "onnxruntime_ep_meta-1.0.dist-info" / "METADATA").write_text(meta)
    assert plugins() == before | {
        "mine": "onnxruntime_ep_mine",
        "tensorrt-rtx": "onnxruntime_ep_nv_tensorrt_rtx_cu12",
        "web-gpu": "onnxruntime_ep_web_gpu",
    }


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("get_library_path = lambda: '/nowhere/plugin.so'", "the plugin openvino does not load"),
        ("raise ValueError('broken')", "the plugin openvino does not load: broken"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed (SIGSEGV)"),
        ("import time; time.sleep(600)", "did not end within 1 s"),
    ],
)
def test_a_plugin_that_does_not_run_is_one_line(
    code: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(folder, "openvino", code)
    monkeypatch.setattr(providers, "_SECONDS", 1.0)
    with pytest.raises(ProviderError) as raised:
        providers.chosen(["openvino"])
    assert said in str(raised.value)
    assert raised.value.exit_code == 4
    assert "\n" not in str(raised.value)


def test_a_plugin_that_nobody_knows_is_asked_for_its_provider(folder: Path) -> None:
    installed(folder, "mine", "def get_ep_names():\n    return ['MineExecutionProvider']")
    for name in ("mine", "MineExecutionProvider"):
        with pytest.raises(ProviderError, match="the plugin mine does not load"):
            providers.chosen([name])


def test_fix_and_check_load_no_plugin(folder: Path) -> None:
    installed(folder, "openvino", "raise SystemExit('imported')")
    onnx.save(parsed("g (float[1] x) => (float[1] y) { y = Neg (x) }"), folder / "m.onnx")
    for command in ("check", "fix"):
        ended = subprocess.run(
            [sys.executable, "-m", "onnxpad", command, "m.onnx", "-q"],
            capture_output=True, cwd=folder, check=False, timeout=120,
        )  # fmt: skip
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
