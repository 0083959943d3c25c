"""onnxruntime sessions: the only module that imports onnxruntime, and only when one is opened.

May import `onnxpad.brevity` and `onnxpad.errors`.
"""

import contextlib
import io
import json
import os
import re
import tempfile
import time
import types
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]

from onnxpad.brevity import shortened
from onnxpad.errors import ModelError, ProviderError

Source: TypeAlias = str | os.PathLike[str] | bytes | onnx.ModelProto
Optimisation: TypeAlias = Literal["off", "full"]
Array: TypeAlias = npt.NDArray[Any]
Value: TypeAlias = "Array | Sequence[Value] | Mapping[Any, Any] | None"
"""What an output holds: a tensor, a sequence, a map, or the nothing of an optional."""

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

_ONE_LINE = 300
_NODES = (
    r"Non-zero status code \w+ while \w+ (?P<op>\S+) node\. Name:'(?P<name>.*?)' Status Message: ",
    r"Node \((?P<name>.*?)\) Op \((?P<op>\w+)\) \[\w+\] ",
)
"""How onnxruntime speaks of a node while it runs, and while it infers shapes."""
_SILENT = 4  # onnxruntime's log severity "fatal": what fails is raised, and said once


class EngineError(ModelError):
    """A model that onnxruntime cannot load, or cannot run on the inputs given."""


@dataclass(frozen=True, slots=True)
class _Settings:
    """What a provider is opened with, so that its answers can serve as an oracle."""

    provider: Mapping[str, str] = field(default_factory=dict)
    session: Mapping[str, str] = field(default_factory=dict)


_SETTINGS: Mapping[str, _Settings] = {
    CPU: _Settings(session={"session.intra_op.allow_spinning": "0"}),
    # TF32 keeps 10 bits of a float's 23; a search may choose another algorithm at each start.
    CUDA: _Settings(provider={"use_tf32": "0", "cudnn_conv_algo_search": "DEFAULT"}),
}

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"


class Session:
    """An open model. `close` frees its weights; two need never be held at once."""

    def __init__(  # noqa: D107
        self,
        session: Any,
        run_options: Any,
        profile: ExitStack | None = None,
    ) -> None:
        self._session = session
        self._run_options = run_options
        self._profile = profile
        self._outputs = [output.name for output in session.get_outputs()]

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Free the model; running it afterwards is an error."""
        if self._profile is not None:
            self.ran_on()
        self._session = None

    def run(
        self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None
    ) -> dict[str, Value]:
        """Each output (or those named) by name, of one run on `feeds`.

        Raises:
            EngineError: What onnxruntime says against these inputs, in one line.
        """
        names = self._outputs if outputs is None else list(outputs)
        try:
            values = self._session.run(names, dict(feeds), self._run_options)
        except Exception as error:  # onnxruntime's own errors share no narrower base class
            for name, data in feeds.items():
                if data.dtype.isbuiltin == 2:  # numpy's mark of a type from another package
                    raise EngineError(
                        f"onnxruntime's Python API takes no {data.dtype}, the type of {name!r}"
                    ) from None
            raise EngineError(first_line(error)) from None
        return dict(zip(names, values, strict=True))

    def timed(self, feeds: Mapping[str, Array]) -> tuple[dict[str, Value], float]:
        """What `run` gives, and the seconds it took."""
        begin = time.perf_counter()
        return self.run(feeds), time.perf_counter() - begin

    def ran_on(self) -> dict[str, str]:
        """The provider that each node ran on since the session was opened, in running order.

        Nodes are called as in `Pad_3 (Pad)`; those without a name by operator and number. Copies
        between devices, which onnxruntime inserts, are left out. Profiling ends here, so that runs
        after it are not slowed; without `profile` nothing is known.
        """
        if self._profile is None:
            return {}
        with self._profile:
            events = json.loads(Path(self._session.end_profiling()).read_bytes())
        self._profile = None
        return {
            f"{event['name'].removesuffix('_kernel_time')} ({event['args']['op_name']})": event[
                "args"
            ]["provider"]
            for event in events
            if event.get("cat") == "Node"
            and event["name"].endswith("_kernel_time")
            and not event["args"]["op_name"].startswith("Memcpy")
        }


def open_session(
    source: Source,
    *,
    provider: str = CPU,
    optimisation: Optimisation = "off",
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    profile: bool = False,
) -> Session:
    """A session of `source` that really runs on `provider`.

    Args:
        source: A path (external data is found beside it), serialized bytes, or a model.
        provider: Execution provider, as `CPUExecutionProvider`, which also backs any other.
        optimisation: `off` is the oracle: nothing is fused. `full` is what is deployed.
        threads: Threads a run may use; None leaves it to onnxruntime.
        folder: Where external data of a source in memory lies; None for the working directory.
        profile: Whether `Session.ran_on` will be asked.

    Raises:
        EngineError: What onnxruntime says against the model, in one line.
        ModelError: The source is too large to hand over in memory.
        ProviderError: The provider is not installed, or does not start.
    """
    require_provider(provider)
    runtime = _onnxruntime()
    if provider == CUDA:
        _preload()
    settings = _SETTINGS.get(provider, _Settings())
    options = runtime.SessionOptions()
    options.log_severity_level = _SILENT
    level = runtime.GraphOptimizationLevel
    options.graph_optimization_level = (
        level.ORT_DISABLE_ALL if optimisation == "off" else level.ORT_ENABLE_ALL
    )
    if threads is not None:
        options.intra_op_num_threads = threads
    for key, value in settings.session.items():
        options.add_session_config_entry(key, value)
    if folder is not None and not isinstance(source, str | os.PathLike):
        options.add_session_config_entry(_DATA_FOLDER, str(Path(folder).absolute()))
    providers: list[Any] = [(provider, dict(settings.provider))]
    if provider != CPU:
        providers.append(CPU)
    with ExitStack() as undo:
        record = None
        if profile:
            record = undo.enter_context(tempfile.TemporaryDirectory(prefix="onnxpad-"))
            options.enable_profiling = True
            options.profile_file_prefix = os.fspath(Path(record, "profile"))
        try:
            session = runtime.InferenceSession(
                payload(source), options, providers=providers, enable_fallback=False
            )
        except Exception as error:  # onnxruntime's own errors share no narrower base class
            raise EngineError(first_line(error)) from None
        started = session.get_providers()
        if provider not in started:  # a failed start falls back without an exception
            if profile:
                session.end_profiling()
            raise ProviderError(
                f"{provider} is installed but does not start on this machine (its libraries or "
                f"its device are missing); use {' or '.join(started)}"
            )
        kept = undo.pop_all()
    run_options = runtime.RunOptions()
    run_options.log_severity_level = _SILENT
    return Session(session, run_options, kept if profile else None)


def known_providers() -> tuple[str, ...]:
    """Every execution provider that onnxruntime has a name for, there or not."""
    return tuple(_onnxruntime().get_all_providers())


def available_providers() -> tuple[str, ...]:
    """The execution providers compiled into onnxruntime, whether they start here or not."""
    return tuple(_onnxruntime().get_available_providers())


def cuda_version() -> str:
    """The CUDA that onnxruntime is built for, as `13.0`; empty where it is built without."""
    return str(getattr(_onnxruntime(), "cuda_version", ""))


def settings_text(provider: str) -> str:
    """What a provider is opened with, as `use_tf32=0, cudnn_conv_algo_search=DEFAULT`.

    >>> settings_text("CUDAExecutionProvider")
    'use_tf32=0, cudnn_conv_algo_search=DEFAULT'
    """
    settings = _SETTINGS.get(provider, _Settings())
    return ", ".join(f"{key}={value}" for key, value in settings.provider.items())


def require_provider(provider: str) -> None:
    """Return if onnxruntime has `provider`.

    Raises:
        ProviderError: It has not; the message names those it has.
    """
    available = _onnxruntime().get_available_providers()
    if provider not in available:
        raise ProviderError(
            f"onnxruntime here has no {provider}; it has {', '.join(available)}. "
            "Choose one of these, or install the onnxruntime package that brings it"
        )


def read_proto(source: Source) -> onnx.ModelProto:
    """The model, without its external data.

    Raises:
        ModelError: No readable ONNX model is there.
    """
    if isinstance(source, onnx.ModelProto):
        return source
    try:
        if isinstance(source, bytes):
            return onnx.load_model_from_string(source)
        return onnx.load(source, load_external_data=False)
    except OSError as error:
        raise ModelError(f"{os.fspath(source)!r} cannot be read: {error.strerror}") from None
    except DecodeError:
        where = "the bytes given" if isinstance(source, bytes) else repr(os.fspath(source))
        raise ModelError(f"{where}: not an ONNX model (protobuf cannot parse it)") from None


def first_line(error: Exception) -> str:
    r"""One readable line of what an onnxruntime exception says.

    Status codes, C++ source positions and signatures go; the operator and the reason stay.

    >>> first_line(ValueError("[ONNXRuntimeError] : 3 : NO_SUCHFILE : File\n doesn't exist"))
    "File doesn't exist"
    """
    # The searches below take time by the square of a word's length.
    text = shortened(" ".join(str(error).split()))
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    text = re.sub(r"^Load model from .+? failed: ?", "", text)
    text = _without_cpp(text)
    for pattern in _NODES:
        text = re.sub(pattern, _node, text)
    text = _without_cpp(text)
    text = re.sub(r"\w+\.(cc|h):\d+ \w+ ", "", text).rstrip(" :") or type(error).__name__
    return text if len(text) <= _ONE_LINE else f"{text[: _ONE_LINE - 3].rstrip()}..."


def _node(found: re.Match[str]) -> str:
    """The operator, and its name if it has one."""
    return f"{found['op']} {found['name']!r}: " if found["name"] else f"{found['op']}: "


def _without_cpp(text: str) -> str:
    """`text` without `/src/onnxruntime/core/x.cc:50 ns::f(const T&) [with T = int]`."""
    found = re.search(r"\S*[/\\]onnxruntime[/\\]\S+:\d+ ", text)
    if found is None:
        return text
    rest = text[found.end() :]
    end = _closing(rest, "(", ")")
    while rest[end : end + 1] not in {"", " "}:  # `<lambda()>::operator()(int)` has three
        end += _closing(rest[end:], "(", ")") or len(rest)
    rest = rest[end:].removeprefix(" const").lstrip()
    if rest.startswith("[with "):
        rest = rest[_closing(rest, "[", "]") :].lstrip()
    return f"{text[: found.start()]}{rest}"


def _closing(text: str, opening: str, closing: str) -> int:
    """Where the first bracketed part of `text` has ended; 0 if there is none."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == opening) - (character == closing)
        if character == closing and depth == 0:
            return index + 1
    return 0


def payload(source: Source) -> str | bytes:
    """What onnxruntime opens: a path, for external data, or bytes."""
    if isinstance(source, bytes):
        return source
    if not isinstance(source, onnx.ModelProto):
        return os.fspath(source)
    try:
        data: bytes = source.SerializeToString()
    except (EncodeError, ValueError):
        raise ModelError(
            "the model is over 2 GiB, more than fits one message: save it and give its path"
        ) from None
    return data


@cache
def _preload() -> None:
    """Load the CUDA libraries that pip installed: onnxruntime does not look for them by itself."""
    load = getattr(_onnxruntime(), "preload_dlls", None)
    if load is not None:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load()


@cache
def _onnxruntime() -> types.ModuleType:
    """The onnxruntime module, made quiet: stdout and stderr belong to the report."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import onnxruntime
        onnxruntime.set_default_logger_severity(_SILENT)
    except (ImportError, AttributeError) as error:  # uninstalling one of two leaves a hollow folder
        if _interrupted(error):
            raise KeyboardInterrupt from None
        raise ProviderError(
            f"onnxruntime cannot be imported ({first_line(error)}); "
            "install one of onnxruntime and onnxruntime-gpu, not both"
        ) from None
    module: types.ModuleType = onnxruntime
    return module


def _interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt is behind an error: native code that is imported tells it as its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
