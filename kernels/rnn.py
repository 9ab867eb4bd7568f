"""RNN, GRU and LSTM.

What they have in common, and their equations, is in ``rnn_layer``.
``output_sequence`` of the early versions says whether Y has to be named; it is there in any case.
"""

from __future__ import annotations

from dataclasses import replace

from .registry import kernel
from .rnn_layer import GRU, LSTM, RNN, Settings, run_layer
from .rounding import Array


@kernel("RNN", since_version=(14, 22))
def rnn_14(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
) -> tuple[Array, ...]:
    """Run a simple recurrent layer.

    Returns: Y and Y_h, dtype of x.
    Arguments, shapes and errors are those of ``run_layer``.
    Source: RNN-14.
    """
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
        layout,
    )
    return run_layer(RNN, settings, x, w, r, b, sequence_lens, (initial_h,))


@kernel("RNN", since_version=7)
def rnn_7(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
) -> tuple[Array, ...]:
    """Run a simple recurrent layer, as version 14 does with layout 0. Source: RNN-7."""
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
    )
    return run_layer(RNN, settings, x, w, r, b, sequence_lens, (initial_h,))


@kernel("RNN", since_version=1)
def rnn_1(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    output_sequence: int,  # noqa: ARG001 - asks for what is there in any case
) -> tuple[Array, ...]:
    """Run a simple recurrent layer, as version 14 does with layout 0. Source: RNN-1."""
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
    )
    return run_layer(RNN, settings, x, w, r, b, sequence_lens, (initial_h,))


@kernel("GRU", since_version=(14, 22))
def gru_14(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
    linear_before_reset: int,
) -> tuple[Array, ...]:
    """Run a layer of gated recurrent units.

    Returns: Y and Y_h, dtype of x.
    Arguments, shapes and errors are those of ``run_layer``.
    Source: GRU-14.
    """
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
        layout,
    )
    cell = replace(GRU, options={"linear_before_reset": linear_before_reset})
    return run_layer(cell, settings, x, w, r, b, sequence_lens, (initial_h,))


@kernel("GRU", since_version=7)
def gru_7(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    linear_before_reset: int,
) -> tuple[Array, ...]:
    """Run a layer of gated recurrent units, as version 14 does with layout 0. Source: GRU-7."""
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
    )
    cell = replace(GRU, options={"linear_before_reset": linear_before_reset})
    return run_layer(cell, settings, x, w, r, b, sequence_lens, (initial_h,))


@kernel("GRU", since_version=3)
def gru_3(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    linear_before_reset: int,
    output_sequence: int,  # noqa: ARG001 - asks for what is there in any case
) -> tuple[Array, ...]:
    """Run a layer of gated recurrent units, as version 14 does with layout 0. Source: GRU-3."""
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
    )
    cell = replace(GRU, options={"linear_before_reset": linear_before_reset})
    return run_layer(cell, settings, x, w, r, b, sequence_lens, (initial_h,))


@kernel("GRU", since_version=1)
def gru_1(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    output_sequence: int,  # noqa: ARG001 - asks for what is there in any case
) -> tuple[Array, ...]:
    """Run a layer of gated recurrent units, without ``linear_before_reset``.

    The default of ``direction`` is misspelt in the schema, and means forward.
    Source: GRU-1, "foward".
    """
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        "forward" if direction == "foward" else direction,
        hidden_size,
    )
    return run_layer(GRU, settings, x, w, r, b, sequence_lens, (initial_h,))


@kernel("LSTM", since_version=(14, 22))
def lstm_14(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
    layout: int,
) -> tuple[Array, ...]:
    """Run a layer of long short-term memory.

    Returns: Y, Y_h and Y_c, dtype of x.
    Arguments, shapes and errors are those of ``run_layer``.
    Source: LSTM-14.
    """
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
        layout,
    )
    cell = replace(LSTM, options={"input_forget": input_forget})
    return run_layer(cell, settings, x, w, r, b, sequence_lens, (initial_h, initial_c), p)


@kernel("LSTM", since_version=7)
def lstm_7(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
) -> tuple[Array, ...]:
    """Run a layer of long short-term memory, as version 14 does with layout 0. Source: LSTM-7."""
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
    )
    cell = replace(LSTM, options={"input_forget": input_forget})
    return run_layer(cell, settings, x, w, r, b, sequence_lens, (initial_h, initial_c), p)


@kernel("LSTM", since_version=1)
def lstm_1(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    /,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
    output_sequence: int,  # noqa: ARG001 - asks for what is there in any case
) -> tuple[Array, ...]:
    """Run a layer of long short-term memory, as version 14 does with layout 0. Source: LSTM-1."""
    settings = Settings(
        activation_alpha,
        activation_beta,
        activations,
        clip,
        direction,
        hidden_size,
    )
    cell = replace(LSTM, options={"input_forget": input_forget})
    return run_layer(cell, settings, x, w, r, b, sequence_lens, (initial_h, initial_c), p)
