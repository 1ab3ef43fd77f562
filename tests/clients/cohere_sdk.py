"""Ask the rankers of tests/models/generative.py by Cohere's clients, the newer and the older one: ADDRESS."""

import sys

import cohere

DOCUMENTS = ["b", "aaa", "aa"]


def main() -> None:
    address = sys.argv[1]
    for client in (cohere.ClientV2(api_key="any", base_url=address), cohere.Client(api_key="any", base_url=address)):
        answer = client.rerank(model="m", query="a", documents=DOCUMENTS)
        ranked = [(result.index, result.relevance_score) for result in answer.results]
        assert ranked == [(1, 0.3), (2, 0.2), (0, 0.0)], ranked
        assert answer.id and answer.meta.api_version.version, answer
        answer = client.rerank(model="m", query="a", documents=DOCUMENTS, top_n=1)
        assert [result.index for result in answer.results] == [1], answer
        try:
            client.rerank(model="other", query="a", documents=DOCUMENTS)
        except cohere.NotFoundError as error:
            assert "other" in error.body["message"], error.body
        else:
            raise AssertionError("got an answer of another model, want NotFoundError")
    old = cohere.Client(api_key="any", base_url=address)
    answer = old.rerank(model="m", query="a", documents=[{"text": "a"}], return_documents=True)
    assert answer.results[0].document.text == "a", answer


if __name__ == "__main__":
    main()
