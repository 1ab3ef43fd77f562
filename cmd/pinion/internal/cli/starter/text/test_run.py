"""Run it by: pinion python -m pytest"""

from run import Runner


def test_run():
    runner = Runner()
    runner.setup()
    assert runner.run(name="Ada", times=2) == "hello Ada hello Ada"
