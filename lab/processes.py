"""The only way to start, watch and end a process in the lab.

A record (`run/<name>.json`) holds the PID *and* the start time, because PIDs are reused: the lab only signals its own
processes. Nothing else in the lab imports `subprocess`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from lab.instance import Instance, LabError

Probe = Callable[[], bool]
LOG_LINES_SHOWN = 25
_CHILDREN: list[subprocess.Popen[bytes]] = []  # servers outlive `up`; until then their parent holds them for reaping


@dataclass(frozen=True, slots=True)
class Server:
    """A long-running process: how to start it and when it is ready."""

    name: str
    argv: Sequence[str]
    ready: Probe
    ready_within_s: float = 60
    env: Mapping[str, str] = field(default_factory=dict)  # added to a minimal environment, not to ours
    stop_within_s: float = 15
    files: Sequence[Path] = ()  # read only at start: new content restarts the server
    programs: Sequence[Path] = ()  # folders before those of our PATH, which may differ from shell to shell

    @property
    def pin(self) -> str:
        """Changes with the command line, the environment or a file, so that a new pin restarts the server."""
        contents = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.files]
        parts = [list(self.argv), sorted(self.env.items()), *contents, *map(str, self.programs)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    pid: int
    started: float
    pin: str

    def process(self) -> psutil.Process | None:
        """The process of this record; None if it has ended (or its PID is another's now)."""
        with contextlib.suppress(psutil.Error):
            process = self._found()
            return process if process and process.status() != psutil.STATUS_ZOMBIE else None
        return None

    def has_ended(self) -> bool:
        """Whether nothing is left of it but what its parent must reap.

        Its first thread may be a zombie while others still run and hold its sockets open.
        """
        with contextlib.suppress(psutil.Error):
            process = self._found()
            return process is None or (process.status() == psutil.STATUS_ZOMBIE and process.num_threads() == 1)
        return True

    def _found(self) -> psutil.Process | None:
        """None if its PID is another's now; psutil.Error if it is nobody's."""
        process = psutil.Process(self.pid)
        return process if abs(process.create_time() - self.started) < 1 else None


def start(instance: Instance, server: Server) -> None:
    """Start `server` unless it runs with the same pin and is ready; wait until it is ready.

    Raises LabError with the last lines of its log if it ends or is not ready in time.
    """
    record = read_record(instance, server.name)
    if record and record.process():
        if record.pin == server.pin and _wait_ready(server, record, within_s=5):
            return
        stop(instance, server.name, within_s=server.stop_within_s)
    log = log_path(instance, server.name)
    with log.open("ab") as sink:
        sink.write(f"--- {time.strftime('%F %T')} {' '.join(server.argv)}\n".encode())
        sink.flush()
        child = subprocess.Popen(
            list(server.argv),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**_base_environment(server.programs), **server.env},
            start_new_session=True,  # a Ctrl-C in the terminal ends `up`, not the servers
            cwd=instance.home,
        )
    _CHILDREN.append(child)
    record = Record(server.name, child.pid, psutil.Process(child.pid).create_time(), server.pin)
    _write_record(instance, record)
    if not _wait_ready(server, record, within_s=server.ready_within_s):
        _reap()
        ended = "ended" if record.process() is None else f"was not ready within {server.ready_within_s:.0f} s"
        raise LabError(f"{server.name} {ended}; the last lines of {log}:\n{tail(log)}")


def stop(instance: Instance, name: str, within_s: float = 15) -> bool:
    """End the process of that name and the rest of its session. True if anything was running."""
    record = read_record(instance, name)
    if record is None:
        return False
    process = record.process()
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGTERM)
            if not _wait_ended(record, within_s):
                process.kill()
                _wait_ended(record, within_s=5)
    _reap()
    _record_path(instance, name).unlink(missing_ok=True)
    return process is not None


def is_running(instance: Instance, name: str) -> bool:
    record = read_record(instance, name)
    return record is not None and record.process() is not None


def records(instance: Instance) -> list[Record]:
    return [record for path in sorted(instance.run.glob("*.json")) if (record := read_record(instance, path.stem))]


def read_record(instance: Instance, name: str) -> Record | None:
    try:
        return Record(**json.loads(_record_path(instance, name).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def run(  # noqa: PLR0913 - the knobs of a process are what they are
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout_s: float = 600,
    stdin: str | None = None,
) -> str:
    """Run a command to its end and return its standard output.

    With `log`, output goes there (and the returned text is empty). Raises LabError with the last lines.
    """
    sink = log.open("ab") if log else None
    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env={**os.environ, **(env or {})},
            input=stdin or "",
            stdout=sink or subprocess.PIPE,
            stderr=subprocess.STDOUT if sink else subprocess.PIPE,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise LabError(f"{argv[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{' '.join(argv[:3])} … did not end within {timeout_s:.0f} s") from error
    finally:
        if sink:
            sink.close()
    if done.returncode != 0:
        last = tail(log) if log else "\n".join((done.stderr + done.stdout).splitlines()[-LOG_LINES_SHOWN:])
        raise LabError(f"{' '.join(argv[:4])} … failed (exit {done.returncode}):\n{last}")
    return done.stdout or ""


def call(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
    """Run a command on our own terminal and return its exit code."""
    child = subprocess.Popen(list(argv), cwd=cwd, env={**os.environ, **env})
    with _signalled_with_us(child, signal.SIGTERM, signal.SIGHUP):
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # the command got the same Ctrl-C and ends by itself
                return child.wait()


@contextlib.contextmanager
def _signalled_with_us(child: subprocess.Popen[bytes], *numbers: signal.Signals) -> Iterator[None]:
    """These signals become a Ctrl-C of the command, which then ends by itself and gives its locks back.

    After SIGTERM or SIGHUP this process ends as if by the signal. An ignored signal stays ignored, as under nohup.
    """
    got: list[int] = []

    def interrupt(number: int, _frame: object) -> None:
        got.extend([number] if number != signal.SIGINT else [])
        child.send_signal(signal.SIGINT)

    taken = [each for each in numbers if signal.getsignal(each) is not signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():  # only the first one may take signals
        taken = []
    before = {each: signal.signal(each, interrupt) for each in taken}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if got:
            raise SystemExit(128 + got[0])


@contextlib.contextmanager
def plugin(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[int]:
    """Run a plugin of the engine while the block lasts; yields the port that it prints.

    Raises LabError if it prints none.
    """
    with subprocess.Popen(
        list(argv), cwd=cwd, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        try:
            first = child.stdout.readline().strip() if child.stdout else ""
            if not first.isdigit():
                raise LabError(f"{argv[0]} does not start")
            yield int(first)
        finally:
            child.terminate()


def follow(  # noqa: PLR0913 - a command, where it runs, what it writes, who reads it
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    outputs: tuple[Path, Path],
    lines_of: Path,
    take: Callable[[Sequence[str]], None],
) -> int:
    """Run a command to its end and pass on the lines that it appends to a file, a few times a second.

    Its two output streams go to files; `take` is also called without new lines. Returns its exit code. It is a process
    group of its own: a terminal that is closed, or a Ctrl-C in it, reaches it once, from here.
    """
    with outputs[0].open("wb") as out, outputs[1].open("wb") as err:
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            process_group=0,
        )
        reader = _NewLines(lines_of)
        with _signalled_with_us(child, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            while True:
                code = child.poll()
                take(reader.read())
                if code is not None:
                    return code
                time.sleep(0.2)


@dataclass(slots=True)
class _NewLines:
    """Whole lines of a file that another process appends to, each once."""

    path: Path
    offset: int = 0

    def read(self) -> list[str]:
        try:
            with self.path.open("rb") as source:
                source.seek(self.offset)
                whole = source.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self.offset += len(whole[0]) + len(whole[1])
        return whole[0].decode(errors="replace").splitlines()


def log_path(instance: Instance, name: str) -> Path:
    return instance.logs / f"{name}.log"


def tail(path: Path, lines: int = LOG_LINES_SHOWN) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log yet)"


def _wait_ready(server: Server, record: Record, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while True:
        if record.process() is None:
            return False
        with contextlib.suppress(OSError):
            if server.ready():
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)


def _wait_ended(record: Record, within_s: float) -> bool:
    """Whether it ends in time; its present parent may take seconds more to reap it."""
    deadline = time.monotonic() + within_s
    while not record.has_ended():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _reap() -> None:
    """Reap ended children of this process, so that no zombie stays."""
    for child in list(_CHILDREN):
        with contextlib.suppress(psutil.NoSuchProcess, subprocess.TimeoutExpired):
            if psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE:
                child.wait(5)  # it cannot be reaped before its last thread has ended
        if child.poll() is not None:
            _CHILDREN.remove(child)


def _base_environment(programs: Sequence[Path]) -> dict[str, str]:
    """What a server needs from our environment: PATH, proxies and certificates of the machine, nothing else."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
    found = {key: os.environ[key] for key in kept if key in os.environ}
    return {**found, "PATH": ":".join([*map(str, programs), *filter(None, [found.get("PATH")])])}


def _record_path(instance: Instance, name: str) -> Path:
    return instance.run / f"{name}.json"


def _write_record(instance: Instance, record: Record) -> None:
    target = _record_path(instance, record.name)
    draft = target.with_suffix(".tmp")
    draft.write_text(
        json.dumps({"name": record.name, "pid": record.pid, "started": record.started, "pin": record.pin}) + "\n"
    )
    draft.replace(target)  # a crash leaves the old record or the new one, never half of one
