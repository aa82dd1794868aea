"""Long work on graphs: counting, and writing large files; and starting it."""

from django.conf import settings
from django.http.response import HttpResponseBase

from annotation_service.db import write
from annotation_service.http import Request, download
from annotation_service.jobs import Progress, kind
from annotation_service.models import Job, User, new_file, start_job, start_once
from projects.jobs import project_of, reads
from projects.work_export import rows_of

from .counting import refresh, refresh_quickly
from .exports import GRAPH_FORMATS, file_name, write_graph
from .models import Graph
from .voices import source_named

COUNT, EXPORT = "count_graph", "export_graph"


def start_counting(graph: Graph, *, by: User) -> Job:
    with write():
        title, target = f"Count the nodes and edges of “{graph.project}”", {"project": graph.project.pk}
        return start_once(COUNT, title=title, by=by, target=target)


def export_or_start(
    request: Request, graph: Graph, *, format: str, source: str, agreed: int | str = 1
) -> HttpResponseBase | Job:
    """The file or, of much, the job that writes it."""
    project = graph.project
    chosen = source_named(project, source, agreed)
    if not refresh_quickly(graph) or rows_of(project) > settings.JOB_ROWS:
        target = {"project": project.pk, "format": format, "source": source, "agreed": agreed}
        return start_job(EXPORT, title=f"Write the graph of “{project}”", by=request.user, target=target)
    name = file_name(project, chosen, format)
    return download(
        request, lambda target: write_graph(graph, chosen, format, target), name, GRAPH_FORMATS[format].content_type
    )


@kind(COUNT, reads)
def count_graph(job: Job, progress: Progress) -> None:
    graph = Graph.of(project_of(job))
    refresh(graph, progress)
    job.finish(text="All nodes and edges are counted.", url=graph.get_absolute_url())


@kind(EXPORT, reads)
def export_graph(job: Job, progress: Progress) -> None:
    graph, format = Graph.of(project_of(job)), job.target["format"]
    source = source_named(graph.project, job.target["source"], job.target["agreed"])
    with new_file() as (name, target):
        write_graph(graph, source, format, target, progress)
        target.flush()
        job.finish(file=name, name=file_name(graph.project, source, format), text="The graph is written.")
