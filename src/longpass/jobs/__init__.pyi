from ._choice import engine_for as engine_for
from ._engine import Engine as Engine
from ._engine import Job as Job
from ._engine import Update as Update
from ._local import LocalEngine as LocalEngine
