"""One turn of a campaign, in a process of its own: prints a line of JSON for each thing to tell.

`start` is the seed that is next and what is asked of it, `next` what runs next, `covered` what was
reached by then, `found` what is wrong, made small, `again` what was found before.
"""

import argparse
import importlib
import json
import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

LONG: Final = 60.0
"""Seconds after which what is asked of one model counts as endless."""
SMALLER: Final = 60.0
"""Seconds to make one find smaller."""
JOINED: Final = "; "
"""Between problems of one model."""
QUOTES: Final = '"""'
CAMPAIGNS: Final[Mapping[str, str]] = {
    "random": "tests.soak.drawn",
    "malformed": "tests.soak.damaged",
    "hypothesis": "tests.soak.examples",
    "match": "tests.soak.planted",
}
"""Each with the module whose `take` takes its turns."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """Something wrong.

    Attributes:
        told: What is wrong, on one line.
        seed: The seed that showed it.
        test: A test that fails while it is wrong, to be pasted into a file.
        text: The smallest model, or what else shows it.
    """

    told: str
    seed: int
    test: str
    text: str

    @property
    def kind(self) -> str:
        """What is wrong without what differs from model to model."""
        return kind(self.told)


def kind(told: str) -> str:
    """The same for all that one fault shows as."""
    return told.partition(JOINED)[0].partition(": ")[0]


def isolated(ask: Callable[[], T], seconds: float = LONG) -> T | str:
    """What comes of a call in a process of its own; in words, where it ends that or never ends."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            data = pickle.dumps(ask())
            while data:
                data = data[os.write(write, data) :]
        finally:
            os._exit(0)
    os.close(write)
    data, end = b"", time.monotonic() + seconds
    with os.fdopen(read, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(end - time.monotonic(), 0))[0]:
            if not (more := pipe.read(1 << 16)):
                break
            data += more
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"takes over {seconds:.0f} s"
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"ends the process with {signal.Signals(os.WTERMSIG(status)).name}"
    return pickle.loads(data) if data else "ends the process"


@dataclass
class Turn:
    """What a campaign needs of its turn.

    Attributes:
        seed: The first seed.
        count: How many seeds at most.
        end: When to stop, as `time.monotonic` counts.
        known: Kinds of what was found before.
        apart: Whether all that is asked is asked in a process of its own: it may end that.
        smaller: Seconds to make one find smaller.
    """

    seed: int
    count: int
    end: float
    known: set[str]
    apart: bool = False
    smaller: float = SMALLER
    tell: Callable[[Mapping[str, Any]], None] = lambda line: print(json.dumps(line), flush=True)

    def seeds(self, of: str) -> Iterator[int]:
        """The seeds that there is time for."""
        for seed in range(self.seed, self.seed + self.count):
            if time.monotonic() > self.end:
                return
            self.tell({"start": seed, "of": of})
            yield seed

    def runs(self, what: str) -> None:
        """Tells what runs next, which may end the process."""
        self.tell({"next": what})

    def asked(self, ask: Callable[[], str]) -> str:
        """What is wrong, in words."""
        return isolated(ask) if self.apart else ask()

    def covered(self, what: Mapping[str, int]) -> None:
        self.tell({"covered": what})

    def found(self, told: str, make: "Callable[[Turn, float], Found]") -> None:
        """Tells what is wrong, smaller if it is new."""
        if kind(told) in self.known:
            self.tell({"again": kind(told)})
            return
        self.known.add(kind(told))
        self.tell({"next": f"making it smaller: {told}"})
        left = self.end - time.monotonic()
        found = make(self, min(max(left, 5), self.smaller))
        self.tell({"found": {**asdict(found), "kind": kind(told), "fails": fails(found.test)}})


# Tests to paste


def quoted(told: str) -> str:
    return told.replace("\\", "/").replace('"', "'")


def used(test: str) -> str:
    """The test without imports that it does not need."""
    head, _, body = test.partition("\ndef ")
    lines = []
    for line in head.split("\n"):
        first, _, names = line.rpartition("import ")
        kept = [each for each in names.split(", ") if names and each.split()[-1] in body]
        if kept or not names:
            lines.append(f"{first}import {', '.join(kept)}" if kept else "")
    imports = "\n".join(lines).strip().replace("\n\n\n", "\n\n")
    return f"{imports}\n\n\ndef {body.rstrip()}\n"


def fails(test: str) -> bool:
    """Whether a test that can be pasted fails, in a process of its own."""

    def run() -> bool:
        space: dict[str, Any] = {"__name__": "pasted"}
        exec(compile(test, "<pasted>", "exec"), space)
        for name, each in list(space.items()):
            if name.startswith("test_") and each.__module__ == "pasted":
                try:
                    each()
                except Exception:
                    return True
        return False

    return isolated(run) is not False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.turn", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=10**6)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--known", default="[]", help="kinds of what was found before, in JSON")
    parser.add_argument("--apart", action="store_true", help="asks in processes of their own")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    turn = Turn(given.seed, given.count, end, set(json.loads(given.known)), given.apart)
    importlib.import_module(CAMPAIGNS[given.campaign]).take(turn)


if __name__ == "__main__":
    main()
