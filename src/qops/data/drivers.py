"""Which driver a CUDA toolkit needs.

Sources: NVIDIA CUDA release notes, table 3 (toolkit and corresponding driver versions, Linux), read for 13.2 update 2;
docs.nvidia.com/deploy/cuda-compatibility, minor-version compatibility.
"""

# The oldest driver branch on which any toolkit of a major version runs (minor-version compatibility).
MINIMUM_BRANCH: dict[int, int] = {13: 580, 12: 525, 11: 450}

# The driver with which a toolkit can do all that it offers (newer driver calls, its own PTX).
FULL_DRIVER: dict[str, str] = {
    "13.2": "595.45.04",
    "13.1": "590.44.01",
    "13.0": "580.65.06",
    "12.9": "575.51.03",
    "12.8": "570.26",
    "12.6": "560.28.03",
    "12.5": "555.42.02",
    "12.4": "550.54.14",
    "12.3": "545.23.06",
    "12.2": "535.54.03",
    "12.1": "530.30.02",
    "12.0": "525.60.13",
    "11.8": "520.61.05",
}


def cuda_name(number: int) -> str:
    """Return the CUDA version that a driver's number stands for: 12090 is 12.9."""
    return f"{number // 1000}.{number % 1000 // 10}"


def release(version: str) -> tuple[int, ...]:
    """Return a driver version as numbers to compare: "580.95.05" is (580, 95, 5). Empty when it is none."""
    parts = version.strip().split(".")
    if not all(p.isascii() and p.isdigit() and len(p) < 9 for p in parts):
        return ()
    return tuple(int(p) for p in parts)
