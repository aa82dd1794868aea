"""The files of uploads: what was sent and, beside it, the list of all problems with it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.files import File

from annotation_service.db import full_disk_refused
from annotation_service.inputs import Problem
from annotation_service.models import keep_upload, kept_file


@contextmanager
def keeping(file: File) -> Iterator[str]:
    """The name under which a copy of the file is kept, unless the rest fails."""
    with full_disk_refused():
        name = keep_upload(file)
    try:
        yield name
    except BaseException:
        delete(name)
        raise


def delete(name: str) -> None:
    """Delete a kept file with its list of problems."""
    if name:
        kept_file(name).unlink(missing_ok=True)
        problems_path(name).unlink(missing_ok=True)


def problems_path(name: str) -> Path:
    return kept_file(f"{name}.problems")


@contextmanager
def problem_list(name: str) -> Iterator[Callable[[Problem], object]]:
    """A function that writes problems into the list beside a kept file. Without problems there is none."""
    path = problems_path(name)
    try:
        with path.open("w", encoding="utf-8") as file:
            yield lambda problem: file.write(f"{problem}\n")
    finally:
        if path.is_file() and not path.stat().st_size:
            path.unlink()
