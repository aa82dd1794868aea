"""What workers do for programs beside the jobs."""

from django.utils import timezone

from annotation_service.db import write
from annotation_service.jobs import beside, cleanup

from .sending import Sender
from .webhooks import Delivery

beside(Sender())


@cleanup
def forget_deliveries() -> None:
    with write():
        Delivery.objects.filter(created_at__lt=timezone.now() - Delivery.KEPT)._raw_delete("default")
