"""Many runs: random sweeps and populations."""

from longpass._names import Preset as Preset
from longpass.search._agent_presets import agent_preset as agent_preset
from longpass.search._comparison import Comparison as Comparison
from longpass.search._decisions import Decision as Decision
from longpass.search._decisions import decide as decide
from longpass.search._estimate import estimate as estimate
from longpass.search._estimate import estimate_round as estimate_round
from longpass.search._members import SPREAD as SPREAD
from longpass.search._members import Members as Members
from longpass.search._plan import Plan as Plan
from longpass.search._population import Population as Population
from longpass.search._population import run_populations as run_populations
from longpass.search._presets import preset as preset
from longpass.search._sweep import Sweep as Sweep
from longpass.search._work import train as train
