"""Mails where no mail server is set up: shown on the terminal, and kept for administrators, who find them in Django admin."""

from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends import console
from django.db import models
from django.utils import timezone

KEPT = 200


class Mail(models.Model):
    """A message that would have been sent. It may hold a link that lets its reader in: see `MailAdmin`."""

    to = models.TextField()
    subject = models.TextField()
    body = models.TextField()
    sent_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.subject}, to {self.to}"


class KeepingBackend(console.EmailBackend):
    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            Mail.objects.create(to=", ".join(message.to), subject=str(message.subject), body=str(message.body))
        newest = Mail.objects.order_by("-pk").values_list("pk", flat=True)
        Mail.objects.filter(pk__lte=next(iter(newest[KEPT : KEPT + 1]), 0)).delete()
        return super().send_messages(email_messages) or 0
