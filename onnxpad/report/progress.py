"""A progress bar on stderr for work that takes more than a second.

rich is imported when the bar first shows: most models are done before that.
"""

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 1.0


class ProgressBar:
    """A bar, called with (stage, done, total), that shows on a terminal after `DELAY` seconds."""

    def __init__(self, *, hidden: bool = False) -> None:
        """A bar that is not shown yet, and never will be if stderr is not a terminal.

        Args:
            hidden: Whether it is not to be shown on a terminal either.
        """
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._state = ("", 0, 0)
        self._shown: tuple[Progress, TaskID] | None = None
        self._closed = hidden or sys.stderr is None or not sys.stderr.isatty()

    def __enter__(self) -> Self:
        """Start the delay."""
        if not self._closed:
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
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        stage = TextColumn("{task.description}", markup=False)
        console = Console(stderr=True)
        with self._lock:
            if self._closed:
                return
            bar = Progress(
                stage, BarColumn(), MofNCompleteColumn(), Elapsed(), console=console, transient=True
            )
            self._shown = (bar, bar.add_task("", total=None))
            self._update()
            bar.start()

    def _update(self) -> None:
        if self._shown:
            bar, task = self._shown
            stage, done, total = self._state
            bar.update(task, description=stage, completed=done, total=total or None)
