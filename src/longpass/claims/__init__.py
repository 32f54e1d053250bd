"""The paper's claims, evaluated from records: a value, its interval and a verdict each."""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
