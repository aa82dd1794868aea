from typing import Any

from django.core.management.base import CommandParser

from annotation_service import leaving
from annotation_service.inputs import Refused, check_text
from annotation_service.management.base import ServiceCommand
from annotation_service.models import User


class Command(ServiceCommand):
    help = "End an account: nobody can sign in with it any more. What the person has made stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="user name")
        parser.add_argument(
            "--anonymise", action="store_true", help="forget name and mail addresses, too; this cannot be undone"
        )

    def run(self, **options: Any) -> None:
        user = options["user"]
        person = User.objects.with_name(check_text(user)).first()
        if person is None:
            raise Refused(f"There is no user “{user}”.")
        if options["anonymise"]:
            leaving.anonymise(person)
            self.stdout.write(f"“{user}” is now “{person}”.")
        else:
            leaving.set_active(person, False)
            self.stdout.write(f"“{person}” can no longer sign in.")
