"""Run it by: pinion python -m pytest"""

from run import Runner


def test_run():
    messages = [{"role": "user", "content": "one two three"}]
    assert list(Runner().run(messages=messages, max_tokens=2)) == ["three", " two"]
