"""What the tests need and the lowest promised packages lack: which tests cannot hold, and why.

`conftest.py` skips what `GAPS` names. Before any test is imported it calls `read_all`, so that an
older onnx reads all that the tests write in ONNX text.
"""

import importlib.metadata
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache, wraps
from math import isclose
from typing import Any, Final

GAPS: Final = """
onnxruntime before 1.24 follows links to external data out of the folder of the model
  tests/file/test_external_data.py::TestLinks::test_are_no_data_for_another_model_beside_them
onnxruntime before 1.24 ends the process where the first zero point of ConvInteger is left out
  tests/padding/test_quantised.py::test_an_empty_name_is_no_zero_point
onnxruntime before 1.24 rounds more of this model's sums than a reference may differ by
  tests/api/test_validate.py::TestLibrary::test_exported_models_agree_with_their_frameworks[same_paddle]
onnxruntime before 1.24 runs a model that has one function twice
  tests/runtimes/onnxruntime/test_predictions.py::test_a_function_that_is_there_twice_ends_no_command
onnxruntime before 1.24 lacks Max and Min of few bits, and some forms of ReduceSum and Resize
  tests/padding/test_quantised.py::test_a_pad_of_the_zero_point_folds_*[int8 * folds]
  tests/padding/test_quantised.py::test_a_pad_that_is_written_has_the_zero_point_in_its_type[int8*
  tests/proof/test_refine.py::test_one_thing_wrong_is_refused[integers that are at least 3*
onnxruntime before 1.26 reflects beyond the data, and does not run this function and this model
  tests/exported/test_each_style.py::test_probes_*[functions_onnxscript-*
  tests/api/test_validate.py::TestLibrary::test_exported_models_agree_with_*[functions_onnxscript]
  tests/probe/test_run.py::test_pads_beyond_what_reflect_allows_are_not_probed
onnxruntime before 1.28 runs operators with negative pads, and has pools round up otherwise
  tests/runtimes/test_sessions.py::test_errors_of_loading_are_one_readable_line[text1]
  tests/exported/test_each_style.py::test_all_questions[ceil_pool_torch*
  tests/exported/test_one_after_another.py::*[ceil_pool_torch*
  tests/exported/test_each_style.py::test_probes_*[ceil_pool_torch-*
  tests/exported/test_each_style.py::test_probes_*[zeropad_*
  tests/cases/repairs/output_padding.txt::negative pads are mended*
  tests/probe/test_run.py::test_a_rewrite_that_does_not_run_is_no_rewrite[y = Conv <pads = [-1,1]>*
  tests/mutants/test_mutants.py::test_what_is_wrong_is_noticed[a crop becomes pads]
  tests/mutants/test_mutants.py::test_what_is_wrong_is_noticed[nothing is appended]
onnxruntime before 1.29 has pools differ where a last window begins or ends in the padding
  tests/proof/test_refine.py::test_one_thing_wrong_is_refused[equal from size 4 on, where no *
  tests/test_forms.py::test_nothing_is_left_unsaid_*[`ceil_mode`, a last window*AveragePool*
  tests/mutants/test_mutants.py::test_is_right_when_nothing_is_broken[AveragePool, ceil_mode]
onnxruntime before 1.30 runs SAME with a kernel below the stride, and convolutions of weights
  tests/test_drawn.py::test_what_is_said[report.answers: *
  tests/snapshots/test_snapshots.py::test_what_commands_say[.cases]
  tests/cases/repairs/trust.txt::*
  tests/probe/test_run.py::test_pools_are_never_judged_by_the_reference_evaluator
  tests/random_models/test_random_models.py::test_a_wrong_result_is_noticed
onnx before 1.18 knows no device configurations
  tests/api/test_ir_model.py::test_nothing_is_lost
  tests/api/test_ir_model.py::test_the_model_given_is_not_changed
  tests/graph/test_byte_identity.py::test_*[devices]
onnx before 1.23 computes SAME convolutions wrongly, so nothing runs what onnxruntime refuses
  tests/test_drawn.py::test_what_is_said[report.answers: *
  tests/snapshots/test_snapshots.py::test_what_commands_say[.cases]
  tests/mutants/test_mutants.py::test_is_right_when_nothing_is_broken[SAME_UPPER*, as specified]
  tests/exported/test_each_style.py::test_probes_*[aspp_tensorflow-*
  tests/exported/test_each_style.py::test_probes_*[wavenet_torchscript-*
onnx before 1.21 knows fewer opsets, so other models are drawn
  tests/soak/test_soak.py::test_it_stops_with_all_children_and_tells_what_came_of_it[True]
onnx before 1.19 knows no operators of opset 24, infers less, and has few types in numpy
  tests/facts/test_claims.py::test_what_is_claimed*[opset 11, from 180]
  tests/facts/test_claims.py::test_what_is_claimed*[opset 15, from 120]
  tests/test_drawn.py::test_what_is_said[validation.drawn_inputs: int4*
  tests/test_drawn.py::test_what_is_said[validation.drawn_inputs: bfloat16*
  tests/test_drawn.py::test_what_is_said[validation.drawn_inputs: float8*
  tests/test_drawn.py::test_what_is_said[validation.drawn_verdicts: *TopK (h, k) | y, i: h = Sqrt*
  tests/facts/test_bounds.py::test_what_is_called_non_negative_is[(24,*
  tests/runtimes/test_sessions.py::test_a_type_that_cannot_be_fed_is_named
  tests/graph/test_graph.py::TestConstants::test_values[16-*
  tests/graph/test_graph.py::TestConstants::test_values[17-*
  tests/graph/test_graph.py::TestConstants::test_values[21-*
  tests/graph/test_graph.py::TestConstants::test_values[22-*
  tests/test_forms.py::test_nothing_is_left_unsaid_and_what_the_tables_say_is_right[Swish]
  tests/test_forms.py::test_the_page_has_the_tables_as_they_are_made
  tests/mutants/test_mutants.py::test_what_is_wrong_is_noticed[onnxruntime is trusted unasked]
  tests/test_onnx_cases.py::test_no_claim_is_against_the_cases_of_the_specification
typer before 0.17 imports rich before it is needed
  tests/cli/test_commands.py::test_a_check_imports_nothing_it_does_not_need
"""
"""Tests that cannot hold with an older package, by their ids, which may have stars."""

NAMED: Final = re.compile(r"([{)>\n]\s*)\[([^\[\]]+)\](\s*[^=\[\]{}()<>]*=\s*[\w.]*\w)")
"""The beginning of a statement: a node's name, its outputs, and its operator."""

EMPTY: Final = re.compile(
    r'(?<=[(,])\s*""(?=\s*[,)=])|(?<=[(,])\s*(?=,)|(?<=[{)>\n])\s*""(?=\s*[,=])'
)
"""An empty name of an input or output, as `""` or as nothing before a comma."""

FIRST: Final = re.compile(r"(?<=[{)>\n])(\s*)(?=,[^{}()<>=]*=\s*[\w.]+\s*[(<])")
"""Nothing where a statement's first output has its name."""

SMALL: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?e-(?:39|4\d))\b")
"""A number below the least normal one of float32."""

MARK: Final = "__named"
"""Follows the operator of a node that has a name, before the name's position among all names."""

NONE: Final = "__none"
"""Stands for an empty name."""

NORMAL: Final = "7.5{:03}e-30"
"""Stands for a small number, with its position among all, in which no model has any other."""


def gap_of(nodeid: str) -> str:
    """Why a test cannot hold with what is installed; empty if it can."""
    for why, test in gaps():
        if fnmatchcase(nodeid, test):
            return why
    return ""


@cache
def gaps() -> list[tuple[str, str]]:
    """The lines of `GAPS` that hold here: why, and the pattern of the ids."""
    found = []
    why = ""
    for line in GAPS.strip().splitlines():
        if line.startswith(" "):
            if why:
                found.append((why, line.strip().replace("[", "[[]")))
            continue
        package, _, since, *_ = line.split()
        why = line if installed(package) < numbers(since) else ""
    return found


def installed(package: str) -> tuple[int, ...]:
    """The version of a package, or of its build for GPUs."""
    try:
        return numbers(importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        return numbers(importlib.metadata.version(f"{package}-gpu"))


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def read_all() -> None:
    """Has the parser of an older onnx read names of nodes, empty names, and small numbers.

    Before 1.18 it reads none of these, and 1.18 no small numbers.
    """
    if installed("onnx") < (1, 23):
        import onnx.parser  # only here: not all that load conftest.py need onnx

        for parse in ("parse_model", "parse_graph", "parse_function"):
            setattr(onnx.parser, parse, reading(getattr(onnx.parser, parse)))


def reading(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """The parser, for all that tests write; what it does not read travels through it in disguise.

    A node's name follows its operator.
    """

    @wraps(parse)
    def parsed(text: str) -> Any:
        names: list[str] = []
        small: list[str] = []

        def hidden(match: re.Match[str]) -> str:
            names.append(match[2].strip())
            return f"{match[1]}{match[3]}{MARK}{len(names) - 1}"

        def raised(match: re.Match[str]) -> str:
            small.append(match[1])
            return NORMAL.format(len(small) - 1)

        text = FIRST.sub(rf"\1{NONE}", EMPTY.sub(NONE, NAMED.sub(hidden, SMALL.sub(raised, text))))
        proto = parse(text)
        for part in (proto.graph, *proto.functions) if hasattr(proto, "graph") else (proto,):
            restore(part, names, [float(each) for each in small])
        return proto

    return parsed


def restore(proto: Any, names: list[str], small: list[float]) -> None:
    """Puts names and small numbers where they belong, in a graph or function and all inside."""
    for tensor in getattr(proto, "initializer", ()):
        lower(tensor, small)
    for node in proto.node:
        operator, mark, position = node.op_type.rpartition(MARK)
        if mark:
            node.op_type, node.name = operator, names[int(position)]
        for each in (node.input, node.output):
            each[:] = ["" if name == NONE else name for name in each]
        for attribute in node.attribute:
            lower(attribute.t, small)
            for graph in (attribute.g, *attribute.graphs):
                restore(graph, names, small)


def lower(tensor: Any, small: list[float]) -> None:
    """Puts small numbers where they belong in a tensor."""
    for data in (tensor.float_data, tensor.double_data):
        for place, number in enumerate(data):
            for position, each in enumerate(small):
                if isclose(number, float(NORMAL.format(position)), rel_tol=1e-6):
                    data[place] = each
