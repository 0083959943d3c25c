"""What results make of each other: the runs, warnings and remarks of a verdict, from results alone.

Results of a provider that this machine lacks are judged here too.
"""

from typing import Any

import numpy as np
from msgspec.structs import replace

from onnxpad.runtimes.sessions import CPU
from onnxpad.validation.lab import Result
from onnxpad.validation.compare import Tolerance, compare
from onnxpad.validation.draw import Draw, outline
from onnxpad.validation.names import Pairing
from onnxpad.validation.result import Comparison, Validation
from onnxpad.validation.whole import _Check, _in_values
from tests.support import parsed
from tests.support.rows import each_row

CUDA = "CUDAExecutionProvider"
X = np.array([[1.0, -2.0, 3.0, 0.5]], np.float32)
MODEL = parsed("g (float[1, 4] x) => (float[1, 4] y) { y = Identity (x) }")
TWICE = parsed("g (float[1, 4] x) => (float[1, 4] y) { y = Add (x, x) }")

CUSTOM = parsed("g (float[1, 4] x) => (float[1, 4] y) { y = custom.Op (x) }")

HIDDEN = "g (float[1, 4] x) => (float[1, 4] y) <float[1] z = {{0}}> {{ h = {} (x) y = Mul (h, z) }}"
CHOICE = (
    "g (float[1, 4] x) => (int64[1] y) {{ h = {} (x) y = ArgMax <axis = 1, keepdims = 0> (h) }}"
)
HIDES, HIDES_OTHER = parsed(HIDDEN.format("Neg")), parsed(HIDDEN.format("Abs"))
CHOOSES, CHOOSES_OTHER = parsed(CHOICE.format("Neg")), parsed(CHOICE.format("Exp"))

SAME = {"y": X}
NEAR = {"y": X * np.float32(1 + 1e-6)}
OTHER = {"y": X * 2}
THIRD = {"y": X * 3}
SLIGHT = {"y": X * np.float32(1 + 5e-4)}  # another engine may differ by so much
BROKEN = {"y": X * np.float32(np.nan)}
TYPED = {"y": X.astype(np.float64)}
FLAT = {"y": X * 0}
LOST = {"z": X}
CLASS = {"y": np.array([1])}
CLASS_FULL = {"y": np.array([1]), "h": -X}
LEVELS = [(place, level) for level in ("off", "full") for place in ("original", "rewritten")]


def of(given: Any) -> Result:
    """A result: outputs, or in a word why there are none."""
    if isinstance(given, str):
        return Result({}, float("nan"), given, crashed="crash" in given, late="late" in given)
    return Result(given, 1.0)


def check(
    home: tuple[Any, ...],
    away: tuple[Any, ...] = (),
    *,
    reference: Any = None,
    alone: bool = False,
    original: Any = MODEL,
    rewritten: Any = MODEL,
    repairs: bool = False,
    **traits: Any,
) -> _Check:
    """A check whose results are known: of both models, off and full, on the CPU and elsewhere."""
    model = replace(outline(MODEL), **traits)
    other = None if alone else rewritten
    found = _Check(original, other, original, model, None, Tolerance(), None, Pairing())
    found.repairs = repairs
    found.expected = () if reference is None else (reference,)
    found.choices = {"y"} if original is CHOOSES else ()
    found.prepare((Draw({"x": X}, "first"),), [CPU], 1, 0)
    for provider, given in ((CPU, home), (CUDA, away)):
        for (name, level), each in zip(LEVELS, given, strict=False):
            found._known[name, provider, level] = (of(each),)
    return found


def told(found: Validation) -> str:
    """A verdict in lines: its runs, and how many remarks there are."""
    lines = [str(found.outcome)]
    for run in found.runs:
        marks = [word for word in ("ok", "excused", "flat", "note") if getattr(run, word)]
        where = f"{run.provider[:-17]} {run.optimisation} {run.subject}/{run.against}"
        lines.append(" ".join((where, *marks)))
    remarks = {"warnings": found.warnings, "notes": found.notes, "not compared": found.uncompared}
    lines += [f"{name}: {len(each)}" for name, each in remarks.items() if each]
    if found.divergence is not None:
        lines.append(f"first difference: {found.divergence.tensor}")
    assert found.ok == (found.outcome in {"passed", "repaired"})
    return "\n".join(lines)


ROWS: dict[str, dict[str, Any]] = {
    "equal": {"home": (SAME, SAME, SAME, SAME)},
    "near": {"home": (SAME, NEAR, NEAR, SAME)},
    "other": {"home": (SAME, OTHER), "rewritten": TWICE},
    "of another type": {"home": (SAME, TYPED)},
    "not a number": {"home": (SAME, BROKEN)},
    "other only optimised": {"home": (SAME, SAME, SAME, OTHER)},
    "the original changes by optimisation": {"home": (SAME, SAME, OTHER, SAME)},
    "both change": {"home": (SAME, SAME, OTHER, OTHER)},
    "both change otherwise": {"home": (SAME, SAME, OTHER, THIRD)},
    "the rewritten does not run": {"home": (SAME, "no kernel")},
    "the rewritten is late": {"home": (SAME, "is late")},
    "the rewritten does not run optimised": {"home": (SAME, SAME, SAME, "no kernel")},
    "neither runs optimised": {"home": (SAME, SAME, "too", "no kernel")},
    "one crashes optimised": {"home": (SAME, SAME, "too", "crash")},
    "the original crashes optimised": {"home": (SAME, SAME, "crash", "too")},
    "the original does not run optimised": {"home": (SAME, SAME, "too", SAME)},
    "the original does not run": {"home": ("no kernel", SAME, "too", SAME)},
    "the original runs nowhere": {"home": ("bad", SAME, "too", SAME), "original": CUSTOM},
    "a repair": {"home": ("bad", SAME, "too", SAME), "original": CUSTOM, "repairs": True},
    "a repair that changes optimised": {
        "home": ("bad", SAME, "too", OTHER), "original": CUSTOM, "repairs": True,
    },
    "a repair of many nodes": {
        "home": ("bad", SAME), "original": CUSTOM, "repairs": True, "nodes": 10_001,
    },
    "neither runs": {"home": ("no kernel", "too")},
    "neither runs, for one reason": {"home": ("no kernel", "no kernel")},
    "an output is lost": {"home": (SAME, LOST)},
    "the original is late": {"home": ("late", SAME)},
    "of 10,000 nodes": {"home": (SAME, SAME, SAME, SAME), "nodes": 10_000},
    "of more": {"home": (SAME, SAME), "nodes": 10_001},
    "no evidence": {"home": (FLAT, FLAT, FLAT, FLAT)},
    "inner tensors tell": {
        "home": (FLAT, FLAT, FLAT, FLAT), "original": HIDES, "rewritten": HIDES,
    },
    "inner tensors differ": {
        "home": (FLAT, FLAT), "original": HIDES, "rewritten": HIDES_OTHER,
    },
    "classes": {
        "home": (CLASS, CLASS, CLASS_FULL, CLASS_FULL), "original": CHOOSES,
        "rewritten": CHOOSES,
    },
    "classes of scores that differ": {
        "home": (CLASS, CLASS), "original": CHOOSES, "rewritten": CHOOSES_OTHER,
    },
    "elsewhere equal": {"home": (SAME, SAME), "away": (SAME, SAME, SAME, SAME)},
    "elsewhere a little apart": {"home": (SAME, SAME), "away": (SLIGHT, SLIGHT, SLIGHT, SLIGHT)},
    "elsewhere both differ": {"home": (SAME, SAME), "away": (OTHER, OTHER, OTHER, OTHER)},
    "elsewhere the rewritten is better": {"home": (SAME, SAME), "away": (TYPED, SAME, TYPED, SAME)},
    "elsewhere the rewritten does not run": {"home": (SAME, SAME), "away": (SAME, "no kernel")},
    "elsewhere the original does not run": {
        "home": (SAME, SAME), "away": ("no kernel", SAME, "too", SAME),
    },
    "elsewhere nothing runs": {"home": ("a", "b"), "away": ("c", "d", "e", "f")},
    "a reference": {"home": (SAME, SAME, SAME, SAME), "reference": SAME},
    "by neither": {"home": (SAME, SAME, SAME, SAME), "reference": OTHER},
    "by the rewritten": {"home": (OTHER, SAME, OTHER, SAME), "reference": SAME},
    "by the original": {"home": (SAME, "no kernel"), "reference": SAME},
    "not optimised": {"home": (SAME, SAME, OTHER, OTHER), "reference": SAME},
    "a reference that the original does not run for": {
        "home": ("no kernel", SAME, "no kernel", SAME), "reference": SAME,
    },
    "a little apart from a reference": {"home": (SAME, SAME, SAME, SAME), "reference": SLIGHT},
    "alone": {"home": (SAME, "", SAME), "reference": SAME, "alone": True},
    "alone and other": {"home": (SAME, "", SAME), "reference": OTHER, "alone": True},
    "alone and other optimised": {"home": (SAME, "", OTHER), "reference": SAME, "alone": True},
    "alone and not run": {"home": ("no kernel", "", "too"), "reference": SAME, "alone": True},
}  # fmt: skip

EXPECTED = """

== equal ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok
== near ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok
== other ==
failed
CPU off rewritten/original
first difference: y
== of another type ==
failed
CPU off rewritten/original
== not a number ==
failed
CPU off rewritten/original
== other only optimised ==
failed
CPU off rewritten/original ok
CPU full rewritten/original note
== the original changes by optimisation ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok
warnings: 1
== both change ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok excused note
warnings: 1
not compared: 1
== both change otherwise ==
failed
CPU off rewritten/original ok
CPU full rewritten/original note
== the rewritten does not run ==
failed
CPU off rewritten/original note
== the rewritten is late ==
failed
CPU off rewritten/original note
== the rewritten does not run optimised ==
failed
CPU off rewritten/original ok
CPU full rewritten/original note
== neither runs optimised ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok excused note
warnings: 1
not compared: 1
== one crashes optimised ==
failed
CPU off rewritten/original ok
CPU full rewritten/original note
warnings: 1
== the original crashes optimised ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok excused note
warnings: 1
not compared: 1
== the original does not run optimised ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok
warnings: 1
== the original does not run ==
passed
CPU off rewritten/original evaluated by onnx ok
CPU full rewritten/original evaluated by onnx ok
warnings: 1
== the original runs nowhere ==
nothing compared
CPU off rewritten/original ok excused note
CPU full rewritten/rewritten ok
not compared: 1
== a repair ==
repaired
CPU off rewritten/original ok excused note
CPU full rewritten/rewritten ok
not compared: 1
== a repair that changes optimised ==
nothing compared
CPU off rewritten/original ok excused note
CPU full rewritten/rewritten ok excused note
warnings: 1
not compared: 2
== a repair of many nodes ==
repaired
CPU off rewritten/original ok excused note
warnings: 1
not compared: 2
== neither runs ==
nothing compared
warnings: 1
not compared: 1
== neither runs, for one reason ==
nothing compared
warnings: 1
not compared: 1
== an output is lost ==
failed
CPU off rewritten/original note
== the original is late ==
nothing compared
warnings: 1
not compared: 1
== of 10,000 nodes ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok
== of more ==
passed
CPU off rewritten/original ok
warnings: 1
not compared: 1
== no evidence ==
nothing compared
CPU off rewritten/original ok
CPU full rewritten/original ok flat note
warnings: 1
not compared: 2
== inner tensors tell ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok flat note
notes: 1
not compared: 1
== inner tensors differ ==
failed
CPU off rewritten/original ok
warnings: 1
first difference: h
== classes ==
passed
CPU off rewritten/original ok
CPU full rewritten/original ok
notes: 1
== classes of scores that differ ==
failed
CPU off rewritten/original ok
warnings: 1
first difference: h
== elsewhere equal ==
passed
CUDA off original/original on the CPU ok
CUDA off rewritten/original ok
CUDA full rewritten/original ok
notes: 1
== elsewhere a little apart ==
passed
CUDA off original/original on the CPU ok
CUDA off rewritten/original ok
CUDA full rewritten/original ok
notes: 1
== elsewhere both differ ==
passed
CUDA off original/original on the CPU
CUDA off rewritten/original ok
CUDA full rewritten/original ok
warnings: 1
notes: 1
== elsewhere the rewritten is better ==
passed
CUDA off original/original on the CPU
CUDA off rewritten/original ok note
CUDA full rewritten/rewritten ok
warnings: 2
notes: 1
== elsewhere the rewritten does not run ==
failed
CUDA off original/original on the CPU ok
CUDA off rewritten/original note
notes: 1
== elsewhere the original does not run ==
passed
CUDA off rewritten/original on the CPU ok
CUDA full rewritten/original on the CPU ok
warnings: 1
notes: 1
== elsewhere nothing runs ==
nothing compared
warnings: 1
notes: 1
not compared: 1
== a reference ==
passed
CPU off original/reference ok
CPU off rewritten/reference ok
CPU off rewritten/original ok
CPU full original/reference ok
CPU full rewritten/reference ok
CPU full rewritten/original ok
== by neither ==
failed
CPU off original/reference
CPU off rewritten/reference
CPU off rewritten/original ok
warnings: 1
== by the rewritten ==
passed
CPU off original/reference
CPU off rewritten/reference ok
CPU off rewritten/original ok note
CPU full original/reference ok excused note
CPU full rewritten/reference ok
CPU full rewritten/rewritten ok
warnings: 3
== by the original ==
failed
CPU off original/reference ok
CPU off rewritten/reference note
CPU off rewritten/original note
== not optimised ==
passed
CPU off original/reference ok
CPU off rewritten/reference ok
CPU off rewritten/original ok
CPU full original/reference ok excused note
CPU full rewritten/reference ok excused note
CPU full rewritten/original ok excused note
warnings: 2
not compared: 2
== a reference that the original does not run for ==
passed
CPU off rewritten/reference ok
CPU off rewritten/original evaluated by onnx ok
CPU full rewritten/reference ok
CPU full rewritten/original evaluated by onnx ok
warnings: 2
== a little apart from a reference ==
passed
CPU off original/reference ok
CPU off rewritten/reference ok
CPU off rewritten/original ok
CPU full original/reference ok
CPU full rewritten/reference ok
CPU full rewritten/original ok
== alone ==
passed
CPU off original/reference ok
CPU full original/reference ok
== alone and other ==
failed
CPU off original/reference
== alone and other optimised ==
passed
CPU off original/reference ok
CPU full original/reference ok excused note
warnings: 1
not compared: 1
== alone and not run ==
failed
CPU off original/reference note
warnings: 1
not compared: 1
"""


def expected() -> dict[str, str]:
    parts = (part.partition(" ==\n") for part in EXPECTED.split("\n== ")[1:])
    return {name: text.rstrip("\n") for name, _, text in parts}


@each_row("name", ROWS, at_once=3)
def test_a_verdict(name: str) -> None:
    found = check(**ROWS[name])
    found.validate(CUDA if "away" in ROWS[name] else CPU)
    assert told(found.verdict()) == expected()[name]


def test_runs_that_are_to_come() -> None:
    steps: list[tuple[str, int, int]] = []

    def planned(*providers: str, pads: bool = False, nodes: int = 1) -> int:
        model = replace(outline(MODEL), pads=pads, nodes=nodes)
        both, note = (MODEL, MODEL, MODEL), lambda *step: steps.append(step)
        found = _Check(*both, model, None, Tolerance(), note, Pairing())
        found.prepare((Draw({}, "a"), Draw({}, "b", again=True)), providers, 1, 0)
        found.plan(providers)
        found._begin("step")
        return steps[-1][2]

    assert planned(CPU) == 2 * (2 + 1)
    assert planned(CPU, pads=True) == 2 * (2 + 2)
    assert planned(CPU, nodes=10_000) == 6
    assert planned(CPU, nodes=10_001) == 4
    more = planned(CPU, CUDA) - planned(CPU)
    assert planned(CUDA) == more + 2  # the original is run on the CPU too
    assert steps[-1][:2] == ("step", 0)


def test_differences_of_elements_and_of_shapes() -> None:
    def of_shape(wrong: Any) -> Comparison:
        return compare("y", X, wrong)

    elements, special, shape = of_shape(X + 1), of_shape(X * np.float32(np.nan)), of_shape(X[0])
    assert [_in_values(each, elements) for each in (elements, special, shape)] == [
        True,
        True,
        False,
    ]
    assert [_in_values(each, shape) for each in (elements, special, shape)] == [True, True, True]
    assert not _in_values(shape, special)
