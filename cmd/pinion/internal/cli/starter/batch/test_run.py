"""Run it by: pinion python -m pytest"""

from run import Runner


def test_run():
    runner = Runner()
    runner.setup()
    assert runner.run(text=["Ada", "rhythm", "queue"]) == [2, 0, 4]
