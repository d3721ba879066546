"""Lines of measured kernels, as yantra microbench writes them, and profiles made of them."""

from __future__ import annotations

from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError
from yantra.compute.profiles.rows import HEAD
from yantra.compute.profiles.rows import read as rows_of
from yantra.compute.profiles.types import FILE

FORM = "text"

_LINES = """gemm,forward,bf16,m=4096 n=10240 k=8192,473.4
gemm,wgrad,bf16,m=10240 n=8192 k=4096 accumulated=335544320,510.8
grouped_gemm,forward,bf16,m=1228 n=3072 k=5120 batch=20 inner=1536 experts=160 top_k=6,637.0
attention,dgrad,bf16,queries=4096 keys=4096 heads=64 kv_heads=8 head_dim=128 causal=0,280.4
norm,forward,bf16,m=4096 bytes=134217728,31.0
launch,,,,2.4
host_copy,,,bytes=268435456,4900"""


def seeds() -> list[bytes]:
    text = f"# a note\n{','.join(HEAD)}\n{_LINES}\n"
    block = "".join(f"  {line}\n" for line in text.splitlines()[1:])
    whole = f"title: t\ndevice: d\nsource: s\nkernels: |\n{block}"
    return [text.encode(), whole.encode()]


def read(data: bytes) -> object:
    text = data.decode(errors="replace")
    if not text.startswith("title"):
        return len(rows_of(text, "node.csv").us)
    tree = parse_yaml(text, "mine.yaml")
    if not isinstance(tree, dict):
        raise ConfigError("mine.yaml", "no mapping")
    return len(FILE.read(tree, "", "").rows.us)
