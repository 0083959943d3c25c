"""Cases: small models as text, and what `check` and `fix` make of them.

`python -m tests.case FILE [TITLE]` shows each case of a file: the model, what is found, what `fix`
writes and why, and where that differs from what the file expects. `--write` records the outcome of
each variant of which the file expects nothing yet: read it before it is committed.

A file holds cases:

    # what the case shows
    opset = 18                       keys, as in TOML: see `Case`
    (float[1,2,9,8] x) => (float[] y) <float[3,2,3,3] w = seeded> { ...the graph, then functions }
    -> style = "pad"                 options; several such lines share what follows
    warning PAD201: <a>              a finding of `check`: severity, code, reason: node
    made PAD201 finite-data: <y>     a change of `fix`: code, assumptions: node
    undone PAD201 fill-wins: <y>     a change that was taken back
    then info PAD202 crops: <y>      a finding of `fix` alone, or `before` for one of `check` alone
    info PAD205 crops: <a> | {"axes": [2]}      with some of its facts, as JSON
    raises ModelError                instead of all these
    warns                            a warning; `notes KEY: VALUE` are the metadata of the result
    validated passed                 `fix` validates, too; without this line it does not
    next --trust initializers        the option that would gain most, if the case asks for it
    (...) => (...)                   inputs and outputs, if they change
    <int64[2] p2 = {0, 1}>           initializers that are new
    { ... }                          the nodes afterwards, if they change; then changed functions
"""

import argparse
import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Final

import onnx

import onnxpad
from tests import run_command
from tests.support.comparing import canonical
from tests.support.written import block, constant_text, function_text, signature

CASES: Final = Path(__file__).with_name("cases")
_SEEDED: Final = re.compile(r"(\w+)\[([\d, ]*)\] (\w+) = seeded")


@dataclass
class Variant:
    """Options that share an outcome, and that outcome as the file tells it."""

    options: list[str]
    lines: list[str]


@dataclass
class Case:
    """A case of a file: what it shows, its keys and model as written, and its variants in order.

    Attributes:
        keys: Of the model `opset`, `ir`, `domains` (versions by name) and `metadata`. Of its runs
            `runs = false` where onnxruntime does not run it, `"afterwards"` where it runs only the
            result; `sizes` of open dimensions; `feeds`, tables of values by input, or of shapes to
            draw, such as "1,2,5"; `extremes = true` for data of infinities, NaN and -0.0 too.
    """

    path: Path
    title: str
    head: str
    keys: Mapping[str, Any]
    text: str
    variants: list[Variant]

    def __str__(self) -> str:
        parts = [f"# {self.title}", self.head]
        for each in self.variants:
            parts += [f"-> {said}".rstrip() for said in each.options] + each.lines
        return "\n".join(parts)

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The model that is given."""
        return self.parsed(self.text)

    def parsed(self, text: str) -> onnx.ModelProto:
        """A model of this opset from its graph and functions."""
        opset, ir = self.keys.get("opset", 17), self.keys.get("ir", 9)
        head = f'<ir_version: {ir}, opset_import: ["" : {opset}]>'
        model = onnx.parser.parse_model(f"{head}\ng {_SEEDED.sub(_seeded, text)}")
        used = {node.domain for node in _nodes(model.graph.node)} - {"", "ai.onnx"}
        versions = dict.fromkeys(sorted(used), 1) | self.keys.get("domains", {})
        for domain, version in versions.items():
            model.opset_import.add(domain=domain, version=version)
        onnx.helper.set_model_props(model, self.keys.get("metadata", {}))
        return model


@dataclass(frozen=True)
class Outcome:
    """What came of a model: lines as in a file, with the facts of the first, and the result."""

    told: list[str]
    after: list[str]
    facts: list[Mapping[str, Any]]
    result: onnxpad.FixResult | None = None


def cases(path: Path) -> list[Case]:
    """The cases of a file."""
    _, *parts = re.split(r"^# ", f"\n{path.read_text(encoding='utf-8')}", flags=re.MULTILINE)
    return [_case(path, part.rstrip("\n")) for part in parts]


def _case(path: Path, part: str) -> Case:
    title, _, rest = part.partition("\n")
    head, *told = re.split(r"^((?:->.*\n?)+)", rest, flags=re.MULTILINE)
    begin = re.search(r"^\(", head, re.MULTILINE)
    if begin is None:
        raise ValueError(f"{title}: there is no graph, which begins with a parenthesis")
    keys, text = head[: begin.start()], head[begin.start() :]
    pairs = [
        (said[2:].split("\n->"), lines) for said, lines in zip(told[::2], told[1::2], strict=True)
    ]
    variants = [Variant([*map(str.strip, o)], lines.strip("\n").splitlines()) for o, lines in pairs]
    variants = variants or [Variant([""], [])]
    return Case(path, title, head.rstrip("\n"), tomllib.loads(keys), text, variants)


def _seeded(match: re.Match[str]) -> str:
    """A constant whose elements no turn or swap leaves as they are."""
    kind, dims, name = match.groups()
    low, size = 0 if kind.startswith("u") else -5, prod(map(int, dims.split(",")))
    return f"{kind}[{dims}] {name} = {{{', '.join(str(i * 7 % 11 + low) for i in range(size))}}}"


def _nodes(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Nodes with those of their bodies."""
    for node in nodes:
        yield node
        for each in node.attribute:
            for body in (each.g, *each.graphs):
                yield from _nodes(body.node)


def options_of(text: str) -> dict[str, Any]:
    """The options of a variant: `style = "pad", strict = true`."""
    return dict(tomllib.loads(f"options = {{{text}}}")["options"])


def outcome(case: Case, text: str, asked: Sequence[str] = ()) -> Outcome:
    """What `check` and `fix` make of a case with these options, and what else lines ask for."""
    options, words = options_of(text), {line.partition(" ")[0] for line in asked}
    try:
        checked = onnxpad.check(case.model, **options).findings
        result = onnxpad.fix(case.model, validate="validated" in words, **options)
    except onnxpad.OnnxpadError as error:
        return Outcome([f"raises {type(error).__name__}"], [], [{}])
    listed, left = ([_finding(each) for each in some] for some in (checked, result.findings))
    lines = [
        "before " * (not each.fixable and line not in left) + line
        for each, line in zip(checked, listed, strict=True)
    ]
    facts: list[Mapping[str, Any]] = [each.evidence for each in checked]
    for change in result.changes:
        codes = [getattr(each, "code", "other") for each in change.certificate.assumptions]
        lines.append(f"{' '.join(['made', change.code, *codes])}: {change.node}")
        facts.append(change.certificate.facts)
    for each in (*result.undone, *result.barred):
        lines.append(f"undone {each.code} {each.reason_code}: {each.node}")
        facts.append(each.evidence)
    for each, line in zip(result.findings, left, strict=True):
        if line not in listed:
            lines.append(f"then {line}")
            facts.append(each.evidence)
    if result.changed:
        lines += [f"notes {each.key}: {each.value}" for each in result.model.metadata_props]
    lines += ["warns"] * len(result.warnings)
    if "validated" in words:
        lines.append(f"validated {result.validation.outcome if result.validation else 'nothing'}")
    if "next" in words:
        lines.append(f"next {result.next.option if result.next else 'nothing'}")
    return Outcome(lines or ["nothing"], _after(case.model, result.model), facts, result)


def _finding(found: onnxpad.Finding) -> str:
    return f"{found.severity} {found.code} {found.reason_code}".rstrip() + f": {found.node}"


def _after(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """What differs afterwards, as text that `expected_model` reads."""
    if before == after:
        return []
    held = {each.name: each for each in before.graph.initializer}
    new = [each for each in after.graph.initializer if held.get(each.name) != each]
    lines = [signature(after.graph)] * (signature(after.graph) != signature(before.graph))
    lines += [f"<{', '.join(map(constant_text, new))}>"] * bool(new)
    lines += block(after.graph.node).splitlines()
    for old, function in zip(before.functions, after.functions, strict=True):
        lines += function_text(function).splitlines() * (old != function)
    return lines


def expected_model(case: Case, after: Sequence[str]) -> onnx.ModelProto:
    """The model that the lines of a variant tell of."""
    before, text = case.model, "\n".join(after)
    if not text:
        return before
    given = text if text.startswith("(") else f"{signature(before.graph)} {text}"
    found = case.parsed(given)
    new = {each.name for each in found.graph.initializer}
    found.graph.initializer.extend(e for e in before.graph.initializer if e.name not in new)
    written = {(each.domain, each.name) for each in found.functions}
    found.functions.extend(e for e in before.functions if (e.domain, e.name) not in written)
    return found


def problems(case: Case, found: Outcome, lines: Sequence[str]) -> list[str]:
    """In which lines an outcome differs from what is expected: as a diff, empty if in none."""
    at = next((i for i, line in enumerate(lines) if line[:1] in "({<"), len(lines))
    told, after = list(lines[:at]), list(lines[at:])
    model = found.result.model if found.result else case.model
    try:
        wished = expected_model(case, after)
    except onnx.parser.ParseError as error:
        return [str(error)]
    labels = {node.name for node in _nodes(case.model.graph.node)}
    ours, theirs = (canonical(each, labels) for each in (model, wished))
    is_made = ours == theirs and model.graph.input == wished.graph.input
    if [line.partition(" | ")[0] for line in told] == found.told:
        if is_made:
            return _facts_missing(told, found)
        found = replace(found, told=told)
    given = [*found.told, *(after if is_made else found.after)]
    told = [*difflib.unified_diff(lines, given, "expected", "found", lineterm="", n=9)][2:]
    return told or ["another model with the same text"]


def _facts_missing(told: Sequence[str], found: Outcome) -> list[str]:
    """Facts of the lines that are not those of what was found."""
    missing = []
    for line, facts in zip(told, found.facts, strict=False):
        for key, wanted in json.loads(line.partition(" | ")[2] or "{}").items():
            given = json.loads(json.dumps(facts.get(key)))
            if given != wanted:
                missing.append(f"{line.partition(' | ')[0]}: {key} is {given}, not {wanted}")
    return missing


def main(arguments: Sequence[str] | None = None) -> int:
    """Shows the cases of a file; 1 if one of them is not as the file expects."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.case",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("title", nargs="?", default="", help="cases whose titles contain this")
    parser.add_argument("--write", action="store_true", help="record outcomes that are missing")
    options = parser.parse_args(arguments)
    try:
        every = cases(options.file)
        bad = sum(
            _shown(case, write=options.write) for case in every if options.title in case.title
        )
    except (OSError, ValueError, onnx.parser.ParseError) as error:
        parser.error(f"{options.file}: {error}")
    if options.write:
        options.file.write_text("\n\n".join(map(str, every)) + "\n", encoding="utf-8")
    return int(bool(bad))


def _shown(case: Case, *, write: bool) -> int:
    """Shows each variant, or records and shows those that expect nothing; how many differ."""
    chosen = [each for each in case.variants if not write or not each.lines]
    for variant in chosen if write else ():
        found = outcome(case, variant.options[0])
        variant.lines = [*found.told, *found.after]
    return sum(_show(case, variant) for variant in chosen)


def _show(case: Case, variant: Variant) -> bool:
    """Prints a variant with the words of its findings; whether it is not as expected."""
    differing = []
    print(f"# {case.title}\n{case.head}")
    for text in variant.options:
        found = outcome(case, text, variant.lines)
        print(f"-> {text}", *found.told, *found.after, sep="\n")
        if found.result:
            told = [f"{each.code} {each.before} => {each.after}" for each in found.result.changes]
            told += [f"{e.code} {e.node}: {e.reason or e.message}" for e in found.result.findings]
            print(*(f"  {line}" for line in told), sep="\n")
        differing += problems(case, found, variant.lines)
    print(*["NOT AS EXPECTED:", *differing] * bool(differing), "", sep="\n")
    return bool(differing)


if __name__ == "__main__":
    run_command(main)
