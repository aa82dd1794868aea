"""What the statistics of a dataset count."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from datasets.models import Dataset
from datasets.statistics import MOST_BARS, label_counts, statistics_of
from tests import factories
from tests.datasets import marked


def of(alice, text, **preprocessing):
    return counted_of(factories.dataset(owner=alice, text=text, tokeniser="whitespace", **preprocessing))


def counted_of(dataset):
    return SimpleNamespace(**statistics_of(dataset))


def bars(statistics):
    return [tuple(bar) for bar in statistics.lengths]


def test_words_are_counted_as_tokens(alice):
    counted = of(alice, "b a a\nA b\n. . . . .\n")
    assert (counted.items, counted.tokens, counted.vocabulary, counted.once) == (3, 10, 4, 1)
    assert counted.words == [("b", 2), ("a", 2), ("A", 1)]  # no punctuation among the words


def test_lengths(alice):
    counted = of(alice, "a\na b\na b\na b c d\n")
    assert (counted.shortest, counted.median, counted.longest, counted.mean) == (1, 2, 4, 2.25)
    assert bars(counted) == [(1, 1, 1), (2, 2, 2), (3, 3, 0), (4, 4, 1)]
    assert counted.most_in_a_bar == 2


def test_bars_are_of_round_width_and_few(alice):
    counted = of(alice, "".join(" ".join(["x"] * n) + "\n" for n in range(3, 120)))
    assert len(counted.lengths) <= MOST_BARS
    assert bars(counted)[0] == (1, 5, 3)
    assert all(last - first == 4 for first, last, _ in bars(counted))
    assert sum(size for *_, size in bars(counted)) == counted.items == 117


def test_a_few_very_long_items_share_the_last_bar(alice):
    counted = of(alice, "a b\n" * 150 + "a b c\n" * 50 + "x " * 5000 + "\n")
    assert bars(counted) == [(2, 2, 150), (3, None, 51)]
    assert counted.longest == 5000


def test_nothing_to_count(alice):
    counted = counted_of(Dataset.objects.create(kind="standard", name="Empty", owner=alice))
    assert (counted.items, counted.vocabulary, counted.mean, counted.lengths, counted.words) == (0, 0, 0, [], [])


@pytest.mark.parametrize("token", ['"', "\\", "\u200b", "é", "🚀", "</script>"])
def test_tokens_of_every_kind_are_counted(alice, token):
    counted = of(alice, f"{token} x\n{token}\n")
    assert (counted.tokens, counted.vocabulary) == (3, 2)


def test_removed_items_do_not_count(alice):
    dataset = factories.dataset(owner=alice, text="a b\nc\n")
    assert counted_of(dataset).vocabulary == 3
    dataset.remove(dataset.items().filter(position=0), by=alice)
    dataset.refresh_from_db()
    assert (counted_of(dataset).vocabulary, counted_of(dataset).items) == (1, 1)


def test_labels_of_given_marks_are_counted(alice, carol):
    dataset = marked.dataset(owner=alice)
    marked.mark(dataset.items()[2], "State", 0, 0, annotator=carol)
    marked.mark(dataset.items()[2], "PhysicalObject", 0, 0)
    dataset.touch()
    entities, relations = label_counts(dataset)
    names = dataset.entity_ontology.labels().by_pk
    assert next(iter(entities.values())) == 2  # the most first
    assert sorted((names[key].name, count) for key, count in entities.items()) == [
        ("DrivingObject", 1),
        ("PhysicalObject", 2),
        ("Thermostat", 1),
    ]
    assert list(relations.values()) == [1]
    dataset.remove(dataset.items().filter(position=0), by=alice)
    dataset.refresh_from_db()
    assert [sum(counts.values()) for counts in label_counts(dataset)] == [2, 0]


def test_figures_are_counted_once_until_the_dataset_changes(alice, django_assert_num_queries):
    dataset = marked.dataset(owner=alice)
    statistics_of(dataset), label_counts(dataset)
    with django_assert_num_queries(0):
        statistics_of(dataset), label_counts(dataset)
    Dataset.objects.filter(pk=dataset.pk).update(updated_at=dataset.updated_at + timedelta(microseconds=1))
    dataset.refresh_from_db()
    with django_assert_num_queries(5):
        statistics_of(dataset), label_counts(dataset)
