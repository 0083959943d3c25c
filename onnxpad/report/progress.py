"""A progress bar on stderr for work that takes more than half a second.

rich is imported when the bar first shows: most models are done before that.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 0.5
_FIRST: Final = "reading"
_BESIDE: Final = 36
"""Columns of the screen for the bar, the count and the time."""


class ProgressBar:
    """A bar, called with (stage, done, total), that shows on a terminal after `DELAY` seconds."""

    def __init__(self, *, hidden: bool = False) -> None:
        """A bar that is not shown yet, and never will be if stderr is not a terminal.

        Args:
            hidden: Whether it is not to be shown on a terminal either.
        """
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._state = (_FIRST, 0, 0)
        self._shown: tuple[Progress, TaskID] | None = None
        self._closed = hidden or sys.stderr is None or not sys.stderr.isatty()

    def __enter__(self) -> Self | None:
        """Start the delay; None where it is never shown, so that nobody counts for it."""
        if self._closed:
            return None
        self._timer.start()
        return self

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` steps of a stage are done; 0 stands for an unknown total."""
        with self._lock:
            self._state = (stage, done, total)
            self._update()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._shown:
                self._shown[0].stop()

    def _show(self) -> None:
        """Put the bar on the screen, in one line whatever the terminal's width.

        The time that it shows counts from the start of the work, and ticks by itself.
        """
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        console = Console(stderr=True)
        width = max(8, console.width - _BESIDE)
        columns = (
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", max_width=width),
            ),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}", markup=False, table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
        )
        with self._lock:
            if self._closed:
                return
            bar = Progress(*columns, console=console, transient=True, refresh_per_second=8)
            task = bar.add_task("", total=None, count="")
            bar.tasks[0].start_time = self._begun
            self._shown = (bar, task)
            self._update()
            bar.start()

    def _update(self) -> None:
        if self._shown:
            from onnxpad.report.text import shown

            bar, task = self._shown
            stage, done, total = self._state
            count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
            bar.tasks[0].total = total or None  # `update` takes None for no change
            bar.update(task, description=shown(stage), completed=done, count=count)
