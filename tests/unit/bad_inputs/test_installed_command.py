"""Bad files through the installed command: status 2 and the name of the file."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.example_files import SCENARIO, TEXTS
from yantra.chakra import CollectiveType, Kind, Node, NodeType, Trace, TraceBuilder

DIGITS = "9" * 5000
ALIASES = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
)
DEEP = "[" * 5000 + "]" * 5000
RESULT = '{"format": "yantra-result", "version": 2, "x": '
GROUPED = SCENARIO.replace('"job.{rank}.et"}', '"job.{rank}.et", groups: groups.json}')
JOBS = TEXTS["tenants.yaml"]
GROUPS = "[pg]process_group"


def _trace(group: str, ranks: str | None = None) -> bytes:
    node = Node(1, "ar", NodeType.COMM_COLL)
    node.set("is_cpu_op", False, Kind.BOOL)
    node.set("comm_type", int(CollectiveType.ALL_REDUCE), Kind.INT64)
    node.set("comm_size", 1 << 20, Kind.INT64)
    node.set("pg_name", group, Kind.STRING)
    if ranks is None:
        return Trace([node]).to_bytes()
    from yantra.chakra import IOInfo

    listed = Node(0, GROUPS, NodeType.METADATA, inputs=IOInfo(f"['[{ranks}]']", "[]", "[]"))
    return Trace([listed, node]).to_bytes()


def ended(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "yantra", *line.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("line", "file", "content", "said"),
    [
        (
            "network flows f.csv --topology pod.csv",
            "f.csv",
            f"src,dst,bytes,start_ns\n0,1,1000,{DIGITS}\n",
            "f.csv, line 2, start_ns: expected a whole number, 0 or more and at most 2^53",
        ),
        (
            "network flows f.csv --topology pod.csv",
            "f.csv",
            f"src,dst,bytes,start_ns\n0,1,1000,{'x' * 140_000}\n",
            "f.csv, line 2: a value has more than 131072 characters; is this a CSV file?",
        ),
        (
            "network flows flows.csv --topology pod.csv --changes c.csv",
            "c.csv",
            f"at_ns,from,to,bandwidth\n{DIGITS},0,leaf,0 GB/s\n",
            "c.csv, line 2, at_ns: expected a whole number",
        ),
        (
            "calibrate s.csv --stack mine",
            "s.csv",
            f"model,cluster,plan,seconds\nllama3-8b,hgx-h100,{'x' * 140_000},1\n",
            "s.csv, line 2: a value has more than",
        ),
        (
            "workload train --megatron-args p.sh --world-size 8 -o w.yw",
            "p.sh",
            f"if [ {DIGITS} -gt 2 ]; then\n--num-layers {DIGITS}\nfi\n",
            "p.sh",
        ),
        (
            "topology show a.infragraph.yaml",
            "a.infragraph.yaml",
            ALIASES,
            "a.infragraph.yaml, line ",
        ),
        (
            "run a.yaml",
            "a.yaml",
            ALIASES,
            "a.yaml, line 6, column 10: aliases make more than 100000",
        ),
        ("explain d.json", "d.json", RESULT + DEEP + "}", "not JSON: nested too deeply"),
        ("explain n.json", "n.json", RESULT + DIGITS + "}", "n.json: not JSON: a number has too"),
        ("run d.yaml", "d.yaml", DEEP, "d.yaml, line 1, column 1001: not YAML: exceeded"),
        (
            "run grouped.yaml",
            "groups.json",
            '{"1": [0, 1], "9007199254740992": [1]}',
            "groups.json: must be at most 4398046511104; got 9007199254740992",
        ),
        (
            "chakra show b.et",
            "b.et",
            gzip.compress(bytes(70 << 20)),
            "b.et: unpacks from 69.7 KiB",
        ),
        ("run b.yaml", "b.yaml", gzip.compress(bytes(70 << 20)), "b.yaml: unpacks from 69.7 KiB"),
        (
            "chakra convert pytorch b.json -o x",
            "b.json",
            gzip.compress(b" " * (70 << 20)),
            "b.json: unpacks from ",
        ),
        (
            "run jobs.yaml",
            "jobs.yaml",
            JOBS.replace("size: 4", "size: 2147483648"),
            "jobs.yaml: cluster: expected at most 1048576 ranks, as jobs run each; got 2147483648",
        ),
        (
            "explore run study.yaml -o out",
            "study.yaml",
            TEXTS["study.yaml"].replace("16", str(2**63)),
            f"global_batch: expected a whole number of 1 to 2147483647, got {2**63}",
        ),
        (
            "chakra obfuscate job.0.et --level 3 --key key.txt -o hidden.et",
            "key.txt",
            "",
            "--key: key.txt: is empty; expected a secret in it",
        ),
        (
            "validate --workload-configuration=job --system-configuration=system.json "
            "--network-configuration=network.yml --remote-memory-configuration=memory.json",
            "network.yml",
            TEXTS["network.yml"].replace("500.0", "9.3e18"),
            'network.yml: "latency[0]": must be at most 9223372036854775807 ns',
        ),
    ],
)
def test_a_bad_file_is_refused_by_name(
    line: str, file: str, content: str | bytes, said: str, tmp_path: Path
) -> None:
    _write(tmp_path)
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / file).write_bytes(data)
    done = ended(line, tmp_path)
    told = done.stdout if line.startswith("validate ") else done.stderr
    assert done.returncode == 2, done.stderr
    assert said in told
    assert file in told


def _write(folder: Path) -> None:
    for name in ("pod.csv", "flows.csv", "system.json", "network.yml", "memory.json", "step.yaml"):
        (folder / name).write_text(TEXTS[name])
    (folder / "grouped.yaml").write_text(GROUPED)
    step = TraceBuilder()
    step.collective(CollectiveType.ALL_REDUCE, 4_000_000)
    for rank in range(4):
        step.build().write(folder / f"job.{rank}.et")


@pytest.mark.parametrize("command", ["stats", "validate"])
@pytest.mark.parametrize(
    "content",
    [
        _trace(DIGITS),
        _trace("1", '{"pg_name":"1","ranks":[Infinity]}'),
        _trace("1", '{"pg_name":"1","group_size":1e999}'),
        _trace("1", f'{{"pg_name":"1","ranks":[{DIGITS}]}}'),
        _trace("1", DEEP),
    ],
    ids=["a long name", "endless ranks", "an endless group", "a long rank", "deep"],
)
def test_what_is_no_list_of_groups_holds_none(command: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.0.et").write_bytes(content)
    done = ended(f"chakra {command} t.0.et", tmp_path)
    assert done.returncode in (0, 2), done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bomb_is_refused_in_little_time_and_memory(tmp_path: Path) -> None:
    import zlib

    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    block, pieces = b" " * (1 << 20), []
    for _ in range(1024):
        pieces.append(pack.compress(block))
    (tmp_path / "bomb.yaml").write_bytes(b"".join([*pieces, pack.flush()]))
    code = (
        "import resource, sys; from yantra.cli import main; status = main(sys.argv[1:]);"
        "used = resource.getrusage(resource.RUSAGE_SELF);"
        "memory = open('/proc/self/status').read();"
        "print(used.ru_utime + used.ru_stime, memory.partition('VmHWM:')[2].split()[0]);"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "bomb.yaml"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    said, (seconds, kib) = done.stderr, done.stdout.split()
    assert done.returncode == 2
    assert b"bomb.yaml: unpacks from 1019" in said
    assert b"200 times its size; if it is meant to, unpack it first" in said
    assert float(seconds) < 2
    assert int(kib) < 200 << 10


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize("command", ["explain", "workload train --hf-config"])
def test_a_command_keeps_to_its_memory_and_names_the_file_that_took_it(
    command: str, tmp_path: Path
) -> None:
    rows = ",".join('{"a":[1,2,3]}' for _ in range(700_000))
    (tmp_path / "large.json").write_text(f"{RESULT}[{rows}]}}")
    more = " -o w.yw" if "train" in command else ""
    done = ended(f"{command} large.json{more} --memory-limit 200MB", tmp_path)
    assert done.returncode == 3, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: memory: large.json has ")
    assert last.endswith(
        "takes more than the limit of 200 MB; allow more with --memory-limit, or give less of it"
    )


def test_every_command_takes_a_limit_of_memory(tmp_path: Path) -> None:
    from tests.cli.tree import COMMANDS

    lacking = [found.name for found in COMMANDS if not found.has_option("--memory-limit")]
    assert lacking == []
    done = ended("topology show --memory-limit 1MB", tmp_path)
    assert done.returncode == 2
    assert "--memory-limit: must be above" in done.stderr


def test_a_cluster_of_endless_ranks_is_refused_at_once(tmp_path: Path) -> None:
    _write(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("size: 4", "size: 18446744073709551616"))
    done = ended("validate s.yaml", tmp_path)
    assert done.returncode == 2
    assert "job.{rank}.et: no such file for rank 4 and 99999 or more others" in done.stdout
    done = ended("run s.yaml", tmp_path)
    assert done.returncode == 2
    assert "job.4.et: no such file" in done.stderr
