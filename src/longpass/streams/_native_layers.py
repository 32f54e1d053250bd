"""Layers and activations in native code."""

import inspect
import math

import numpy as np
from numba import types
from numba.extending import overload

from longpass.streams._numba import ARITHMETIC, compile_native


def tanh(x):
    """The hyperbolic tangent; overloaded below."""
    return math.tanh(x)


@overload(tanh, jit_options=ARITHMETIC)  # pyright: ignore[reportArgumentType]
def _compile_tanh(x):
    if x != types.float32:
        return lambda x: math.tanh(x)

    def rational(x):
        # A quotient of polynomials, as XLA and Eigen have it: vector units compute it, and in
        # single precision it is right to a few units in the last place.
        x = min(max(x, np.float32(-7.90531110763549805)), np.float32(7.90531110763549805))
        s = x * x
        p = np.float32(-2.76076847742355e-16)
        p = p * s + np.float32(2.00018790482477e-13)
        p = p * s + np.float32(-8.60467152213735e-11)
        p = p * s + np.float32(5.12229709037114e-08)
        p = p * s + np.float32(1.48572235717979e-05)
        p = p * s + np.float32(6.37261928875436e-04)
        p = p * s + np.float32(4.89352455891786e-03)
        q = np.float32(1.19825839466702e-06)
        q = q * s + np.float32(1.18534705686654e-04)
        q = q * s + np.float32(2.26843463243900e-03)
        q = q * s + np.float32(4.89352518554385e-03)
        return x * p / q

    return inspect.unwrap(rational)


@compile_native
def relu(x, zero):
    """ReLU. What is not a number stays that, so that divergence is seen."""
    return zero if x <= zero else x


@compile_native
def apply_layer(weight, bias, inputs, outputs):
    """`outputs` = `weight` @ `inputs` + `bias`."""
    for m in range(weight.shape[0]):
        total = bias[m]
        for i in range(weight.shape[1]):
            total += weight[m, i] * inputs[i]
        outputs[m] = total


@compile_native
def reverse_layer(weight, inputs, slope, weight_slope, bias_slope, input_slope):
    """Add the gradients of a layer, given the slope by its outputs; `input_slope` is set."""
    input_slope[:] = 0
    for m in range(weight.shape[0]):
        s = slope[m]
        if s != 0:
            bias_slope[m] += s
            for i in range(weight.shape[1]):
                weight_slope[m, i] += s * inputs[i]
                input_slope[i] += s * weight[m, i]
