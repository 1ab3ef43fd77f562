"""Stream an answer of examples/chat with OpenAI's client: client.py TEXT [ADDRESS]."""

import sys

import openai


def main() -> None:
    text = sys.argv[1] if len(sys.argv) > 1 else "The return statement"
    address = sys.argv[2] if len(sys.argv) > 2 else "http://localhost:5000"
    client = openai.OpenAI(base_url=address + "/v1", api_key="any")
    stream = client.chat.completions.create(
        model="chat",
        messages=[{"role": "user", "content": text}],
        temperature=0,
        max_tokens=20,
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        for choice in chunk.choices:
            print(choice.delta.content or "", end="", flush=True)
        if chunk.usage:
            print(f"\n({chunk.usage.prompt_tokens} + {chunk.usage.completion_tokens} tokens)")


if __name__ == "__main__":
    main()
