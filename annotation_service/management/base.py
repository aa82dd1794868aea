"""What the service's commands have in common: errors are lines on stderr, exit status 1, and nothing is stored."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from django.core.management.base import BaseCommand, CommandParser, OutputWrapper

from annotation_service import words
from annotation_service.blueprints import Blueprint
from annotation_service.db import trouble
from annotation_service.inputs import Problem, Refused, check_size, check_text
from annotation_service.models import User

B = TypeVar("B", bound=Blueprint)


class ServiceCommand(BaseCommand, ABC):
    """A command that does its work in `run`, which may raise `Refused`."""

    advice: Sequence[str] = ()
    """What may be done about a refusal, said below it."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.run(**options)
        except Refused as error:
            for problem in error.problems:
                self.stderr.write(str(problem))
            if error.total > len(error.problems):
                total = f"{'at least ' if error.at_least else ''}{words.number(error.total)}"
                self.stderr.write(f"The first {words.number(len(error.problems))} of {total} problems.")
            for text in self.advice:
                self.stderr.write(text)
            raise SystemExit(1) from error
        except Exception as error:
            if reason := trouble(error):
                self.stderr.write(reason.value)
                raise SystemExit(1) from error
            raise

    @abstractmethod
    def run(self, **options: Any) -> None: ...


def add_owner(parser: CommandParser) -> None:
    parser.add_argument("--owner", required=True, metavar="USER", help="name of the user who will own or change it")


def user(name: str) -> User:
    if found := User.objects.with_name(check_text(name)).filter(is_active=True).first():
        return found
    raise Refused(f"There is no active user “{name}”.")


def blueprint(model: type[B], pk: int) -> B:
    if found := model._default_manager.filter(pk=pk, project=None).first():
        return found
    raise Refused(f"There is no {model._meta.verbose_name} blueprint with the id {pk}.")


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Name the file in what is refused of it, and refuse it if it cannot be read."""
    try:
        yield
    except OSError as error:
        reason = trouble(error)
        why = reason.value if reason else f"The file cannot be read: {error.strerror or error}."
        raise Refused(why, place=str(path)) from error
    except Refused as error:
        problems = [Problem(f"{path}: {p.place}" if p.place else str(path), p.text) for p in error.problems]
        raise Refused(problems, error.total, at_least=error.at_least) from error


@contextmanager
def opened(path: Path, limit: int) -> Iterator[IO[bytes]]:
    """A file within the limit; what is refused of it names the file."""
    with errors_of(path):
        check_size(path.stat().st_size, limit)
        with path.open("rb") as file:
            yield file


@contextmanager
def progress_bar(stream: OutputWrapper) -> Iterator[Callable[[int, int, str], None]]:
    """A function that draws how much of how much is done, if somebody is looking: not into a file or a pipe."""
    last = 0.0

    def draw(done: int, total: int, phase: str) -> None:
        nonlocal last
        if not stream.isatty() or (time.monotonic() - last < 0.1 and phase == "reading"):
            return
        last = time.monotonic()
        part = min(1.0, done / total) if total else 0.0
        bar = f"{'█' * round(30 * part):░<30}"
        stream.write(f"\r{phase} {bar} {words.number(done)} of about {words.number(total)}\033[K", ending="")

    try:
        yield draw
    finally:
        if last:
            stream.write("\r\033[K", ending="")
