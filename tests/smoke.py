"""What an installed wheel must do with its declared dependencies: `python tests/smoke.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory


def yantra(folder: str, *words: str) -> str:
    command = [str(Path(sys.executable).with_name("yantra")), *words]
    return subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ).stdout


def main() -> None:
    with TemporaryDirectory() as folder:
        train = ("workload", "train", "--model", "llama3-8b", "--tp", "4", "--dp", "2")
        yantra(folder, *train, "-o", "step.yw")
        said = yantra(folder, "run", "step.yw", "--cluster", "hgx-h100", "-o", "result.json")
        assert "tokens/s" in said and "bound by" in said, said
        yantra(folder, "run", "step.yw", "--cluster", "hgx-h100", "--report", "report.html")
        assert "</html>" in Path(folder, "report.html").read_text(encoding="utf-8")

        import yantra as package

        stored = package.load_result(Path(folder, "result.json"))
        step = package.scenario.load(Path(folder, "step.yw"), cluster="hgx-h100")
        result = package.simulate(step)
        assert result.makespan_ns == stored.makespan_ns > 0
        assert result.model.ranks == 8 and len(result.nodes) > 1000
        assert "arrow_array_stream" in repr(result.ranks.__arrow_c_stream__())
    print(f"yantra {package.__version__} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
