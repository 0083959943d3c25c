"""`onnxpad.runtimes.pool`: workers that are started, kept, lost, and ended with their process."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onnxpad.errors import ProviderError
from onnxpad.runtimes import pool
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import answers, open_session
from onnxpad.runtimes.worker import Runtime
from tests.support import ROOT, parsed

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are POSIX's")


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


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def test_a_worker_is_kept_for_the_next() -> None:
    first = pool.borrow()
    pool.give_back(first)
    second = pool.borrow()
    assert second is first
    third = pool.borrow()
    assert number(third) != number(first)
    pool.give_back(second)
    pool.give_back(third)
    assert len(pool._idle) == 2
    pool._end_all()
    assert not pool._everyone


def test_a_warm_worker_is_the_next() -> None:
    pool.warm()
    pool.warm()
    (warm,) = pool._idle
    assert "CPUExecutionProvider" in pool.ask(Runtime.about, native.available_providers)
    assert pool._idle == [warm]


@POSIX
@pytest.mark.parametrize("fault", ["SIGSEGV", "SIGFPE", "SIGABRT"])
def test_a_fault_is_named_and_the_next_request_is_answered(fault: str) -> None:
    worker = pool.borrow()
    os.kill(number(worker), signal.SIGSTOP)  # it does not answer before
    for after, sent in ((0.2, getattr(signal, fault)), (0.4, signal.SIGCONT)):
        threading.Timer(after, os.kill, (number(worker), sent)).start()
    with pytest.raises(CrashError, match=rf"^onnxruntime crashed \({fault}\)$"):
        worker.ask(Runtime.close)
    pool.give_back(worker)
    assert not pool._idle
    assert "CPUExecutionProvider" in pool.ask(Runtime.about, native.available_providers)


@POSIX
def test_a_worker_that_was_killed_while_idle_is_replaced() -> None:
    worker = pool.borrow()
    pool.give_back(worker)
    process(worker).kill()
    process(worker).wait()
    assert "CPUExecutionProvider" in pool.ask(Runtime.about, native.available_providers)


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
        assert "CPUExecutionProvider" in pool.ask(Runtime.about, native.available_providers)
    assert len(pool._idle) == len(pool._everyone) == 1


class StopError(Exception):
    """A program's own."""


class OwnError(OSError):
    """The system's own errors are OSErrors too."""


@POSIX
@pytest.mark.parametrize(
    "error", [StopError(), KeyboardInterrupt(), OwnError(32, "Broken pipe"), EOFError()]
)
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
            pool.ask(Runtime.about, native.available_providers)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised.value is error
    assert not pool._idle
    assert not pool._everyone
    with pytest.raises(ProcessLookupError):  # killed, and waited for
        os.kill(stopped, 0)
    assert "CPUExecutionProvider" in pool.ask(Runtime.about, native.available_providers)


def test_a_worker_that_is_lost_is_ended() -> None:
    lost = process(pool.borrow())
    gc.collect()
    assert lost.returncode is not None
    assert not pool._everyone


BOMBS = {
    "at once": "z = Expand (x, s) y = ReduceSum <keepdims = 0> (z)",
    "bit by bit": "k = Constant <value = bool {1}> () n = Constant <value = int64 {99}> () y = "
    "Loop (n, k, x) <body = t (int64 i, bool c, float[?] a) => (bool d, float[?] b) "
    "{ b = Concat <axis = 0> (a, a) d = Identity (c) }>",
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not bounded")
@pytest.mark.parametrize(
    ("bomb", "optimisation"), [("at once", "full"), *((bomb, "off") for bomb in BOMBS)]
)
def test_memory_is_bounded(bomb: str, optimisation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    serve = "worker.serve(int(sys.argv[1]))"
    less = pool._START.replace(serve, f"worker.spare = lambda: 1 << 28\n{serve}")
    monkeypatch.setattr(pool, "_START", less)
    model = parsed(
        f"g (float[1] x) => (float[?] y) <int64[1] s = {{268435456}}> {{ {BOMBS[bomb]} }}"
    )
    with (
        open_session(model, optimisation=optimisation) as session,  # type: ignore[arg-type]
        pytest.raises(EngineError, match="alloc"),
    ):
        session.run({"x": np.ones(1, np.float32)})


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not bounded")
def test_the_reference_evaluator_runs_in_a_worker() -> None:
    text = "g (float[1] x, int64[1] s) => (float[?] y) { z = ConstantOfShape (s) y = Add (x, z) }"
    small, large = ({"x": np.ones(1, np.float32), "s": np.array([size])} for size in (3, 1 << 44))
    found = answers(parsed(text), ["y"], [small, large], by_onnx=True)
    assert not isinstance(found, EngineError)
    assert not isinstance(found[0], EngineError)
    assert np.array_equal(found[0]["y"], [1, 1, 1])  # type: ignore[arg-type]


def test_each_thread_has_its_own() -> None:
    seen: list[pool.Worker] = []
    together = threading.Barrier(3)

    def work() -> None:
        worker = pool.borrow()
        together.wait()
        seen.append(worker)
        worker.ask(Runtime.close)
        pool.give_back(worker)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({number(worker) for worker in seen}) == 3


@pytest.mark.parametrize("executable", ["", None, "/usr/bin/some-editor", "/nowhere/python3"])
def test_without_an_interpreter_nothing_runs(
    executable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    pool.warm()
    with pytest.raises(ProviderError) as caught:
        pool.ask(Runtime.about, native.available_providers)
    assert caught.value.exit_code == 4
    assert not pool._everyone


@POSIX
def test_what_is_no_interpreter_is_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(CrashError, match=r"ended \(exit code 0\)"):
        pool.ask(Runtime.about, native.available_providers)
    assert not pool._everyone


@POSIX
def test_a_fork_of_the_caller_has_workers_of_its_own() -> None:
    ended = run("""
import os, warnings
warnings.simplefilter("error")
from onnxpad.runtimes import pool
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


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells whether a process lives")
@pytest.mark.parametrize("end", ["pass", "os._exit(0)", "os.kill(os.getpid(), 9)"])
@pytest.mark.parametrize(
    "at", ["", "threading.Thread(target=w.ask, args=[pool.Runtime.close]).start()"]
)
def test_no_worker_outlives_its_process(end: str, at: str) -> None:
    ended = run(f"""
import os, threading
from onnxpad.runtimes import pool
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


def test_nothing_beside_the_caller_shadows_a_module(tmp_path: Path) -> None:
    """Neither where it works nor what prints at its start gets in the way."""
    for name in ("onnxruntime", "numpy", "queue", "signal", "onnxpad"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('customised', flush=True)\n")
    code = """
import sys; del sys.path[0]
from onnxpad.runtimes import pool
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.worker import Runtime
import os
sys.path.insert(0, "")
print(pool.ask(Runtime.about, native.available_providers)[-1])
"""
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "error"},
        check=False,
        timeout=120,
    )
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert ended.stdout == "customised\nCPUExecutionProvider\n"


def test_a_worker_starts_without_onnx() -> None:
    code = "import sys, onnxpad.runtimes.pool; print(*{'onnx', 'numpy'} & {*sys.modules})"
    assert run(code).stdout.strip() == ""
