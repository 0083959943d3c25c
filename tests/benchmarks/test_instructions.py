"""The kept counts of instructions are figures of this program, each of a commit of its own."""

import json

from tests.benchmarks.instructions import LENGTHS, RECORD, slope_of


def test_the_record_is_plausible() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    assert record
    assert len({entry["commit"] for entry in record}) == len(record)
    for entry in record:
        assert int(entry["commit"], 16)
        costs = [entry["import onnx"], *(entry[f"chain {length}"] for length in LENGTHS)]
        assert 100 < costs[0] < entry["check"] < 10_000
        assert costs[0] < entry["fix"] < 10_000
        assert costs == sorted(costs)
        assert 0.1 < slope_of(entry) < 10
