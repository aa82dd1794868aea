import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from annotation_service.jobs import work


class Command(BaseCommand):
    help = "Do the long work: imports, copies and downloads that people started in the browser. Stops at SIGTERM or Ctrl-C."

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        work(stop)
