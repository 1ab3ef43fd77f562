"""Messages in, a structured answer out, as with a chat completion."""

from typing import Any, Optional

from cog import BaseModel, BaseRunner, Input


class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int


class Message(BaseModel):
    role: str
    content: Optional[str] = None


class Completion(BaseModel):
    message: Message
    usage: Usage
    finish_reason: str = "stop"


class Runner(BaseRunner):
    def run(
        self,
        messages: list[dict[str, Any]] = Input(description="The conversation"),
        temperature: float = Input(default=1, ge=0, le=2),
        top_p: float = 1.0,
        stop: list[str] = [],
        logit_bias: dict[str, float] = {},
        seed: Optional[int] = None,
    ) -> Completion:
        for number, message in enumerate(messages):
            if message.get("role") not in ("system", "user", "assistant"):
                raise ValueError(f"messages[{number}]: unknown role {message.get('role')!r}")
        words = " ".join(m["content"] for m in messages).split()
        reply = " ".join(reversed(words))
        print(type(temperature).__name__, stop, logit_bias, seed)
        return Completion(
            message=Message(role="assistant", content=reply),
            usage=Usage(prompt_tokens=len(words), completion_tokens=len(words)),
            finish_reason="length" if len(words) > 3 else "stop",
        )
