"""Returns the array that comes, as MLServer's documentation writes a runtime of one's own."""

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class Array(MLModel):
    """MLServer's name for a model."""

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        array = self.decode(payload.inputs[0], default_codec=NumpyCodec)
        output = NumpyCodec.encode_output("output", array)
        return InferenceResponse(model_name=self.name, outputs=[output])
