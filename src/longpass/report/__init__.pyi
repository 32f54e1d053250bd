from ._payload import MOST_POINTS as MOST_POINTS
from ._report import Report as Report
from ._report import write_report as write_report
from ._server import Follower as Follower
from ._server import make_server as make_server
from ._store import Store as Store
