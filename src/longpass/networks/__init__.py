"""Networks around a memory, as in the paper's schematics: identical except for the memory.

`Classifier` and `ActorCritic` take any memory object; `make_memory`, `make_classifier` and
`make_actor_critic` build the paper's networks from the name of a memory.
"""

from longpass._names import MemoryName as MemoryName
from longpass.networks._actor_critic import ActorCritic as ActorCritic
from longpass.networks._actor_critic import make_actor_critic as make_actor_critic
from longpass.networks._classifier import Classifier as Classifier
from longpass.networks._classifier import make_classifier as make_classifier
from longpass.networks._memories import make_memory as make_memory
from longpass.networks._torso import Torso as Torso
