"""The files of uploads: what was sent and, beside it, the list of all that is wrong with it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from django.core.files import File

from annotation_service.db import full_disk_refused
from annotation_service.inputs import Problem
from annotation_service.models import keep_upload, kept_file


@contextmanager
def kept(file: File) -> Iterator[str]:
    """The name under which a copy of the file is kept, unless the rest fails."""
    with full_disk_refused():
        name = keep_upload(file)
    try:
        yield name
    except BaseException:
        delete(name)
        raise


def delete(name: str) -> None:
    """The kept file, if there is one, with its list of problems."""
    if name:
        kept_file(name).unlink(missing_ok=True)
        problems_of(name).unlink(missing_ok=True)


def problems_of(name: str) -> Path:
    return kept_file(f"{name}.problems")


@contextmanager
def all_problems(path: Path) -> Iterator[Callable[[Problem], object]]:
    """A function that writes a problem into a file, which is made for the first of them."""
    path.unlink(missing_ok=True)
    with ExitStack() as stack:
        file: IO[str] | None = None

        def tell(problem: Problem) -> None:
            nonlocal file
            if file is None:
                file = stack.enter_context(path.open("w", encoding="utf-8"))
            file.write(f"{problem}\n")

        yield tell
