"""The commands with the values of their options, the models, and the command lines that fail."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import onnx

from tests.behaviour.covering import Pair, Row, covering, pairs_of, possible
from tests.support import EXPORTED, MODELS, inner_graphs

Options: TypeAlias = Mapping[str, Sequence[str]]
"""The values of each option: words of a command line, in which {name} stands for a model's own."""

_SCREEN: Final = ("", "COLUMNS=100 TERM=xterm", "COLUMNS=60", "TERM=xterm NO_COLOR=1")
"""With a TERM, stdout is a terminal. Without COLUMNS it has 80."""

_SIZES: Final = (
    *("", "--shape {shape}", "--shape {partly}", "--dim {dim}={size}"),
    *("--dim {dim}={size}..{double}", "--dim {dim}={steps}"),
    "--shape {partly} --dim {dim}={size}..{double}",
)
_FRAMEWORKS: Final = (
    *("tensorflow", "keras", "tflite", "pytorch", "caffe", "cudnn", "paddle", "coreml"),
    *("coreml-top-left", "onnx-same-upper", "onnx-same-lower"),
)
_REWRITING: Final = {
    "style": ("", "--style pad", "--style symmetric"),
    "dynamic": ("", "--dynamic pad", "--dynamic auto-pad"),
    "sizes": _SIZES,
    "names": ("", "--trust-dim-names"),
    "ceil": ("", "--no-ceil"),
    "trust": ("", "--trust spec", "--trust onnxruntime"),
    "transpose": ("", "--symmetric-transpose"),
    "strict": ("", "--strict"),
}
_RUNTIMES: Final = (
    *("", "--target openvino", "--target tract --target opencv@4"),
    "--target coreml --target-only",
)
_CONFIGURED: Final = ("", "--isolated")
_DATA: Final = ("", "--external-data inline")
_FORMAT: Final = ("", "--format json")
_HTML: Final = ("", "--html page.html")
_TOLERANCE: Final = ("", "--rtol 1e-3", "--atol 1e-4", "--rtol 0 --atol 0")

_COMPARING: Final = {
    "provider": ("", "--provider auto", "--provider CPUExecutionProvider"),
    "tolerance": _TOLERANCE,
    "timeout": ("", "--run-timeout 60"),
    "format": _FORMAT,
    "html": _HTML,
    "quiet": ("", "-q"),
    "verbose": ("", "-v"),
}
_WINDOW: Final = {
    "size": ("--size 7", "--size 224x161", "--size 6x7x8", "--size 3"),
    "kernel": ("--kernel 3", "--kernel 2", "--kernel 1"),
    "dilation": ("", "--dilation 2"),
    "padding": ("", "--padding 1"),
    "reach": ("", "--output-size 4", "--only pytorch,keras-same"),
}

COMMANDS: Final[Mapping[str, tuple[str, Options]]] = MappingProxyType({
    "fix": ("fix {model}", {
        **_REWRITING,
        "runtime": _RUNTIMES,
        "target": ("", "-o out.onnx", "-o sub/out.onnx", "--in-place", "--diff"),
        "codes": ("", "--select PAD1,PAD2", "--select PAD4", "--ignore PAD101,PAD5"),
        "runs": ("", "--no-validate", "--reference {npz}"),
        "invalid": ("", "--keep-invalid"),
        "timeout": ("", "--run-timeout 60"),
        "data": _DATA,
        "format": _FORMAT,
        "html": _HTML,
        "quiet": ("", "-q"),
        "verbose": ("", "-v"),
        "configured": _CONFIGURED,
    }),
    "check": ("check {model}", {
        **_REWRITING,
        "runtime": _RUNTIMES,
        "convention": ("", *(f"--convention {name}" for name in _FRAMEWORKS)),
        "codes": ("", "--select PAD6", "--select PAD1,PAD501", "--ignore PAD2"),
        "fail": ("", "--fail-on info", "--fail-on error", "--exit-zero"),
        "format": (
            *(*_FORMAT, "--format sarif", "--format github", "--statistics"),
        ),
        "html": _HTML,
        "quiet": ("", "-q"),
        "verbose": ("", "-v"),
        "configured": _CONFIGURED,
    }),
    "show": ("show {model}", {
        "node": (
            *("", "--node {node}", "--node {last}", "--node {pad}", "--node {tensor}"),
            *("--node *", "--node {node} --node {last}"),
        ),
        "runtime": ("", "--target openvino"),
        "sizes": _SIZES,
        "names": ("", "--trust-dim-names"),
        "format": _FORMAT,
        "html": _HTML,
        "configured": _CONFIGURED,
    }),
    "validate": ("validate {model}", {
        "rewritten": ("fixed.onnx", "other.onnx"),
        "inputs": (
            *(*_SIZES, "--samples 2", "--seed 7", "--samples 2 --seed 7 --shape {shape}"),
            *("--inputs inputs.npz", "--reference {npz}"),
        ),
        **_COMPARING,
        "configured": _CONFIGURED,
    }),
    "validate-one": ("validate {model} --reference {npz}", _COMPARING),
    "repad": ("repad {model}", {
        "to": tuple(f"--to {name}" for name in (*_FRAMEWORKS, "valid")),
        "only": ("", "--only {node}", "--only {node} --only {last}"),
        "target": ("", "-o out.onnx", "-o sub/out.onnx", "--in-place"),
        "runs": ("", "--inputs inputs.npz", "--reference {npz}"),
        "sizes": _SIZES,
        "tolerance": _TOLERANCE,
        "timeout": ("", "--run-timeout 60"),
        "invalid": ("", "--keep-invalid"),
        "data": _DATA,
        "format": _FORMAT,
        "quiet": ("", "-q"),
        "configured": _CONFIGURED,
    }),
    "match": ("match {model}", {
        "reference": ("--reference {npz}", "--reference outputs.npz --inputs inputs.npz"),
        "target": ("", "-o out.onnx", "-o sub/out.onnx"),
        "partial": ("", "--partial"),
        "seconds": ("", "--seconds 600"),
        "tolerance": _TOLERANCE,
        "timeout": ("", "--run-timeout 60"),
        "data": _DATA,
        "format": _FORMAT,
        "quiet": ("", "-q"),
    }),
    "explain": ("explain {model}", {
        "node": ("--node {node}", "--node {last}"),
        "sizes": ("", "--shape {shape}", "--shape {partly} --dim {dim}={size}"),
        "names": ("", "--trust-dim-names"),
        "format": _FORMAT,
    }),
    "explain-window": ("explain", {
        "op": ("--op conv", "--op maxpool", "--op avgpool"),
        "stride": ("", "--stride 2", "--stride 3"),
        **_WINDOW,
        "format": _FORMAT,
    }),
    "explain-transposed": ("explain --op convtranspose", {
        "stride": ("--stride 2 --output-padding 1", "--stride 2", "--stride 3", ""),
        **_WINDOW,
        "format": _FORMAT,
    }),
})  # fmt: skip
"""The command line of each kind of case, and its options. Those that exclude each other are one."""

FAILING: Final = """
fix
fix absent.onnx
fix sub
fix empty.onnx
fix cut.onnx
fix notes.onnx
fix {npz}
fix {model} {model}
fix {model} --stile pad
fix {model} --style flod
fix {model} --dynamic none
fix {model} --trust me
fix {model} -o {model}
fix {model} -o absent/out.onnx
fix {model} -o sub
fix {model} -o -
fix {model} -o out.onnx --in-place
fix {model} -o {npz} --reference {npz}
fix {model} --html {model}
fix {model} --html notes.txt
fix {model} --html absent/page.html
fix {model} --html sub
fix {model} --select PAD9999
fix {model} --ignore nothing
fix {model} --shape {input}=1,2,3
fix {model} --shape absent=1
fix {model} --shape {input}=1,two
fix {model} --dim absent=3
fix {model} --dim =3
fix {model} --dim height
fix {model} --reference absent.npz
fix {model} --reference cut.npz
fix {model} --reference outputs.npz
fix {model} --reference wrong.npz
fix {model} --reference wrong.npz --keep-invalid
fix {model} --reference {npz} --no-validate
fix {model} --run-timeout 0
fix {model} --run-timeout never
fix {model} --external-data move
fix {model} -o notes.txt/out.onnx
fix {model} -o /proc/out.onnx --no-validate
fix {model} --html /proc/page.html
fix 'no such\tname.onnx'
check
check absent.onnx
check .
check sub
check {model} absent.onnx cut.onnx
check {model} --convention theano
check {model} --fail-on never
check {model} --select PAD9999
check {model} --dim absent=3
check {model} --html notes.txt
check empty.onnx notes.onnx --html page.html
show
show absent.onnx
show cut.onnx
show sub
show {model} --node absent
show {model} --node 'abs*'
show {model} --html {model}
show {model} --html /proc/page.html
show {model} --shape 1,2,3
validate
validate {model}
validate {model} absent.onnx
validate {model} cut.onnx
validate {model} {model}
validate {model} sub
validate {model} other.onnx --reference absent.npz
validate {model} --reference cut.npz
validate {model} --reference wrong.npz
validate {model} --reference outputs.npz
validate {model} --reference inputs.npz
validate {model} --inputs inputs.npz --reference {npz}
validate {model} {model} --inputs inputs.npz
validate {model} other.onnx --inputs inputs.npz
validate {model} {model} --inputs {npz}
validate {model} {model} --inputs notes.txt
validate {model} {model} --provider tpu
validate {model} {model} --provider TensorrtExecutionProvider
validate {model} {model} --samples 0
validate {model} {model} --seed x
validate {model} {model} --rtol -1
validate {model} {model} --dim absent=3
validate {model} {model} --html {model}
validate {model} {another}
validate {model} fixed.onnx --reference {npz} --samples 2
fix {model} --shape {shape} --dim {dim}=9..18
repad
repad {model}
repad {model} --to theano
repad absent.onnx --to keras
repad cut.onnx --to keras
repad {model} --to keras --only absent
repad {model} --to keras -o {model}
repad {model} --to keras -o absent/out.onnx
repad {model} --to keras --in-place -o out.onnx
repad {model} --to keras --inputs absent.npz
repad {model} --to pytorch --reference wrong.npz
repad {model} --to pytorch --reference wrong.npz --keep-invalid
repad {model} --to keras --atol x
repad {model} --to pytorch -o /proc/out.onnx
match
match {model}
match {model} --reference absent.npz
match {model} --reference cut.npz
match {model} --reference outputs.npz
match {model} --reference wrong.npz
match {model} --reference wrong.npz --partial -o out.onnx
match {model} --reference wrong.npz -o {model}
match {model} --reference {npz} -o {npz}
match absent.onnx --reference {npz}
match cut.onnx --reference {npz}
match {model} --reference {npz} --seconds 0
match {model} --reference {npz} -o absent/out.onnx
explain
explain {model}
explain {model} --node absent
explain {model} --node {node} --op conv
explain {model} --node {tensor}
explain {model} --node {pad}
explain {model} --node {node} --dim {dim}=9..18
explain {model} --node {node} --shape {partly}
explain absent.onnx --node conv
explain cut.onnx --node conv
explain --op conv
explain --op convolution --size 7 --kernel 3
explain --op conv --size 7x --kernel 3
explain --op conv --size 7x7 --kernel 3x3x3
explain --op conv --size 0 --kernel 3
explain --op conv --size 7 --kernel 3 --stride 0
explain --op conv --size 7 --kernel 3 --output-padding 1
fux {model}

--version
rule
rule --format json
rule PAD101
rule PAD9
rule absent
"""
"""Command lines that fail, and some that only say what there is; each in text and as JSON."""

_WINDOWS: Final = re.compile("(?!.*Global).*(Conv|Pool)")


@dataclass(frozen=True, slots=True)
class Case:
    """A command line in a folder of its own.

    Attributes:
        name: Of its file in the record: the command, the model and a number.
        words: The command line.
        environment: What it adds to the environment.
        source: The model that is copied into the folder; None for a command that reads none.
    """

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    source: Path | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The cases of one command.

    Attributes:
        kind: The key in `COMMANDS`.
        cases: Each with its row of options.
        covered: Pairs of values that occur.
        impossible: Pairs of values that no model allows.
    """

    kind: str
    cases: tuple[tuple[Case, Row], ...]
    covered: int
    impossible: tuple[str, ...]


def subjects() -> list[Path]:
    """All exported models, those with the wrong padding too."""
    return [*EXPORTED, *sorted((MODELS / "misconverted").glob("*.onnx"))]


def planned(kind: str, rounds: int) -> Plan:
    """The cases of a kind: with each model as many as there are rounds, and every pair.

    Of a command that reads no model they are as many as the pairs need.
    """
    line, table = COMMANDS[kind]
    options = {**table, "screen": _SCREEN}
    models: list[Path | None] = [*subjects()] if "{model}" in line else [None]
    allowed = [
        {option: [v for v in values if _fits(v, model)] for option, values in options.items()}
        for model in models
    ]
    cases = []
    numbers = dict.fromkeys(models, 0)
    for place, row in covering(allowed, rounds):
        model = models[place]
        numbers[model] += 1
        name = f"{kind}/{model.stem if model else 'operator'}.{numbers[model]}"
        cases.append((case(name, " ".join([line, *row.values()]), model), row))
    covered = {pair for _, row in cases for pair in pairs_of(row)}
    told = tuple(map(words_of_pair, sorted(possible(options) - covered)))
    return Plan(kind, tuple(cases), len(covered), told)


def words_of_pair(pair: Pair) -> str:
    """A pair of values as words; a value that is not given is called by its option."""
    return " with ".join(value or f"(no {option})" for option, value in pair)


def failing() -> Iterator[Case]:
    """The cases that fail, and the help of each command."""
    model = MODELS / "aspp_keras.onnx"
    helps = [
        f"{name} --help" for name in dict.fromkeys(line.split()[0] for line, _ in COMMANDS.values())
    ]
    lines = [*FAILING.strip().splitlines(), "--help", *helps]
    counts: dict[str, int] = {}
    for line in lines:
        command = line.partition(" ")[0].strip("-") or "none"
        for further in "", " --format json":
            if further and ("--help" in line or "--version" in line or further in line):
                continue
            counts[command] = counts.get(command, 0) + 1
            yield case(f"failing/{command}.{counts[command]}", f"{line}{further}", model)


def case(name: str, line: str, model: Path | None) -> Case:
    known = words_of(model) if model else {}
    words = [word.format_map(known) for word in shlex.split(line)]
    is_set = re.compile("(COLUMNS|TERM|NO_COLOR)=")
    environment = dict(word.split("=") for word in words if is_set.match(word))
    return Case(name, tuple(w for w in words if not is_set.match(w)), environment, model)


def _fits(value: str, model: Path | None) -> bool:
    """Whether a model has everything that a value names."""
    names = re.findall("{(.*?)}", value)
    return all(words_of(model).get(name) for name in names) if model else not names


@cache
def words_of(path: Path) -> Mapping[str, str]:
    """The names in a model that values stand for; empty where it has none.

    Open sizes become those of the recorded inputs.
    """
    model = onnx.load(path, load_external_data=False)
    nodes = [node for _, nodes, _ in inner_graphs(model) for node in nodes]
    inner = [node for node in nodes if _WINDOWS.match(node.op_type)]
    windows = [node for node in inner if node in model.graph.node] or inner
    named = [node.name for node in windows if node.name]
    first = next(iter(inputs_of(model)))
    words = {
        "model": path.name,
        "another": "another.onnx",
        "npz": path.with_suffix(".npz").name,
        "input": first.name,
        "node": named[0] if named else "",
        "last": named[-1] if len(named) > 1 else "",
        "tensor": windows[0].output[0] if windows else "",
        "pad": next((node.name for node in nodes if node.op_type == "Pad" and node.name), ""),
    }
    given = np.load(path.with_suffix(".npz"))[first.name].shape
    dims = list(first.type.tensor_type.shape.dim)
    opened = [place for place, dim in enumerate(dims) if not dim.HasField("dim_value")]
    if opened:
        last, sizes = opened[-1], list(map(str, given))
        words["shape"] = f"{first.name}={','.join(sizes)}"
        sizes[last] = "?"
        words["partly"] = f"{first.name}={','.join(sizes)}"
        words["dim"] = dims[last].dim_param
        size = given[last]
        words |= {"size": str(size), "double": str(2 * size), "steps": f"{size}..{4 * size}:{size}"}
    return words


def inputs_of(model: onnx.ModelProto) -> Sequence[onnx.ValueInfoProto]:
    """The inputs that have to be given."""
    held = {each.name for each in model.graph.initializer}
    return [each for each in model.graph.input if each.name not in held]
