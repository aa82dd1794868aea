"""Which marks are suggested: what a format cannot tell of that is said before it is written, and with numbers."""

import pytest

from datasets.exports import formats_out
from datasets.formats.dataset_format import Export, WrittenEntity, WrittenItem, WrittenLabel, WrittenRelation

TELLS_THEM = {"labelstudio"}  # as predictions


def losses(format, *, suggested):
    item = WrittenItem(1, "", "oil leak", ["oil", "leak"], [(0, 3), (4, 8)])
    item.entities += [WrittenEntity("e1", "Object", 0, 0, suggested), WrittenEntity("e2", "State", 1, 1, suggested)]
    item.relations.append(WrittenRelation("has", "e1", "e2", suggested))
    names = {"entity": ["Object", "State"], "relation": ["has"]}
    labels = {kind: [WrittenLabel(name, 1, "#112233", "") for name in names[kind]] for kind in names}
    export = Export("Orders", [item], labels)
    assert list(format.write(export))
    return export.losses()


@pytest.mark.parametrize("format", formats_out(), ids=lambda format: format.name)
def test_what_does_not_tell_suggestions_from_other_marks_says_so(format):
    said = [loss for loss in losses(format, suggested=True) if loss.startswith("2 of 2 entities are suggested")]
    assert len(said) == (format.name not in TELLS_THEM)
    assert not any("suggest" in loss for loss in losses(format, suggested=False))
    assert "suggest" in format.loses
