"""What workers do for programs beside the jobs."""

import time

from django.utils import timezone

from annotation_service.db import delete_rows, write
from annotation_service.jobs import STEP, beside, cleanup

from .models import KeptAnswer
from .sending import Sender
from .webhooks import Delivery

beside(Sender())


@cleanup
def forget_old() -> None:
    """Some rows at a time, so that others can write. What still waits to be delivered stays."""
    now = timezone.now()
    deliveries = Delivery.objects.filter(created_at__lt=now - Delivery.KEPT, next_at=None)
    answers = KeptAnswer.objects.filter(at__lt=now - KeptAnswer.KEPT)
    gone = True
    while gone:
        with write():
            gone = delete_rows([deliveries, answers], time.monotonic() + STEP) > 0
