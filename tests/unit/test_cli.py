"""What each command prints, and that a failure is one message and a status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import yantra
from tests.golden.astra_sim_inputs import write
from yantra import __version__
from yantra.base.errors import DeadlockError, YantraError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import guarded, main

Captured = pytest.CaptureFixture[str]

SCENARIO = """
workload: {traces: "step.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]
  device: {memory_bandwidth: 1 TB/s}
collectives: {all_reduce: [ring], chunks: 4}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    for rank in range(4):
        trace.build().write(tmp_path / f"step.{rank}.et")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return str(tmp_path / "s.yaml")


def _python(
    code: str, *arguments: str, stdout: Any = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | environment,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


COMMAND = "import sys; from yantra.cli import main; sys.exit(main())"


def test_the_version_is_told() -> None:
    done = _python(COMMAND, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"yantra {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--version"], ["astra-sim"]])
def test_fast_commands_import_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    options = write("tutorial", tmp_path) if arguments == ["astra-sim"] else []
    code = (
        "import sys; from yantra.cli import main; status = main();"
        "print(status, {'click', 'numpy', 'rich', 'msgspec'} & set(sys.modules))"
    )
    done = _python(code, *arguments, *options, f"--logging-folder={tmp_path / 'log'}")
    assert done.stdout.splitlines()[-1] == "0 set()", done.stderr


HEAVY = {
    *("asyncio", "click", "concurrent", "ctypes", "dataclasses", "importlib.metadata", "inspect"),
    *("logging", "msgspec", "multiprocessing", "numpy", "pathlib", "random", "rich", "socket"),
    *("subprocess", "tempfile", "unittest", "urllib"),
}
MOST_MODULES = 107
NETWORK = """topology: [ {} ]  # Ring, Switch, FullyConnected
npus_count: [ 8 ]
bandwidth: [ 50.0 ]  # GB/s
latency: [ 500.0 ]  # ns
"""


@pytest.mark.parametrize("topology", ["Ring", "Switch", "FullyConnected"])
def test_a_small_run_imports_little(tmp_path: Path, topology: str) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); before = set(sys.modules);"
        "from yantra.__main__ import main; status = main();"
        "print(status, *sorted(set(sys.modules) - before))"
    )
    options = write("tutorial", tmp_path)
    (tmp_path / "network.yml").write_text(NETWORK.format(topology))
    sources = str(Path(yantra.__file__).parents[1])
    command = [sys.executable, "-I", "-c", code, sources, "astra-sim", *options]
    log = f"--logging-folder={tmp_path / 'log'}"
    done = subprocess.run([*command, log], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    status, *imported = done.stdout.splitlines()[-1].split()
    assert status == "0", done.stderr
    ours = {name for name in imported if name.split(".")[0] == "yantra"}
    heavy = HEAVY & set(imported)
    assert not heavy, "import it where the rare feature begins that needs it"
    assert len(ours) <= MOST_MODULES, sorted(ours)
    parts = {".".join(name.split(".")[:2]) for name in ours}
    assert not parts & {"yantra.workloads", "yantra.tracing", "yantra.kinds", "yantra.explain"}
    assert not ours & {"yantra.chakra.trace", "yantra.result.table", "yantra.base.plugin_modules"}


def test_help_lists_the_commands(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    with_option = capsys.readouterr().out
    assert main([]) == 0
    assert capsys.readouterr().out == with_option
    for name in ("run", "validate", "astra-sim", "demo"):
        assert f"\n  {name}" in with_option


@pytest.mark.parametrize("name", ["run", "sweep", "validate", "demo", "astra-sim"])
def test_every_command_has_help(name: str, capsys: Captured) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: yantra {name} ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rum"], "error: yantra: no command is named 'rum'; did you mean 'run'?; see"),
        (
            ["run"],
            "error: yantra run: expected a FILE, or --workload and --cluster; see yantra",
        ),
        (
            ["run", "x", "--cvs=f"],
            "error: yantra run: no option is named '--cvs'; did you mean '--csv'?; see",
        ),
        (["search"], "error: yantra: no command is named 'search'; did you mean 'plan'?; see"),
        (["report", "r.json"], "error: yantra: no command is named 'report'; did you mean 'run --"),
        (["plan", "--gpus=8"], "error: yantra plan: no option is named '--gpus'; did you mean '--"),
        (["plan"], "error: yantra plan: --model is missing (a name such as llama3-70b, or a file"),
        (
            ["plot", "r.json"],
            "error: yantra plot: expected one of links, bandwidth, gantt, fct, queues, ",
        ),
        (["run", "x", "--report"], "error: yantra run: --report: expected a value after it; see"),
        (["ui", "x"], "error: yantra ui: unexpected argument: x; see"),
        (["ui", "--port=x"], "error: yantra ui: --port: expected a whole number, got 'x'; see"),
        (["run", "none.yaml"], "error: none.yaml: cannot be read: No such file or directory"),
        (["astra-sim"], "error: --workload-configuration: missing; expected"),
        (["validate"], "error: yantra validate: expected a scenario file or the options of"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: Captured
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


def test_with_json_an_error_is_an_object(capsys: Captured) -> None:
    assert main(["run", "none.yaml", "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err) == {
        "error": "ConfigError",
        "exit_code": 2,
        "message": "none.yaml: cannot be read: No such file or directory",
        "where": "none.yaml",
        "problem": "cannot be read: No such file or directory",
    }


def _raise(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


def test_a_deadlock_is_status_3(capsys: Captured) -> None:
    assert guarded(_raise(DeadlockError("deadlock: 1 of 2 ranks cannot finish")), False) == 3
    assert capsys.readouterr().err == "error: deadlock: 1 of 2 ranks cannot finish\n"


def test_a_fault_of_yantra_says_how_to_report_it(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YANTRA_DEBUG", raising=False)
    assert guarded(_raise(ZeroDivisionError("division by zero")), False) == 70
    text = capsys.readouterr().err
    assert text.startswith("error: internal error: ZeroDivisionError: division by zero\n")
    assert "Please report it" in text and "YANTRA_DEBUG=1" in text and "Traceback" not in text


def test_the_trace_of_a_fault_is_shown_when_asked_for(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YANTRA_DEBUG", "1")
    assert guarded(_raise(ZeroDivisionError()), True) == 70
    head, last = capsys.readouterr().err.rsplit("\n", 2)[:2]
    assert head.startswith("Traceback")
    assert json.loads(last)["error"] == "InternalError"


def test_an_interruption_is_status_130(capsys: Captured) -> None:
    assert guarded(_raise(KeyboardInterrupt()), False) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["schema"], ["cluster", "list"]])
def test_a_full_device_as_standard_output_is_told_with_status_2(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = _python(COMMAND, *arguments, stdout=full)
    said = "error: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize(
    "imported", ["yantra.cli", "yantra.cli.group", "yantra._core", "yantra.run"]
)
def test_an_interruption_while_the_command_is_imported_is_one_line(
    imported: str, scenario: str
) -> None:
    code = f"""
import os, signal, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == {imported!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
from yantra.__main__ import main
sys.exit(main())
"""
    done = _python(code, "run", scenario)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_an_interruption_while_a_native_module_begins_is_one_line(scenario: str) -> None:
    code = """
import os, signal, sys
from importlib.machinery import ExtensionFileLoader
begin = ExtensionFileLoader.exec_module
def exec_module(self, module):
    if module.__name__ == "yantra._core":
        os.kill(os.getpid(), signal.SIGINT)
    begin(self, module)
ExtensionFileLoader.exec_module = exec_module
from yantra.__main__ import main
sys.exit(main())
"""
    done = _python(code, "run", scenario)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_takes_what_is_written_to_it(closed: str) -> None:
    command = [sys.executable, "-m", "yantra", "--version"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (closed == "2>&-")


def test_a_closed_pipe_ends_quietly() -> None:
    code = f"import sys; sys.argv = ['yantra', 'demo']; {COMMAND}"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_run_shows_where_the_time_goes(scenario: str, capsys: Captured) -> None:
    assert main(["run", scenario]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("4 ranks, Ring 4, analytical network, Yantra ")
    assert "\n\nrank (ns)" in captured.out
    assert "\n0-3 " in captured.out and "\nbound by " in captured.out


def test_run_writes_the_tables_asked_for(scenario: str, tmp_path: Path, capsys: Captured) -> None:
    names = [tmp_path / name for name in ("r.json", "r.csv", "r.parquet")]
    options = zip(("-o", "--csv", "--parquet"), map(str, names), strict=True)
    arguments = [word for option in options for word in option]
    pytest.importorskip("pyarrow")
    assert main(["run", scenario, "--json", "--table", "nodes", *arguments]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed["tables"]) == ["ranks", "dimensions", "links"]
    whole = json.loads(names[0].read_text())
    assert whole["makespan_ns"] == printed["makespan_ns"] > 0
    assert len(whole["tables"]["nodes"]["id"]) == 4
    assert names[1].read_text().splitlines()[0] == "rank,id,name,type,start_ns,end_ns,slack_ns"
    assert names[2].read_bytes().startswith(b"PAR1")


def test_run_follows_tensors_when_the_scenario_says_so(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = TraceBuilder()
    node = trace.compute(duration_micros=1)
    node["inputs"], node["outputs"] = ["w", "8"], []
    for rank in range(4):
        trace.build().write(tmp_path / f"step.{rank}.et")
    text = SCENARIO + "track_local_memory: true\n"
    (tmp_path / "s.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["run", scenario]) == 0
    assert (tmp_path / "local_mem_trace.3.json").exists()


def test_astra_sim_prints_the_result_as_json(tmp_path: Path, capsys: Captured) -> None:
    options = write("roofline", tmp_path)
    assert main(["astra-sim", "--json", *options, f"--logging-folder={tmp_path / 'l'}"]) == 0
    captured = capsys.readouterr()
    form = json.loads(captured.out)
    assert captured.err == ""
    assert form["semantics"] == "astra-sim"
    assert any("all-to-all-implementation" in warning for warning in form["warnings"])


def test_astra_sim_writes_tables_and_timelines_beside_its_lines(
    tmp_path: Path, capsys: Captured
) -> None:
    options = [*write("tutorial", tmp_path), f"--logging-folder={tmp_path / 'l'}"]
    assert main(["astra-sim", *options]) == 0
    plain = [line[26:] for line in capsys.readouterr().out.splitlines()]
    files = {name: tmp_path / name for name in ("t.csv", "t.json")}
    more = [f"--csv={files['t.csv']}", "--table=collectives", f"--trace={files['t.json']}"]
    assert main(["astra-sim", *options, *more]) == 0
    assert [line[26:] for line in capsys.readouterr().out.splitlines()] == plain
    assert files["t.csv"].read_text().startswith("rank,node,kind,group,size_bytes,start_ns")
    assert json.loads(files["t.json"].read_text())["displayTimeUnit"] == "ns"
    assert main(["astra-sim", *options, "--table=rank", "--csv=x"]) == 2
    assert main(["astra-sim", *options, "--trace=x.txt"]) == 2


def test_tables_of_a_recorded_run_are_written_without_asking_for_the_recording(
    scenario: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "m.csv"
    assert main(["run", scenario, "--csv", str(path), "--table", "messages"]) == 0
    assert path.read_text().startswith("source,destination,tag,bytes,dimension,sent_ns")
    refused = ["run", scenario, "--csv", str(path), "--table", "messages", "--no-record"]
    assert main(refused) == 3
    assert "the run was not recorded" in capsys.readouterr().err


def test_astra_sim_warns_of_what_it_ignores(tmp_path: Path, capsys: Captured) -> None:
    options = [*write("tutorial", tmp_path), f"--logging-folder={tmp_path / 'l'}"]
    assert main(["astra-sim", *options, "--logging-configuration=x", "--sed=1"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "warning: --sed: unknown option, ignored as ASTRA-sim does",
        "warning: --logging-configuration: ignored; log.log and err.log are written as without it",
    ]


def test_astra_sim_turns_quirks_on_and_off(tmp_path: Path, capsys: Captured) -> None:
    options = [*write("tutorial", tmp_path), f"--logging-folder={tmp_path / 'l'}"]
    assert main(["astra-sim", *options, "--semantics-quirk=whole-nanoseconds=false"]) == 0
    assert "sys[0] finished, 1178" in capsys.readouterr().out
    assert main(["astra-sim", *options, "--semantics-quirk=whole-nanosecond"]) == 2
    assert "did you mean 'whole-nanoseconds'?" in capsys.readouterr().err


def test_astra_sim_needs_a_folder_it_can_write(tmp_path: Path, capsys: Captured) -> None:
    options = write("tutorial", tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["astra-sim", *options, f"--logging-folder={tmp_path / 'file'}"]) == 2
    assert "error: --logging-folder: " in capsys.readouterr().err


def test_the_demo_fits_80_columns_and_equals_astra_sim(capsys: Captured) -> None:
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "ASTRA-sim reports 117780 ns for every rank: equal" in text
    assert "ASTRA-sim reports 405520 ns for every rank: equal" in text
    assert "% of the communication runs behind compute" in text
    assert "  yantra ui --browser\n" in text and "docs/start/README.md" in text.splitlines()[-1]


def test_the_demo_as_json(capsys: Captured) -> None:
    assert main(["demo", "--json"]) == 0
    examples: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [example["result"]["makespan_ns"] for example in examples[:2]] == [117780, 405520]


def test_a_terminal_gets_ruled_tables(tmp_path: Path, scenario: str) -> None:
    pty = pytest.importorskip("pty")
    shown = tmp_path / "shown"
    code = (
        "import pty, sys\n"
        "with open(sys.argv[1], 'wb') as file:\n"
        "    def read(fd):\n"
        "        data = __import__('os').read(fd, 1024)\n"
        "        file.write(data)\n"
        "        return data\n"
        "    pty.spawn(sys.argv[2:], read)\n"
    )
    command = [sys.executable, "-c", COMMAND, "run", scenario]
    assert pty
    _python(code, str(shown), *command, NO_COLOR="1", TERM="xterm", COLUMNS="80")
    text = shown.read_text()
    assert "rank (ns)" in text and "─" in text
    assert "\x1b[3" not in text, "colour in spite of NO_COLOR"


def test_errors_have_statuses_of_their_family() -> None:
    assert {error.__name__: error.exit_code for error in YantraError.__subclasses__()} == {
        "ConfigError": 2,
        "TraceError": 2,
        "DeadlockError": 3,
        "UnsupportedError": 3,
        "InternalError": 70,
    }


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("run --workload a.yw --workload b.yw --cluster hgx-h100", "--workload"),
        ("plan --model llama3-8b --ranks 8 --ranks=63 --global-batch 64", "--ranks"),
        ("workload train --model llama3-8b --pp 2 --set pp=7", "--pp"),
        ("run step.yaml -o a.json --output b.json", "--output"),
    ],
)
def test_no_value_of_an_option_is_silently_lost(
    line: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(line.split())
    assert f"{name}: given twice; the last value counts" in capsys.readouterr().err


def test_a_switch_may_be_repeated() -> None:
    assert main(["cluster", "show", "--json", "--json"]) == 0
