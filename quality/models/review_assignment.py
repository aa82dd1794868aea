"""Which items somebody is to review."""

from typing import Any

from django.conf import settings
from django.db import models

from datasets.models import Item


class ReviewAssignment(models.Model):
    """An item is for one of those who review; one without a row is for all of them."""

    item = models.OneToOneField(Item, primary_key=True, on_delete=models.RESTRICT, related_name="review")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"item {self.item_id} for {self.person}"

    @classmethod
    def put(cls, person_of: dict[int, int | None]) -> None:
        """Let items, given by their keys, be for these people, or for all."""
        cls.objects.filter(item__in=list(person_of)).delete()
        rows: list[Any] = [cls(item_id=item, person_id=who) for item, who in person_of.items() if who]
        cls.objects.bulk_create(rows, batch_size=1000)
