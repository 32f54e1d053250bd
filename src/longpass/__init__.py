"""longpass: low-pass recurrent neural networks.

A chain of low-pass filter pools, each slower than the one before, keeps the past; small
feed-forward layers learn to read it. Gradients over two or three steps are then enough to
learn correlations over hundreds.

- `longpass.memory`: the memories, for your own networks.
- `longpass.torch`: the same memories in PyTorch, in the place of nn.GRU and nn.LSTM.
- `longpass.theory`: what a memory remembers, in closed form.
- `longpass.networks`: the networks of the paper.
- `longpass.envs`: the three gridworlds of the paper, and one with a single cue.
- `longpass.streams`: sequence classification with truncated back-propagation.
- `longpass.agents`: a recurrent actor-critic with V-trace, and populations of them.

`longpass.Concrete` and the packages above are imported when they are first used.
"""

from importlib.metadata import version

from longpass._extras import attach_stub

__version__ = version("longpass")
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
