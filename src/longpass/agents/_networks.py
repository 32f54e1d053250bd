"""The network of an agent: how it is built from settings, and what its writer asks of a learner."""

import dataclasses

import equinox as eqx
import jax
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from longpass.agents._distinct_frames import can_hash, embed_distinct
from longpass.agents._settings import NetworkSettings
from longpass.networks import ActorCritic, MemoryOptions, make_actor_critic

Inputs = Num[Array, "..."] | tuple[Num[Array, "..."], Float[Array, "..."] | None]
"""What the memory reads, if the writer is frozen; else observations and, if the network reads them,
the last actions and rewards."""


@dataclasses.dataclass(frozen=True)
class NetworkBuilder:
    """Makes the network of an agent from a key. Hashable, so that a learner is compiled once.

    **Arguments:**

    - `settings`: of the network. `num_pools` must be a number.
    - `observation_shape`: of the environment.
    - `num_actions`: of the environment.

    >>> build = NetworkBuilder(NetworkSettings(num_pools=3), (7, 11, 5), 5)
    >>> jax.eval_shape(build, jax.random.key(0)).memory.num_pools
    3
    """

    settings: NetworkSettings
    observation_shape: tuple[int, ...]
    num_actions: int

    def __call__(self, key: PRNGKeyArray) -> ActorCritic:
        """The network with initial weights."""
        settings = self.settings
        options: MemoryOptions = {}
        if settings.has_gates:
            options = {
                "forget_bias": settings.forget_bias,
                "longest_time": settings.longest_time,
            }
        if settings.has_pools:
            if settings.num_pools is None:
                raise ValueError("num_pools is None: it must be a number, see resolve_settings")
            options = {
                "num_pools": settings.num_pools,
                "viewport_size": settings.viewport_size,
                "normalise": settings.normalise,
            }
        return make_actor_critic(
            settings.memory,
            self.observation_shape,
            self.num_actions,
            output_size=settings.output_size if settings.has_pools else settings.hidden_size,
            pool_size=settings.pool_size,
            writer=settings.writer,
            embedding=settings.embedding,
            threshold=settings.threshold,
            logit_scale=settings.logit_scale,
            read_last_step=settings.read_last_step,
            memory_options=settings.memory_options,
            key=key,
            **options,
        )


def init_embedding(network: ActorCritic, sample: Num[Array, "sample *observation"]) -> ActorCritic:
    """The network with the initial embedding that it asks for, given a sample of frames."""
    if network.embedding == "plain":
        return network
    torso = network.torso.sparse(sample, network.threshold, network.embedding == "centred")
    return eqx.tree_at(lambda net: net.torso, network, torso)


def writer_is_frozen(network: ActorCritic) -> bool:
    """Whether the writer is never trained, so that embeddings of frames never change."""
    return network.writer == "frozen"


def writer_is_averaged(network: ActorCritic) -> bool:
    """Whether the writer is an exponential average of weights that the learner trains."""
    return network.writer == "slow"


def to_inputs(
    network: ActorCritic,
    observations: Num[Array, "..."],
    last_step: Float[Array, "*batch last"] | None,
    embedded: Float[Array, "*batch input"] | None = None,
) -> Inputs:
    """What a rollout keeps of observations: embeddings if they never change, else observations.

    **Arguments:**

    - `network`: the network that acts.
    - `observations`: of shape `(..., *observation_shape)`.
    - `last_step`: the last action and reward, if the network reads them.
    - `embedded`: the memory's input, if it is known.
    """
    if not writer_is_frozen(network):
        return observations, last_step
    return network.embed(observations, last_step) if embedded is None else embedded


def embed_inputs(network: ActorCritic, inputs: Inputs) -> Float[Array, "*batch input"]:
    """The memory's input, from what `to_inputs` kept."""
    return inputs if isinstance(inputs, Array) else network.embed(*inputs)


def embed_slice(network: ActorCritic, inputs: Inputs) -> Float[Array, "time envs input"]:
    """`embed_inputs` of many steps of every copy: each distinct frame is embedded once."""
    if isinstance(inputs, Array):
        return inputs
    observations, last_step = inputs
    if not can_hash(observations):
        return network.embed(observations, last_step)
    time, copies, *shape = observations.shape
    embedded = embed_distinct(network.torso, observations.reshape(time * copies, *shape))
    return network.append_last_step(embedded.reshape(time, copies, -1), last_step)


def trained_weights(network: ActorCritic) -> PyTree[bool]:
    """True for each array of the network that is trained."""
    frozen = writer_is_frozen(network)
    return jax.tree.map(lambda writes: not (frozen and writes), network.writing())
