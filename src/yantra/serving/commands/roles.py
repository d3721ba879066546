"""What an engine of disaggregated serving does: prompts (prefill), what follows (decode), or both.

Sources: vllm/config/kv_transfer.py (`kv_role`); sglang, arg_groups/fields/disagg.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError, expected_got, show
from yantra.base.notes import note
from yantra.base.shell import Word

BOTH, EITHER = "both", "either"
ROLES = ("prefill", "decode")
_OF_VLLM = {"kv_producer": "prefill", "kv_consumer": "decode", "kv_both": EITHER}
_CONNECTORS = ("NixlConnector", "P2pNcclConnector", "PyNcclConnector", "MooncakeConnector",
               "MoRIIOConnector")  # fmt: skip
"""Those that move KV from pool to pool; others keep it elsewhere."""
OWN = VLLM, SGLANG = "kv-transfer-config", "disaggregation-mode"


def role_of(engine: str, given: Sequence[tuple[str, list[Word]]], where: str) -> str:
    """By the arguments of a launch: `prefill`, `decode`, `both`, or `either`, as others say."""
    if engine == "sglang":
        said = [values[0].text for name, values in given if name == SGLANG and values]
        if said and said[-1] not in (*ROLES, "null"):
            raise ConfigError(f"{where}: --{SGLANG}", expected_got("prefill or decode", said[-1]))
        return said[-1] if said and said[-1] != "null" else BOTH
    tree: dict[str, Any] = {}
    for name, values in given:
        first, _, key = name.partition(".")
        if first == VLLM:
            tree |= mapping_of(key.replace("-", "_"), values, f"{where}: --{VLLM}")
    if not tree:
        return BOTH
    connector = str(tree.get("kv_connector"))
    if connector not in _CONNECTORS and tree.get("kv_role", "kv_both") == "kv_both":
        note(f"{where}: KV that {connector} keeps is left out (--set host_kv='100 GiB' counts it)")
        return BOTH
    if connector not in _CONNECTORS:
        problem = f"KV that {show(connector)} keeps is given as --set host_kv"
        raise ConfigError(f"{where}: --{VLLM}", problem)
    role = str(tree.get("kv_role"))
    if role not in _OF_VLLM:
        known = f"kv_role one of {', '.join(_OF_VLLM)}"
        raise ConfigError(f"{where}: --{VLLM}", expected_got(known, role))
    return _OF_VLLM[role]


def flags_of(engine: str, role: str) -> list[str]:
    """What makes a replica one of a pool; over NIXL."""
    if engine == "sglang":
        own = [f"--{SGLANG} {role}", "--disaggregation-transfer-backend nixl"]
        port = "--disaggregation-bootstrap-port $((8998 + ${SLURM_ARRAY_TASK_ID:-0}))"
        return [*own, port] if role == "prefill" else own
    word = next(word for word, own in _OF_VLLM.items() if own == role)
    return [f"""--{VLLM} '{{"kv_connector":"NixlConnector","kv_role":"{word}"}}'"""]


def mapping_of(key: str, values: Sequence[Word], place: str) -> Mapping[str, Any]:
    """A flag's JSON, or the one key of it that follows the flag's name with a dot."""
    text = " ".join(word.text for word in values)
    tree = {key: text} if key else parse_yaml(text, place)
    if not isinstance(tree, Mapping):
        raise ConfigError(place, expected_got("a mapping", tree))
    return tree
