"""Learning: truncated back-propagation over endless streams, for one run or many at once."""

from longpass.learners._group import HELD_OUT as HELD_OUT
from longpass.learners._group import Group as Group
from longpass.learners._group import Score as Score
from longpass.learners._group import make_network as make_network
from longpass.learners._group import shape_of as shape_of
from longpass.learners._layout import Layout as Layout
from longpass.learners._layout import weights_of as weights_of
from longpass.learners._plain import PlainLearner as PlainLearner
from longpass.learners._plain import plain_learn as plain_learn
from longpass.learners._stream_settings import StreamSettings as StreamSettings
