"""Measures onnxpad and its peers in one run and prints tables: `python -m tests.benchmarks`.

Compare figures of one run only, by their ratios, on a machine that does nothing else. A figure is
the median of five runs of a whole process, of its CPU time in user and system mode where nothing
else is said. All have one thread. A peer is what a Python program would call: load, optimise with
the defaults, save. `pip install -e '.[benchmarks]'` brings the peers.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import run_command
from tests.benchmarks.measure import ROOT, Figure, measure, run
from tests.benchmarks.networks import CHAINS, KINDS

PEERS = {
    "onnxoptimizer": "import onnx, onnxoptimizer; "
    "onnx.save(onnxoptimizer.optimize(onnx.load({source!r})), {target!r})",
    "onnxslim": "import onnxslim; onnxslim.slim({source!r}, {target!r})",
    "onnxsim": "import onnx, onnxsim; "
    "onnx.save(onnxsim.simplify(onnx.load({source!r}))[0], {target!r})",
    "onnxscript": "import onnx, onnxscript.optimizer; "
    "onnx.save(onnxscript.optimizer.optimize(onnx.load({source!r})), {target!r})",
}
SESSION = """
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
types = {"float": "f4", "double": "f8", "float16": "f2", "int64": "i8", "int32": "i4"}
session.run(None, {
    each.name: numpy.ones(
        [
            size if isinstance(size, int) else 64 if place else 1
            for place, size in enumerate(each.shape)
        ],
        types.get(each.type[7:-1], each.type[7:-1]),
    )
    for each in session.get_inputs()
})
"""
"""A plain session of a model: opened and run once, open sizes as 64."""

EXPORTS = ("mobilenet_v1_keras", "nasnet_keras", "inception_dynamo", "unet_dynamo")

LOADED = (
    "import atexit, sys, runpy; sys.argv = ['onnxpad', 'check', {source!r}]\n"
    "heavy = {{'onnxruntime', 'pydantic'}}\n"
    "atexit.register(lambda: print('loaded', *sorted(heavy & sys.modules.keys())))\n"
    "runpy.run_module('onnxpad', run_name='__main__')"
)
CHAIN_TITLES = {
    "separate": "Pad + Conv, a pads initializer each",
    "shared": "Pad + Conv, one pads initializer for all",
    "same": "Conv with SAME_UPPER",
}


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the models and results lie, and how often and how long is measured."""

    folder: Path
    times: int
    limit: int

    def python(self, *arguments: str, accepted: Sequence[int] = (0,)) -> Figure:
        """What one Python process costs."""
        cache = self.folder / "bytecode"
        return measure(
            arguments, cache=cache, times=self.times, limit=self.limit, accepted=accepted
        )

    def fix(self, source: Path, *options: str) -> Figure:
        """What `onnxpad fix` costs."""
        target = str(self.target)
        return self.python("-m", "onnxpad", "fix", str(source), "-o", target, *options)

    def peer(self, name: str, source: Path) -> Figure:
        """What a peer costs."""
        return self.python("-c", PEERS[name].format(source=str(source), target=str(self.target)))

    def padding_left(self) -> str:
        """How much of the padding is in the result that was written last."""
        module = ("-m", "tests.benchmarks.networks", "count", str(self.target))
        return run(module, self.folder / "bytecode", self.limit).output.strip()

    @property
    def target(self) -> Path:
        """Where results are written, one over the other."""
        return self.folder / "result.onnx"


def main() -> None:
    """Makes the models in a folder that goes afterwards, and prints a table a question."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="runs of each command  [5]")
    parser.add_argument("--limit", type=int, default=60, help="CPU seconds a command  [60]")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=list(SECTIONS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), options.times, options.limit)
        made = run(("-m", "tests.benchmarks.networks", name), bench.folder / "bytecode", 600)
        if made.code:
            raise SystemExit(made.output)
        print(
            f"Python {platform.python_version()}, {os.cpu_count()} cores, one thread each, load "
            f"{os.getloadavg()[0]:.1f}, medians of {options.times} runs of the whole process, "
            "memory at its peak\n"
        )
        for section in options.only:
            for line in SECTIONS[section](bench):
                print(line, flush=True)
            print()


def network(bench: Bench) -> Iterator[str]:
    """A network of 100 MB: onnxpad, then what its peers make of the same file."""
    source = bench.folder / "cnn.onnx"
    yield f"A CNN of {source.stat().st_size / 1e6:.0f} MB\n"
    yield from _beside_peers(bench, source)


def exports(bench: Bench) -> Iterator[str]:
    """Exported networks: what is left of a process's time once the packages are imported."""
    for name in EXPORTS:
        yield f"\nmodels/{name}.onnx\n"
        yield from _beside_peers(bench, ROOT / "models" / f"{name}.onnx")


def _beside_peers(bench: Bench, source: Path) -> Iterator[str]:
    yield from _head("", "CPU s", "least", "wall s", "ratio", "MB", "padding left")
    own = bench.fix(source, "--no-validate")
    yield _row("onnxpad fix --no-validate", *_cells(own, own), bench.padding_left())
    for peer, what in _installed():
        figure = bench.peer(peer, source)
        left = "" if figure.failure else bench.padding_left()
        yield _row(what, *_cells(figure, own), left)
        bench.target.unlink(missing_ok=True)


def chains(bench: Bench) -> Iterator[str]:
    """Chains of growing length: CPU seconds a length, which show whether cost is linear."""
    for kind in KINDS:
        yield ""
        yield f"Chain: {CHAIN_TITLES[kind]} (CPU s by number of nodes)\n"
        yield from _head("", *(f"{count:,}" for count in CHAINS), f"padding left of {CHAINS[0]:,}")
        files = [bench.folder / f"{kind}_{count}.onnx" for count in CHAINS]
        figures = [bench.fix(files[0], "--no-validate")]
        left = bench.padding_left()
        figures += [bench.fix(file, "--no-validate") for file in files[1:]]
        own = [figure.cpu for figure in figures]
        yield _row("onnxpad fix --no-validate", *(f"{cpu:.2f}" for cpu in own), left)
        for peer, what in _installed():
            cells = []
            for file, cpu in zip(files, own, strict=True):
                figure = bench.peer(peer, file)
                if file is files[0]:
                    left = "" if figure.failure else bench.padding_left()
                cells.append(figure.failure or f"{figure.cpu:.2f} ({figure.cpu / cpu:.1f}x)")
                if figure.failure:  # at a greater length it fails too
                    break
            yield _row(what, *cells, *[""] * (len(CHAINS) - len(cells)), left)


def check(bench: Bench) -> Iterator[str]:
    """`check` beside the least that any tool does: import onnx and load the model."""
    source = bench.folder / "small.onnx"
    yield "onnxpad check on a model of 300 nodes\n"
    yield from _head(
        "", "CPU s", "least", "wall s", "ratio", "MB", "onnxruntime or pydantic loaded"
    )
    load = bench.python("-c", f"import onnx; onnx.load({str(source)!r})")
    yield _row("import onnx; onnx.load(...)", *_cells(load, load), "")
    own = bench.python("-m", "onnxpad", "check", str(source), accepted=(0, 1))
    script = LOADED.format(source=str(source))
    loaded = run(("-c", script), bench.folder / "bytecode", bench.limit).output
    names = loaded.splitlines()[-1].removeprefix("loaded").strip() or "neither"
    yield _row("onnxpad check", *_cells(own, load), names)


def models(bench: Bench) -> Iterator[str]:
    """The whole of `fix`, with probes and validation, on the models of this repository."""
    yield "onnxpad fix with probes and validation\n"
    yield from _head(
        "models/", "CPU s", "wall s", "of one session", "MB", "changes", "probes", "valid"
    )
    for source in sorted((ROOT / "models").glob("*.onnx")):
        # Nothing is written: a model with its data in another file stays where that is.
        options = ("--diff", "--format", "json")
        figure = bench.python("-m", "onnxpad", "fix", str(source), *options, accepted=(0, 1))
        if figure.failure:
            yield _row(source.name, figure.failure, *[""] * 6)
            continue
        session = bench.python("-c", SESSION, str(source))
        report = json.loads(figure.runs[-1].output)
        verdict = report["validation"]
        yield _row(
            source.name,
            f"{figure.cpu:.2f}",
            f"{figure.wall:.2f}",
            session.failure or f"{figure.cpu / session.cpu:.1f}",
            f"{figure.peak:.0f}",
            str(len(report["changes"])),
            str(verdict["probes"]) if verdict else "",
            {True: "yes", False: "NO"}[verdict["ok"]] if verdict else "",
        )


SECTIONS = {
    "network": network,
    "exports": exports,
    "chains": chains,
    "check": check,
    "models": models,
}


def _installed() -> Iterator[tuple[str, str]]:
    """The peers that are there, with name and version to print."""
    for name in PEERS:
        try:
            yield name, f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            print(f"({name} is not installed)")


def _cells(figure: Figure, unit: Figure) -> tuple[str, ...]:
    if figure.failure:
        return (figure.failure, "", "", "", f"{figure.peak:.0f}")
    times = (figure.cpu, figure.least, figure.wall, figure.cpu / unit.cpu)
    return (*(f"{each:.2f}" for each in times), f"{figure.peak:.0f}")


def _head(*cells: str) -> tuple[str, str]:
    return _row(*cells), _row("---", *["---:"] * (len(cells) - 1))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    run_command(main)
