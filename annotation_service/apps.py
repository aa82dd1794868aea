from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class AnnotationServiceConfig(AppConfig):
    name = "annotation_service"
    verbose_name = "Annotation service"

    def ready(self) -> None:
        autodiscover_modules("jobs", "sentences", "label_files", "node_files")  # what the apps register
