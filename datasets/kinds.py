from django.db.models import TextChoices


class Kind(TextChoices):
    """What the items of a dataset come with."""

    STANDARD = "standard", "Standard dataset"
    RICH = "rich", "Rich dataset"
    PREANNOTATED_ENTITY = "preannotated_entity", "Preannotated entity dataset"
    PREANNOTATED_RELATION = "preannotated_relation", "Preannotated relation dataset"

    @property
    def has_entities(self) -> bool:
        return self in {Kind.PREANNOTATED_ENTITY, Kind.PREANNOTATED_RELATION}

    @property
    def has_relations(self) -> bool:
        return self == Kind.PREANNOTATED_RELATION
