"""Logging as services configure it: dictConfig, a JSON formatter, child loggers, exceptions, warnings."""

import json
import logging
import logging.config
import warnings

from cog import BaseRunner


class JSONFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {"level": record.levelname, "logger": record.name, "text": record.getMessage()}
        if record.exc_info:
            entry["error"] = repr(record.exc_info[1])
        return json.dumps(entry)


logging.config.dictConfig(
    {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JSONFormatter}},
        "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stdout"}},
        "root": {"level": "INFO", "handlers": ["out"]},
        "loggers": {"quiet": {"level": "ERROR"}},
    }
)
logging.captureWarnings(True)
log = logging.getLogger("model.engine")


class Runner(BaseRunner):
    def setup(self) -> None:
        log.info("loaded %d layers", 3)

    def run(self, text: str) -> str:
        log.info("got %r", text)
        log.debug("not shown")
        logging.getLogger("quiet.child").warning("not shown")
        try:
            int(text)
        except ValueError:
            log.exception("no number")
        warnings.warn("old way", DeprecationWarning, stacklevel=1)
        logging.getLogger("quiet").error("last")
        return text
