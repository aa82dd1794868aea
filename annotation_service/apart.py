"""Reading in a process of its own what a library needs in memory as a whole: it is ended there when it takes too much, and the
service goes on.

The function that reads is named “module:function”. It gets a path and more arguments, yields values that can be JSON, and raises
`ValueError` with a sentence for people. Its module is imported without Django, which takes a third of a second.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

MOST_BYTES = 400_000_000
MOST_SECONDS = 120
MOST_FILE_BYTES, MOST_UNPACKED_BYTES = 20_000_000, 200_000_000
_TOO_MUCH = f"To read this file takes more than {MOST_BYTES // 1_000_000} MB of memory. Split it."


class Unreadable(Exception):
    """Why a file could not be read, in a sentence."""


def check_file(path: Path) -> None:
    """Raises `Unreadable` for a file that is too large to be in memory as a whole, packed or unpacked."""
    if path.stat().st_size > MOST_FILE_BYTES:
        raise Unreadable(f"A file of this kind has at most {MOST_FILE_BYTES // 1_000_000} MB. Split it.")
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                size = sum(each.file_size for each in archive.infolist())
        except Exception as error:  # a damaged archive raises anything
            raise Unreadable("This file is damaged.") from error
        if size > MOST_UNPACKED_BYTES:
            raise Unreadable(f"Unpacked, this file has more than {MOST_UNPACKED_BYTES // 1_000_000} MB. Split it.")


def read_apart(function: str, path: Path, *arguments: Any) -> Iterator[Any]:
    """What a function yields that reads a file in another process. Raises `Unreadable` with what it says, and if it takes too
    much memory or time."""
    check_file(path)
    command = [sys.executable, "-m", __name__, function, str(path), json.dumps(arguments)]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root) as process:
        timer = Timer(MOST_SECONDS, process.kill)
        timer.start()
        try:
            assert process.stdout
            for line in process.stdout:
                if not line.endswith(b"\n"):  # it was ended there
                    break
                kind, value = json.loads(line)
                if kind == "why":
                    raise Unreadable(value)
                yield value
            if code := process.wait():
                took_long = code == -signal.SIGKILL and timer.finished.is_set()
                raise Unreadable("To read this file takes too long. Split it." if took_long else _TOO_MUCH)
        finally:
            timer.cancel()
            process.kill()


def _run(function: str, path: str, arguments: str) -> None:
    """In the other process: write what a function yields, a line each."""
    import resource

    module, _, name = function.partition(":")
    read = getattr(importlib.import_module(module), name)
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, used + MOST_BYTES))
    write = json.JSONEncoder().encode
    try:
        for value in read(Path(path), *json.loads(arguments)):
            sys.stdout.write(f"{write(['value', value])}\n")
    except MemoryError:
        sys.stdout.write(f"{write(['why', _TOO_MUCH])}\n")
    except ValueError as error:
        sys.stdout.write(f"{write(['why', str(error)])}\n")
    except Exception as error:  # libraries meet damaged files with anything
        what = f"{type(error).__name__}: {error}"[:200]
        sys.stdout.write(f"{write(['why', f'This file is damaged, or is something else ({what}).'])}\n")


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        _run(*sys.argv[1:])
