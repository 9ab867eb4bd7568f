"""Writes ``onnx:node`` as ONNX test data, with onnx's own writer: ``write_node_suite.py FOLDER``.

The cases are those that the installed onnx generates.
"""

import sys
import warnings
from argparse import Namespace
from unittest.mock import patch

from onnx.backend.test import cmd_tools
from onnx.backend.test.case.node import collect_testcases


def main(folder: str) -> None:
    """Write the folder ``node`` below a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = list(collect_testcases(None))
    with patch("onnx.backend.test.case.model.collect_testcases", lambda: cases):
        cmd_tools.generate_data(Namespace(output=folder))


if __name__ == "__main__":
    main(sys.argv[1])
