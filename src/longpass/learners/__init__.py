"""Learners: the actor-critic with V-trace."""

from longpass.learners._impala import Impala as Impala
from longpass.learners._impala import Training as Training
from longpass.learners._impala import Update as Update
from longpass.learners._learning import Metrics as Metrics
from longpass.learners._learning import Weights as Weights
from longpass.learners._settings import Hyper as Hyper
from longpass.learners._settings import Settings as Settings
from longpass.learners._settings import slices_for as slices_for
from longpass.learners._vtrace import VTrace as VTrace
from longpass.learners._vtrace import vtrace as vtrace
