"""Workers: started, kept, lost, late, crashed, short of memory, and ended with their caller."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from onnxpad.errors import ProviderError
from onnxpad.runtimes import pool, worker
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import answers, open_session
from onnxpad.runtimes.worker import Runtime
from tests.support import ROOT, parsed

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are POSIX's")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory and /proc are Linux's")


def providers() -> tuple[str, ...]:
    """What any worker says of itself."""
    return pool.ask(Runtime.about, native.available_providers)


@pytest.fixture(autouse=True)
def none_idle() -> Iterator[None]:
    """A pool without workers before and after."""
    pool._end_all()
    yield
    pool._end_all()


def process(worker: pool.Worker) -> subprocess.Popen[bytes]:
    assert isinstance(worker.process, subprocess.Popen)
    return worker.process


def number(worker: pool.Worker) -> int:
    return process(worker).pid


def run(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | options.pop("env", {})
    command = [sys.executable, *options.pop("flags", ()), "-c", code]
    return subprocess.run(
        command,
        capture_output=True, text=True, timeout=120, check=False, env=environment, **options,
    )  # fmt: skip


# Kept and ended


def test_a_worker_is_kept_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_IDLE", 1)
    pool.warm()
    pool.warm()
    (warm,) = pool._idle
    assert "CPUExecutionProvider" in providers()
    assert pool._idle == [warm]
    first = pool.borrow()
    assert first is warm
    second = pool.borrow()
    assert number(second) != number(first)
    for each in (first, second):
        pool.give_back(each)
    assert pool._idle == [first]
    pool._end_all()
    assert not pool._everyone


def test_each_thread_has_its_own() -> None:
    seen: list[pool.Worker] = []
    together = threading.Barrier(3)

    def work() -> None:
        mine = pool.borrow()
        together.wait()
        seen.append(mine)
        mine.ask(Runtime.close)
        pool.give_back(mine)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({number(each) for each in seen}) == 3


def test_a_worker_that_is_lost_is_ended() -> None:
    lost = process(pool.borrow())
    gc.collect()
    assert lost.returncode is not None
    assert not pool._everyone


@POSIX
def test_a_fork_of_the_caller_has_workers_of_its_own() -> None:
    ended = run("""
import os, warnings
warnings.simplefilter("error")
from onnxpad.runtimes import pool, worker
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.worker import Runtime
mine = pool.borrow()
pool.warm()
child = os.fork()
if not child:
    assert not pool._idle and not pool._everyone
    theirs = pool.borrow()
    print(theirs.ask(Runtime.about, native.available_providers)[-1], flush=True)
    assert theirs.process.pid != mine.process.pid
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(mine.ask(Runtime.about, native.available_providers)[-1], len(pool._idle))
""")
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert ended.stdout == "CPUExecutionProvider\nCPUExecutionProvider 1\n"


@LINUX
@pytest.mark.parametrize("end", ["pass", "os._exit(0)", "os.kill(os.getpid(), 9)"])
@pytest.mark.parametrize("asks", [False, True])
def test_no_worker_outlives_its_process(end: str, asks: bool) -> None:
    at = "threading.Thread(target=w.ask, args=[pool.Runtime.close]).start()" * asks
    ended = run(f"""
import os, threading
from onnxpad.runtimes import pool, worker
w = pool.borrow()
print(w.process.pid, flush=True)
{at}
{end}
""")
    pid = int(ended.stdout)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()
    assert ended.stderr == ""


# Faults


@POSIX
@pytest.mark.parametrize("fault", ["SIGSEGV", "SIGABRT"])
def test_a_fault_is_named_and_the_next_request_is_answered(fault: str) -> None:
    worker = pool.borrow()
    os.kill(number(worker), signal.SIGSTOP)  # it does not answer before
    for after, sent in ((0.2, getattr(signal, fault)), (0.4, signal.SIGCONT)):
        threading.Timer(after, os.kill, (number(worker), sent)).start()
    with pytest.raises(CrashError, match=rf"^onnxruntime crashed \({fault}\)$"):
        worker.ask(Runtime.close)
    pool.give_back(worker)
    assert not pool._idle
    assert "CPUExecutionProvider" in providers()


@POSIX
def test_a_worker_that_was_killed_while_idle_is_replaced() -> None:
    worker = pool.borrow()
    pool.give_back(worker)
    process(worker).kill()
    process(worker).wait()
    assert "CPUExecutionProvider" in providers()


@POSIX
def test_a_request_over_its_limit_is_given_up_with_its_worker() -> None:
    worker = pool.borrow()
    worker.ask(Runtime.close)
    os.kill(number(worker), signal.SIGSTOP)  # it does not answer
    with pool.limited(0.3), pytest.raises(LimitError):
        worker.ask(Runtime.close)
    assert process(worker).returncode == -signal.SIGKILL
    pool.give_back(worker)
    assert not pool._everyone
    with pool.limited(60):  # the time to start one does not count
        assert "CPUExecutionProvider" in providers()
    assert len(pool._idle) == len(pool._everyone) == 1


class OwnError(OSError):
    """A program's own; the system's errors are OSErrors too."""


@POSIX
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OwnError(32, "Broken pipe"), EOFError()])
def test_what_a_signal_handler_raises_gets_through_and_the_pool_goes_on(
    error: BaseException,
) -> None:
    def handler(*_: object) -> None:
        raise error

    worker = pool.borrow()
    worker.ask(Runtime.close)
    stopped = number(worker)
    os.kill(stopped, signal.SIGSTOP)
    pool.give_back(worker)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(type(error)) as raised:
            providers()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised.value is error
    assert not pool._everyone
    with pytest.raises(ProcessLookupError):  # killed, and waited for
        os.kill(stopped, 0)
    assert "CPUExecutionProvider" in providers()


@pytest.mark.parametrize("executable", [None, "/bin/editor", "/no/python3", sys.executable])
def test_without_an_interpreter_nothing_runs(
    executable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", executable == sys.executable, raising=False)
    monkeypatch.setattr(sys, "executable", executable)
    pool.warm()
    with pytest.raises(ProviderError) as caught:
        providers()
    assert caught.value.exit_code == 4
    assert not pool._everyone


@POSIX
def test_what_is_no_interpreter_is_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(CrashError, match=r"ended \(exit code 0\)"):
        providers()
    assert not pool._everyone


BOMBS = {
    "at once": "z = Expand (x, s) y = ReduceSum <keepdims = 0> (z)",
    "bit by bit": "k = Constant <value = bool {1}> () n = Constant <value = int64 {99}> () y = "
    "Loop (n, k, x) <body = t (int64 i, bool c, float[?] a) => (bool d, float[?] b) "
    "{ b = Concat <axis = 0> (a, a) d = Identity (c) }>",
}


@LINUX
@pytest.mark.parametrize("bomb", BOMBS)
def test_memory_is_bounded(bomb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    serve = "worker.serve(int(sys.argv[1]))"
    less = pool._START.replace(serve, f"worker.spare = lambda: 1 << 28\n{serve}")
    monkeypatch.setattr(pool, "_START", less)
    nodes = BOMBS[bomb]
    model = parsed(f"g (float[1] x) => (float[?] y) <int64[1] s = {{268435456}}> {{ {nodes} }}")
    with open_session(model) as session, pytest.raises(EngineError, match="alloc"):
        session.run({"x": np.ones(1, np.float32)})


def test_what_the_system_can_give(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(["MemAvailable:   5 kB\nSwapFree: 3 kB\nHugePages: 0\n", "MemAvailable: 5 kB\n"])
    told = SimpleNamespace(read_text=lambda encoding: next(texts))
    monkeypatch.setattr(worker, "Path", lambda path: told)
    assert [worker.spare(), worker.spare()] == [8192, 5120]
    monkeypatch.setattr(worker, "Path", lambda path: Path("/nowhere"))
    assert worker.spare() is None


# What is asked of them


def test_answers_of_a_model_by_either_engine() -> None:
    model = parsed("g (float[1] x, int64[1] s) => (float[?] y) "
                   "{ z = ConstantOfShape (s) y = Add (x, z) }")  # fmt: skip
    fed = [{"x": np.ones(size, np.float32), "s": np.array([3])} for size in (1, 2)]
    for by_onnx in (False, True):
        found = answers(model, ["y"], fed, by_onnx=by_onnx)
        assert not isinstance(found, EngineError)
        first, second = found
        assert not isinstance(first, EngineError)
        assert np.array_equal(np.asarray(first["y"]), [1, 1, 1])
        assert isinstance(second, EngineError)
    none = parsed("g (float[2] x) => (float[2] y) { y = Nothing (x) }")
    assert isinstance(answers(none, ["y"], fed), EngineError)


def test_what_a_request_raises_gets_through() -> None:
    with pytest.raises(ValueError, match="'no number'"):
        pool.ask(Runtime.about, int, "no number")
    with pytest.raises(EngineError, match=r"pickle|local object"):
        pool.ask(Runtime.about, eval, "lambda: 0")
    with pytest.raises(Exception, match=r"pickle|local object"):
        pool.ask(Runtime.about, len, lambda: 0)
    assert pool.ask(Runtime.about, len, "next") == 4


@pytest.mark.usefixtures("nothing_printed")
def test_what_a_worker_prints_is_no_part_of_a_report() -> None:
    pool.ask(Runtime.about, print, "loaded no libcudnn.so.9")
    for stream in (1, 2):
        pool.ask(Runtime.about, os.write, stream, b"by native code")


def test_a_large_array_is_sent_and_can_be_written_to() -> None:
    data = np.arange(1 << 22, dtype=np.float32)
    with open_session(parsed("g (float[N] x) => (float[N] y) { y = Neg (x) }")) as session:
        found = session.run({"x": data})["y"]
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, -data)
    found[0] = 1


def test_nothing_beside_the_caller_shadows_a_module(tmp_path: Path) -> None:
    """Neither where it works nor what prints at its start gets in the way."""
    for name in ("onnxruntime", "numpy", "queue", "signal", "onnxpad"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('customised', flush=True)\n")
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    ended = run(
        """
import sys; del sys.path[0]
from onnxpad.runtimes import pool, worker
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.worker import Runtime
import os
sys.path.insert(0, "")
print(pool.ask(Runtime.about, native.available_providers)[-1])
""",
        flags=["-W", "error"],
        cwd=tmp_path,
        env={"PYTHONPATH": path, "PYTHONWARNINGS": "error"},
    )
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert ended.stdout == "customised\nCPUExecutionProvider\n"


def test_a_worker_starts_without_onnx() -> None:
    code = "import sys, onnxpad.runtimes.pool; print(*{'onnx', 'numpy'} & {*sys.modules})"
    assert run(code).stdout.strip() == ""
