"""Plain loops in double precision, for comparison: nothing here is taken from the package."""

import math

import numpy as np


def linear(x, weight, bias=None):
    out = np.zeros((len(x), len(weight)))
    for i, row in enumerate(x):
        for o, w in enumerate(weight):
            out[i, o] = sum(a * b for a, b in zip(row, w, strict=True)) + (0.0 if bias is None else bias[o])
    return out


def batch_norm(x, gain, shift, eps=1e-5):
    out = np.empty_like(x)
    for j in range(x.shape[1]):
        column = [float(v) for v in x[:, j]]
        mean = sum(column) / len(column)
        variance = sum((v - mean) ** 2 for v in column) / len(column)
        for i, v in enumerate(column):
            out[i, j] = gain[j] * (v - mean) / math.sqrt(variance + eps) + shift[j]
    return out


def relu(x):
    return np.where(x > 0, x, 0.0)


def cosine(a, b):
    dot = sum(u * v for u, v in zip(a, b, strict=True))
    return dot / math.sqrt(sum(u * u for u in a)) / math.sqrt(sum(v * v for v in b))


def unit(rows):
    """Each row divided by its length."""
    return np.array([[v / math.sqrt(sum(u * u for u in row)) for v in row] for row in rows])


def two_layers(x, p, name):
    """Linear, ReLU, Linear, as `mlp` names them."""
    hidden = relu(linear(x, p[f"{name}.0.weight"], p[f"{name}.0.bias"]))
    return linear(hidden, p[f"{name}.2.weight"], p[f"{name}.2.bias"])


def two_normed_layers(x, p, name):
    """Linear, batch norm, ReLU, Linear."""
    hidden = linear(x, p[f"{name}.0.weight"])
    hidden = relu(batch_norm(hidden, p[f"{name}.1.weight"], p[f"{name}.1.bias"]))
    return linear(hidden, p[f"{name}.3.weight"], p[f"{name}.3.bias"])


def three_normed_layers(x, p, name):
    """Linear, batch norm, ReLU, twice; then Linear and batch norm."""
    for i in (0, 3, 6):
        x = linear(x, p[f"{name}.{i}.weight"])
        x = batch_norm(x, p[f"{name}.{i + 1}.weight"], p[f"{name}.{i + 1}.bias"])
        x = relu(x) if i < 6 else x
    return x


def encode(x, p, name="encoder"):
    """The encoder of these tests: one linear layer."""
    return linear(x, p[f"{name}.weight"], p[f"{name}.bias"])


def parameters(module):
    """Copies of the trained parameters, by name."""
    return {n: p.detach().numpy().copy() for n, p in module.named_parameters() if p.requires_grad}


def central_differences(loss, values, step=1e-6):
    """Gradient of `loss(values)` with respect to each entry of each array of the dict."""
    gradients = {}
    for name, array in values.items():
        slope = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            kept = array[at]
            array[at] = kept + step
            above = loss(values)
            array[at] = kept - step
            below = loss(values)
            array[at] = kept
            slope[at] = (above - below) / (2 * step)
        gradients[name] = slope
    return gradients


def assert_same_loss_and_gradient(objective, drawn, slow):
    """`slow(p)` is the loss for parameters p; `slow` itself decides what it holds constant."""
    assert_same_value_and_gradient(objective, objective(*drawn), slow)


def assert_same_value_and_gradient(objective, loss, slow):
    """The same for a loss that some other method of the objective has computed."""
    p = parameters(objective)
    loss.backward()
    assert loss.ndim == 0
    assert math.isclose(loss.item(), slow(p), rel_tol=1e-9, abs_tol=1e-11)
    expected = central_differences(slow, p)
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            np.testing.assert_allclose(parameter.grad.numpy(), expected[name], rtol=1e-4, atol=1e-7, err_msg=name)
