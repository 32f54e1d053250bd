"""Networks around a memory, as in the paper's schematics: identical outside the memory."""

from longpass._names import Family as Family
from longpass.networks._actor_critic import ActorCritic as ActorCritic
from longpass.networks._classifier import Classifier as Classifier
from longpass.networks._torso import Torso as Torso
