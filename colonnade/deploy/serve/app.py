"""The service over HTTP: POST /predict, GET /health, /metrics and /openapi.json."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr
from starlette.middleware.trustedhost import TrustedHostMiddleware

from colonnade import __version__
from colonnade.deploy.serve.guard import Guard, log
from colonnade.deploy.serve.numbers import Numbers
from colonnade.deploy.serve.predictor import Prediction, Predictor
from colonnade.errors import ColonnadeError, DataError

LOOPBACK = ["127.0.0.1", "localhost", "::1", "[::1]"]
Scalar = bool | int | float | str


class Question(BaseModel):
    """Rows to predict."""

    model_config = ConfigDict(extra="forbid")
    ids: Annotated[list[StrictInt | StrictStr], Field(min_length=1, description="Ids of rows, all text or all numbers")]


class Answer(BaseModel):
    """Predictions in the order of the ids."""

    predictions: list[Scalar | None] = Field(description="The most probable class, or the target; null if unknown")
    probabilities: list[list[float] | None] | None = Field(description="By class; null for regression")
    classes: list[Scalar] = Field(description="In the order of the probabilities")
    unknown: list[int] = Field(description="Positions of ids that no party holds")
    absent: dict[str, int] = Field(description="Rows that were predicted without a party, by party")
    unreachable: list[str] = Field(description="Parties that did not answer")


class Health(BaseModel):
    """Whether predictions are made, and with all parties."""

    status: str = Field(description="ok, or degraded: some party does not answer")


def create_app(
    predictor: Predictor, *, token: str | None = None, max_ids: int = 1000, max_bytes: int = 1 << 20
) -> FastAPI:
    """The service as an ASGI application; without a token it answers to loopback names alone."""
    app = FastAPI(title=f"Colonnade: {predictor.method}", version=__version__, docs_url=None, redoc_url=None)
    numbers = Numbers(predictor)
    locked = [] if token is None else [Depends(HTTPBearer(auto_error=False))]  # for /openapi.json; Guard checks it

    @app.post("/predict", dependencies=locked)
    def predict(question: Question, request: Request) -> Answer:
        """Gather the parties' representations of these rows, and predict."""
        request.state.ids = len(question.ids)
        if len(question.ids) > max_ids:
            raise HTTPException(413, f"{len(question.ids)} ids were given, and at most {max_ids} are answered at once.")
        with numbers.seconds.time():
            prediction = predictor.predict(question.ids)
        numbers.count(len(question.ids), prediction)
        return answer(predictor, prediction)

    @app.get("/health")
    def health() -> Health:
        """Whether the service is there. Needs no token."""
        return Health(status="degraded" if predictor.unreachable() else "ok")

    @app.get("/metrics", dependencies=locked, response_class=Response)
    def metrics() -> Response:
        """Numbers in the text format of Prometheus."""
        return Response(numbers.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(ColonnadeError, _failed)
    if token is None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK, www_redirect=False)
    app.add_middleware(Guard, token=token, max_bytes=max_bytes)  # the last added is the first asked
    return app


def answer(predictor: Predictor, prediction: Prediction) -> Answer:
    """A prediction as JSON holds it."""
    unknown = set(prediction.unknown)
    known = [i not in unknown for i in range(len(prediction.values))]
    values: list[Any] = prediction.values.tolist()
    regression = predictor.task == "regression"
    said = values if regression else [predictor.classes[i] for i in prediction.values.argmax(axis=1)]
    return Answer(
        predictions=[one if there else None for one, there in zip(said, known, strict=True)],
        probabilities=None if regression else [p if there else None for p, there in zip(values, known, strict=True)],
        classes=predictor.classes,
        unknown=list(prediction.unknown),
        absent=prediction.absent,
        unreachable=list(prediction.unreachable),
    )


async def _malformed(request: Request, error: Exception) -> Response:
    """Where the request is wrong and why, without giving its content back."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    return JSONResponse({"detail": [{key: one[key] for key in ("loc", "msg", "type")} for one in found]}, 422)


async def _failed(request: Request, error: Exception) -> Response:
    """Ids of the wrong type, or a party whose answer broke the rules."""
    status = 422 if isinstance(error, DataError) else 503
    log.warning("refused: %s", type(error).__name__)
    return JSONResponse({"detail": str(error)}, status)
