"""What runs leave behind: append-only records, exact checkpoints, where they came from."""

from longpass.results._checkpoints import Checkpoints as Checkpoints
from longpass.results._checkpoints import from_bytes as from_bytes
from longpass.results._checkpoints import to_bytes as to_bytes
from longpass.results._files import folder as folder
from longpass.results._files import write_whole as write_whole
from longpass.results._provenance import provenance as provenance
from longpass.results._records import Records as Records
from longpass.results._tables import SOLVED as SOLVED
from longpass.results._tables import runs_table as runs_table
from longpass.results._tables import share as share
