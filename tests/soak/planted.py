"""Ports with wrong padding or another difference, planted, and what `match` makes of them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import onnx

import onnxpad
from tests.frameworks.repadding import ports
from tests.frameworks.repadding.ports import Port, Style
from tests.malformed.readers import place
from tests.soak.turn import Turn
from tests.support import run

SECONDS: Final = 20.0
"""How long one search may take."""
WRONG, PERTURBED, NEITHER = "wrong padding", "another difference", "no difference"
_STYLES: Final[Mapping[str, Style]] = {
    each.__name__: each
    for each in (
        *(ports.same, ports.lower, ports.symmetric, ports.symmetric_short, ports.exchanged),
        *(ports.caffe, ports.uncropped),
    )
}
BUILDS: Final = {
    each.__name__: each
    for each in (*ports.BUILDS, ports.unet_even, ports.autoencoder3d, ports.autoencoder1d)
}


@dataclass(frozen=True)
class Planted:
    """A network, and what its port got wrong.

    Attributes:
        build: The network.
        right: The styles of its padding, one after the other.
        port: Those of the port.
        twist: What else differs; empty where padding does.
    """

    build: str
    right: tuple[str, ...]
    port: tuple[str, ...]
    twist: str = ""

    def made(self) -> Port:
        """The port, with what it should compute."""
        build = BUILDS[self.build]
        if self.twist:
            return next(ports.perturbed([build], {self.twist}))
        right, wrong = (
            ports.mixed(*map(_STYLES.__getitem__, each)) for each in (self.right, self.port)
        )
        meant = build(right)
        return Port(self.build, build(wrong), ports.recorded(meant, ports.data_for(meant)))

    def judged(self) -> tuple[str, str]:
        """The outcome of `match`, and what is wrong with it; empty if nothing is."""
        try:
            port = self.made()
        except Exception:  # no such difference, or whatever onnxruntime raises
            return f"{NEITHER}: it does not run", ""
        there = reproduced(port.model, port, 1e-4)
        try:
            found = onnxpad.match(port.model, port.reference, seconds=SECONDS)
        except Exception as error:
            return "error", f"{type(error).__name__} at {place(error)}: {error}"[:300]
        kind = NEITHER if there else PERTURBED if self.twist else WRONG
        told = ""
        if found.outcome in ("matched", "matches already"):
            if not reproduced(found.model, port, 1e-4):
                told = "it matches what it does not reproduce"
            elif kind == PERTURBED:
                told = f"it matches {self.twist} by padding"
        elif found.model != port.model:
            told = "it does not match, and changes the model"
        elif there and reproduced(port.model, port, 1e-6):
            told = "it does not match what is reproduced already"
        return f"{kind}: {found.outcome}", told


def reproduced(model: onnx.ModelProto, port: Port, bound: float) -> bool:
    """Whether a model gives the outputs that a port should, up to this share of their range."""
    try:
        values = run(model, {"x": port.reference["x"]})
    except Exception:  # whatever onnxruntime raises
        return False
    return all(
        value.shape == wanted.shape
        and np.allclose(value, wanted, rtol=0, atol=bound * max(float(np.ptp(wanted)), 1e-6))
        for value, wanted in zip(values, [*port.reference.values()][1:], strict=True)
    )


def planted(seed: int) -> Planted:
    """The port of a seed: three of four have wrong padding."""
    draw = random.Random(seed)
    build = draw.choice([*BUILDS])
    if draw.random() < 0.25:
        return Planted(build, ("same",), ("same",), draw.choice([*ports.TWISTS]))
    right = tuple(draw.sample(("same", "same", "lower", "symmetric"), draw.choice((1, 1, 2))))
    port = tuple(draw.sample([*_STYLES], draw.choice((1, 1, 2, 3))))
    return Planted(build, right, port)


def take(turn: Turn) -> None:
    """Has `match` search for padding that was planted wrongly, and for what is no padding."""
    for seed in turn.seeds():
        port = planted(seed)
        outcome, told = port.judged()
        if told:
            shown = f"from tests.soak.planted import Planted\n\nprint({port!r}.judged())\n"
            turn.found(seed, told, lambda _, shown=shown: (shown.encode(), ".py"))  # type: ignore[misc]
        turn.covered({"models": 1, f"outcomes {outcome}": 1, f"networks {port.build}": 1})
