"""An echo tool by LitServe: PORT."""

import sys

import litserve
from litserve.mcp import MCP
from pydantic import BaseModel


class Text(BaseModel):
    text: str


class Echo(litserve.LitAPI):
    def setup(self, device: str) -> None:
        """Nothing is to be loaded."""

    def decode_request(self, request: Text) -> str:
        return request.text

    def predict(self, text: str) -> str:
        return text

    def encode_response(self, output: str) -> dict:
        return {"text": output}


if __name__ == "__main__":
    api = Echo(mcp=MCP(name="echo", description="Return the text."))
    litserve.LitServer(api, accelerator="cpu").run(
        host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="error"
    )
