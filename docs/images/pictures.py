"""Draws the pictures of the documents: python docs/images/pictures.py."""

from __future__ import annotations

from pathlib import Path

BLUE, GREEN, GRAY, AMBER, RED = "#e0f2fe", "#ecfccb", "#f1f5f9", "#fef3c7", "#fee2e2"


class Picture:
    """An SVG of boxes, arrows and words."""

    def __init__(self, name: str, about: str, width: int, height: int) -> None:
        self.name = name
        self.parts = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'font-family="system-ui, sans-serif" font-size="14" role="img" aria-label="{about}">'
            ),
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            (
                '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
                'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#475569"/></marker></defs>'
            ),
        ]

    def box(
        self, x: int, y: int, w: int, h: int, title: str, *lines: str, fill: str = GRAY
    ) -> None:
        """Draw a box with a title and lines."""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="{fill}" stroke="#475569" stroke-width="1.5"/>'
        )
        self.text(x + w / 2, y + 22, title, weight="bold")
        for at, line in enumerate(lines):
            self.text(x + w / 2, y + 44 + 20 * at, line)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        weight: str = "normal",
        anchor: str = "middle",
    ) -> None:
        """Write a line."""
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}" fill="#0f172a">{text}</text>'
        )

    def arrow(
        self,
        x1: int,
        y1: int,
        x2: int,
        y2: int,
        label: str = "",
        dashed: bool = False,
        both: bool = False,
    ) -> None:
        """Draw an arrow with words above its middle."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        start = ' marker-start="url(#a)"' if both else ""
        self.parts.append(
            f'<path d="M{x1} {y1} {x2} {y2}" fill="none" stroke="#475569" stroke-width="1.5"{dash}{start} marker-end="url(#a)"/>'
        )
        if label:
            self.text((x1 + x2) / 2, (y1 + y2) / 2 - 7, label)

    def bar(self, x: int, y: int, w: int, label: str, fill: str) -> None:
        """Draw a stretch of time."""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="26" rx="3" fill="{fill}" stroke="#475569"/>'
        )
        self.text(x + w / 2, y + 18, label)

    def write(self) -> None:
        """Write the file."""
        text = "\n".join([*self.parts, "</svg>"]) + "\n"
        (Path(__file__).parent / f"{self.name}.svg").write_text(text)


def request() -> Picture:
    """Draw the life of a request."""
    p = Picture("request", "The life of a request", 900, 300)
    p.box(20, 90, 110, 70, "Client", "HTTP")
    steps = [
        ("Read", "limits, tokens,", "body"),
        ("Check", "schema: 422", "files: download"),
        ("Admit", "a free slot,", "queue, or 409"),
        ("Run", "worker: Python,", "your function"),
        ("Answer", "output, logs,", "metrics"),
    ]
    for at, (title, *lines) in enumerate(steps):
        x = 180 + 144 * at
        p.box(x, 80, 120, 90, title, *lines, fill=GREEN if title == "Run" else BLUE)
        p.arrow(x - (50 if at == 0 else 24), 125, x - 2, 125)
    p.text(180, 60, "Front process (Go)", "bold", "start")
    p.text(612, 60, "Worker process", "bold", "start")
    p.arrow(816, 172, 816, 240)
    p.arrow(816, 240, 75, 240)
    p.arrow(75, 240, 75, 164)
    p.text(
        450,
        230,
        "JSON at the end, events while it runs, or webhooks and polls after 202",
    )
    p.text(450, 275, "a client that leaves, a deadline or a cancel stops it at any step")
    return p


def workers() -> Picture:
    """Draw workers, slots and the queue."""
    p = Picture("workers", "Queue, workers and slots", 860, 270)
    p.arrow(10, 125, 98, 125, "requests")
    p.box(100, 60, 250, 130, "Queue (--queue 4)", fill=BLUE)
    for at in range(4):
        p.box(
            118 + 56 * at,
            100,
            46,
            40,
            "" if at < 1 else "P",
            fill="#ffffff" if at < 1 else AMBER,
        )
    p.text(225, 172, "full: 429, no queue: 409")
    for at, y in enumerate((20, 150)):
        p.box(470, y, 370, 105, f"Worker {at}: one copy of the weights", fill=GREEN)
        for slot in range(4):
            p.box(
                490 + 86 * slot,
                y + 40,
                76,
                45,
                f"slot {slot}",
                fill=AMBER if slot < 3 + at else "#ffffff",
            )
        p.arrow(352, 125, 468, y + 55)
    return p


def fleet() -> Picture:
    """Draw a gateway and a fleet."""
    p = Picture("fleet", "Gateways, the job queue and servers", 880, 290)
    p.box(20, 100, 110, 70, "Clients", "Cog's API")
    for at, y in enumerate((40, 170)):
        p.box(210, y, 150, 70, f"Gateway {at + 1}", "no Python, no GPU", fill=BLUE)
        p.arrow(132, 135, 208, y + 35)
    p.box(
        450,
        70,
        170,
        150,
        "NATS JetStream",
        "jobs by priority",
        "results, states",
        "dead letters",
        "schema",
        fill=AMBER,
    )
    p.arrow(362, 75, 448, 120, both=True)
    p.arrow(362, 205, 448, 170, both=True)
    for at, y in enumerate((15, 110, 205)):
        p.box(710, y, 150, 70, f"Server {at + 1}", "front and workers", fill=GREEN)
        p.arrow(622, 145, 708, y + 35, both=True)
    return p


def batching() -> Picture:
    """Draw how batches form."""
    p = Picture("batching", "How batches form", 880, 240)
    p.text(20, 40, "requests", "bold", "start")
    p.text(20, 110, "model", "bold", "start")
    for at, x in enumerate((120, 200, 260, 300, 350, 470, 520, 560)):
        p.arrow(x, 30, x, 58)
        p.text(x, 22, str(at + 1))
    p.bar(120, 90, 230, "batch of 1: leaves at once", GREEN)
    p.bar(352, 90, 218, "batch of 4: 2 3 4 5", GREEN)
    p.bar(572, 90, 240, "batch of 3: 6 7 8", GREEN)
    p.arrow(20, 150, 860, 150)
    p.text(830, 170, "time")
    p.text(
        440,
        200,
        "A batch forms while the model is busy. A request that comes alone pays no wait.",
    )
    return p


def steps() -> Picture:
    """Draw sequences that join and leave between steps."""
    p = Picture("steps", "Sequences join and leave between steps", 880, 260)
    p.text(20, 22, "step", "bold", "start")
    for at in range(8):
        p.text(160 + 90 * at, 22, str(at + 1))
    rows = (("A", 0, 5, GREEN), ("B", 0, 8, BLUE), ("C", 2, 4, AMBER), ("D", 5, 8, GREEN))
    for row, (name, first, last, fill) in enumerate(rows):
        y = 40 + 40 * row
        p.text(20, y + 18, f"sequence {name}", anchor="start")
        for at in range(first, last):
            p.bar(117 + 90 * at, y, 86, "token", fill)
    p.text(
        440, 228, "Step 3 decodes A, B and C in one call. C leaves after step 4, A after step 5."
    )
    p.text(440, 248, "D arrived during step 5 and joins at step 6.")
    return p


def cancel() -> Picture:
    """Draw what a cancel does."""
    p = Picture("cancel", "What a cancel does", 880, 270)
    p.text(20, 50, "client", "bold", "start")
    p.text(20, 115, "model", "bold", "start")
    p.text(20, 190, "worker", "bold", "start")
    p.arrow(330, 40, 330, 90, "")
    p.text(330, 32, "cancel, disconnect or deadline")
    p.bar(110, 97, 220, "runs", GREEN)
    p.bar(332, 97, 90, "exception", AMBER)
    p.text(520, 115, "Python: ends in milliseconds", anchor="start")
    p.bar(110, 172, 220, "runs", GREEN)
    p.bar(332, 172, 260, "in C code: --cancel-grace, 10 s", AMBER)
    p.bar(594, 172, 50, "kill", RED)
    p.bar(646, 172, 180, "a new worker sets up", BLUE)
    p.text(
        440,
        245,
        "The client has its answer, canceled, when the model has stopped or its worker was killed.",
    )
    return p


def threads() -> Picture:
    """Draw a worker with threads."""
    p = Picture("threads", "Threads of one worker", 860, 250)
    p.box(20, 20, 400, 210, "--concurrency 4: one process", fill=GREEN)
    for at in range(4):
        p.box(40 + 92 * at, 60, 82, 60, f"thread {at}", "run()", fill=AMBER)
    p.box(
        40,
        140,
        358,
        70,
        "one copy of the weights",
        "one CUDA context, one self",
        fill="#ffffff",
    )
    p.text(640, 40, "--workers 4: four processes", "bold")
    for at in range(4):
        p.box(
            450 + 100 * at,
            60,
            90,
            150,
            f"worker {at}",
            "run()",
            "weights",
            "CUDA",
            "context",
            fill=GREEN,
        )
    return p


def models() -> Picture:
    """Draw models of one server that call each other."""
    p = Picture("models", "Models of one server, which call each other", 880, 300)
    p.box(20, 115, 110, 70, "Clients", "one port")
    p.box(
        190,
        80,
        130,
        140,
        "Front",
        "routes by name,",
        "checks, queues,",
        "batches, cancels,",
        "traces",
        fill=BLUE,
    )
    for y, title, lines, fill in (
        (20, "search", ("/models/search", "Python 3.10, 2 workers"), GREEN),
        (115, "embed", ("/models/embed", "Python 3.13, a GPU"), GREEN),
        (210, "embed@2", ("a new version", "10 % of the requests"), AMBER),
    ):
        p.box(450, y, 210, 75, title, *lines, fill=fill)
        p.arrow(322, 150, 448, y + 37, both=True)
    p.arrow(132, 150, 188, 150, both=True)
    p.text(680, 54, 'cog.call("embed")', anchor="start")
    p.text(680, 74, "goes through the front", anchor="start")
    p.text(680, 150, "a crash or a hang", anchor="start")
    p.text(680, 170, "stays its own", anchor="start")
    p.text(680, 245, "promote it, or return,", anchor="start")
    p.text(680, 265, "without a lost request", anchor="start")
    return p


def start() -> Picture:
    """Draw what happens side by side while a model starts."""
    p = Picture("start", "What happens side by side while a model starts", 900, 330)
    left = 190
    for y, who, bars in (
        (
            50,
            "Front",
            (
                (0, 40, "port", BLUE),
                (40, 600, "answers health, queues requests", GRAY),
                (640, 50, "READY", GREEN),
            ),
        ),
        (90, "Weights", ((40, 280, "fetch, check, place", AMBER),)),
        (130, "Worker: CUDA", ((40, 150, "start the driver", RED),)),
        (
            170,
            "Worker: Python",
            (
                (40, 50, "start", BLUE),
                (90, 230, "import the model", BLUE),
                (320, 220, "setup()", GREEN),
                (540, 100, "example", GRAY),
            ),
        ),
        (250, "A fork after setup", ((640, 20, "", GREEN),)),
    ):
        p.text(left - 12, y + 18, who, anchor="end")
        for x, w, label, fill in bars:
            p.bar(left + x, y, w, label, fill)
    p.text(left + 320, 222, "setup() begins when the import has ended and the weights are there")
    p.text(left + 630, 268, "--preload=setup: each later worker, in milliseconds", anchor="end")
    p.arrow(left, 305, left + 690, 305, "time")
    return p


if __name__ == "__main__":
    for draw in (request, workers, fleet, batching, steps, cancel, threads, models, start):
        draw().write()
