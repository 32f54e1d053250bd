"""What tasks and memories are called and how they look, in figures and in the browser."""

from typing import NamedTuple

from longpass.streams import TaskName

# Okabe and Ito's palette: distinct to the colour-blind, and by lightness in print.
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, GREY = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#666666",
)
TASKS: dict[TaskName, str] = {
    "two-markers": "Two markers",
    "three-markers": "Three markers",
    "subsequences": "Two subsequence markers",
}
"""Title of each task of classification."""
MEMORIES = {
    "chain": ("Concrete (chain)", BLUE),
    "parallel": ("parallel filters", GREEN),
    "lstm": ("LSTM", VERMILION),
    "gru": ("GRU", PURPLE),
}
"""Label and colour of each memory."""
# With dashes and symbols beside colours, memories differ in print and to the colour-blind.
DASHES: dict[str, tuple[float, ...]] = {
    "chain": (),
    "parallel": (4.0, 1.2, 1.0, 1.2),
    "lstm": (5.0, 1.5),
    "gru": (1.5, 1.2),
}
"""Lengths of strokes and gaps of each memory's lines, in widths of the line; none: no gaps."""
LEARNED = "learned writer"
"""The series of chains that learn how to write."""
FORGET = "forget-bias"
"""The series of LSTMs whose forget gates begin with a bias of 1."""
PAPER_FORM = "paper-form"
"""The series of chains in the paper's own form."""


class Series(NamedTuple):
    """How the curves of one kind of agent look."""

    label: str
    colour: str
    dashes: tuple[float, ...]


SERIES = {memory: Series(*look, DASHES[memory]) for memory, look in MEMORIES.items()} | {
    LEARNED: Series("Concrete, learned writer", SKY, (3.0, 1.0)),
    FORGET: Series("LSTM, forget bias 1", ORANGE, (2.0, 1.0)),
    PAPER_FORM: Series("Concrete, the paper's form", GREY, (5.0, 1.0, 1.0, 1.0)),
}
"""The series of the figures of agents."""
ONSET_SERIES = ("lstm", FORGET, "chain", PAPER_FORM)
"""The series of the figure by difficulty, from above."""
