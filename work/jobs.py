from annotation_service.jobs import purge

from .models.item_work import count_some

purge(count_some)
