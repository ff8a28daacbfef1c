"""Makes the helpers of this folder and of the lab's tests importable."""

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "lab")]
