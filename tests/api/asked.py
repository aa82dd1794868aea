"""What is asked of all operations."""

from tests.api import (
    asked_blueprints,
    asked_graphs,
    asked_items,
    asked_jobs,
    asked_labels,
    asked_memberships,
    asked_projects,
    asked_reviews,
    asked_rules,
    asked_sources,
    asked_webhooks,
    asked_works,
)

ASKS = [
    *asked_blueprints.ASKS,
    *asked_graphs.ASKS,
    *asked_items.ASKS,
    *asked_jobs.ASKS,
    *asked_labels.ASKS,
    *asked_memberships.ASKS,
    *asked_projects.ASKS,
    *asked_reviews.ASKS,
    *asked_rules.ASKS,
    *asked_sources.ASKS,
    *asked_webhooks.ASKS,
    *asked_works.ASKS,
]
