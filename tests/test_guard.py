"""`onnxpad.guard`: what the parent says of a child that ends well, badly, or by a fault."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("group", [True, False], ids=["from a terminal", "to the parent alone"])
def test_an_interrupt_reaches_the_child_and_its_code_is_left_with(group: bool) -> None:
    work = "\n    ".join(
        ["try:", "    time.sleep(60)", "except KeyboardInterrupt:", "    sys.exit(130)"]
    )
    program = PROGRAM.format(work=work)
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
