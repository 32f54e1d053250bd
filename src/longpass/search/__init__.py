"""Many runs: random sweeps over the paper's table, and the engines that carry them out."""

from longpass._names import Preset as Preset
from longpass.search._choice import engine_for as engine_for
from longpass.search._comparison import Comparison as Comparison
from longpass.search._engine import Engine as Engine
from longpass.search._engine import Job as Job
from longpass.search._engine import Update as Update
from longpass.search._estimate import estimate as estimate
from longpass.search._local import LocalEngine as LocalEngine
from longpass.search._plan import Plan as Plan
from longpass.search._presets import preset as preset
from longpass.search._sweep import Sweep as Sweep
from longpass.search._work import train as train
