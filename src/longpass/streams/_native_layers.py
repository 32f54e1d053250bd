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


def sigmoid(x):
    """The logistic function; overloaded below."""
    return 0.5 * math.tanh(0.5 * x) + 0.5


def _make_rational(scale, offset):
    """`scale` tanh(`scale` x) + `offset` in single precision.

    A quotient of polynomials, as XLA and Eigen have it: vector units compute it, and it is right to
    a few units in the last place. A `scale` that is a power of 2 leaves the coefficients exact.
    """
    most = np.float32(7.90531110763549805 / scale)
    least = -most
    p13 = np.float32(-2.76076847742355e-16 * scale**14)
    p11 = np.float32(2.00018790482477e-13 * scale**12)
    p9 = np.float32(-8.60467152213735e-11 * scale**10)
    p7 = np.float32(5.12229709037114e-08 * scale**8)
    p5 = np.float32(1.48572235717979e-05 * scale**6)
    p3 = np.float32(6.37261928875436e-04 * scale**4)
    p1 = np.float32(4.89352455891786e-03 * scale**2)
    q6 = np.float32(1.19825839466702e-06 * scale**6)
    q4 = np.float32(1.18534705686654e-04 * scale**4)
    q2 = np.float32(2.26843463243900e-03 * scale**2)
    q0 = np.float32(4.89352518554385e-03)
    shift = np.float32(offset)

    def rational(x):
        x = min(max(x, least), most)
        s = x * x
        p = (((((p13 * s + p11) * s + p9) * s + p7) * s + p5) * s + p3) * s + p1
        q = ((q6 * s + q4) * s + q2) * s + q0
        return x * p / q + shift

    return inspect.unwrap(rational)


@overload(tanh, jit_options=ARITHMETIC)  # pyright: ignore[reportArgumentType]
def _compile_tanh(x):
    if x == types.float32:
        return _make_rational(1.0, 0.0)
    return lambda x: math.tanh(x)


@overload(sigmoid, jit_options=ARITHMETIC)  # pyright: ignore[reportArgumentType]
def _compile_sigmoid(x):
    if x == types.float32:
        return _make_rational(0.5, 0.5)
    return lambda x: 0.5 * math.tanh(0.5 * x) + 0.5


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
