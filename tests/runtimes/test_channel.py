"""`onnxpad.runtimes.channel`: what is sent comes out, whatever its kind and size."""

import signal
import threading
from collections.abc import Iterator
from multiprocessing.connection import Pipe
from typing import Any

import numpy as np
import onnx
import pytest

from onnxpad.runtimes.channel import Channel, ClosedError
from onnxpad.runtimes.runtime import ModelFile

Pair = tuple[Channel, Channel]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends."""
    one, other = Pipe()
    ends = Channel(one), Channel(other)
    yield ends
    for end in ends:
        end.close()


BFLOAT16 = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16))
ARRAYS = {
    "small": np.arange(6, dtype=np.float32).reshape(2, 3),
    "large": np.arange(1 << 18, dtype=np.float32).reshape(4, -1),
    "larger than a pipe": np.zeros(1 << 22, np.uint8),
    "none": np.zeros((2, 0, 3), np.float16),
    "a number": np.array(3.5),
    "not in one piece": np.arange(1 << 18, dtype=np.int64).reshape(512, -1).T[::3],
    "by columns": np.asfortranarray(np.arange(1 << 18, dtype=np.int64).reshape(512, -1)),
    "text": np.array([["a", "ä\0"], ["", "b"]], object),
    "bfloat16": np.arange(1 << 17, dtype=np.float32).astype(BFLOAT16),
    "truth": np.array([True, False]),
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in ARRAYS.items()])
def test_arrays(pair: Pair, data: np.ndarray[Any, Any]) -> None:
    sender = threading.Thread(target=pair[0].send, args=([data, {"again": data}, None],))
    sender.start()
    got = pair[1].receive()
    sender.join()
    assert isinstance(got, list)
    for array in (got[0], got[1]["again"]):
        assert (array.dtype, array.shape) == (data.dtype, data.shape)
        assert array.tolist() == data.tolist()
        assert array.flags.writeable
    assert got[2] is None


def test_what_cannot_be_sent_leaves_nothing_behind(pair: Pair) -> None:
    with pytest.raises(Exception, match=r"pickle|local object"):  # the latter by Python 3.13
        pair[0].send([np.zeros(1 << 18), lambda: 0])
    pair[0].send("next")
    assert pair[1].receive() == "next"


def test_the_end(pair: Pair) -> None:
    assert not pair[1].arrives(0)
    pair[0].send(1)
    pair[0].close()
    assert pair[1].arrives(1e300)
    assert pair[1].receive() == 1
    with pytest.raises(ClosedError):
        pair[1].receive()
    with pytest.raises(ClosedError):
        pair[1].send(2)


def test_the_bytes_of_a_model_stay_bytes(pair: Pair) -> None:
    for model in (ModelFile(bytes(1 << 20), "/d"), ModelFile(b"m"), ModelFile("/m")):
        sender = threading.Thread(target=pair[0].send, args=(model,))
        sender.start()
        got = pair[1].receive()
        sender.join()
        assert got == model
        assert type(got.data) is type(model.data)


class StopError(OSError):
    """What a program's signal handler may raise: the system's own errors are OSErrors too."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals are POSIX's")
@pytest.mark.parametrize("wait", ["receive", "send"])
@pytest.mark.parametrize("error", [TimeoutError(), StopError(32, "Broken pipe"), EOFError()])
def test_what_a_signal_handler_raises_is_no_closed_end(
    pair: Pair, wait: str, error: Exception
) -> None:
    def handler(*_: object) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(type(error)):
            pair[0].send(np.zeros(1 << 22, np.uint8)) if wait == "send" else pair[0].receive()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
