"""Ask examples/chat by four APIs with their own clients: clients.py TEXT [ADDRESS]."""

import sys

import anthropic
import openai
import replicate


def main() -> None:
    text = sys.argv[1] if len(sys.argv) > 1 else "The return statement"
    address = sys.argv[2] if len(sys.argv) > 2 else "http://localhost:5000"
    messages = [{"role": "user", "content": text}]

    client = openai.OpenAI(base_url=address + "/v1", api_key="any")
    response = client.responses.create(
        model="chat", input=text, temperature=0, max_output_tokens=20
    )
    show("OpenAI Responses", response.output_text)

    answer = client.chat.completions.create(
        model="chat", messages=messages, temperature=0, max_tokens=20
    )
    show("OpenAI chat", answer.choices[0].message.content)

    message = anthropic.Anthropic(base_url=address, api_key="any").messages.create(
        model="chat", messages=messages, max_tokens=20, extra_body={"temperature": 0}
    )
    show("Anthropic", message.content[0].text)

    words = replicate.Client(base_url=address, api_token="any").run(
        "examples/chat", input={"messages": messages, "temperature": 0, "max_tokens": 20}
    )
    show("Replicate", "".join(words))


def show(api: str, text: str) -> None:
    print(f"{api}: {' '.join(text.split())}")


if __name__ == "__main__":
    main()
