"""What runs leave, in a browser: one HTML file to share, or a page that follows runs live.

Both are one page. Python reads records and packs them; the page's own script selects, computes and
lets Bokeh draw. Names and values in records are data: the page shows them as text.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
