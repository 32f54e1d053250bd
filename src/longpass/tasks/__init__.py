"""Endless streams of symbols with a label at the end of each sequence: the paper's section 5.1."""

from longpass._names import TaskName as TaskName
from longpass.tasks._stream import NO_LABEL as NO_LABEL
from longpass.tasks._stream import Cursor as Cursor
from longpass.tasks._stream import Sequence as Sequence
from longpass.tasks._stream import Stream as Stream
from longpass.tasks._stream import Task as Task
from longpass.tasks._stream import begin as begin
from longpass.tasks._stream import read as read
from longpass.tasks._subsequences import HOLD as HOLD
from longpass.tasks._subsequences import WORDS as WORDS
from longpass.tasks._subsequences import draw_words as draw_words
from longpass.tasks._subsequences import subsequences as subsequences
from longpass.tasks._tables import make as make
from longpass.tasks._temporal_order import temporal_order as temporal_order
