"""What a part of the harness measured: one row per fault."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """How often a fault was tried, and how it ended.

    **Arguments:**

    - `fault`: what was done.
    - `tries`: how often.
    - `survived`: after how many tries all was as it should be.
    - `lost`: after how many tries something was lost, doubled, wrong or unexplained.
    - `seconds`: what one fault costs, in the median; None where that has no meaning.
    - `note`: what else there is to know.
    """

    fault: str
    tries: int
    survived: int
    lost: int
    seconds: float | None
    note: str
