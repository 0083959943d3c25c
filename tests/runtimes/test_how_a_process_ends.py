"""How the end of a process is told."""

import sys

import pytest

from onnxpad.runtimes.pool import _how


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (-9, "onnxruntime's process was killed (SIGKILL; the system may be out of memory)"),
        (-11, "onnxruntime crashed (SIGSEGV)"),
        (-6, "onnxruntime crashed (SIGABRT)"),
        (-1, "onnxruntime crashed (SIGHUP)"),
        (-64, "onnxruntime crashed (SIGRTMAX)"),
        (-65, "onnxruntime crashed (0xFFFFFFBF)"),
        (0, "onnxruntime's process ended by itself (exit code 0)"),
        (1, "onnxruntime's process ended by itself (exit code 1)"),
        (0xFFFF, "onnxruntime's process ended by itself (exit code 65535)"),
        (0x10000, "onnxruntime crashed (0x00010000)"),
        (0xC0000005, "onnxruntime crashed (access violation, 0xC0000005)"),
        (0xC0000005 - (1 << 32), "onnxruntime crashed (access violation, 0xC0000005)"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="signals have other names there")
def test_the_exit_code_of_a_worker(code: int, told: str) -> None:
    assert _how(code) == told
