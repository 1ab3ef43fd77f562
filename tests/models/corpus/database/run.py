"""A database connection that stays open, bound to the thread that made it."""

import sqlite3

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        self.db = sqlite3.connect(":memory:")  # refuses to be used from another thread
        self.db.execute("create table seen (text text unique, at integer)")

    def run(self, text: str) -> dict:
        with self.db:
            self.db.execute("insert into seen values (?, ?)", (text, len(text)))
        rows = self.db.execute("select text, at from seen order by rowid").fetchall()
        return {"rows": rows, "count": len(rows)}
