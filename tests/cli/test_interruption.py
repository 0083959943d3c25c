"""Ctrl-C and SIGTERM end the program in one line, at whatever moment, and its worker too."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import forks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are POSIX's"),
]

ITSELF = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from onnxpad.__main__ import main
import onnxpad.api.check, onnxpad.api.fix, onnxpad.folders.serving as folders
def engine(*_, **__):
    {engine}
onnxpad.api.check.check = onnxpad.api.fix.fix = folders.over = engine
sys.argv[1:] = {args!r}
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["check", "fix", "fix --resume=runs"])
def test_the_program_ends_in_one_line(number: signal.Signals, command: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    work = "print(1, flush=True); time.sleep(60)"
    program = ITSELF.format(args=[*command.split(), str(tmp_path / "m.onnx")], engine=work)
    with forks.start(program) as started:
        started.stdout.readline()
        started.send_signal(number)
        assert started.wait() == 130
        goes_on = "; the same command goes on from there" * ("--resume" in command)
        assert started.stderr.read() == f"error: interrupted{goes_on}\n"


@pytest.mark.parametrize("command", ["check", "fix"])
def test_an_error_that_an_interrupt_became_is_an_interrupt(command: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    work = """
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("initialization failed")
    """
    program = ITSELF.format(args=[command, str(tmp_path / "m.onnx")], engine=work)
    ended = forks.run(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("module", ["onnxpad.runtimes", "onnxpad.cli", "msgspec", "signal"])
def test_an_interrupt_of_any_import_is_told_in_one_line(module: str) -> None:
    program = f"""
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}: raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["fix", "m.onnx"]
from onnxpad.__main__ import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted\n")


AT_WORK = """
    from onnxpad.runtimes import pool
    worker = pool.borrow()
    print(worker.process.pid, flush=True)
    {work}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells whether a process lives")
@pytest.mark.parametrize("to", ["group", "parent", "killed"])
@pytest.mark.parametrize(
    "work",
    ["time.sleep(60)", "worker.ask(pool.Runtime.about, time.sleep, 60)"],
    ids=["idle", "busy"],
)
def test_no_worker_outlives_the_program(work: str, to: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    engine = AT_WORK.format(work=work)
    program = ITSELF.format(args=["fix", str(tmp_path / "m.onnx")], engine=engine)
    with forks.start(program, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}) as started:
        worker = int(started.stdout.readline())
        time.sleep(0.2)
        assert alive(worker)
        if to == "group":
            os.killpg(started.pid, signal.SIGINT)
        else:
            started.send_signal(signal.SIGINT if to == "parent" else signal.SIGKILL)
        assert started.wait() == (-signal.SIGKILL if to == "killed" else 130)
        assert started.stderr.read() == ("" if to == "killed" else "error: interrupted\n")
        deadline = time.monotonic() + 60
        while alive(worker) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not alive(worker)


def alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
        return stat.rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
