from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand, user
from api.models import Scope, Token
from projects.models import Project


class Command(ServiceCommand):
    help = "Make a token that lets a program in as a person, and print it: it cannot be found out again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--name", default="made by a command", help="what it is for")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.READ)
        parser.add_argument("--project", type=int, metavar="PROJECT", help="let it into this project alone")
        parser.add_argument("--days", type=int, help="how long it lasts; without it, until it is revoked")

    def run(self, **options: Any) -> None:
        project = Project.objects.filter(pk=options["project"] or 0).first()
        if options["project"] and project is None:
            raise Refused(f"There is no project with the id {options['project']}.")
        days = options["days"]
        if days is not None and not 0 < days < 10_000:
            raise Refused("--days is a number from 1 to 9999.")
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        values = {"scope": options["scope"], "project": project, "expires_at": expires_at}
        _, secret = Token.make(user(options["user"]), options["name"], **values)
        self.stdout.write(secret)
