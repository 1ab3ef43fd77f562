"""Run it by: pinion python -m pytest"""

from run import Runner


def test_run():
    runner = Runner()
    runner.setup()
    chances = runner.run(petal_length=1.4, petal_width=0.2)
    assert max(chances, key=chances.get) == "setosa"
