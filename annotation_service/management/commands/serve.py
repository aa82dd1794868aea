from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation_service.server import serve


class Command(BaseCommand):
    help = "Serve the pages, with WEB_PROCESSES processes of WEB_THREADS threads each. Stops at SIGTERM or Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen at; 127.0.0.1 by default")
        parser.add_argument("--port", type=int, default=8000, help="8000 by default")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            serve(options["host"], options["port"])
        except OSError as error:
            raise CommandError(f"{options['host']}, port {options['port']}: {error}") from error
