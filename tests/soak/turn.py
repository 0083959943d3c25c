"""One turn of a campaign, in a process of its own: prints a line of JSON for each thing to tell.

`start` is the seed that is next, `next` what runs next, `covered` what was reached by then, `found`
what is wrong, with a file of what shows it, made small, and `again` what was found before.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

LONG: Final = 60.0
"""Seconds after which what is asked of one model counts as endless."""
SMALLER: Final = 60.0
"""Seconds to make one find smaller."""
JOINED: Final = "; "
"""Between problems of one model."""
CAMPAIGNS: Final[Mapping[str, str]] = {
    "random": "tests.soak.drawn",
    "malformed": "tests.soak.damaged",
    "hypothesis": "tests.soak.examples",
    "match": "tests.soak.planted",
}
"""Each with the module whose `take` takes its turns."""

T = TypeVar("T")


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
        out: The folder for what shows something wrong.
        given: The file of a model to ask about, in place of those that the seeds name.
        apart: Whether all that is asked is asked in a process of its own: it may end that.
    """

    seed: int
    count: int
    end: float
    known: set[str]
    out: Path
    given: Path | None = None
    apart: bool = False
    tell: Callable[[Mapping[str, Any]], None] = lambda line: print(json.dumps(line), flush=True)

    def seeds(self) -> Iterator[int]:
        """The seeds that there is time for."""
        for seed in range(self.seed, self.seed + self.count):
            if time.monotonic() > self.end:
                return
            self.tell({"start": seed})
            yield seed

    def runs(self, what: str) -> None:
        """Tells what runs next, which may end the process."""
        self.tell({"next": what})

    def asked(self, ask: Callable[[], str]) -> str:
        """What is wrong, in words."""
        return isolated(ask) if self.apart else ask()

    def covered(self, what: Mapping[str, int]) -> None:
        self.tell({"covered": what})

    def found(self, seed: int, told: str, smallest: Callable[[float], tuple[bytes, str]]) -> None:
        """Tells what is wrong; if it is new, `smallest` gives the bytes and ending of a file."""
        if kind(told) in self.known:
            self.tell({"again": kind(told)})
            return
        self.known.add(kind(told))
        self.runs(f"making it smaller: {told}")
        data, ending = smallest(SMALLER)
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{seed}-{len(self.known)}{ending}"
        path.write_bytes(data)
        self.tell({"found": {"told": told, "kind": kind(told), "seed": seed, "file": str(path)}})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.turn", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=10**6)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--known", default="[]", help="kinds of what was found before, in JSON")
    parser.add_argument("--out", type=Path, default=Path(), help="a folder for what is found")
    parser.add_argument("--model", type=Path, help="a file that was found: asks about it again")
    parser.add_argument("--apart", action="store_true", help="asks in processes of their own")
    given = parser.parse_args()
    known, end = set(json.loads(given.known)), time.monotonic() + given.seconds
    count = 1 if given.model else given.count
    turn = Turn(given.seed, count, end, known, given.out, given.model, given.apart)
    importlib.import_module(CAMPAIGNS[given.campaign]).take(turn)


if __name__ == "__main__":
    main()
