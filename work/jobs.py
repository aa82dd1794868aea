from annotation_service.jobs import purge

from .models.figures import count_some

purge(count_some)
