"""longpass: low-pass recurrent neural networks.

A chain of low-pass filter pools, each slower than the one before, keeps the past; small
feed-forward layers learn to read it. Gradients over two or three steps are then enough to
learn correlations over hundreds.

- `longpass.memory`: the memories, for your own networks.
- `longpass.theory`: what a memory remembers, in closed form.
- `longpass.networks`: the networks of the paper.
- `longpass.envs`: the three gridworlds of the paper.
- `longpass.learners`: a recurrent actor-critic with V-trace.

Nothing is imported here but the version, so that `import longpass` is free.
"""

from importlib.metadata import version

__version__ = version("longpass")
