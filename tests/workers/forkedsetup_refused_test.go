package workers

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// unforkableModel keeps what KEEPS names in its setup; "closed" is what a fork may have.
const unforkableModel = `import os
from cog import BaseRunner

ready = []


class Runner(BaseRunner):
    def setup(self) -> None:
        getattr(self, os.environ["KEEPS"])()

    def run(self) -> bool:
        return True

    def loop(self):
        import asyncio
        self.kept = asyncio.new_event_loop()

    def socket(self):
        import socket
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.kept = socket.create_connection(self.listener.getsockname())

    def unix(self):
        import socket
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("ear.sock")
        listener.listen()
        self.kept = socket.socket(socket.AF_UNIX)
        self.kept.connect("ear.sock")
        os.unlink("ear.sock")

    def sqlite(self):
        import sqlite3
        self.kept = sqlite3.connect("rows.db")
        self.kept.execute("create table if not exists rows (id)")

    def lock(self):
        import threading
        self.lock_of_setup = threading.Lock()
        self.lock_of_setup.acquire()

    def flock(self):
        import fcntl
        self.kept = open("held", "w")
        fcntl.flock(self.kept, fcntl.LOCK_EX)

    def thread(self):
        import threading
        threading.Thread(target=threading.Event().wait, name="watcher", daemon=True).start()

    def file(self):
        self.kept = open(__file__)

    def zip(self):
        import zipfile
        with zipfile.ZipFile("packed.zip", "w") as packed:
            packed.writestr("a", "b")
        self.kept = zipfile.ZipFile("packed.zip")

    def process(self):
        import subprocess
        self.kept = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def closed(self):
        import multiprocessing, subprocess
        subprocess.run(["true"])
        self.ended = subprocess.Popen(["true"], stdout=subprocess.PIPE)
        self.ended.stdout.read()
        self.semaphore = multiprocessing.Semaphore()  # whose tracker is a process
        import asyncio, mmap, socket, sqlite3, threading
        asyncio.run(asyncio.sleep(0))
        ends = socket.socketpair()
        self.ends = ends
        memory = sqlite3.connect(":memory:")
        memory.execute("create table rows (id)")
        self.memory = memory
        rows = sqlite3.connect("rows.db")
        rows.execute("create table rows (id)")
        rows.close()
        with threading.Lock():
            self.free = threading.Lock()
        listener = socket.create_server(("127.0.0.1", 0))
        socket.create_connection(listener.getsockname())  # nothing keeps it
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.connect(("127.0.0.1", 9))
        with open(__file__, "r+b") as file:
            self.mapped = mmap.mmap(file.fileno(), 0)
        self.log = open("log.txt", "a")
        open(__file__).read()


class Async(Runner):
    async def setup(self) -> None:
        import asyncio
        self.kept = asyncio.get_running_loop()

    async def run(self) -> bool:
        return True
`

// TestForkedSetup_WhatCannotBeForked is refused by its name, and the model served with its setup in each worker.
func TestForkedSetup_WhatCannotBeForked(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for keeps, reason := range map[string]string{
			"loop": "keeps an open event loop, which a fork cannot share: open it in after_fork()", "socket": "keeps a connection to 127.0.0.1:",
			"unix": "keeps a connection to ear.sock", "sqlite": "keeps the SQLite file /", "lock": "keeps the lock self.lock_of_setup, which is held",
			"flock": "keeps a lock on /", "thread": "leaves 1 thread running (watcher), which a fork would not have: start them in after_fork()",
			"file": "keeps the open file /", "zip": "packed.zip, which a fork cannot share: open it in after_fork()",
			"process": "leaves other processes running (cat), which workers would share: start them in after_fork()",
			"async":   "keeps the event loop of its setup", "closed": "",
		} {
			model := "run.py:Runner"
			if keeps == "async" {
				model = "run.py:Async"
			}
			s := harness.Ready(t, harness.Options{
				Dir: harness.NewFolder(t, "run.py", unforkableModel), Python: python.Path, Model: model,
				Args: []string{"--preload=setup"}, Env: []string{"KEEPS=" + keeps},
			})
			wantForkedSetup(t, s, keeps, reason)
			harness.EqualJSON(t, keeps, s.Succeed(harness.Input{}).Output, "true")
			s.Stop()
		}
	})
}

// wantForkedSetup fails unless workers are forked after the setup, or that is refused for a reason.
func wantForkedSetup(t *testing.T, s *harness.Server, what, reason string) {
	t.Helper()
	got := preloadProcess(t, s)
	assert.Equal(t, fmt.Sprintf("%s: workers are forked after the setup, of %+v", what, got), got.Setup, reason == "")
	if reason == "" {
		assert.True(t, got.Forked > 0, "%s: got no fork: %+v", what, got)
		return
	}
	assert.Contains(t, what+": the reason", got.Reason, reason)
	wantLog(t, s, "no worker can be forked after the setup", reason)
}
