"""Processes that are forked from a clean one, which prints nothing."""

from __future__ import annotations

import multiprocessing
import os
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext


@cache
def quiet_forkserver() -> ForkServerContext:
    """Return the context whose processes are forked from a clean one, which prints nothing.

    A worker that is stopped while it starts would print a traceback from there.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"{__package__}.worker"])
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in kept:
            os.dup2(nowhere, stream)
        forkserver.ensure_running()
    finally:
        for stream, original in kept.items():
            os.dup2(original, stream)
            os.close(original)
        os.close(nowhere)
    return context
