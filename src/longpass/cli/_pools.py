"""`longpass pools`."""

import dataclasses

from rich.console import Console
from rich.table import Table

from longpass._json import JsonObject


@dataclasses.dataclass
class Pools:
    """Show what each pool of a chain remembers: its rate, and the age of what it holds.

    Say how far back it must reach (--horizon) or how many pools it has (--pools).
    """

    base: float = 2.0
    """Rates are base^-n: a larger base reaches further with fewer, coarser windows."""
    horizon: float | None = None
    """How many steps back the last pool must reach on average; sets the number of pools."""
    pools: int | None = None
    """The number of pools, if no horizon is given (12 by default)."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import theory
        from longpass._rates import rates

        if self.horizon is not None and self.pools is not None:
            raise ValueError("--horizon and --pools both set the number of pools: give one")
        count = 12 if self.pools is None else self.pools
        if self.horizon is not None:
            count = theory.pools_for(self.horizon, self.base)
        a = rates(self.base, count)
        columns = {
            "rate": a,
            "mean_delay": theory.mean_delay(a).tolist(),
            "spread": theory.spread(a).tolist(),
            "peak_delay": theory.peak_delay(a).tolist(),
        }
        table = Table("pool", "rate", "mean delay", "spread", "peak delay", title="steps ago")
        for column in table.columns:
            column.justify = "right"
        for n, (rate, mean, wide, peak) in enumerate(zip(*columns.values(), strict=True), 1):
            table.add_row(str(n), f"{rate:.3g}", f"{mean:,.1f}", f"{wide:,.1f}", f"{peak:,}")
        console.print(table)
        return {"command": "pools", "base": self.base, "pools": count, **columns}
