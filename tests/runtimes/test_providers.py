"""Providers by name, really tried: a stand-in for CUDA, and plugins, loaded in a worker alone."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import onnxruntime
import pytest

from onnxpad.errors import ProviderError, UsageError
from onnxpad.runtimes import pool, providers
from onnxpad.runtimes.onnxruntime.native import CUDA, plugins
from onnxpad.runtimes.providers import chosen
from onnxpad.runtimes.sessions import CPU
from onnxpad.validation.whole import validate_models
from tests.support import parsed

HAS_CUDA = Path("/dev/nvidia0").exists()


class Device:
    """What the stand-in for CUDA does: computed on the CPU, and bent as told."""

    def __init__(self) -> None:
        self.starts = True
        self.left_to_cpu: set[str] = set()
        self.bias: dict[str, float] = {}
        self.options: list[dict[str, str]] = []


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, run_here: None) -> Device:
    """onnxruntime with a CUDA provider that is none."""
    device = Device()
    plain = onnxruntime.InferenceSession

    class Session(plain):  # type: ignore[misc, valid-type]
        def __init__(self, model: Any, options: Any, providers: Any, **more: Any) -> None:
            self.cuda = providers[0][0] == CUDA
            if self.cuda:
                device.options.append(providers[0][1])
                proto = onnx.load_from_string(model)
                self.bias = sum(device.bias.get(node.op_type, 0) for node in proto.graph.node)
            super().__init__(model, options, providers=[CPU], **more)

        def get_providers(self) -> list[str]:
            return [CUDA, CPU] if self.cuda and device.starts else [CPU]

        def run(self, names: Any, feeds: Any, *options: Any) -> Any:
            values = super().run(names, feeds, *options)
            return [value + self.bias for value in values] if self.cuda else values

        def get_provider_graph_assignment_info(self) -> list[Any]:
            return [
                SimpleNamespace(
                    ep_name=CUDA if self.cuda and node.op_type not in device.left_to_cpu else CPU,
                    get_nodes=lambda node=node: [node],
                )
                for part in super().get_provider_graph_assignment_info()
                for node in part.get_nodes()
            ]

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    return device


def parse(body: str) -> onnx.ModelProto:
    weights = "<float[1,1,3] w = {1,2,3}, int64[6] p = {0,0,1,0,0,1}, float one = {1.0}>"
    return parsed(f"g (float[1,1,7] x) => (float[1,1,?] y) {weights} {{ {body} }}")


PAD = parse("q = Pad (x, p) y = Conv (q, w)")
FOLD = parse("y = Conv <pads = [1,1]> (x, w)")
WRONG = parse("y = Conv <pads = [0,2]> (x, w)")


def test_the_cpu_is_always_there_and_unknown_names_are_refused() -> None:
    assert chosen(["cpu"]) == chosen(["CPU", CPU, CPU.lower()]) == ((CPU,), ())
    for names in (["gpu"], ["cpu", "tensort"], [""], []):
        with pytest.raises(UsageError, match=r"cpu, cuda"):
            chosen(names)


@pytest.mark.skipif(HAS_CUDA, reason="a CUDA device is here and would start")
def test_cuda_that_does_not_start() -> None:
    with pytest.raises(ProviderError) as caught:
        chosen(["cpu", "cuda"])
    assert caught.value.exit_code == 4
    providers, (_note,) = chosen(["auto", "auto"])
    assert providers == (CPU,)


def test_cuda_that_starts(device: Device) -> None:
    assert chosen(["cpu", "cuda"]) == ((CPU, CUDA), ())
    assert chosen(["auto"]) == ((CUDA, CPU), ("provider auto: CUDA and CPU",))


@pytest.mark.parametrize(
    "does", [{"left_to_cpu": {"Relu"}}, {"starts": False}, {"bias": {"Relu": 1.0}}]
)
def test_cuda_that_is_of_no_use(does: dict[str, Any], device: Device) -> None:
    """It leaves all to the CPU, is listed and falls back, or computes wrong."""
    vars(device).update(does)
    with pytest.raises(ProviderError):
        chosen(["cuda"])
    assert chosen(["auto"])[0] == (CPU,)


# Models on it


def test_agreement_names_settings_and_places(device: Device) -> None:
    found = validate_models(PAD, FOLD, providers=(CUDA, CPU))
    assert found.ok
    assert [
        (run.provider, run.optimisation, run.subject, run.against)
        for run in found.runs
        if not run.inputs.endswith("all negative")
    ] == [
        (CUDA, "off", "original", "original on the CPU"),
        (CUDA, "off", "rewritten", "original"),
        (CUDA, "full", "rewritten", "original"),
        (CPU, "off", "rewritten", "original"),
        (CPU, "full", "rewritten", "original"),
    ]
    assert all(each["use_tf32"] == "0" for each in device.options)
    assert [(p.provider, p.model, p.nodes, p.elsewhere) for p in found.placements] == [
        (CUDA, "original", 2, ()),
        (CUDA, "rewritten", 1, ()),
    ]
    wrong = validate_models(PAD, WRONG, providers=(CUDA,))
    assert wrong.divergence is not None
    assert (wrong.outcome, wrong.divergence.tensor) == ("failed", "y")
    device.left_to_cpu = {"Pad"}
    original, rewritten = validate_models(PAD, FOLD, providers=(CUDA,)).placements
    assert (original.nodes, rewritten.elsewhere) == (2, ())
    (name,) = original.elsewhere
    assert name.endswith("(Pad)")


# Plugins are found by name, and their faults are one line


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
