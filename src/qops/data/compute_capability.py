"""The compute capability of boards, for a machine that is not at hand: developer.nvidia.com/cuda/gpus.

Names as nvidia-smi prints them, or as people write them; the first that fits wins.
"""

import re

Capability = tuple[int, int]

_BOARDS: tuple[tuple[str, Capability], ...] = (
    (r"\bGB10\b|\bDGX Spark\b", (12, 1)),
    (r"\bRTX ?PRO ?[2-6]\d00\b|\bRTX ?50[5-9]0\b", (12, 0)),
    (r"\bGB300\b|\bB300\b", (10, 3)),
    (r"\bGB200\b|\bB200\b", (10, 0)),
    (r"\bGH200\b|\bH(?:100|200|800|20)\b", (9, 0)),
    (r"\bL4\b|\bL40S?\b|\bRTX ?40[5-9]0\b|\bRTX \d{4} Ada\b", (8, 9)),
    (r"\bA(?:10|16|40|2)\b|\bRTX A\d{4}\b|\bRTX ?30[5-9]0\b", (8, 6)),
    (r"\bA100\b|\bA30\b", (8, 0)),
    (r"\bT4\b|\bRTX ?20[5-8]0\b", (7, 5)),
    (r"\bV100\b", (7, 0)),
)
_TARGET = re.compile(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)[af]?", re.ASCII)


def capability(said: str) -> Capability | None:
    """Return the compute capability of "RTX 5090", "sm_120", "sm_121a" or "12.0"; None for what is not known."""
    if match := _TARGET.fullmatch(said.strip().lower()):
        return int(match[1]), int(match[2])
    return next((known for pattern, known in _BOARDS if re.search(pattern, said, re.IGNORECASE)), None)
