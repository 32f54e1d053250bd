from ._factory import check_factory as check_factory
from ._memory import check_memory as check_memory
from ._module import check_module as check_module
from ._module import check_step as check_step
from ._report import LAWS as LAWS
from ._report import LawResult as LawResult
from ._report import Report as Report
