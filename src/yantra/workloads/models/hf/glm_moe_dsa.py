"""GLM-5 to 5.2: latent attention whose queries choose their keys by an index"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.deepseek_v32 import indexed
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `glm_moe_dsa` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    return indexed(config, sizes, _indexers(config, sizes["num_layers"]))


def _indexers(config: Config, layers: int) -> tuple[str, ...]:
    often = max(config.count("index_topk_freq", default=1), 1)
    offset = config.count("index_skip_topk_offset", default=2)
    given = config.words("indexer_types")
    pattern = config.value("index_topk_pattern", "")
    if not given and isinstance(pattern, str) and pattern:
        given = tuple({"F": "full", "S": "shared"}.get(letter, letter) for letter in pattern)
    if not given:
        return tuple(
            "full" if max(at - offset + 1, 0) % often == 0 else "shared" for at in range(layers)
        )
    if len(given) != layers or not set(given) <= {"full", "shared"} or given[0] != "full":
        expected = f"full or shared for each of the {layers} layers, the first full"
        raise config.wrong("indexer_types", expected_got(expected, list(given)))
    return given


PLUGIN = read
