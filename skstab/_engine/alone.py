"""Calls in processes of their own: one that dies, or is stopped at a limit, harms no other."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, BinaryIO, NamedTuple, Self

import joblib
import numpy as np
from sklearn import config_context, get_config

from skstab._checks import check_limits
from skstab._warnings import describe

try:
    import cloudpickle
except ImportError:  # joblib brings it along before version 1.6
    from joblib.externals import cloudpickle

__all__ = [
    "AlonePool",
    "Configured",
    "DiedError",
    "Limits",
    "Lost",
    "Supervised",
    "limits_of",
]

_LARGE = 1_000_000  # bytes, from which on arrays are in a file that all processes map
_LOOK = 0.02  # seconds between two looks at the memory of a process
_LONG = 60.0  # seconds between two looks at the time
_AWAKE = 1.0  # seconds after which a signal is noticed at the latest
_LENGTH = 8  # bytes that say how long a message is
_OWN_MEMORY = re.compile(r"^(?:RssAnon|VmSwap):\s+(\d+) kB", re.MULTILINE)
# What the libraries of linear algebra look up, as joblib sets it for its workers.
_THREADS = [
    f"{name}_NUM_THREADS"
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")
]


class DiedError(RuntimeError):
    """The process that made a call has died."""


class Limits(NamedTuple):
    """What one call may take: seconds, and bytes beyond those its process starts with."""

    max_seconds: float | None = None
    max_memory: int | None = None


class Lost(NamedTuple):
    """What comes back of a call that died, or that was stopped at a limit."""

    error: Exception


def limits_of(max_seconds: Any, max_memory: Any) -> Limits:
    """Check the parameters of an estimator that limit its runs."""
    check_limits(max_seconds, max_memory)
    return Limits(max_seconds, max_memory)


_NO_LIMITS = Limits()


class AlonePool:
    """Calls that are each made in a process of their own, several at the same time.

    A process serves one call after the other, until it dies or is stopped.

    Parameters
    ----------
    n_jobs : int
        Number of calls at the same time.
    limits : Limits
        What each call may take.
    tries : int, default=2
        How often a call is made that dies; one that meets a limit is not made again.
    """

    def __init__(
        self, n_jobs: int, limits: Limits = _NO_LIMITS, tries: int = 2
    ) -> None:
        self._n_jobs, self._limits, self._tries = n_jobs, limits, tries

    @property
    def alone(self) -> AlonePool:
        """A pool that makes one call at a time, and once."""
        return AlonePool(1, self._limits, tries=1)

    def as_finished(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, tuple[Any, ...]],
        *,
        lost: Callable[[Exception], Any],
        may_begin: Callable[[int], bool] = lambda _: True,
    ) -> Iterator[tuple[int, Any]]:
        """Make calls, and yield the number and the result of each as soon as it is there.

        Parameters
        ----------
        function : callable
            What is called.
        calls : mapping of int to tuple
            The arguments of each call, by its number.
        lost : callable
            Returns the result of a call that died or was stopped at a limit, from the
            error; or raises it.
        may_begin : callable
            Whether a call is made now, by its number; the others are left out.
        """
        if not calls:
            return
        waiting = (number for number in calls if may_begin(number))
        configured = Configured(function)
        with (
            ThreadPoolExecutor(self._n_jobs) as threads,
            _Processes(self._n_jobs, self._limits, self._tries) as processes,
        ):
            sent: dict[Future[Any], int] = {}
            while True:
                for number in islice(waiting, self._n_jobs - len(sent)):
                    future = threads.submit(processes.make, configured, calls[number])
                    sent[future] = number
                if not sent:
                    return
                # Another thread may take a signal, which does not wake this one.
                done = wait(sent, timeout=_AWAKE, return_when=FIRST_COMPLETED).done
                for future in done:
                    number, result = sent.pop(future), future.result()
                    if isinstance(result, Lost):
                        yield number, lost(result.error)
                    else:
                        yield number, result


class Supervised:
    """A function that makes each call in a process of its own; the result of one that died there is `Lost`."""

    def __init__(self, function: Callable[..., Any], limits: Limits) -> None:
        self._function, self._limits = Configured(function), limits

    def __call__(self, *arguments: Any) -> Any:
        with _Processes(1, self._limits, tries=2) as processes:
            return processes.make(self._function, arguments)


class Configured:
    """A function with the configuration of scikit-learn and the filters of warnings of this process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._config = get_config()
        self._filters = list(warnings.filters)

    def __call__(self, *arguments: Any) -> Any:
        with config_context(**self._config), warnings.catch_warnings():
            warnings.filters = self._filters
            return self._function(*arguments)


class _Processes:
    """Processes that make calls: started as they are needed, and all stopped in the end."""

    def __init__(self, n_processes: int, limits: Limits, tries: int) -> None:
        self._n_processes, self._limits, self._tries = n_processes, limits, tries
        self._started: list[_Process] = []
        self._idle: SimpleQueue[_Process] = SimpleQueue()
        self._is_over = False

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(prefix="skstab-", ignore_cleanup_errors=True)
        self._arrays = _Arrays(Path(self._folder.name))
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        for process in self._started:
            process.close()
        self._folder.cleanup()

    def make(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Make a call, again if its process dies; return its result, or why it is lost."""
        for _ in range(self._tries):
            result = self._make_once(function, arguments)
            is_dead = isinstance(result, Lost) and isinstance(result.error, DiedError)
            if not is_dead or self._is_over:
                break
        return result

    def _make_once(
        self, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Any:
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = _Process(self._arrays, self._n_processes)
            self._started.append(process)
            if self._is_over:
                process.stop()
        result = process.call(function, arguments, self._limits)
        if process.is_alive():
            self._idle.put(process)
        return result


# -- the process, seen from here ---------------------------------------------------------------------------------------


class _Process:
    """A process that makes calls, and can be stopped."""

    def __init__(self, arrays: _Arrays, n_processes: int) -> None:
        self._arrays = arrays
        n_threads = max(1, joblib.cpu_count() // n_processes)
        begin = "from skstab._engine.alone import serve; serve()"
        self._process = subprocess.Popen(  # noqa: S603  the same Python as this one
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path}; {begin}"],
            env=(dict.fromkeys(_THREADS, str(n_threads)) if n_processes > 1 else {})
            | os.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that it is stopped with what it has started
        )

    def call(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits
    ) -> Any:
        """Make a call; return its result or why it is lost, and raise its exception."""
        reasons: list[Exception] = []
        message = _pickled((function, arguments), self._arrays)
        try:
            _send(self._process.stdin, message)
            _receive(self._process.stdout)  # it has the call, and begins
            with _watched(self, limits, reasons):
                answer = _receive(self._process.stdout)
        except (BrokenPipeError, EOFError):
            self.stop()
            return Lost(reasons[0] if reasons else DiedError(self._how_it_ended()))
        is_done, result = pickle.loads(answer)  # noqa: S301  from our own process
        if is_done:
            return result
        raise result

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def memory(self) -> int:
        """Bytes that it needs, without the files that it maps."""
        with suppress(OSError):  # it may have ended
            status = Path(f"/proc/{self._process.pid}/status").read_text("utf-8")
            return 1024 * sum(map(int, _OWN_MEMORY.findall(status)))
        return 0

    def stop(self) -> None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Stop it, and close what leads to it."""
        self.stop()
        with suppress(OSError):  # the rest of a message can't be delivered
            self._process.__exit__(None, None, None)

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        how = f"ended with exit status {code}"
        if code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        return f"the process that made the run {how}"


@contextmanager
def _watched(
    process: _Process, limits: Limits, reasons: list[Exception]
) -> Iterator[None]:
    """Stop a process that takes more than it may; `reasons` then says why."""
    if limits == _NO_LIMITS:
        yield
        return
    is_done = Event()
    watch = Thread(target=_watch, args=(process, limits, is_done, reasons), daemon=True)
    watch.start()
    try:
        yield
    finally:
        is_done.set()
        watch.join()


def _watch(
    process: _Process, limits: Limits, is_done: Event, reasons: list[Exception]
) -> None:
    seconds, memory = limits
    start, at_first = monotonic(), process.memory()
    pause = min(_LONG if seconds is None else seconds, _LONG)
    while not is_done.wait(pause if memory is None else min(pause, _LOOK)):
        if seconds is not None and monotonic() - start >= seconds:
            reasons.append(
                TimeoutError(f"the run took longer than max_seconds={seconds:g}")
            )
        elif memory is not None and process.memory() - at_first > memory:
            reasons.append(
                MemoryError(f"the run needed more than max_memory={memory} bytes")
            )
        if reasons:
            process.stop()
            return


# -- the process, seen from inside -------------------------------------------------------------------------------------


def serve() -> None:
    """Make the calls that come in, one by one, until the process that sends them is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what runs print does not get among the answers
    calls: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(sys.stdin.buffer, calls), daemon=True).start()
    while True:
        message = calls.get()
        try:
            function, arguments = _Unpickler(BytesIO(message)).load()
            _send(answers, b"")
            answer = _pickled((True, function(*arguments)))
        except BaseException as error:  # noqa: BLE001  raised where the call comes from
            answer = _pickled_error(error)
        _send(answers, answer)


def _listen(messages: BinaryIO, calls: SimpleQueue[bytes]) -> None:
    """Note calls as they come; end with the process that sends them, also in the middle of a call."""
    with suppress(EOFError):
        while True:
            calls.put(_receive(messages))
    os._exit(1)


def _pickled_error(error: BaseException) -> bytes:
    try:
        answer = _pickled((False, error))
        pickle.loads(answer)  # noqa: S301  our own words
    except Exception:  # noqa: BLE001  any exception may have parts that can't be pickled
        return _pickled((False, RuntimeError(describe(error))))
    return answer


# -- messages ----------------------------------------------------------------------------------------------------------


def _send(file: Any, message: bytes) -> None:
    file.write(len(message).to_bytes(_LENGTH, "little") + message)
    file.flush()


def _receive(file: Any) -> bytes:
    length = int.from_bytes(_exactly(file, _LENGTH), "little")
    return _exactly(file, length)


def _exactly(file: Any, n_bytes: int) -> bytes:
    found: bytes = file.read(n_bytes)
    if len(found) < n_bytes:
        raise EOFError
    return found


class _Arrays:
    """Large arrays in files of a folder, each written once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, Lock()
        # With the array, which so stays alive and keeps its identity.
        self._files: dict[int, tuple[Any, str]] = {}

    def file_of(self, array: Any) -> str:
        """The file of an array, which is written where there is none."""
        with self._lock:
            if id(array) not in self._files:
                path = str(self._folder / f"{len(self._files)}.npy")
                np.save(path, array, allow_pickle=False)
                self._files[id(array)] = array, path
            return self._files[id(array)][1]


def _pickled(value: Any, arrays: _Arrays | None = None) -> bytes:
    buffer = BytesIO()
    _Pickler(buffer, arrays).dump(value)
    return buffer.getvalue()


class _Pickler(cloudpickle.Pickler):
    """Writes classes and functions of a script by their content, large arrays by the name of their file."""

    def __init__(self, file: BinaryIO, arrays: _Arrays | None) -> None:
        super().__init__(file)
        self._arrays = arrays

    def persistent_id(self, value: Any) -> str | None:
        if self._arrays is None or type(value) not in (np.ndarray, np.memmap):
            return None
        is_large = value.nbytes > _LARGE and not value.dtype.hasobject
        return self._arrays.file_of(value) if is_large else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, path: str) -> Any:
        return np.load(path, mmap_mode="r")
