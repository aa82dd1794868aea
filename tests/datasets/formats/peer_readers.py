"""For the Python that has the programs of others, not for ours: prints what one of them reads of a download, as JSON."""

import json
import subprocess
import sys
from pathlib import Path


def spacy(folder):
    subprocess.run([sys.executable, folder / "to_docbin.py"], check=True)
    from spacy import blank
    from spacy.tokens import Doc, DocBin

    Doc.set_extension("relations", default=None)
    for doc in DocBin().from_disk(folder / "dataset.spacy").get_docs(blank("xx").vocab):
        spans = [(span.label_, span.text) for span in doc.spans["entities"]]
        yield {
            "id": doc.user_data["id"],
            "text": doc.text,
            "words": [token.text for token in doc],
            "entities": spans,
            "tagged": [(span.label_, span.text) for span in doc.ents],
            "relations": [(each["label"], spans[each["head"]], spans[each["child"]]) for each in doc._.relations],
        }


def hf(folder):
    from datasets import load_dataset

    for row in load_dataset(str(folder), cache_dir=str(folder / "cache"))["train"]:
        spans = [(each["label"], row["text"][each["start_char"] : each["end_char"]]) for each in row["spans"]]
        yield {
            "id": row["id"],
            "text": row["text"],
            "words": row["tokens"],
            "entities": spans,
            "tagged": [tag[2:] for tag in row["ner_tags"] if tag.startswith("B-")],
            "relations": [(each["label"], spans[each["head"]], spans[each["tail"]]) for each in row["relations"]],
        }


if __name__ == "__main__":
    print(json.dumps(list({"spacy": spacy, "hf": hf}[sys.argv[1]](Path(sys.argv[2])))))
