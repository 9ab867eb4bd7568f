"""One layer of RNN, GRU or LSTM, in one direction or both.

The recurrence runs in float64, or for float64 in ``numpy.longdouble``; the states are carried
without rounding, and each output is rounded once.

Where ``sequence_lens`` ends a sequence early, its outputs are zero from there on, its final states
are those of its last step, and the reverse direction begins at its own end.
The text does not say so much; the final states of a sequence without any step are the initial ones.

The equations of versions 1 and 3 have ``Ht-1*Ri`` where later ones have ``Ht-1*(Ri^T)``.
That is taken for a slip of the pen: R is transposed in all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx.defs

from .nn_wide import Dtype, check_shape, settle, widest
from .rnn_activations import Activation, activations
from .rounding import Array


@dataclass(frozen=True, slots=True)
class Weights:
    """What one direction of a layer computes with, in a wide type."""

    #: One matrix for each gate: (gates, hidden, input) and (gates, hidden, hidden).
    w: Array
    r: Array
    #: The two biases of each gate, (gates, hidden).
    wb: Array
    rb: Array
    functions: list[Activation]
    #: The peepholes of LSTM, (3, hidden).
    p: Array | None = None
    linear_before_reset: int = 0
    input_forget: int = 0


#: From weights, the input of one step (batch, input) and the states, each (batch, hidden), to the
#: new states; the first one is the output.
Step = Callable[[Weights, Array, list[Array]], list[Array]]


@dataclass(frozen=True, slots=True)
class Settings:
    """The attributes that the three operators have in common."""

    activation_alpha: list[float] | None
    activation_beta: list[float] | None
    activations: list[str] | None
    clip: float | None
    direction: str
    hidden_size: int | None
    layout: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One of the three operators."""

    operator: str
    gates: int
    #: The functions of one direction.
    functions: tuple[str, ...]
    step: Step
    #: Further fields of ``Weights``.
    options: dict[str, int] = field(default_factory=dict)


def run_layer(
    cell: Cell,
    settings: Settings,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    sequence_lens: Array | None,
    initial: Sequence[Array | None],
    p: Array | None = None,
) -> tuple[Array, ...]:
    """Run one layer in one or both directions.

    Args: x, (length, batch, input); w, (directions, gates * hidden, input); r, (directions,
    gates * hidden, hidden); b, (directions, 2 * gates * hidden); sequence_lens, int32 (batch);
    initial, for each state (directions, batch, hidden); p, (directions, 3 * hidden).
    With layout 1 the batch comes first in x, initial and the results.
    Returns: Y, (length, directions, batch, hidden), and for each state its final value.
    Raises: ``ValueError`` for shapes that do not fit, and for attributes out of range.
    """
    if settings.layout not in (0, 1):
        raise ValueError(f"layout is {settings.layout}: it must be 0 or 1")
    if x.ndim != 3:
        raise ValueError(f"X has shape {x.shape}: it must be of rank 3")
    if settings.layout:
        x = x.swapaxes(0, 1)
        initial = [None if s is None or s.ndim != 3 else s.swapaxes(0, 1) for s in initial]
    reverse = _directions(settings.direction)
    length, batch, _ = x.shape
    hidden = _check_weights(cell, settings, len(reverse), x, w, r, b, p)
    lengths = _lengths(sequence_lens, batch, length)
    wide = widest(x)
    states_0 = _initial(initial, (len(reverse), batch, hidden), wide)
    names = _names(cell, settings, len(reverse))
    functions = activations(
        names, settings.activation_alpha, settings.activation_beta, settings.clip
    )
    y = np.zeros((length, len(reverse), batch, hidden), wide)
    finals = [np.zeros_like(s) for s in states_0]
    n = len(cell.functions)
    for d, back in enumerate(reverse):
        weights = _weights(cell, hidden, d, functions[d * n : (d + 1) * n], wide, w, r, b, p)
        states = [s[d] for s in states_0]
        ends = _run_direction(cell.step, weights, x.astype(wide), states, lengths, back, y[:, d])
        for final, end in zip(finals, ends, strict=True):
            final[d] = end
    results = [settle(v, x.dtype) for v in (y, *finals)]
    if settings.layout:
        return (results[0].transpose(2, 0, 1, 3), *(v.swapaxes(0, 1) for v in results[1:]))
    return tuple(results)


def _run_direction(
    step: Step,
    weights: Weights,
    x: Array,
    states: list[Array],
    lengths: Array,
    back: bool,
    y: Array,
) -> list[Array]:
    """Run one direction, write its outputs to ``y``; return the final states."""
    rows = np.arange(len(lengths))
    for t in range(len(x)):
        active = rows[t < lengths]
        position = (lengths[active] - 1 - t) if back else np.full(len(active), t)
        new = step(weights, x[position, active], [s[active] for s in states])
        y[position, active] = new[0]
        states = [s.copy() for s in states]
        for state, value in zip(states, new, strict=True):
            state[active] = value
    return states


# Checks.


def _directions(direction: str) -> list[bool]:
    """Return for each direction whether it runs backwards."""
    known = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction not in known:
        raise ValueError(f"direction is {direction!r}: it must be one of {', '.join(known)}")
    return known[direction]


def _check_weights(
    cell: Cell,
    settings: Settings,
    directions: int,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    p: Array | None,
) -> int:
    """Check the shapes of the weights; return the hidden size."""
    hidden = settings.hidden_size
    if hidden is None:
        if r.ndim != 3:
            raise ValueError(f"R has shape {r.shape}: it must be of rank 3")
        hidden = int(r.shape[2])
    check_shape(w, (directions, cell.gates * hidden, x.shape[2]), "W")
    check_shape(r, (directions, cell.gates * hidden, hidden), "R")
    if b is not None:
        check_shape(b, (directions, 2 * cell.gates * hidden), "B")
    if p is not None:
        check_shape(p, (directions, 3 * hidden), "P")
    return hidden


def _lengths(sequence_lens: Array | None, batch: int, length: int) -> Array:
    """Return the length of each sequence."""
    if sequence_lens is None:
        return np.full(batch, length)
    check_shape(sequence_lens, (batch,), "sequence_lens")
    if ((sequence_lens < 0) | (sequence_lens > length)).any():
        raise ValueError(f"sequence_lens is {sequence_lens.tolist()}: it must lie in [0, {length}]")
    return sequence_lens


def _initial(
    initial: Sequence[Array | None], shape: tuple[int, int, int], wide: Dtype
) -> list[Array]:
    """Return the initial states; omitted ones are zero."""
    states = []
    for name, state in zip(("initial_h", "initial_c"), initial, strict=False):
        if state is not None:
            check_shape(state, shape, name)
        states.append(np.zeros(shape, wide) if state is None else state.astype(wide))
    return states


def _names(cell: Cell, settings: Settings, directions: int) -> list[str]:
    """Return the names of the functions of all directions.

    The default of RNN names two functions whatever the direction.
    """
    names = settings.activations
    if names is None:
        return [*cell.functions] * directions
    wanted = len(cell.functions) * directions
    default = onnx.defs.get_schema(cell.operator).attributes["activations"].default_value.strings
    if default and names == [s.decode() for s in default]:
        return names[:wanted]
    if len(names) != wanted:
        raise ValueError(f"activations is {names}: {settings.direction} takes {wanted}")
    return names


def _weights(
    cell: Cell,
    hidden: int,
    d: int,
    functions: list[Activation],
    wide: Dtype,
    w: Array,
    r: Array,
    b: Array | None,
    p: Array | None,
) -> Weights:
    """Return the weights of direction ``d``, a row for each gate."""
    biases = np.zeros((2, cell.gates, hidden), wide)
    if b is not None:
        biases = b[d].astype(wide).reshape(2, cell.gates, hidden)
    return Weights(
        w=w[d].astype(wide).reshape(cell.gates, hidden, w.shape[2]),
        r=r[d].astype(wide).reshape(cell.gates, hidden, hidden),
        wb=biases[0],
        rb=biases[1],
        functions=functions,
        p=None if p is None else p[d].astype(wide).reshape(3, hidden),
        **cell.options,
    )


# The equations of one step.


def _rnn_step(k: Weights, x: Array, states: list[Array]) -> list[Array]:
    """Ht = f(Xt*(Wi^T) + Ht-1*(Ri^T) + Wbi + Rbi)."""
    (h,) = states
    return [k.functions[0](x @ k.w[0].T + h @ k.r[0].T + k.wb[0] + k.rb[0])]


def _gru_step(k: Weights, x: Array, states: list[Array]) -> list[Array]:
    """Compute the gates z, r, h, in the order of the weights.

    zt = f(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz), rt likewise
    ht = g(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Rbh + Wbh)
    ht = g(Xt*(Wh^T) + (rt (.) (Ht-1*(Rh^T) + Rbh)) + Wbh), when linear_before_reset != 0
    Ht = (1 - zt) (.) ht + zt (.) Ht-1
    """
    (h,) = states
    f, g = k.functions
    z, r = (f(x @ k.w[i].T + h @ k.r[i].T + k.wb[i] + k.rb[i]) for i in (0, 1))
    before, after = r * (h @ k.r[2].T + k.rb[2]), (r * h) @ k.r[2].T + k.rb[2]
    new = g(x @ k.w[2].T + (before if k.linear_before_reset else after) + k.wb[2])
    return [(1 - z) * new + z * h]


def _lstm_step(k: Weights, x: Array, states: list[Array]) -> list[Array]:
    """Compute the gates i, o, f, c, in the order of the weights; peepholes come as i, o, f.

    it = f(Xt*(Wi^T) + Ht-1*(Ri^T) + Pi (.) Ct-1 + Wbi + Rbi), ft likewise
    ct = g(Xt*(Wc^T) + Ht-1*(Rc^T) + Wbc + Rbc)
    Ct = ft (.) Ct-1 + it (.) ct
    ot = f(Xt*(Wo^T) + Ht-1*(Ro^T) + Po (.) Ct + Wbo + Rbo)
    Ht = ot (.) h(Ct)
    With ``input_forget`` the forget gate is 1 - it.
    """
    h, c = states
    f, g, last = k.functions
    total = [x @ k.w[i].T + h @ k.r[i].T + k.wb[i] + k.rb[i] for i in range(4)]
    if k.p is not None:
        total[0] = total[0] + k.p[0] * c
        total[2] = total[2] + k.p[2] * c
    gate_i = f(total[0])
    gate_f = 1 - gate_i if k.input_forget else f(total[2])
    cell = gate_f * c + gate_i * g(total[3])
    gate_o = f(total[1] if k.p is None else total[1] + k.p[1] * cell)
    return [gate_o * last(cell), cell]


RNN = Cell("RNN", 1, ("Tanh",), _rnn_step)
GRU = Cell("GRU", 3, ("Sigmoid", "Tanh"), _gru_step)
LSTM = Cell("LSTM", 4, ("Sigmoid", "Tanh", "Tanh"), _lstm_step)
