import signal
from typing import Any

from django.core.management.base import BaseCommand

from annotation_service.jobs import start_beside, work


class Command(BaseCommand):
    help = "Do the long work: imports, copies and downloads that people started in the browser. Stops at SIGTERM or Ctrl-C."

    def handle(self, *args: Any, **options: Any) -> None:
        # An event would not do: a signal may come while its lock is held, and wait for it for ever.
        signals: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: signals.append(number))
        start_beside(lambda: bool(signals))
        work(lambda: bool(signals))
