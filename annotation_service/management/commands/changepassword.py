from typing import Any

from django.contrib.auth.management.commands import changepassword

from annotation_service.models import User


class Command(changepassword.Command):
    """Django's own, which finds people in any case here."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        if person := User.objects.with_name(options["username"] or "").first():
            options["username"] = person.username
        return super().handle(*args, **options)
