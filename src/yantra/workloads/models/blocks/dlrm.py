"""A recommendation model: tables of categories, an MLP of numbers, crosses of both, an MLP on top.

Expert parallelism splits the tables, all else is copied; two all-to-alls exchange indices and rows.
A rank's weights are the mean over ranks, as tables differ in rows. Rows are updated at lookup, by
no optimizer; its state, a number per row (row-wise Adagrad), is left out.

Sources: Naumov et al., DLRM, 2019 (arXiv 1906.00091); Wang et al., "DCN V2", 2021 (arXiv
2008.13535), section 3 (low-rank crosses).
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.graph import Gradient
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.exchange import exchange
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.regression import pointwise_loss
from yantra.workloads.operators.graph.operators.view import joined, parts
from yantra.workloads.operators.operations import Operation

_INDEX_BYTES = 8
_ENTROPY_FLOPS = 8


def _mlp(g: Graph, x: Tensor, name: str, widths: tuple[int, ...], is_first: bool = False) -> Tensor:
    with g.scope(name):
        for at, width in enumerate(widths):
            (x,) = linear(
                g, x, str(at), {"feature": width}, bias=True, is_first=is_first and at == 0
            )
            x = elementwise(g, f"{at}_relu", [x], flops=1, backward_flops=1, saves_output=True)
    return x


def _refuse_splits(g: Graph) -> None:
    for axis in ("tp", "cp", "etp"):
        if g.setting.ways(axis) > 1:
            raise ConfigError(axis, "a recommendation model is split over data and tables alone")


class Features(Block):
    """Tables of `rows` of `width`; a sample adds up `lookups` rows of each.

    `dense` numbers pass an MLP of the widths `bottom`, ending with `width`.
    """

    rows: tuple[int, ...]
    lookups: tuple[int, ...]
    width: int
    dense: int
    bottom: tuple[int, ...]

    @property
    def columns(self) -> int:
        return self.width * len(self.rows)

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        _refuse_splits(g)
        samples = g.setting.batch.tokens
        numbers = g.tensor("numbers", {"tokens": samples, "feature": self.dense})
        dense = _mlp(g, numbers, "bottom", self.bottom, is_first=True)
        pooled = self._pooled(g, samples)
        features = self.width + self.columns
        both = joined(g, [dense, pooled], "features", {"tokens": samples, "feature": features})
        return _beside(g, both, both)

    def _pooled(self, g: Graph, samples: int) -> Tensor:
        ways, columns = g.setting.ways("ep"), self.columns
        if columns % ways:
            raise ConfigError(
                "ep", f"{columns} columns of tables cannot be split over {ways} ranks"
            )
        with g.scope("tables"):
            found = self._lookup(g, samples * ways, columns // ways)
            back = exchange(g, found, "rows", "ep")
            return elementwise(
                g, "unpermute", [back], flops=0, kind="permute", backward_flops=0,
                sizes={"tokens": samples, "feature": columns},
            )  # fmt: skip

    def _lookup(self, g: Graph, samples: int, columns: int) -> Tensor:
        ways, w, tables = g.setting.ways("ep"), g.setting.width, len(self.rows)
        out = g.tensor("pooled", {"tokens": samples, "feature": columns})
        with g.scope("pooled"):
            share = -(-self.width * sum(self.rows) // ways)
            g.weight("weight", share * ways, ways=ways, domain="table")
        holders = 1 if tables % ways == 0 else -(-self.width // columns)
        each = sum(self.lookups)
        indices = Operation(
            "indices", "all_to_all", "forward", "", collective=CollectiveType.ALL_TO_ALL,
            group="ep", size_bytes=_INDEX_BYTES * (samples // ways) * each * holders,
        )  # fmt: skip
        touched = samples * each * self.width // ways
        forward = Operation(
            "", "gather", "forward", "", (0,) if ways > 1 else (),
            vector_flops=touched, bytes_read=w * touched, bytes_written=g.bytes(out),
        )  # fmt: skip
        copies = g.setting.ways("edp")
        changes = Operation(
            "wgrad.all_gather", "all_gather", "wgrad", "", collective=CollectiveType.ALL_GATHER,
            group="edp", size_bytes=g.bytes(out) + _INDEX_BYTES * samples * each // ways * holders,
        )  # fmt: skip
        update = Operation(
            "wgrad", "scatter", "wgrad", "", (0,) if copies > 1 else (),
            vector_flops=4 * touched * copies,
            bytes_read=copies * (g.bytes(out) + w * touched), bytes_written=w * touched * copies,
        )  # fmt: skip
        gradient = Gradient((changes, update) if copies > 1 else (update,), (0,))
        g.add("pooled", (), (out,), (indices, forward) if ways > 1 else (forward,), (gradient,))
        return out


class Cross(Block):
    """Adds the product of the crossed features with the first ones, through `rank` columns."""

    features: int
    rank: int

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        first, crossed = _halves(g, x, self.features)
        (low,) = linear(g, crossed, "down", {"rank": self.rank})
        (weights,) = linear(g, low, "up", {"feature": self.features}, bias=True)
        crossed = elementwise(
            g, "cross", [weights, first, crossed], flops=2, saves=(0, 1), costless_gradient=(2,)
        )
        return _beside(g, first, crossed)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "feature": 2 * self.features}


class Click(Block):
    features: int
    top: tuple[int, ...]

    def build(self, g: Graph, x: Tensor | None) -> None:
        assert x is not None
        _, crossed = _halves(g, x, self.features)
        y = _mlp(g, crossed, "top", self.top)
        (click,) = linear(g, y, "click", {"click": 1}, bias=True)
        if g.setting.training:
            pointwise_loss(g, click, flops=_ENTROPY_FLOPS)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "feature": 2 * self.features}


def _halves(g: Graph, x: Tensor, features: int) -> tuple[Tensor, Tensor]:
    sizes = {"tokens": x.size("tokens"), "feature": features}
    first, crossed = parts(g, x, {"first": sizes, "crossed": sizes})
    return first, crossed


def _beside(g: Graph, first: Tensor, crossed: Tensor) -> Tensor:
    sizes = {"tokens": first.size("tokens"), "feature": 2 * first.size("feature")}
    return joined(g, [first, crossed], "first_and_crossed", sizes)
