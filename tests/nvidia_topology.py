"""What `nvidia-smi topo -m` prints, made for tests."""

from __future__ import annotations


def matrix(gpus: int, nics: int, links: int, near: str = "PIX", far: str = "SYS") -> str:
    names = [f"GPU{at}" for at in range(gpus)] + [f"NIC{at}" for at in range(nics)]

    def path(a: int, b: int) -> str:
        if a == b:
            return "X"
        if a < gpus and b < gpus:
            return f"NV{links}"
        one, other = min(a, b), max(a, b) - gpus
        if one >= gpus:
            return far
        return near if one * max(1, nics) // gpus == other else far

    lines = ["\t" + "\t".join(f"\x1b[4m{one}\x1b[0m" for one in names) + "\tCPU Affinity\tNUMA"]
    for a, name in enumerate(names):
        row = "\t".join(f" {path(a, b)} " for b in range(len(names)))
        lines.append(f"{name}\t{row}" + ("\t0-55\t0" if name.startswith("GPU") else ""))
    lines += ["", "Legend:", "  X    = Self", "  NV#  = NVLinks", "", "NIC Legend:", ""]
    return "\n".join([*lines, *(f"  NIC{at}: mlx5_{at}" for at in range(nics))]) + "\n"
