"""onnxruntime as a `Runtime`: the only module that imports it, and only when it is needed.

A crash here ends the process, so `worker` runs this module in a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import time
import types
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from onnxpad.errors import ProviderError, shortened
from onnxpad.runtimes.channel import Blob
from onnxpad.runtimes.runtime import EngineError, Opening, Optimisation

NAME = "onnxruntime"
CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

_ONE_LINE = 300
_NODES = (
    r"Non-zero status code \w+ while \w+ (?P<op>\S+) node\. Name:'(?P<name>.*?)' Status Message: ",
    r"Node \((?P<name>.*?)\) Op \((?P<op>\w+)\) \[\w+\] ",
)
"""How onnxruntime's errors name a node, when running it and when inferring shapes."""
_SOURCE = r"\S*[/\\]onnxruntime[/\\]\S+:\d+ .*?\)>?( const)?( \[with .*?\])?( |$)"
"""The place of an error in onnxruntime, `/src/onnxruntime/core/x.cc:50 ns::f(T) [with T = int]`."""
_NO_KERNEL = "Could not find an implementation"
_SILENT = 4  # onnxruntime's log severity "fatal": errors are raised, and not logged as well


# What makes results exact and repeatable. TF32 keeps 10 of the 23 bits; a search may choose another
# algorithm at each start.
_SESSION: Mapping[str, Mapping[str, str]] = {CPU: {"session.intra_op.allow_spinning": "0"}}
_PROVIDER: Mapping[str, Mapping[str, str]] = {
    CUDA: {"use_tf32": "0", "cudnn_conv_algo_search": "DEFAULT"}
}

_LEVELS: Mapping[Optimisation, str] = {
    "off": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "full": "ORT_ENABLE_ALL",
}

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"


class LocalSession:
    """A session in this process; deleting it frees the model."""

    def __init__(self, opening: Opening) -> None:
        """Open a session; raises if onnxruntime falls back to another provider.

        Raises:
            EngineError: onnxruntime cannot load the model; its reason in one line.
            ProviderError: The provider is not installed, or does not start.
        """
        require_provider(opening.provider)
        runtime = _onnxruntime()
        if opening.provider == CUDA:
            _preload()
        options, providers = _options(runtime, opening)
        source: object = opening.source
        if isinstance(opening.source, Blob):
            source = opening.source.data
        elif isinstance(path := _native(opening.source), bytes):
            source = _BytesPath(path)
        disabled = {"disabled_optimizers": list(opening.disabled)} if opening.disabled else {}
        try:
            session = runtime.InferenceSession(
                source, options, providers=providers, enable_fallback=False, **disabled
            )
        except Exception as error:  # onnxruntime's own errors share no narrower base class
            lacks_kernel = _NO_KERNEL in str(error)
            raise EngineError(first_line(error), lacks_kernel=lacks_kernel) from None
        started = session.get_providers()
        if opening.provider not in started:  # a failed start falls back without an exception
            if opening.record is not None:
                session.end_profiling()
            raise ProviderError(
                f"{opening.provider} is installed but does not start on this machine (its "
                f"libraries or its device are missing); use {' or '.join(started)}"
            )
        self._session = session
        self._run_options = runtime.RunOptions()
        self._run_options.log_severity_level = _SILENT
        self._profiled = opening.record is not None
        self.outputs: tuple[str, ...] = tuple(output.name for output in session.get_outputs())

    def run(self, feeds: Mapping[str, Any], outputs: Sequence[str]) -> tuple[list[Any], float]:
        """Run the model once; returns the outputs named, and the seconds it took.

        Raises:
            EngineError: onnxruntime cannot run it on these inputs; its reason in one line.
        """
        begin = time.perf_counter()
        try:
            values: list[Any] = self._session.run(list(outputs), dict(feeds), self._run_options)
        except Exception as error:  # onnxruntime's own errors share no narrower base class
            for name, data in feeds.items():
                if data.dtype.isbuiltin == 2:  # numpy's mark of a type from another package
                    raise EngineError(
                        f"onnxruntime's Python API takes no {data.dtype}, the type of {name!r}"
                    ) from None
            failed = (found["name"] for each in _NODES for found in re.finditer(each, str(error)))
            raise EngineError(first_line(error), tuple(failed)) from None
        return values, time.perf_counter() - begin

    def ran_on(self) -> dict[str, str]:
        """The provider of each node that ran, in running order; profiling ends here."""
        if not self._profiled:
            return {}
        self._profiled = False
        try:
            profile = self._session.end_profiling()
        except UnicodeDecodeError as error:
            profile = os.fsdecode(error.object)
        events = json.loads(Path(profile).read_bytes())
        return {
            f"{event['name'].removesuffix('_kernel_time')} ({event['args']['op_name']})": event[
                "args"
            ]["provider"]
            for event in events
            if event.get("cat") == "Node"
            and event["name"].endswith("_kernel_time")
            and not event["args"]["op_name"].startswith("Memcpy")
        }


open_model = LocalSession


def _options(runtime: types.ModuleType, opening: Opening) -> tuple[Any, list[Any]]:
    """The options of a session and its providers, in onnxruntime's types."""
    options = runtime.SessionOptions()
    options.log_severity_level = _SILENT
    options.graph_optimization_level = getattr(
        runtime.GraphOptimizationLevel, _LEVELS[opening.optimisation]
    )
    if opening.threads is not None:
        options.intra_op_num_threads = opening.threads
    for key, value in _SESSION.get(opening.provider, {}).items():
        options.add_session_config_entry(key, value)
    if opening.folder is not None:
        options.add_session_config_entry(_DATA_FOLDER, _native(opening.folder))
    if opening.record is not None:
        options.enable_profiling = True
        options.profile_file_prefix = _native(os.fspath(Path(opening.record, "profile")))
    if opening.target is not None:
        options.optimized_model_filepath = _native(opening.target)
    providers: list[Any] = [(opening.provider, dict(_PROVIDER.get(opening.provider, {})))]
    if opening.provider != CPU:
        providers.append(CPU)
    return options, providers


def _native(path: str) -> str | bytes:
    """A path as onnxruntime's Python API takes it: bytes where it is not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


class _BytesPath(Struct, frozen=True):
    """A path to a model that is not UTF-8; onnxruntime takes bytes alone for the model itself."""

    path: bytes

    def __fspath__(self) -> bytes:
        """The path."""
        return self.path


def known_providers() -> tuple[str, ...]:
    """Every execution provider that onnxruntime has a name for, whether compiled in or not."""
    return tuple(_onnxruntime().get_all_providers())


def available_providers() -> tuple[str, ...]:
    """The execution providers compiled into onnxruntime, whether they start here or not."""
    return tuple(_onnxruntime().get_available_providers())


def version() -> tuple[int, int]:
    """The first two numbers of onnxruntime's version."""
    major, minor = map(int, _onnxruntime().__version__.split(".")[:2])
    return major, minor


def cuda_version() -> str:
    """The CUDA version that onnxruntime is built for, such as `13.0`; empty without CUDA."""
    return str(getattr(_onnxruntime(), "cuda_version", ""))


def warm() -> None:
    """Import onnxruntime, which takes a while; a failure is reported when it is first needed."""
    with contextlib.suppress(ProviderError):
        _onnxruntime()


def settings_text(provider: str) -> str:
    """The options of a provider, such as `use_tf32=0, cudnn_conv_algo_search=DEFAULT`.

    >>> settings_text("CUDAExecutionProvider")
    'use_tf32=0, cudnn_conv_algo_search=DEFAULT'
    """
    return ", ".join(f"{key}={value}" for key, value in _PROVIDER.get(provider, {}).items())


def require_provider(provider: str) -> None:
    """Raises unless `provider` is compiled into onnxruntime.

    Raises:
        ProviderError: It is not; the message names those that are.
    """
    available = available_providers()
    if provider not in available:
        raise ProviderError(
            f"onnxruntime here has no {provider}; it has {', '.join(available)}. "
            "Choose one of these, or install the onnxruntime package that brings it"
        )


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
def _preload() -> None:
    """Load the CUDA libraries installed by pip; onnxruntime does not find them by itself."""
    load = getattr(_onnxruntime(), "preload_dlls", None)
    if load is not None:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load()


@cache
def _onnxruntime() -> types.ModuleType:
    """The onnxruntime module, with its log silenced: stdout and stderr belong to the report."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import onnxruntime
        onnxruntime.set_default_logger_severity(_SILENT)
    except (ImportError, AttributeError) as error:  # one of two wheels uninstalled: folder gutted
        if _interrupted(error):
            raise KeyboardInterrupt from None
        raise ProviderError(
            f"onnxruntime cannot be imported ({first_line(error)}); "
            "install one of onnxruntime and onnxruntime-gpu, not both"
        ) from None
    module: types.ModuleType = onnxruntime
    return module


def _interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt caused an error; native modules report it as an ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def installation_warnings(place: Path | None = None) -> tuple[str, ...]:
    """A warning about several wheels in one folder; empty if there is only one.

    All wheels of onnxruntime own the same folder, and pip unpacks one over the other without a
    warning: CUDA may be gone, or half of the files may be of another version.

    Args:
        place: Folder of installed packages; None for that from which onnxruntime is imported.
    """
    wheels = installed_wheels(place)
    if len(wheels) < 2:
        return ()
    keep = max(wheels, key=len)  # longer names (onnxruntime-gpu) have more providers
    told = f"{' and '.join(wheels)} are installed in one folder, where each overwrites the others"
    return (f"{told}; keep one: pip uninstall -y {' '.join(wheels)} && pip install {keep}",)


def installed_wheels(place: Path | None = None) -> tuple[str, ...]:
    """The distributions that own the folder of onnxruntime, sorted.

    `importlib.metadata` would have to read the metadata of every installed package.
    """
    folder = place or _packages()
    if folder is None:
        return ()
    found = []
    try:
        infos = [*folder.glob("onnxruntime*.dist-info"), *folder.glob("ort_*.dist-info")]
    except OSError:
        return ()
    for info in infos:
        name = info.name.split("-")[0].replace("_", "-")
        if len(infos) < 2 or _owns(info):
            found.append(name)
    return tuple(sorted(set(found)))


def _packages() -> Path | None:
    """The folder of installed packages from which onnxruntime would be imported."""
    try:
        spec = importlib.util.find_spec(NAME)
    except (ImportError, ValueError):
        return None
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders))).parent if folders else None


def _owns(info: Path) -> bool:
    """Whether a distribution has files in onnxruntime's folder; extension packages have none."""
    try:
        with (info / "RECORD").open(encoding="utf-8", errors="replace") as lines:
            return any(line.startswith(f"{NAME}/") for line in lines)
    except OSError:
        return False
