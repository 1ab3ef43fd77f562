"""A chat model that clients of OpenAI's API can call. `cog` comes with the server."""

from collections.abc import Iterator

from cog import BaseRunner, Input, openai


class Runner(BaseRunner):
    """Answers with the words of the last message in reverse order. Replace it by your language model."""

    def setup(self) -> None:
        """Load the weights and the tokenizer. Called once, before the first prediction."""

    @openai("chat")
    def run(
        self,
        messages: list[dict],
        max_tokens: int = Input(default=100, description="Most words of the answer", ge=1),
    ) -> Iterator[str]:
        """Answer the last message. Each piece is sent when it is yielded."""
        question = messages[-1]["content"].split()
        self.record_metric("input_token_count", len(question))
        for n, word in enumerate(reversed(question[-max_tokens:])):
            self.record_metric("output_token_count", n + 1)
            yield word if n == 0 else " " + word
