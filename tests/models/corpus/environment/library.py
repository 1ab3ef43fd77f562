import os

settings = {name: os.environ.get(name, "-") for name in ("HF_HOME", "DEBUG")}
