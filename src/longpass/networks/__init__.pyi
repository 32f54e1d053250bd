from ._actor_critic import ActorCritic as ActorCritic
from ._actor_critic import make_actor_critic as make_actor_critic
from ._classifier import Classifier as Classifier
from ._classifier import make_classifier as make_classifier
from ._memories import make_memory as make_memory
from ._names import Embedding as Embedding
from ._names import Writer as Writer
from ._torso import Torso as Torso
