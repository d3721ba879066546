"""What an error says, and the status a command ends with."""

from __future__ import annotations

import pickle

import pytest

from yantra.base import errors


def test_a_configuration_error_names_the_field_then_the_problem() -> None:
    error = errors.ConfigError("cluster.topology[1].size", "must be at least 2; got 1")
    assert str(error) == "cluster.topology[1].size: must be at least 2; got 1"
    assert errors.as_json(error) == {
        "error": "ConfigError",
        "exit_code": 2,
        "message": "cluster.topology[1].size: must be at least 2; got 1",
        "where": "cluster.topology[1].size",
        "problem": "must be at least 2; got 1",
    }


def test_an_error_survives_the_way_between_processes() -> None:
    error = errors.ConfigError("network", "unknown")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.where) == (errors.ConfigError, str(error), "network")


@pytest.mark.parametrize(
    ("family", "status"),
    [
        (errors.TraceError, 2),
        (errors.DeadlockError, 3),
        (errors.UnsupportedError, 3),
        (errors.InternalError, 70),
    ],
)
def test_the_family_decides_the_exit_status(family: type[errors.YantraError], status: int) -> None:
    error = family("what went wrong")
    assert errors.as_json(error) == {
        "error": family.__name__,
        "exit_code": status,
        "message": "what went wrong",
    }


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bandwith", "; did you mean 'bandwidth'?"),
        ("Latency", "; did you mean 'latency'?"),
        ("end_point_delay", "; did you mean 'endpoint-delay'?"),
        ("band", "; did you mean 'bandwidth'?"),
        ("zebra", ""),
    ],
)
def test_a_name_close_to_a_known_one_is_suggested(name: str, hint: str) -> None:
    assert errors.did_you_mean(name, ["bandwidth", "latency", "endpoint-delay"]) == hint


def test_a_long_value_is_shown_shortened() -> None:
    text = errors.expected_got("a number", "x" * 100)
    assert text == 'expected a number, got "' + "x" * 56 + "..."


def test_showing_a_huge_value_costs_no_more_than_what_is_shown() -> None:
    nested: list[object] = [1, 1]
    for _ in range(100):
        nested = [nested, nested]
    assert errors.show(nested) == "[" * 57 + "..."
    assert errors.show(object()).startswith("<object object at")
