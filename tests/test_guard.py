"""`onnxpad.guard`: what the parent says of a child that ends well, badly, or by a fault."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onnxpad.validation import sessions

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")

PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has it ignored
from onnxpad.guard import guarded
def tell(message):
    sys.stderr.write("error: " + message + "\\n")
def work():
    print("at work", os.getpid(), flush=True)
    {work}
guarded(work, tell)
"""


def run(work: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(work=work)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("code", [0, 1, 3, 130])
def test_the_exit_code_is_the_childs(code: int) -> None:
    ended = run(f"sys.exit({code})")
    assert (ended.returncode, ended.stderr) == (code, "")
    assert ended.stdout.count("at work") == 1


@pytest.mark.parametrize("fault", ["SIGSEGV", "SIGABRT", "SIGBUS"])
def test_a_fault_is_told_in_one_line(fault: str) -> None:
    ended = run(f"os.kill(os.getpid(), signal.{fault})")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1
    assert fault in ended.stderr
    assert "--no-validate" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_killed_parent_takes_the_child_with_it() -> None:
    program = PROGRAM.format(work="time.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline().split()[-1])
        parent.kill()
        parent.wait()
        for _ in range(200):
            if not _alive(child):
                break
            time.sleep(0.02)
        assert not _alive(child)


def _alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
        return stat.rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


INTERRUPTIBLE = """
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(130)
"""

INTERRUPTION_TOLD = """
try:
    guarded(work, tell)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("group", [True, False], ids=["from a terminal", "to the parent alone"])
def test_an_interrupt_reaches_the_child_and_its_code_is_left_with(group: bool) -> None:
    program = PROGRAM.format(work=INTERRUPTIBLE)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        if group:
            os.killpg(parent.pid, signal.SIGINT)
        else:
            parent.send_signal(signal.SIGINT)
        assert parent.wait(timeout=30) == 130


NO_SIGNAL_LOST = """
from onnxpad import guard, interruption
interruption.heed()
there = os.{call}
def interrupted(*args):
    {around}
os.{call} = interrupted
"""


@pytest.mark.parametrize(
    ("call", "around"),
    [
        ("fork", "os.kill(os.getpid(), signal.SIGINT); return there()"),
        ("waitpid", "ended = there(*args); os.kill(os.getpid(), signal.SIGINT); return ended"),
    ],
)
def test_an_interrupt_at_the_worst_moment_loses_no_child(call: str, around: str) -> None:
    setting = NO_SIGNAL_LOST.format(call=call, around=around)
    work = "sys.exit(7)" if call == "waitpid" else INTERRUPTIBLE
    program = PROGRAM.format(work=work).replace("def tell", f"{setting}\ndef tell")
    program = program.replace("guarded(work, tell)", INTERRUPTION_TOLD)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (7 if call == "waitpid" else 130, "")


def test_a_child_that_does_not_hear_of_an_interrupt_is_ended() -> None:
    work = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); print(); time.sleep(60)"
    program = PROGRAM.format(work=work.replace("print()", "print(flush=True)"))
    program = program.replace("def tell", "import onnxpad.guard as g; g._GRACE = 0.1\ndef tell")
    program = program.replace("guarded(work, tell)", INTERRUPTION_TOLD)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.stdout.readline()
        parent.send_signal(signal.SIGINT)
        assert parent.wait(timeout=30) == 130


def test_a_fault_of_an_interrupted_child_is_the_interrupt() -> None:
    handler = "signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGSEGV))"
    work = f"{handler}; os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"
    program = PROGRAM.format(work=work).replace("guarded(work, tell)", INTERRUPTION_TOLD)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (130, "")


ITSELF = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from onnxpad.__main__ import main
import onnxpad.api
def engine(*_, **__):
    {engine}
onnxpad.api.check = onnxpad.api.fix = engine
sys.argv[1:] = {args!r}
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["check", "fix"])
def test_the_program_ends_in_one_line(number: signal.Signals, command: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    work = "print(1, flush=True); time.sleep(60)"
    program = ITSELF.format(args=[command, str(tmp_path / "m.onnx")], engine=work)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=-1, stderr=-1, text=True
    ) as started:
        assert started.stdout is not None
        started.stdout.readline()
        started.send_signal(number)
        assert started.wait(timeout=30) == 130
        assert started.stderr is not None
        assert started.stderr.read() == "error: interrupted\n"


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
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("module", ["onnxpad.guard", "onnxpad.cli", "dataclasses", "signal"])
def test_an_interrupt_of_any_import_is_told_in_one_line(module: str) -> None:
    program = f"""
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}: raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["check", "m.onnx"]
from onnxpad.__main__ import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted\n")


def test_an_interrupted_import_of_onnxruntime_is_no_missing_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "onnxruntime":
                raise ImportError("initialization failed") from KeyboardInterrupt()

    sessions._onnxruntime.cache_clear()
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(KeyboardInterrupt):
        sessions.known_providers()


def test_a_fault_is_told_in_json_where_it_is_asked_for() -> None:
    program = (
        "import os, signal, sys, onnxpad.__main__ as program\n"
        "program._run = lambda: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "sys.argv[1:] = ['fix', 'm.onnx', '--format', 'json']\n"
        "program.main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["exit_code"], document["error"]["kind"]) == (2, 2, "crash")
    assert ended.stderr == f"error: {document['error']['message']}\n"
