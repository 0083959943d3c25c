"""Looks for crashes: `python -m tests.malformed --seconds 60 [--seed 1] [--running] [--dump DIR]`.

Prints each kind of crash once, with the seed and the reader, and at the end how often each came.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from tests import duration, natural, run_command
from tests.malformed.bases import bases
from tests.malformed.mutate import Mutation, damaged, mutations
from tests.malformed.readers import Given, failures
from tests.random_models.draw import draw_model
from tests.support import EXPORTED

BYTES: Final = "bytes"
"""The mutation of the file as a whole."""


def parts(seed: int) -> tuple[onnx.ModelProto, list[Mutation]]:
    """The model that a seed damages, and how."""
    draw = random.Random(seed)
    if draw.random() < 0.4:
        model = draw_model(draw).model
    elif draw.random() < 0.1:
        model = onnx.load(draw.choice(small_exports()), load_external_data=False)
    else:
        model = draw.choice(draw.choice(bases()))
    done = mutations(draw)
    return model, [*done, (BYTES, draw.randrange(2**32))] if draw.random() < 0.05 else done


def whole(model: onnx.ModelProto, done: Sequence[Mutation]) -> Given:
    """The model with these mutations."""
    given = damaged(model, [each for each in done if each[0] != BYTES])
    cuts = [seed for kind, seed in done if kind == BYTES]
    return cut(random.Random(cuts[0]), given) if cuts else given


def case(seed: int) -> tuple[Given, list[str]]:
    """The damaged model of a seed, and what is wrong with it."""
    model, done = parts(seed)
    return whole(model, done), [kind for kind, _ in done]


def cut(draw: random.Random, model: onnx.ModelProto) -> Given:
    """A model of which some bytes are others, or gone."""
    data = bytearray(model.SerializeToString())
    for _ in range(draw.choice((1, 1, 2, 5))):
        place = draw.randrange(len(data)) if data else 0
        data[place : place + draw.choice((0, 1, 1, 3))] = draw.randbytes(draw.choice((0, 1, 1, 2)))
    return read(bytes(data))


def read(data: bytes) -> Given:
    """The model of a file, or its bytes where protobuf cannot parse them."""
    try:
        found: onnx.ModelProto = onnx.ModelProto.FromString(data)
    except DecodeError:
        return data
    return found


@cache
def small_exports() -> list[Path]:
    """The smallest models of real exporters."""
    return sorted(EXPORTED, key=lambda path: path.stat().st_size)[:16]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.malformed", description=__doc__)
    parser.add_argument("--seconds", type=duration, default=60, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=natural, default=10**9, help="how many models")
    parser.add_argument("--running", action="store_true", help="run the models, too")
    parser.add_argument("--dump", type=Path, help="a folder for models that crash a reader")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    models = 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - begun > options.seconds:
            break
        model, done = case(seed)
        models += 1
        for reader, what in failures(model, random.Random(seed), running=options.running).items():
            kind = what.partition(": ")[0]
            counts[kind] += 1
            if counts[kind] > 1:
                continue
            print(f"seed {seed}, {reader}, {', '.join(done)}: {what}", flush=True)
            if options.dump:
                options.dump.mkdir(parents=True, exist_ok=True)
                file = options.dump / f"{seed}.onnx"
                data = model if isinstance(model, bytes) else model.SerializeToString()
                file.write_bytes(data)
                print(f"  {file}", flush=True)
    print(f"{models} models in {time.monotonic() - begun:.0f} s; kinds of crashes: {len(counts)}")
    for kind, count in counts.most_common():
        print(f"  {count:6} {kind}")
    return 1 if counts else 0


if __name__ == "__main__":
    run_command(main)
