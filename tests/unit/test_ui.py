"""`yantra ui` runs what the controls say, for this machine alone, and refuses the rest."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import yantra
from yantra.base import trust
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.kinds import plugged_in
from yantra.ui import controls, jobs
from yantra.ui.server import Server

FORM = controls.first() | {"sequence": "1024"}
JSON = {"Content-Type": "application/json"}
SRC = Path(yantra.__file__).resolve().parents[1]  # where the core is, too


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(0) as running:
        thread = Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(
    server: Server,
    method: str,
    path: str,
    body: bytes | str | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_an_answer_is_that_of_the_same_run_from_python(server: Server) -> None:
    status, text = ask(server, "POST", "/run", json.dumps(FORM), JSON)
    assert status == 200
    answer = json.loads(text)
    result = jobs.run(controls.read(FORM))
    assert result.model.ranks == 8 and result.what_ran.plan == "tp 4, dp 2, zero 1"
    assert answer["bound"] == result.bound_by.sentence()
    assert answer["makespan_ns"] == result.makespan_ns
    assert answer["figures"] == result.figures.as_dict()
    assert [line[:2] for line in answer["lines"]] == [list(one) for one in result.figures.lines()]
    assert answer["gains"][0][1] == pytest.approx(result.bound_by.gain)
    assert answer["time"] in answer["lines"][0][1] and answer["interval"] in answer["lines"][0][1]
    status, report = ask(server, "GET", answer["report"])
    assert status == 200 and "Critical path" in report and "llama3-8b" in report


def test_the_best_plans_can_be_run_as_they_are(server: Server) -> None:
    status, text = ask(server, "POST", "/plan", json.dumps(FORM), JSON)
    assert status == 200
    best, *_ = json.loads(text)["plans"]
    status, text = ask(server, "POST", "/run", json.dumps(FORM | best["set"]), JSON)
    assert status == 200 and json.loads(text)["time"] == best["time"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "llama3-8c"}, "model: no model is named 'llama3-8c'; did you mean"),
        ({"model": "./mine.yaml"}, "model: expected a known name, or a file that the server was"),
        ({"cluster": "../../etc/passwd"}, "cluster: expected a known name, or a file"),
        ({"stack": "/etc/passwd.yaml"}, "stack: expected a known name, or a file"),
        ({"stack": "megatron-brige"}, "stack: no stack is named"),
        ({"network": "mine.py"}, "network: expected a known name"),
        ({"schedule": "mine.yaml"}, "schedule: expected a known name"),
        ({"tp": "0"}, "tp: expected a whole number of at least 1, got 0"),
        ({"tp": "x"}, 'tp: expected a whole number of at least 1, got "x"'),
        ({"tp": 4}, "tp: expected a text, got 4"),
        ({"tp": "3"}, "ranks: 8 is no multiple of tp x cp x pp = 3 x 1 x 1 = 3"),
        ({"ranks": "1000000"}, "ranks: at most 131072"),
        ({"zero": "7"}, "zero: expected 0, 1, 2 or 3, got 7"),
        ({"dtype": "fp4"}, "dtype: its products are in fp4, of which hgx-h100 states no rate"),
        ({"price": "2"}, 'price: a number needs its unit; expected a price such as "2.50 USD/h"'),
        ({"price": "-1 USD/h"}, "price: must be above 0 USD/h"),
        ({"more": "etp"}, "more: expected fields such as offload_optimizer=true"),
        ({"more": "tp=2"}, "more: tp: has a control of its own"),
        ({"more": "tensor_parallel_size=2"}, "more: tensor_parallel_size: has a control of its"),
        ({"more": "foo=2"}, "more: a plan has no field of this name"),
        ({"own_model": "x" * 200_000}, "own_model: expected at most"),
        ({"model": ["llama3-8b"]}, "model: expected a text"),
    ],
)
def test_a_wrong_control_is_named(server: Server, change: dict[str, Any], said: str) -> None:
    status, text = ask(server, "POST", "/run", json.dumps(FORM | change), JSON)
    answer = json.loads(text)
    control, _, problem = said.partition(": ")
    assert status == 400 and answer["control"] == control
    assert f": {problem}" in answer["error"]


def test_a_plan_that_does_not_fit_says_what_it_lacks(server: Server) -> None:
    form = FORM | {"model": "llama3-70b", "tp": "1", "sequence": ""}
    status, text = ask(server, "POST", "/run", json.dumps(form), JSON)
    assert status == 400 and "GiB" in json.loads(text)["error"]


def test_the_text_of_a_cluster_is_told_and_nothing_else(server: Server) -> None:
    asked = {"control": "cluster", "name": "mi300x"}
    status, text = ask(server, "POST", "/copy", json.dumps(asked), JSON)
    assert status == 200 and "network:" in json.loads(text)["text"]
    for name in ("../../../../etc/passwd", "own"):
        status, text = ask(server, "POST", "/copy", json.dumps(asked | {"name": name}), JSON)
        assert status == 400 and json.loads(text)["error"].startswith("copy: expected a model")


@pytest.mark.parametrize("form", [None, [], "x", 1])
def test_a_form_that_is_none_is_refused(form: Any) -> None:
    with pytest.raises(ConfigError, match="form: expected an object"):
        controls.read(form)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/", None, {"Host": "evil.example"}, 403),  # a name that was made to lead here
        ("POST", "/run", "{}", JSON | {"Origin": "http://evil.example"}, 403),
        ("POST", "/run", "{}", {"Content-Type": "text/plain"}, 415),
        ("POST", "/run", "{", JSON, 400),
        ("POST", "/run", "[" * 60_000, JSON, 400),
        ("POST", "/run", "x" * 6_000_000, JSON, 413),  # more than the buffers on the way hold
        ("POST", "/run", None, JSON | {"Content-Length": "-1"}, 413),
        ("POST", "/other", "{}", JSON, 404),
        ("GET", "/report/99", None, {}, 404),
        ("GET", "/../../etc/passwd", None, {}, 404),
    ],
)
def test_what_is_not_from_the_page_is_refused(
    server: Server, method: str, path: str, body: str | None, headers: dict[str, str], status: int
) -> None:
    found, text = ask(server, method, path, body, headers)
    assert found == status and "error" in json.loads(text)
    assert ask(server, "GET", "/")[0] == 200  # the server lives


def test_it_listens_at_the_loopback_address_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_the_command_serves_until_ctrl_c(server: Server) -> None:
    command = [sys.executable, "-m", "yantra", "ui", "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stdout is not None
    said = running.stdout.readline()
    assert said.startswith("http://127.0.0.1:") and "Ctrl-C ends it" in said
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=20) == 0
    running.stdout.close()


def test_a_port_that_is_taken_is_said(server: Server) -> None:
    from yantra.cli import main

    assert main(["ui", "--port", str(server.server_port)]) == 2


def test_a_model_of_a_plug_in_runs_where_the_server_was_started_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "model", "mine"]) == 0
    form = json.dumps(FORM | {"model": "mine", "ranks": "8", "global_batch": "8"})
    with trust.Command(asks_store=False):
        for files, expected in (((), 400), (("mine.py",), 200)):
            trust.allow(*files)
            with plugged_in(files), Server(0) as running:
                thread = Thread(target=running.serve_forever, daemon=True)
                thread.start()
                status, text = ask(running, "POST", "/run", form, JSON)
                running.shutdown()
                thread.join()
            assert status == expected, text


def test_a_plug_in_that_is_gone_is_named_by_every_answer(tmp_path: Path) -> None:
    with trust.Command(asks_store=False):
        trust.allow(str(tmp_path / "gone.py"))
        with Server(0) as running:
            thread = Thread(target=running.serve_forever, daemon=True)
            thread.start()
            status, text = ask(running, "POST", "/run", json.dumps(FORM), JSON)
            running.shutdown()
            thread.join()
    assert status == 400 and "gone.py" in text
