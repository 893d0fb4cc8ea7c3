"""A module as an ONNX graph: named inputs, any number of rows, text categories where they are asked for."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from colonnade.errors import ConfigError, MissingDependencyError

if TYPE_CHECKING:
    import onnx

CODES = "category_codes"  # inside the graph, where categories are read as text


def need_onnx() -> None:
    """Refuse with the way out where a package is absent."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"export needs the package {error.name!r}. Install it: pip install 'colonnade[onnx]'"
        ) from None


def to_graph(module: nn.Module, inputs: Mapping[str, Tensor], output: str, where: str) -> onnx.ModelProto:
    """The module's graph; `where` names its owner in an error."""
    rows = torch.export.Dim("rows")
    with _quiet():
        try:
            program = torch.onnx.export(
                module, tuple(inputs.values()), dynamo=True, verbose=False, external_data=False,
                input_names=list(inputs), output_names=[output],
                dynamic_shapes=(tuple({0: rows} for _ in inputs),),
            )  # fmt: skip
        except Exception as error:  # torch.export has no base of its own for what it cannot follow
            raise ConfigError(
                f"{where} cannot be exported to ONNX: {_reason(error)}. Write it without branches on values and "
                f"without fixed numbers of rows; torch.export.export shows which line is meant."
            ) from error
    if program is None:
        raise ConfigError(f"{where} cannot be exported to ONNX: the exporter gave no graph. Try another torch version.")
    model = program.model_proto
    _strip(model)
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's remarks about packages that are not there."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _reason(error: BaseException) -> str:
    """The first line of what lies behind."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].rstrip('.') if lines else 'no reason given'}"


def _strip(model: onnx.ModelProto) -> None:
    """Take out what the exporter notes beside each node: stack traces with the paths of this machine."""
    graph = model.graph
    for items in (graph.node, graph.input, graph.output, graph.initializer, graph.value_info):
        for item in items:
            del item.metadata_props[:]
            item.ClearField("doc_string")
    for part in (model, graph):
        del part.metadata_props[:]
        part.ClearField("doc_string")


def read_text(model: onnx.ModelProto, vocabularies: Sequence[Sequence[str]]) -> None:
    """Let the graph read categories as text, (B, Q), and find their codes itself; text that is unknown has code 0."""
    from onnx import TensorProto, helper

    graph = model.graph
    at = [value.name for value in graph.input].index(CODES)
    del graph.input[at]
    graph.input.insert(at, helper.make_tensor_value_info("categories", TensorProto.STRING, ["rows", len(vocabularies)]))
    nodes = []
    for q, known in enumerate(vocabularies):
        graph.initializer.append(helper.make_tensor(f"field_{q}", TensorProto.INT64, [1], [q]))
        keys, codes = (list(known), list(range(1, len(known) + 1))) if known else ([""], [0])
        nodes += [
            helper.make_node("Gather", ["categories", f"field_{q}"], [f"text_{q}"], axis=1),
            helper.make_node(
                "LabelEncoder", [f"text_{q}"], [f"code_{q}"], domain="ai.onnx.ml",
                keys_strings=keys, values_int64s=codes, default_int64=0,
            ),
        ]  # fmt: skip
    nodes.append(helper.make_node("Concat", [f"code_{q}" for q in range(len(vocabularies))], [CODES], axis=1))
    for node in reversed(nodes):
        graph.node.insert(0, node)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))


def describe(model: onnx.ModelProto, facts: Mapping[str, Any]) -> None:
    """Put facts into the file's metadata; what is no text goes in as JSON."""
    from onnx import helper

    helper.set_model_props(
        model, {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in facts.items()}
    )
