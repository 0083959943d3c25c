"""What the metadata of a model records of changes."""

import json
from typing import Any

from onnxpad.graph import Graph
from onnxpad.pipeline.metadata import BARRED, note, noted
from tests.support import one
from tests.support.rows import each_row

LIST = ["y", "PAD101", "differs"]


def barring(text: str | None) -> Graph:
    model = one("y = Relu (x)")
    if text is not None:
        model.metadata_props.add(key=BARRED, value=text)
    return Graph.from_proto(model)


@each_row("text", [None, "", "{", "[" * 100_000, "null", "7", '"y"', '{"y": 1}'])
def test_metadata_that_is_no_list_bars_nothing(text: str | None) -> None:
    assert noted(barring(text)) == {}


@each_row(
    "entry", ["abc", [], LIST[:2], [*LIST, "more"], [*LIST[:2], 7], [None, *LIST[1:]], None, {}]
)
def test_an_entry_that_is_malformed_leaves_the_others(entry: Any) -> None:
    found = noted(barring(json.dumps([entry, LIST])))
    assert found == {("PAD101", "y"): "differs"}


def test_what_is_noted_is_read_again_and_nothing_is_noted_of_none() -> None:
    graph, barred = barring(None), {("PAD201", "z"): "stops", ("PAD101", "y"): "differs"}
    note(graph, {})
    assert graph.model.metadata(BARRED) in {None, ""}
    note(graph, barred)
    assert noted(graph) == barred
    assert noted(Graph.from_proto(graph.model.to_proto())) == barred
