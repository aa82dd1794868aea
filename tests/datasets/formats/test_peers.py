"""Downloads, read by the programs that they are for: run by bin/test --peers."""

import json
import os
import random
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from annotation_service.db import snapshot
from datasets.exports import Whose, export_of, write_export
from datasets.formats import format_named
from datasets.kinds import DatasetKind
from datasets.tokenising import offsets_of
from tests import factories, gold

from .test_out_and_in import ENTITIES, RELATIONS, corpus

pytestmark = pytest.mark.skipif("PEERS" not in os.environ, reason="bin/test --peers installs the programs of others")
READERS = Path(__file__).parent / "peer_readers.py"


def texts_of(item):
    """What the tokens of a mark are in the text that is written."""
    places = offsets_of(item["tokens"], item["original"])
    return lambda start, end: (
        item["original"][places[start][0] : places[end][1]] if places else " ".join(item["tokens"][start : end + 1])
    )


def read_by_peer(format, dataset, folder):
    file = BytesIO()
    with snapshot():
        write_export(format_named(format), export_of(dataset, dataset.items(), Whose()), file)
    zipfile.ZipFile(file).extractall(folder)
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    command = [os.environ["PEERS"], READERS, format, folder]
    done = subprocess.run(command, env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.django_db
@pytest.mark.parametrize("source", ["generated", "gold"])
@pytest.mark.parametrize("format", ["spacy", "hf"])
def test_a_program_of_others_reads_all_items_entities_and_relations(alice, tmp_path, format, source):
    if source == "gold":
        values, trees = gold.read("items"), (gold.read("entity_ontology"), gold.read("relation_ontology"))
    else:
        values, trees = corpus(random.Random(11), 1100), (ENTITIES, RELATIONS)
    ontologies = {
        f"{kind}_ontology": factories.ontology(owner=alice, kind=kind, items=tree).pk
        for kind, tree in zip(("entity", "relation"), trees, strict=True)
    }
    options = {"kind": DatasetKind.PREANNOTATED_RELATION, "format": "json", "name": "Work orders", **ontologies}
    dataset = factories.upload(values, by=alice, options=options).store()
    found = read_by_peer(format, dataset, tmp_path)
    assert len(found) == len(values)
    for value, read in zip(values, found, strict=True):
        text_of = texts_of(value)
        spans = {each["id"]: [each["label"], text_of(each["start"], each["end"])] for each in value["entities"]}
        relations = [[each["label"], spans[each["source_id"]], spans[each["target_id"]]] for each in value["relations"]]
        assert read["id"] == value.get("external_id", read["id"])
        assert sorted(read["entities"]) == sorted(spans.values())
        assert sorted(read["relations"]) == sorted(relations)
        assert bool(read["tagged"]) == bool(spans)
        if format == "hf":
            assert read["words"] == value["tokens"]
        else:
            words = iter(read["words"])
            assert all(token in words for token in value["tokens"])  # in their order, with what stands between them
