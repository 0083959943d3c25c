"""Runs a call on many models, in processes that serve one after the other: a crash is told."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from onnxpad.arguments import Progress
from onnxpad.folders.ledger import Ledger, key_of
from onnxpad.report import FileOutcome
from onnxpad.runtimes import pool
from onnxpad.runtimes.runtime import LimitError

_GROWN = 1 << 30
"""Bytes beyond which a process is replaced after its model."""
_GRACE = 2.0
"""Seconds in which a process may remove what it has half written."""
_LINES = {"fix": "headline", "check": "severities", "validate": "validation_verdict"}
"""What tells a report in one line, by the command."""


def outcomes(
    call: Callable[..., Any],
    pairs: Mapping[Path, Path | None],
    options: tuple[Any, ...],
    *,
    reads: int = 1,
    targets: Iterable[str] = (),
    jobs: int = 1,
    time_limit: float | None = None,
    resume: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[FileOutcome]:
    """The outcome of each call as it comes, and those that are known already.

    Args:
        call: A function of a module; it returns a report on a model.
        pairs: The models, each with a second path.
        options: What the function takes behind both paths; `repr` says all of it.
        reads: How many of both paths it reads.
        targets: Targets that it asks for, which may be files.
        jobs: How many models are served at once, each with its share of the cores.
        time_limit: Seconds after which a model is given up.
        resume: The record of runs, which has what need not be done again and gets the rest.
        progress: Called with the time that is left, the models that are done, and all.

    Raises:
        OutputError: The record cannot be written.
    """
    begin, busy = time.monotonic(), set[pool.Worker]()
    ledger = Ledger(resume) if resume else None
    lanes = ThreadPoolExecutor(jobs)

    def served(model: Path, other: Path | None) -> FileOutcome:
        asked = (call, jobs, model, other, *options)
        if ledger is None:
            return _asked(busy, time_limit, asked)
        files = [*filter(None, (model, other)[:reads]), *map(Path, targets)]
        key = key_of((call.__qualname__, model, other, options), files)
        found = ledger.known(key)
        if found is None:
            found = _asked(busy, time_limit, asked)
            ledger.keep(key, found)
        return found

    try:
        made = as_completed([lanes.submit(served, *pair) for pair in pairs.items()])
        for done, each in enumerate(made, 1):
            if progress is not None:
                left = (time.monotonic() - begin) / done * (len(pairs) - done)
                progress(f"{left / 60:.0f} min left", done, len(pairs))
            yield each.result()
    finally:
        lanes.shutdown(wait=False, cancel_futures=True)
        for worker in [*busy]:
            worker.process.terminate()
        for worker in [*busy]:
            with suppress(TimeoutExpired):
                worker.process.wait(_GRACE)
            worker.process.kill()
        lanes.shutdown()


def _asked(busy: set[pool.Worker], limit: float | None, asked: tuple[Any, ...]) -> FileOutcome:
    """The outcome of a call in a process of its own, whatever becomes of that."""
    begin, path = time.perf_counter(), str(asked[2])
    busy.add(worker := pool.borrow())
    try:
        with pool.limited(limit):
            found, is_grown = worker.ask(_served, str(Path.cwd()), *asked)
        if is_grown:
            worker.end()
        return found
    except Exception as error:  # also a defect: the run over the other models goes on
        usual = ("system", 2) if isinstance(error, OSError) else ("internal", 70)
        kind, code = getattr(error, "kind", usual[0]), getattr(error, "exit_code", usual[1])
        line = str(error).removeprefix(f"{path}: ") or type(error).__name__
        if (ended := worker.process.returncode) is not None:
            kind, line = "crash", f"its process ended ({ended})"
            if isinstance(error, LimitError):
                kind, line = "time limit", f"took over {limit} s"
        return FileOutcome(path, code, kind, line, {}, time.perf_counter() - begin)
    finally:
        busy.discard(worker)
        pool.give_back(worker)


def _served(
    _: object, folder: str, call: Callable[..., Any], jobs: int, model: Path, *others: Any
) -> tuple[FileOutcome, bool]:
    """The outcome of a call in this process, and whether that has grown large."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # removes what is half written
    os.chdir(folder)
    if jobs > 1:
        os.environ["ONNXPAD_THREADS"] = str(max(1, (os.cpu_count() or 1) // jobs))
    begin = time.perf_counter()
    report = call(model, *others)
    found = outcome_of(str(model), report, time.perf_counter() - begin)
    gc.collect()
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return found, pages * os.sysconf("SC_PAGE_SIZE") > _GROWN
    return found, False


def outcome_of(path: str, report: Any, seconds: float) -> FileOutcome:
    """The outcome that the report on a model stands for."""
    from onnxpad.report.json import json_of
    from onnxpad.report.layout import unmarked

    module = import_module(f"onnxpad.report.documents.{report.command}_document")
    line = unmarked(getattr(module, _LINES[report.command])(report))
    files = [report, *getattr(report, "files", ())]
    told = [e for file in files for n in ("changes", "findings") for e in getattr(file, n, ())]
    outcome = getattr(report, "outcome", "failed" if report.exit_code else "passed")
    written: tuple[str, ...] = ()
    if delivery := getattr(report, "delivery", None):
        written = (*filter(None, [delivery.written]), *delivery.data)
    codes = Counter(each.code for each in told)
    text = json_of(report)
    return FileOutcome(path, report.exit_code, str(outcome), line, codes, seconds, written, text)
