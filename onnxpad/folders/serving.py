"""A call on many models, in processes that serve one after the other; and `fix_all`."""

from __future__ import annotations

import atexit
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import MappingProxyType
from typing import Any, Unpack

from msgspec.structs import replace

from onnxpad.api.sizes import held, with_sizes
from onnxpad.arguments import Progress
from onnxpad.errors import MismatchError, ModelError, UsageError
from onnxpad.finding import Severity
from onnxpad.folders.ledger import Ledger, digest, files_of
from onnxpad.folders.paths import fixes, models_in, partners
from onnxpad.folders.sizes import require_sizes
from onnxpad.options import Configured, OptionKeywords, suggesting
from onnxpad.report import Delivery, FileOutcome, Outcome
from onnxpad.report.documents.folder_document import outcome_of
from onnxpad.runtimes import pool
from onnxpad.runtimes.runtime import THREADS, CrashError, LimitError

MANY = ("jobs", "time_limit", "resume", "progress")
_OUTCOMES = {
    "model": "unreadable",
    "usage": "refused",
    "output": "not written",
    "system": "system error",
    "provider": "without provider",
    "crash": "crashed",
    "time limit": "over the time limit",
    "internal": "internal error",
}
"""What an outcome is called by the kind of an error; other kinds are words themselves."""
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
_GROWN = 1 << 30  # bytes beyond which a process is replaced after its model
_GRACE = 2.0  # seconds in which a process may remove what it has half written


class PartnerError(ModelError):
    """A model of one folder of which the other folder has none at this place."""

    kind = "no partner"


def outcomes(
    call: Callable[..., Any],
    pairs: Mapping[Path, Path | None],
    *options: Any,
    own: Mapping[Path, tuple[Any, ...]] = MappingProxyType({}),
    reads: int = 1,
    decide: Iterable[Path] = (),
    jobs: int = 1,
    time_limit: float | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    trial: Callable[[], object] = list,
) -> Iterator[FileOutcome]:
    """The outcomes of models that are known already, and of each other as it comes.

    A function of a module is called with a model, its second path, and options, those of all before
    its own, of which `repr` says all, and returns a report. It reads the first path or both, and
    files that `decide`. What is wrong with the options is raised by `trial`.
    """
    begin, busy, done = time.monotonic(), set[Any](), SimpleQueue[Any]()
    ledger = Ledger(resume, (call.__qualname__, options), own, decide, reads) if resume else None
    for name, value in {"jobs (--jobs)": jobs, "time_limit (--time-limit)": time_limit}.items():
        if not (value is None or value > 0):
            raise UsageError(f"{name} is above zero, not {value}")
    known = ledger.known(pairs.items()) if ledger else {}
    for each in known.items():
        done.put(each)
    left = [pair for pair in pairs.items() if pair[0] not in known]
    todo = iter(left)

    def serve() -> None:
        for pair in todo:
            try:
                key = ledger.key(pair) if ledger else ""
                given = *options, *own.get(pair[0], ())
                found = _asked(busy, time_limit, pair[0], call, jobs, pair[1], *given)
                if ledger and key == ledger.key(pair):  # else a file changed meanwhile
                    ledger.keep(pair, key, found)
                done.put((pair[0], found))
            except BaseException as error:  # a defect here
                done.put((pair[0], error))

    def end() -> None:
        left.clear()
        busy.add(None)  # no other process begins
        processes = [each.process for each in busy - {None}]
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(Exception):  # that it takes longer
                process.wait(_GRACE)
            process.kill()

    if left:
        pool.warm()  # meanwhile
        trial()
        atexit.register(end)  # of a program that looks no further
    try:
        for _ in range(min(jobs, len(left))):
            Thread(target=serve, daemon=True).start()
        for count in range(1, len(pairs) + 1):
            model, found = done.get()  # the locks of a `Future` may stay after an interrupt
            if isinstance(found, BaseException):
                raise found
            if progress is not None:
                remains = (time.monotonic() - begin) / count * (len(pairs) - count)
                progress(f"{remains / 60:.0f} min left", count, len(pairs))
            target = pairs[model] if reads == 1 and not found.written else None
            with suppress(OSError):  # there is no older file in the place of a result
                if target and not target.samefile(model):
                    found = replace(found, older=str(target))
            yield found
    finally:
        end()
        atexit.unregister(end)


def _asked(busy: set[Any], limit: float | None, model: Path, *asked: Any) -> FileOutcome:
    begin, path = time.perf_counter(), str(model)
    busy.add(worker := pool.borrow())
    try:
        if None in busy:
            worker.end()
        worker.ask(_ready, asked[0])  # what it imports first is no part of the limit
        with pool.limited(limit):
            found, is_grown = worker.ask(_served, str(Path.cwd()), model, *asked)
        if is_grown:
            worker.end()
        return found
    except Exception as error:  # also a defect: the run over the other models goes on
        is_system, code = isinstance(error, OSError), getattr(error, "exit_code", 70)
        kind, code = ("system", 2) if is_system else (getattr(error, "kind", "internal"), code)
        line = str(error).removeprefix(path).lstrip(": ") or type(error).__name__
        line = line.removeprefix("is ")
        if isinstance(error, OSError) and error.strerror:
            line = f"{os.fsdecode(error.filename or path)}: {error.strerror}"
        if isinstance(error, CrashError) and (ended := worker.process.returncode) is not None:
            told = ("crash", f"its process ended ({ended})"), ("time limit", f"took over {limit} s")
            kind, line = told[isinstance(error, LimitError)]
        word = _OUTCOMES.get(kind, kind)
        return FileOutcome(path, code, word, line, {}, time.perf_counter() - begin)
    finally:
        busy.discard(worker)
        pool.give_back(worker)


def _ready(_: object, call: Callable[..., Any]) -> None:
    """Imports what a call needs: `call` and this come with their modules."""


def _served(
    _: object, folder: str, model: Path, call: Callable[..., Any], jobs: int, *others: Any
) -> tuple[FileOutcome, bool]:
    """The outcome of a model in this process, and whether that has grown large."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # removes what is half written
    os.chdir(folder)
    os.environ[THREADS] = str(max(1, (os.cpu_count() or 1) // jobs) * (jobs > 1))
    begin = time.perf_counter()
    found = outcome_of(str(model), call(model, *others), begin)
    del os.environ[THREADS]  # this process may run models next
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return found, pages * os.sysconf("SC_PAGE_SIZE") > _GROWN
    return found, False


@suggesting
def fix_all(
    paths: Paths,
    *,
    output: str | os.PathLike[str] | None = None,
    in_place: bool = False,
    jobs: int = 1,
    time_limit: float | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    validate: bool = True,
    run_timeout: float | None = None,
    **options: Unpack[OptionKeywords],
) -> Iterator[FileOutcome]:
    """Fix many models in processes of their own, which know nothing of what `register` added here.

    Args:
        paths: Models, folders, or patterns such as `exported/**/*.onnx`; not `*.fixed.onnx`.
        output: A folder that mirrors the tree below each path, without wrong results.
        in_place: Whether to replace the models that change. Without either, nothing is written.
        jobs: How many models to fix at once, each with its share of the cores.
        time_limit: Seconds after which a model is given up.
        resume: A file that keeps outcomes while the model, options, versions and result stay.
        progress: Called with the time that is left, the models that are done, and all.
        validate: As for `fix`.
        run_timeout: As for `fix`.
        options: As for `fix`. Sizes are for the models that have the name.

    Returns:
        The outcome of each model, as it comes. What `fix` raises about one is an outcome, too.

    Raises:
        UsageError: An option is not valid, a path names no model, two have the same place, or, at
            the first outcome, no model has what a size is for.
        OutputError: The results or the outcomes cannot be written there.
    """
    folder = None if output is None else Path(output)
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    how = {"copies": folder is not None, "validate": validate, "run_timeout": run_timeout}
    many = {"jobs": jobs, "time_limit": time_limit, "resume": resume, "progress": progress}
    pairs = fixes(map(Path, named), folder, in_place=in_place)
    return over("fix", pairs, how, {**options, **many})


def check_all(
    paths: Paths,
    *,
    convention: str | None = None,
    fail_on: str | Sequence[str] = Severity.WARNING,
    **options: Any,
) -> Iterator[FileOutcome]:
    """Check many models, as `fix_all` fixes them.

    Args:
        paths: As for `fix_all`.
        convention: As for `check`.
        fail_on: What makes an outcome `failed`: the least severity, codes or prefixes of codes.
        options: As for `check`; and `jobs`, `time_limit`, `resume` and `progress` of `fix_all`.

    Returns:
        The outcome of each model, as it comes.

    Raises:
        UsageError: As for `fix_all`.
        OutputError: The outcomes cannot be kept there.
    """
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    from onnxpad.rewrite.registry import failing_of  # it takes long to import

    how = {"fail_on": failing_of(fail_on), "convention": convention}
    return over("check", dict.fromkeys(models_in(map(Path, named))), how, options)


def validate_all(
    original: str | os.PathLike[str], rewritten: str | os.PathLike[str], **options: Any
) -> Iterator[FileOutcome]:
    """Compare the models of two folders that lie at the same paths, as `fix_all` fixes them.

    Args:
        original: A folder.
        rewritten: The folder of the models to compare.
        options: As for `validate`; and `jobs`, `time_limit`, `resume` and `progress` of `fix_all`.

    Returns:
        The outcome of each pair, as it comes; of a model alone it is `no partner`.

    Raises:
        UsageError: As for `fix_all`.
        OutputError: The outcomes cannot be kept there.
        ProviderError: As for `validate`.
    """
    return over("validate", partners(Path(original), Path(rewritten)), {}, options)


def over(
    command: str,
    pairs: Mapping[Path, Path | None],
    how: Mapping[str, Any],
    options: Mapping[str, Any],
    own: Mapping[Path, tuple[Any, ...]] = MappingProxyType({}),
) -> Iterator[FileOutcome]:
    """The outcomes of a command on models by the options of all, or by those of each if it has own.

    Among the options of all are those of `outcomes`. Wrong ones raise UsageError or ProviderError:
    at once, or, if models have their own, at the first outcome unless all are known.
    """
    many: dict[str, Any] = {name: each for name in MANY if (each := options.get(name)) is not None}
    options = {name: each for name, each in options.items() if name not in MANY}
    many["trial"] = partial(_require_valid, command, pairs, how, options)
    if not own:
        _require_valid(command, (), how, options)
        own = dict.fromkeys(pairs, (options, None))
    targets = [given.get("target", ()) for given, _ in own.values()]
    many["decide"] = {Path(e) for t in targets for e in ([t] if isinstance(t, str) else t)}
    reads = 1 + (command == "validate")
    return outcomes(reported, pairs, command, how, own=own, reads=reads, **many)


def _require_valid(
    command: str, models: Iterable[Path], how: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Raises UsageError or ProviderError if options are wrong, or none of the models has a size."""
    from onnx.parser import parse_model

    text = "g (float[1] x) => (float[1] y) { y = Relu (x) }"
    model = parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}').SerializeToString()
    second, unrun = model if command == "validate" else None, {"validate": False}
    with suppress(MismatchError):  # it has no sizes
        reported(model, second, command, {**how, **unrun} if command == "fix" else how, options)
    require_sizes(models, options)


def reported(
    model: Path | bytes,
    second: Any,
    command: str,
    how: Mapping[str, Any],
    options: Mapping[str, Any],
    config: Configured | None = None,
) -> Any:
    """The report of a command on a model, which `fix` writes if there is a second path.

    Of `how` are options of that call, and `copies` of `written` or `fail_on` of a report.
    """
    more, is_pair = {**how}, command == "validate"
    copies, fail_on = more.pop("copies", False), more.pop("fail_on", Severity.WARNING)
    if is_pair and isinstance(second, Path) and not second.exists():
        raise PartnerError(f"{model!s}: there is no {second}")
    call = getattr(import_module(f"onnxpad.api.{command}"), command)
    given = (model, second) if is_pair else (model,)
    found, lacking = with_sizes(partial(call, *given, **more), options)
    result = replace(found, config=held(config, lacking))
    if command == "fix":
        return written(result, second, copies=copies)
    return result if is_pair else result.report(fail_on)


def written(result: Any, target: Path | None, *, copies: bool) -> Any:
    """The report of a result of `fix`, written unless it is wrong, or unchanged."""
    delivery = Delivery()
    if target and result.outcome is not Outcome.INVALID and (result.changed or copies):
        target.parent.mkdir(parents=True, exist_ok=True)
        before = files_of(target)  # with external data
        is_other = all(e.exists() for e in before) and not target.samefile(result.name)
        older = digest(before) if is_other else ""
        data = tuple(map(str, result.save(target)))
        replaced = older not in {"", digest(files_of(target))}
        delivery = Delivery(written=str(target), data=data, replaced=replaced)
    return replace(result, delivery=delivery)
