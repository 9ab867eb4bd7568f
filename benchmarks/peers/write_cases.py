"""Writes a folder of YAML cases: ``python -m benchmarks.peers.write_cases FOLDER CASES``."""

import sys
from pathlib import Path

from ..casefiles import write

if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
