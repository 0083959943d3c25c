"""Where the product reads text: not one place reads a sentence that it made itself."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parents[2]

OTHERS: Final = (
    *("arguments", "cli.", "options", "sizes.size_options", "validation.arrays"),
    *("api.explain", "pipeline.registry", "inventory.named_sites"),
    *("doctor.", "file.", "graph.initializers", "process.", "runtimes."),
    *("report.manual", "page.manual_pages"),  # the manual, which is files
    "report.baseline",  # a file
    *("targets.known_targets", "targets.target_file"),  # what a user types, and files of targets
)
"""Modules that read what a user, a file, the runtime or another program says."""

ALLOWED: Final = {
    "api.ignore": {"reason.split"},  # a text of the user, on one line
    "arithmetic.render": {"each.startswith", "parts[0].startswith"},  # the sign of a term
    "arithmetic.sums": {"text.startswith"},
    "errors": {"message.splitlines"},  # puts a text on one line, or cuts it
    "graph.graph": {"str(error).splitlines"},
    "messages": {"text.split"},
    "passes.report_pad": {"key[0].startswith"},  # a domain
    "passes.resolve_auto_pad": {"auto_pad.startswith"},  # an attribute
    "passes.spell_padding": {"auto_pad.startswith"},
    "report.ci.__init__": {"re.sub"},  # folders in what names a file
    "report.ci.sarif": {
        "page.text.split",
        '"").splitlines',
        "line.startswith",
    },  # as pages are written
    "report.diff": {"diff.splitlines"},
    "report.documents.explain_document": {"re.sub"},  # where lines are broken
    "report.documents.rule_documents": {  # pages are written with marks for headings and lists
        *("page.text.splitlines", "block.startswith", "block.removeprefix", "line.startswith"),
        "text.startswith",
    },
    "report.documents.target_documents": {"first.startswith", "name.startswith"},  # topics
    "report.documents.show_document": {"model.startswith"},  # a path
    "report.groups": {"first[0].op.startswith", "is_result=True).split"},
    "report.layout": {
        *("S.sub", "S.findall", "D.sub", "text.split", "word in line.split"),
        *("line.split", "drawn.getvalue().splitlines"),
    },
    "targets.findings": {"option.partition"},  # as it is typed
    "targets.target": {"run.note.split", "F.fullmatch"},  # a file of targets
    "sizes.feasible": {"G.split"},  # names of operators
    "page.document_page": {"D.split"},
}
"""What is no reading of a sentence, by module: the text and the method."""

_SENTENCE: Final = (
    "message|reason|text|note|said|warning|why|brief|general|alike|statement|detail|summary|problem"
)
_METHOD: Final = re.compile(
    r"\.(r?split|r?partition|startswith|endswith|removeprefix|removesuffix|splitlines)\("
)
_PATTERN: Final = re.compile(r"(\bre|[A-Z])\.(match|search|fullmatch|findall|finditer|sub|split)\(")
_INSIDE: Final = re.compile(
    rf"(?:\b(?:{_SENTENCE})\)? (?:not )?in each\b|"
    rf" in (?:\w+\.)*(?:(?:{_SENTENCE})\b(?!\.)|str\(\w+\)))"
)
_OWN: Final = re.compile(rf"(?:\b(?:{_SENTENCE}|each|block|option|lines?)|str\(\w+\))$")


def readings(line: str, *, every: bool) -> Iterator[str]:
    """What reads a text: a method of a sentence, a pattern, or whether a sentence contains another.

    Args:
        line: A line of source.
        every: Whether a method of any text is one, whatever the name of the text.
    """
    for found in _METHOD.finditer(line):
        if every or _OWN.search(line[: found.start()]):
            yield f"{line[: found.start()].strip()}.{found[1]}"
    yield from (f"{found[1]}.{found[2]}" for found in _PATTERN.finditer(line))
    for inside in _INSIDE.finditer(line) if " in " in line else ():
        before = line[: inside.end()].rpartition(" in ")[0]
        if not re.search(r"\bfor [\w, ()]+$", before):
            yield f"{before.split()[-1]}{inside[0]}"


def test_no_sentence_of_the_product_is_read() -> None:
    read = []
    for path in (*(_ROOT / "onnxpad").rglob("*.py"), *(_ROOT / "passes").glob("*.py")):
        module = ".".join(path.relative_to(_ROOT).with_suffix("").parts).removeprefix("onnxpad.")
        every = module.startswith(("report.", "page.", "passes."))
        if f"{module}.".startswith(OTHERS):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if "ExecutionProvider" in line or not line.isascii():  # the name of a provider
                continue
            read += [
                f"{module}:{number}: {each}"
                for each in readings(line, every=every)
                if not any(map(each.endswith, ALLOWED.get(module, ())))
            ]
    assert read == []


@pytest.mark.parametrize(
    "source",
    [
        '_QUOTED.sub("", short_reason(finding))',
        '_NAME.sub("", finding.message)',
        'said.split(" ", 1)[0] != first.op_type',
        """str(error).split("'")[1::2]""",
        "any(run.note in warning for warning in warnings)",
        "any(skipped.why in each for each in told)",
        "str(path) in message",
        "str(model) in str(error)",
        '"f(" in text',
        "self.title in why",
        "_NO_KERNEL in str(trouble)",
    ],
)
def test_a_reading_is_told(source: str) -> None:
    assert [*readings(source, every=False)]
