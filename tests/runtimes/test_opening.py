"""What onnxruntime is asked, by a module that stands for it, and a worker by a session.

No session is opened, and no process started.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import astuple

from onnxpad.arguments import InFolder
from onnxpad.errors import ProviderError
from onnxpad.runtimes import pool, sessions
from onnxpad.runtimes.channel import Blob
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.onnxruntime.native import CPU, CUDA, LocalSession
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError, Opening
from onnxpad.runtimes.sessions import AGREED, answers, evaluated_by_onnx, open_session, optimised
from tests.support import parsed
from tests.support.rows import each_row

MODEL = parsed("g (float[2] x) => (float[2] y) { y = Neg (x) }")
X = {"x": np.ones(2, np.float32)}


class Engine(SimpleNamespace):
    """A module that stands for onnxruntime and keeps what it is asked."""

    def __init__(self, started: Sequence[str] = (CPU,)) -> None:
        super().__init__(
            GraphOptimizationLevel=SimpleNamespace(
                ORT_DISABLE_ALL="off", ORT_ENABLE_BASIC="basic", ORT_ENABLE_ALL="full"
            ),
            cuda_version="13.0",
        )
        self.asked: list[Any] = []
        self.started = started
        self.profile = ""

    def SessionOptions(self) -> Any:  # noqa: N802
        entries: dict[str, Any] = {}
        return SimpleNamespace(entries=entries, add_session_config_entry=entries.__setitem__)

    def RunOptions(self) -> Any:  # noqa: N802
        return SimpleNamespace()

    def InferenceSession(self, source: Any, options: Any, **more: Any) -> Any:  # noqa: N802
        given = dict(vars(options))
        given.pop("add_session_config_entry")
        self.asked.append((source, given, more))

        def run(names: list[str], feeds: dict[str, Any], settings: Any) -> list[Any]:
            assert settings.log_severity_level == 4
            self.asked.append(("run", names, [*feeds]))
            if "bad" in feeds:
                raise ValueError("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : no such input")
            return [feeds["x"]]

        def end_profiling() -> str:
            self.asked.append("end")
            return self.profile

        return SimpleNamespace(
            get_providers=lambda: self.started,
            get_outputs=lambda: [SimpleNamespace(name="y"), SimpleNamespace(name="z")],
            run=run,
            end_profiling=end_profiling,
        )

    def get_all_providers(self) -> list[str]:
        return [CPU, CUDA, "X"]

    def get_available_providers(self) -> list[str]:
        return [CPU, CUDA]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    found = Engine()
    monkeypatch.setattr(native, "_onnxruntime", lambda: found)
    monkeypatch.setattr(native, "_preload", lambda: found.asked.append("preload"))
    return found


QUIET = {"session.intra_op.allow_spinning": "0"}
EXACT = {"use_tf32": "0", "cudnn_conv_algo_search": "DEFAULT"}
FOLDER = "session.model_external_initializers_file_folder_path"


@each_row(
    ("opening", "options", "entries", "providers", "more"),
    [
        (Opening("/m", CPU), {}, QUIET, [(CPU, {})], {}),
        (Opening("/m", CPU, optimisation="full"), {"graph_optimization_level": "full"}, QUIET,
         [(CPU, {})], {}),
        (Opening("/m", CPU, optimisation="basic"), {"graph_optimization_level": "basic"}, QUIET,
         [(CPU, {})], {}),
        (Opening("/m", CPU, threads=0), {"intra_op_num_threads": 0}, QUIET, [(CPU, {})], {}),
        (Opening("/m", CPU, folder="/d"), {}, QUIET | {FOLDER: "/d"}, [(CPU, {})], {}),
        (Opening("/m", CPU, folder="/d\udcff"), {}, QUIET | {FOLDER: b"/d\xff"}, [(CPU, {})], {}),
        (Opening("/m", CPU, record="/r"),
         {"enable_profiling": True, "profile_file_prefix": "/r/profile"}, QUIET, [(CPU, {})], {}),
        (Opening("/m", CPU, target="/t"), {"optimized_model_filepath": "/t"}, QUIET,
         [(CPU, {})], {}),
        (Opening("/m", CPU, disabled=("A", "B")), {}, QUIET, [(CPU, {})],
         {"disabled_optimizers": ["A", "B"]}),
        (Opening("/m", CUDA), {}, {}, [(CUDA, EXACT), CPU], {}),
    ],
)  # fmt: skip
def test_the_options_of_a_session(
    opening: Opening, options: Any, entries: Any, providers: Any, more: Any, engine: Engine
) -> None:
    engine.asked.clear()
    engine.started = (CUDA, CPU)
    session = LocalSession(opening)
    assert session.outputs == ("y", "z")
    *before, (source, given, rest) = engine.asked
    assert before == ["preload"] * (opening.provider == CUDA)
    assert source == "/m"
    common = {"log_severity_level": 4, "graph_optimization_level": "off", "entries": entries}
    assert given == common | options
    assert rest == {"providers": providers, "enable_fallback": False} | more


def test_sources_of_a_session(engine: Engine) -> None:
    for source, wanted in ((Blob(b"m"), b"m"), ("/m", "/m")):
        LocalSession(Opening(source, CPU))
        assert engine.asked[-1][0] == wanted
    LocalSession(Opening("/m\udcff", CPU))
    assert engine.asked[-1][0].__fspath__() == b"/m\xff"


def test_providers_that_do_not_start_or_are_not_there(engine: Engine) -> None:
    for record in (None, "/r"):
        engine.asked.clear()
        with pytest.raises(ProviderError):
            LocalSession(Opening("/m", CUDA, record=record))
        assert engine.asked[2:] == ["end"] * (record is not None)
    engine.asked.clear()
    with pytest.raises(ProviderError):
        LocalSession(Opening("/m", "X"))
    assert engine.asked == []
    assert native.known_providers() == (CPU, CUDA, "X")
    assert native.available_providers() == (CPU, CUDA)
    assert native.cuda_version() == "13.0"
    del engine.cuda_version
    assert native.cuda_version() == ""


def test_runs_and_their_errors(engine: Engine) -> None:
    session = LocalSession(Opening("/m", CPU))
    values, seconds = session.run(X, ("y",))
    assert values == [X["x"]]
    assert seconds >= 0
    assert engine.asked[-1] == ("run", ["y"], ["x"])
    with pytest.raises(EngineError):
        session.run({"bad": X["x"]}, ("y",))
    import ml_dtypes

    odd = np.ones(1, ml_dtypes.bfloat16)
    with pytest.raises(EngineError):
        session.run({"x": X["x"], "bad": odd}, ("y",))


def test_where_nodes_ran(engine: Engine, tmp_path: Path) -> None:
    def event(name: str, op: str, provider: str = CPU, cat: str = "Node") -> dict[str, Any]:
        return {"cat": cat, "name": name, "args": {"op_name": op, "provider": provider}}

    events = [
        event("b_kernel_time", "Pad", CUDA), event("b_fence_before", "Pad"), {"name": "whole"},
        event("c_kernel_time", "MemcpyToHost"), event("a_kernel_time", "Conv"),
        event("d_kernel_time", "Conv", cat="Session"),
    ]  # fmt: skip
    place = tmp_path / "p.json"
    place.write_text(json.dumps(events))
    engine.profile = str(place)
    session = LocalSession(Opening("/m", CPU, record="/r"))
    assert [*session.ran_on().items()] == [("b (Pad)", CUDA), ("a (Conv)", CPU)]
    assert session.ran_on() == {}
    assert engine.asked.count("end") == 1
    assert LocalSession(Opening("/m", CPU)).ran_on() == {}
    assert engine.asked.count("end") == 1


def plain(asked: Any) -> Any:
    """What is asked, with the bytes of models in place of what carries them."""
    if isinstance(asked, Opening):
        return tuple(map(plain, astuple(asked)))
    if isinstance(asked, Blob):
        return asked.data
    return type(asked)(map(plain, asked)) if isinstance(asked, list | tuple) else asked


class Told:
    """A worker that keeps what it is asked, and answers what it was told to."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.answers = [*answers]
        self.gone: list[str] = []

    def ask(self, request: str, *arguments: object) -> Any:
        self.asked.append((request, *arguments))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> None:
        self.gone.append("ended")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[Told]:
    """Those that are lent, one after the other."""
    lent: list[Told] = []
    monkeypatch.setattr(pool, "borrow", lambda: lent.pop(0))
    monkeypatch.setattr(pool, "give_back", lambda worker: worker.gone.append("given back"))
    return lent


def test_the_requests_of_a_session(workers: list[Told]) -> None:
    told = Told(("y", "z"), ([1, 2], 0.5), ([3], 0.5), ([4, 5], 2.5), None)
    workers.append(told)
    with open_session(MODEL, optimisation="full", threads=2, folder="/d") as session:
        assert session.run(X) == {"y": 1, "z": 2}
        assert session.run(X, ["z"]) == {"z": 3}
        timed: object = session.timed(X)
        assert timed == ({"y": 4, "z": 5}, 2.5)
        assert session.ran_on() == {}  # no profile was asked for
    opening = Opening(Blob(MODEL.SerializeToString()), CPU, "full", 2, "/d")
    assert plain(told.asked) == [
        ("open", plain(opening), str(Path.cwd())), ("run", X, ("y", "z")), ("run", X, ["z"]),
        ("run", X, ("y", "z")), ("close",),
    ]  # fmt: skip
    assert told.gone == ["given back"]
    with pytest.raises(EngineError):
        session.run(X)


@each_row(
    ("source", "more", "opening"),
    [
        ("m.onnx", {}, Opening(str(Path("m.onnx").absolute()), CPU)),
        (Path("/d/m.onnx"), {}, Opening("/d/m.onnx", CPU)),
        (b"m", {}, Opening(Blob(b"m"), CPU)),
        (b"m", {"provider": CUDA, "folder": Path("/d")}, Opening(Blob(b"m"), CUDA, folder="/d")),
        (InFolder(b"m", Path("/d")), {"folder": "/e"}, Opening(Blob(b"m"), CPU, folder="/d")),
    ],
)
def test_how_a_source_is_opened(source: Any, more: Any, opening: Any, workers: list[Told]) -> None:
    told = Told((), None)
    workers.append(told)
    open_session(source, **more).close()
    assert plain(told.asked[0][1]) == plain(opening)


def test_a_session_that_crashes(workers: list[Told]) -> None:
    crash = CrashError("gone")
    first = Told(("y",), crash)
    second, third = Told(("y",), ([7], 1.0), LimitError("late")), Told(("y",), CrashError("end"))
    workers += [first, second, third]
    session = open_session(b"m")
    with pytest.raises(CrashError, match="gone"):
        session.run(X)
    assert session.run(X) == {"y": 7}
    with pytest.raises(LimitError, match="late"):
        session.run(X)
    for _ in range(2):  # opened no more after the third
        with pytest.raises(CrashError, match=r"^end$"):
            session.run(X)
    assert [each.gone for each in (first, second, third)] == [[], [], []]
    session.close()
    workers.append(refused := Told(EngineError("no kernel")))
    with pytest.raises(EngineError):
        open_session(b"m")
    assert refused.gone == ["given back"]
    workers.append(lost := Told(()))
    open_session(b"m").__del__()
    assert lost.gone == ["ended"]
    workers.append(crashing := Told((), CrashError("at the end")))
    open_session(b"m").close()
    assert crashing.asked[-1] == ("close",)


def test_the_folder_of_a_profile_goes(workers: list[Told]) -> None:
    told = Told((), {"a (Conv)": CPU}, None)
    workers.append(told)
    session = open_session(b"m", profile=True)
    record = told.asked[0][1].record
    assert Path(record).is_dir()
    assert session.ran_on() == {"a (Conv)": CPU}
    assert not Path(record).exists()
    assert session.ran_on() == {}
    session.close()
    workers.append(refused := Told(EngineError("no")))
    with pytest.raises(EngineError):
        open_session(b"m", profile=True)
    assert not Path(refused.asked[0][1].record).exists()


def test_answers_of_several_models(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    error, crash = EngineError("no"), CrashError("gone")
    given: list[Any] = [[[[1, 2], None], error], crash, [[[3, 4], error]], crash]

    def ask(request: str, *arguments: Any) -> Any:
        asked.append((request, *arguments))
        answer = given.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(pool, "ask", ask)
    here = str(Path.cwd())
    found = answers([b"a", b"b"], ["y", "z"], [X, X])
    assert found == [[{"y": 1, "z": 2}, AGREED], error]
    openings = [Opening(Blob(data), CPU, threads=1) for data in (b"a", b"b")]
    assert plain(asked) == [("answers", plain(openings), here, ["y", "z"], [X, X], True)]
    # After a crash each model is asked by itself.
    assert answers([b"a", b"b"], ["y", "z"], [X, X]) == [[{"y": 3, "z": 4}, error], crash]
    assert [len(each[1]) for each in asked] == [2, 2, 1, 1]
    # Sessions are not kept where runs took much memory.
    given[:] = [[[[5]]]] * 2
    large = {"x": np.zeros((1 << 18) + 1, np.float32)}
    for fed in ([X], [X, large]):
        answers([b"a"], ["y"], fed)
    assert [each[-1] for each in asked[-2:]] == [True, False]


def test_other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    error = EngineError("no")
    given: list[Any] = [[[1], error], error]

    def ask(request: str, *arguments: Any) -> Any:
        asked.append((request, *arguments))
        if request == "optimise":
            assert Path(arguments[0].target).parent.is_dir()
            Path(arguments[0].target).write_bytes(b"optimised")
            return None
        answer = given.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(pool, "ask", ask)
    assert evaluated_by_onnx(MODEL, ["y"], [X, X]) == [{"y": 1}, error]
    assert evaluated_by_onnx(MODEL, ["y"], [X]) is error
    assert plain(asked[0]) == ("evaluate", MODEL.SerializeToString(), ["y"], [X, X])
    assert optimised(b"m", optimisation="basic", disabled=["A"], folder="/d") == b"optimised"
    opening = asked[-1][1]
    assert (opening.optimisation, opening.disabled, opening.folder) == ("basic", ("A",), "/d")
    assert not Path(opening.target).parent.exists()
    assert sessions.folder_of(b"m") is None
    assert sessions.folder_of(b"m", Path("/d")) == Path("/d")
    assert sessions.folder_of("/d/m.onnx", Path("/e")) == Path("/d")
    assert sessions.folder_of(InFolder(b"m", Path("/d")), Path("/e")) == Path("/d")
