"""Makes src/yantra/accuracy/rows/collectives.csv from published measurements of collectives.

    python tools/collective_rows.py FOLDER

FOLDER has the files named in NOTICE; pyarrow and pandas read them here, and are not needed to run
Yantra. Of the tables of AIConfigurator, which have half precision and int8, half is kept, as of a
version of NCCL the median of what was measured more than once. Of nccl-tests the time out of place.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

ROWS = Path(__file__).parents[1] / "src/yantra/accuracy/rows/collectives.csv"
COLUMNS = ["system", "collective", "nccl", "ranks", "nodes", "bytes", "us"]
_HEAD = """\
# Measured collectives, half precision: bytes as nccl-tests count them, microseconds of one call.
# Nodes of a100 to gb300: AIConfigurator at 095f58a51 (Apache-2.0). a100-ndv4: nccl-tests logs of
# Echo at 15f0d12 (MIT). a100-p4de: aws-samples/awsome-distributed-training at 7217859f (MIT-0).
# See NOTICE. Made by tools/collective_rows.py.
"""


def in_node(folder: Path) -> pd.DataFrame:
    """Return the tables of one node."""
    rows = pd.read_parquet(folder / "nccl_one_node.parquet")
    for name in ("system", "nccl", "collective", "dtype"):
        rows[name] = rows[name].astype(str)
    rows = rows[rows["dtype"] == "half"]
    rows["system"] = rows["system"].str.removesuffix("_sxm")
    rows["collective"] = rows["collective"].replace("alltoall", "all_to_all")
    rows = rows.rename(columns={"gpus": "ranks"}).assign(nodes=1)
    return rows.groupby(COLUMNS[:-1], as_index=False)["us"].median()


def over_nodes(path: Path, system: str) -> pd.DataFrame:
    """Return the all-reduces of nccl-tests over nodes of 8 devices."""
    rows = pd.read_csv(path).rename(columns={"gpus": "ranks", "oop_time_us": "us"})
    return rows.assign(system=system, collective="all_reduce", nccl="", nodes=rows["ranks"] // 8)[
        COLUMNS
    ]


def main(folder: Path) -> None:
    """Write the rows."""
    rows = pd.concat(
        [
            in_node(folder),
            over_nodes(folder / "nccl_multi_node_a100_ndv4.csv", "a100-ndv4"),
            over_nodes(folder / "nccl_two_nodes_p4de.csv", "a100-p4de"),
        ]
    )
    rows["us"] = [f"{float(one):.6g}" for one in rows["us"]]
    ROWS.write_text(_HEAD + rows.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
