"""onnxruntime itself: the only module that imports it, and only when it is needed.

A crash here ends the process, so `worker` runs this module in a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import time
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from onnxpad.arguments import InFolder
from onnxpad.errors import ProviderError, shortened
from onnxpad.runtimes.runtime import THREADS, EngineError, Located, Optimisation

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

# TF32 keeps 10 of the 23 bits; a search may choose another algorithm at each start. OpenVINO takes
# bfloat16, with 7 bits, where a CPU has instructions for it, and float16 on a GPU.
_PRECISION = '{"INFERENCE_PRECISION_HINT": "f32"}'
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    CUDA: {"use_tf32": "0", "cudnn_conv_algo_search": "DEFAULT"},
    "TensorrtExecutionProvider": {"trt_fp16_enable": "0"},
    "OpenVINOExecutionProvider": {"load_config": f'{{"CPU": {_PRECISION}, "GPU": {_PRECISION}}}'},
}
"""What makes the results of a provider exact in float32, and repeatable."""
ENVIRONMENT: Mapping[str, str] = {
    "NVIDIA_TF32_OVERRIDE": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # memory for weights comes in half the time
}
"""Variables that libraries read when they are loaded."""

_ONE_LINE = 300
_NODES = (
    r"Non-zero status code \w+ while \w+ (?P<op>\S+) node\. Name:'(?P<name>.*?)' Status Message: ",
    r"Node \((?P<name>.*?)\) Op \((?P<op>\w+)\) \[\w+\] ",
)
"""How onnxruntime's errors name a node, when running it and when inferring shapes."""
_SOURCE = r"\S*[/\\]onnxruntime[/\\]\S+:\d+ .*?\)>?( const)?( \[with .*?\])?( |$)"
"""The place of an error in onnxruntime, `/src/onnxruntime/core/x.cc:50 ns::f(T) [with T = int]`."""
_NO_KERNEL = "Could not find an implementation"
_SILENT = 4  # onnxruntime's log severity "fatal"

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
_PLACES = "session.record_ep_graph_assignment_info"


class Onnxruntime:
    """onnxruntime in this process, with at most one model open."""

    _session: Any = None
    _provider = CPU

    def open(
        self,
        model: Located,
        provider: str = CPU,
        optimisation: Optimisation = "off",
        threads: int | None = None,
    ) -> tuple[str, ...]:
        """Open a model, in place of the one before; returns the names of its outputs.

        Nodes that the provider cannot run fall back to the CPU's.

        Raises:
            EngineError: onnxruntime cannot load the model; its reason in one line.
            ProviderError: The provider is not installed, or does not start.
        """
        self.close()
        runtime = imported()
        options, level = runtime.SessionOptions(), runtime.GraphOptimizationLevel
        levels = {"off": level.ORT_DISABLE_ALL, "full": level.ORT_ENABLE_ALL}
        options.graph_optimization_level = levels[optimisation]
        options.intra_op_num_threads = threads or int(os.environ.get(THREADS, 0))
        named = _provider(runtime, provider, options)
        source: _Path | bytes = _Path(model) if isinstance(model, os.PathLike) else model.data
        if isinstance(model, InFolder):
            options.add_session_config_entry(_DATA_FOLDER, os.fsencode(model.folder))
        try:
            session = runtime.InferenceSession(source, options, enable_fallback=False, **named)
        except Exception as error:  # onnxruntime's own errors share no narrower base class
            lacks_kernel = _NO_KERNEL in str(error)
            raise EngineError(first_line(error), lacks_kernel=lacks_kernel) from None
        if provider not in session.get_providers():  # it fell back, and told nobody
            raise ProviderError(
                f"{provider} is installed but does not start on this machine (its "
                "libraries or its device are missing, as onnxpad doctor tells); use --provider cpu"
            )
        self._session, self._provider = session, provider
        return tuple(output.name for output in session.get_outputs())

    def run(self, feeds: Mapping[str, Any], outputs: Sequence[str]) -> tuple[list[Any], float]:
        """Run the model once; returns the outputs named, and the seconds it took.

        Raises:
            EngineError: onnxruntime cannot run it on these inputs; its reason in one line.
        """
        begin = time.perf_counter()
        try:
            values: list[Any] = self._session.run(list(outputs), dict(feeds))
        except Exception as error:  # onnxruntime's own errors share no narrower base class
            for name, data in feeds.items():
                if data.dtype.isbuiltin == 2:  # numpy's mark of a type from another package
                    raise EngineError(
                        f"onnxruntime's Python API takes no {data.dtype}, the type of {name!r}"
                    ) from None
            failed = (found["name"] for each in _NODES for found in re.finditer(each, str(error)))
            raise EngineError(first_line(error), tuple(failed)) from None
        return values, time.perf_counter() - begin

    def places(self) -> dict[str, str]:
        """The provider of each node, named as in `Pad_3 (Pad)`; unnamed ones have a number.

        Nothing on the CPU, and by onnxruntime before 1.24, which does not say.
        """
        tell = getattr(self._session, "get_provider_graph_assignment_info", list)
        parts: list[Any] = tell() if self._provider != CPU else []
        nodes = enumerate((node, part.ep_name) for part in parts for node in part.get_nodes())
        return {
            f"{node.name or f'{node.op_type}_{number}'} ({node.op_type})": provider
            for number, (node, provider) in nodes
        }

    def close(self) -> None:
        """Free the model, if there is one."""
        self._session = None


def _provider(runtime: types.ModuleType, provider: str, options: Any) -> dict[str, Any]:
    """Adds a provider to the options of a session; returns what names it beside them.

    Of one that is built in and a plugin, the plugin is taken. A ProviderError names those that are
    installed where it is not among them.
    """
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if provider == CPU:
        return {"providers": [CPU]}
    options.add_session_config_entry(_PLACES, "1")
    wanted = dict(_OPTIONS.get(provider, {}))
    if provider in _plugins():
        if not (devices := _devices(runtime, provider)):
            raise ProviderError(f"the plugin of {provider} finds no device here that it supports")
        options.add_provider_for_devices(devices[:1], wanted)
        return {}
    if provider not in (available := available_providers()):
        raise ProviderError(
            f"onnxruntime here has no {provider}; it has {', '.join(available)}. "
            "Choose one of these, or install the onnxruntime package that brings it"
        )
    if provider == CUDA:  # its libraries from pip, which it does not find by itself
        runtime.preload_dlls()
    return {"providers": [(provider, wanted), CPU]}


@cache
def _devices(runtime: types.ModuleType, provider: str) -> list[Any]:
    """The devices of a plugin, which is loaded."""
    name, module = _plugins()[provider]
    try:
        path = importlib.import_module(module).get_library_path()
        runtime.register_execution_provider_library(name, path)
    except Exception as error:  # of a plugin, which may raise anything
        raise ProviderError(f"the plugin {name} does not load: {first_line(error)}") from None
    return [each for each in runtime.get_ep_devices() if each.ep_name == provider]


def plugins() -> dict[str, str]:
    """The modules of the installed plugins, by the name to ask for; none is imported.

    A plugin is a package `onnxruntime-ep-NAME`, whose module knows the path of a library.
    """
    from importlib.metadata import distributions

    found = {}
    for each in distributions():
        name = (each.name or "").lower().replace("_", "-")
        module, files = name.replace("-", "_"), each.files or ()
        has_code = any(file.suffix == ".py" and file.parts[0] == module for file in files)
        if name.startswith("onnxruntime-ep-") and has_code:
            found[re.sub(r"^onnxruntime-ep-(nv-)?|-cu\d+$", "", name)] = module
    return found


@cache
def _plugins() -> dict[str, tuple[str, str]]:
    """The name and module of each installed plugin, by onnxruntime's name of its provider."""
    found, known = {}, _names(imported().get_all_providers())
    for name, module in plugins().items():
        with contextlib.suppress(Exception):  # its module alone knows that, and may not run
            provider = known.get(name) or importlib.import_module(module).get_ep_names()[0]
            found[provider] = name, module
    return found


class _Path:
    """A path to a model, which need not be UTF-8; bytes alone would be the model itself."""

    def __init__(self, path: os.PathLike[str]) -> None:
        self._path = os.fsencode(path)

    def __fspath__(self) -> bytes:
        return self._path


def _names(providers: Iterable[str]) -> dict[str, str]:
    """Providers by their names in lower case, such as `cpuexecutionprovider`, and by `cpu`."""
    own = {each.lower(): each for each in providers}
    return own | {name.removesuffix("executionprovider"): each for name, each in own.items()}


def named_providers() -> dict[str, str]:
    """Every provider that there is by the names to ask for, in lower case."""
    asked = {name: own for own, (name, _) in _plugins().items()}
    asked |= {"tensorrt-rtx": "NvTensorRTRTXExecutionProvider"}  # also without its plugin
    return _names((*imported().get_all_providers(), *_plugins())) | asked


def available_providers() -> tuple[str, ...]:
    """The execution providers that are installed, whether they start here or not."""
    built_in = (each.split(".")[0] for each in imported().get_available_providers())
    return tuple(dict.fromkeys((*built_in, *_plugins())))  # a plugin that is loaded is in both


def cuda_version() -> str:
    """The CUDA version that onnxruntime is built for, such as `13.0`; empty without CUDA."""
    return str(getattr(imported(), "cuda_version", ""))


def settings_text(provider: str) -> str:
    """The options of a provider, such as `use_tf32=0, cudnn_conv_algo_search=DEFAULT`.

    >>> settings_text("CUDAExecutionProvider")
    'use_tf32=0, cudnn_conv_algo_search=DEFAULT'
    """
    return ", ".join(map("=".join, _OPTIONS.get(provider, {}).items()))


def first_line(error: Exception) -> str:
    r"""The message of an onnxruntime exception in one readable line.

    Status codes, C++ source positions and signatures are removed; operator and reason stay.

    >>> first_line(ValueError("[ONNXRuntimeError] : 3 : NO_SUCHFILE : File\n doesn't exist"))
    "File doesn't exist"
    """
    # A message that names a path that is not UTF-8 comes as the error of decoding it.
    said = os.fsdecode(error.object) if isinstance(error, UnicodeDecodeError) else str(error)
    # The searches below take time quadratic in the length of a word.
    text = shortened(" ".join(said.split()))
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    text = re.sub(r"^Load model from .+? failed: ?", "", text)
    text = re.sub(_SOURCE, "", text)
    for pattern in _NODES:
        text = re.sub(pattern, _node, text)
    text = re.sub(_SOURCE, "", text)
    text = re.sub(r"\w+\.(cc|h):\d+ \w+ ", "", text).rstrip(" :") or type(error).__name__
    return text if len(text) <= _ONE_LINE else f"{text[: _ONE_LINE - 3].rstrip()}..."


def _node(found: re.Match[str]) -> str:
    """The operator of a node, with the node's name if it has one."""
    return f"{found['op']} {found['name']!r}: " if found["name"] else f"{found['op']}: "


@cache
def imported() -> types.ModuleType:
    """The onnxruntime module, with its log silenced: errors are raised."""
    try:
        import onnxruntime

        onnxruntime.set_default_logger_severity(_SILENT)
    except (ImportError, AttributeError) as error:  # one of two wheels uninstalled: folder gutted
        raise ProviderError(
            f"onnxruntime cannot be imported ({first_line(error)}); "
            "install one of onnxruntime and onnxruntime-gpu, not both"
        ) from None
    module: types.ModuleType = onnxruntime
    return module
