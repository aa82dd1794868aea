from tests.api.asks import EVERYBODY, Ask

OWN = "401 404 404 404 200 200"
ASKS = [
    Ask("me", EVERYBODY),
    Ask("list_jobs", EVERYBODY),
    Ask("get_job", OWN, ("job",)),
    Ask("get_job_file", OWN, ("finished_job",)),
    Ask("cancel_job", OWN, ("job",)),
]
