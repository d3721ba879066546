"""A Hugging Face `config.json`, read key by key: each is used, known to cost nothing, or refused.

A key that nobody reads may change the model and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.workloads.models.hf.ignored import IGNORED, is_ignored
from yantra.workloads.models.transformer import LARGEST, MOST_LAYERS, Transformer

REQUIRED: Final = object()
_USUAL_LENGTH = 4096

_MUST_BE: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "is_encoder_decoder": (False,),
    "pruned_heads": ({}, None),
    "tie_encoder_decoder": (False,),
}
_OFF: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("attention_bias", "mlp_bias", "qkv_bias", "use_bias", "bias"), (False,)),
    **dict.fromkeys(("use_sliding_window", "use_qk_norm", "attn_output_gate"), (False,)),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), (0, 1)),
    **dict.fromkeys(("n_shared_experts", "shared_expert_intermediate_size"), (0,)),
}


_NOTHING: tuple[Any, ...] = (None, [], {}, "")
_QUANTISED = ("quantization_config", "quantization")  # the latter is MLX's
_MORE_TOKENS = (
    *("num_nextn_predict_layers", "num_mtp_layers", "num_mtp_modules", "mtp_num_hidden_layers"),
    *("mtp_num_layers", "use_mtp"),
)


class Config:
    """The keys of one file; `where` names it in messages, `name` is the model's.

    `prefix` precedes keys within another one (`text_config.`).
    """

    def __init__(self, keys: Mapping[str, Any], where: str, name: str, prefix: str = "") -> None:
        self.where = where
        self.name = name
        self._prefix = prefix
        self.model_type = str(keys.get("model_type"))
        self.notes: list[str] = []
        self._keys = keys
        self._read: set[str] = set()

    def size(self, *keys: str, default: Any = REQUIRED) -> int:
        return self._whole(keys, 1, LARGEST, default)

    def layers(self, *keys: str) -> int:
        return self._whole(keys, 1, MOST_LAYERS, REQUIRED)

    def count(self, *keys: str, default: Any = REQUIRED) -> int:
        """A whole number, 0 allowed."""
        return self._whole(keys, 0, LARGEST, default)

    def flag(self, key: str, default: bool) -> bool:
        value = self._take((key,), default)
        if not isinstance(value, bool):
            raise self.wrong(key, expected_got("true or false", value))
        return value

    def word(self, key: str, words: Sequence[str], default: str) -> str:
        value = self._take((key,), default)
        if value not in words:
            raise self.wrong(key, expected_got(f"one of {', '.join(words)}", value))
        return str(value)

    def value(self, key: str, default: Any) -> Any:
        return self._take((key,), default)

    def numbers(self, *keys: str) -> tuple[int, ...]:
        """A list of whole numbers, under any of its names; empty if absent."""
        value = self._take(keys, ())
        if not isinstance(value, list | tuple) or not all(type(item) is int for item in value):
            key = next((key for key in keys if key in self._keys), keys[0])
            raise self.wrong(key, expected_got("a list of whole numbers", value))
        return tuple(value)

    def words(self, *keys: str) -> tuple[str, ...]:
        value = self._take(keys, ())
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            key = next((key for key in keys if key in self._keys), keys[0])
            raise self.wrong(key, expected_got("a list of words", value))
        return tuple(value)

    def must_be(self, key: str, *values: Any, because: str) -> None:
        if self._take((key,), values[0]) not in values:
            shown = " or ".join(show(value) for value in values)
            raise self.wrong(key, f"{expected_got(shown, self._keys[key])}: {because}")

    def skip(self, *keys: str) -> None:
        self._read.update(keys)

    def transformer(self, **sizes: Any) -> Transformer:
        self.finish()
        about: dict[str, Any] = {
            "name": self.name,
            "source": self.where,
            "notes": tuple(self.notes),
        }
        try:
            return Transformer(**about, **sizes)
        except ConfigError as error:
            raise self.wrong(error.where.removeprefix(f"{self.name}."), error.problem) from None

    def sequence(self) -> int:
        keys = ("max_position_embeddings", "model_max_length")
        if all(self._keys.get(key) is None for key in keys):
            self._read.update(keys)
            self.notes.append(f"its config says no length of a sequence; {_USUAL_LENGTH} tokens")
            return _USUAL_LENGTH
        return self._whole(keys, 1, LARGEST, REQUIRED)

    def has(self, key: str) -> bool:
        self._read.add(key)
        return self._keys.get(key) is not None

    def finish(self) -> None:
        self._note_more_tokens()
        if any(self._keys.get(key) is not None for key in _QUANTISED):
            self.notes.append("stored quantised; bytes follow the data type of the plan")
        self._read.update(_QUANTISED)
        for key, values in _MUST_BE.items():
            self.must_be(key, *values, because=f"not covered for {self.model_type}")
        for key, values in _OFF.items():
            if key not in self._read:
                self.must_be(key, *values, because=f"not covered for {self.model_type}")
        known = self._read | IGNORED
        for key, value in self._keys.items():
            if key not in known and value not in _NOTHING and not is_ignored(key):
                raise self.wrong(
                    key,
                    f"not known for {self.model_type} and may change the model"
                    + (did_you_mean(key, known) or "; remove it if it does not"),
                )

    def _note_more_tokens(self) -> None:
        keys = [key for key in self._keys if key in _MORE_TOKENS or key.startswith("mtp_")]
        counts = [self._keys[key] for key in keys if key in _MORE_TOKENS]
        if any(type(count) is int and count > 0 for count in counts):
            self.notes.append("without the multi-token-prediction module, as for serving")
        self._read.update(keys)

    def wrong(self, key: str, problem: str) -> ConfigError:
        return ConfigError(f"{self.where}: {self._prefix}{key}", problem)

    def _whole(self, keys: tuple[str, ...], least: int, most: int, default: Any) -> int:
        value = self._take(keys, default)
        if type(value) is not int or not least <= value <= most:
            key = next((key for key in keys if key in self._keys), keys[0])
            raise self.wrong(key, expected_got(f"a whole number {least} to {most}", value))
        return value

    def _take(self, keys: tuple[str, ...], default: Any) -> Any:
        self._read.update(keys)
        for key in keys:
            if self._keys.get(key) is not None:
                return self._keys[key]
        if default is REQUIRED:
            raise self._missing(keys[0])
        return default

    def _missing(self, key: str) -> ConfigError:
        from difflib import get_close_matches

        strange = [name for name in self._keys if name not in self._read | IGNORED]
        close = get_close_matches(key, strange, n=1)
        hint = f"; is it the '{close[0]}' here?" if close else ""
        needed = f"a {self.model_type} model needs the key '{self._prefix}{key}'"
        return ConfigError(self.where, f"{needed}{hint}")
