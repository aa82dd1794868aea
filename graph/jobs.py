"""What the worker does for graphs: counting, and writing large files."""

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.jobs import Progress, kind
from annotation_service.models import Job, new_file
from projects import access
from projects.models import Project

from .counting import refresh
from .exports import file_name, write_graph
from .models import Graph
from .views import COUNT, EXPORT
from .voices import source_named


def reads(request: Request, job: Job) -> None:
    """Whoever reads the project."""
    access.project(request, job.target["project"], Right.READ)


def _graph(job: Job) -> Graph:
    if project := Project.objects.filter(pk=job.target["project"]).first():
        return Graph.of(project)
    raise Refused("The project was deleted.")


@kind(COUNT, reads)
def count_graph(job: Job, progress: Progress) -> None:
    graph = _graph(job)
    refresh(graph, progress)
    job.finish(text="All nodes and edges are counted.", url=graph.get_absolute_url())


@kind(EXPORT, reads)
def export_graph(job: Job, progress: Progress) -> None:
    graph, format = _graph(job), job.target["format"]
    source = source_named(graph.project, job.target["source"], job.target["agreed"])
    with new_file() as (name, target):
        write_graph(graph, source, format, target, progress)
        target.flush()
        job.finish(file=name, name=file_name(graph.project, source, format), text="The graph is written.")
