"""Functions run somewhere: jobs, their progress, and the engines that run them.

An engine runs a work function on jobs, in processes of this machine or on a Ray cluster. Names are
loaded when they are first used: Ray is imported only where it is asked for, JAX never.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
