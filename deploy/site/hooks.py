"""Makes the documents of the repository a site: what lies outside docs/ becomes pages too."""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")

# Documents that are pages of another address on the site. Its home is that of the repository.
OUTSIDE = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "ipc/PROTOCOL.md": "protocol.md",
}


# Code of the documents has up to 120 columns: the page is as wide as that needs, and longer lines break.
STYLE = """.md-grid { max-width: 84rem; }
.md-typeset pre > code { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (min-width: 60em) {
  .md-typeset table:not([class]) { display: table; }
  .md-typeset table:not([class]) td { overflow-wrap: anywhere; }
  .md-typeset table:not([class]) td:first-child code { white-space: pre-wrap; word-break: normal; overflow-wrap: break-word; }
}
"""

# The language of an indented block of code, by what it begins a line with; the first that fits.
LANGUAGES = {
    "python": r"(from|import|class|def|async def|@|with|for|try:|return) ?\S",
    "json": r"[{\[]",
    "console": r"\$ ",
    "docker": r"(FROM|RUN|COPY) \S",
    "bash": r"(\./|#!|[A-Z_]+=\S|(export|cd|pinion|bin/|\S*pip|\S*python3?|curl|docker|kubectl|helm|apt-get|sh|git|uv|nats|printf) )",
    "nginx": r"\w+ .*[;{]$",
    "yaml": r"[\w./-]+:( |$)",
}
CODE = re.compile(r"<pre>(?:<span></span>)?<code>(.*?)</code></pre>", re.DOTALL)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Colour the blocks of code, which name no language."""

    def colour(match: re.Match[str]) -> str:
        code = html.unescape(match[1])
        name = next(
            (
                name
                for name, begin in LANGUAGES.items()
                if re.search(rf"^ *{begin}", code, re.MULTILINE)
            ),
            "text",
        )
        return highlight(code, get_lexer_by_name(name), HtmlFormatter(wrapcode=True))

    return CODE.sub(colour, content)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside docs/, and the style of the site."""
    files.remove(files.get_file_from_path("README.md"))
    files.append(File.generated(config, "site.css", content=STYLE))
    for path, address in OUTSIDE.items():
        text = (ROOT / path).read_text()
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links of the repository to pages of the site."""
    address = page.file.src_uri
    here = next((path for path, at in OUTSIDE.items() if at == address), f"docs/{address}")

    def point(match: re.Match[str]) -> str:
        image, text, target = match.groups()
        path, mark, heading = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return match.group(0)
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
        if not (ROOT / wanted).exists():
            return match.group(0)  # the build names it
        on_site = OUTSIDE.get(wanted) or wanted.removeprefix("docs/")
        if wanted in OUTSIDE or (wanted.startswith("docs/") and (ROOT / wanted).is_file()):
            relative = posixpath.relpath(on_site, posixpath.dirname(address) or ".")
            return f"{image}[{text}]({relative}{mark}{heading})"
        if config.repo_url:
            return f"{image}[{text}]({config.repo_url.rstrip('/')}/blob/HEAD/{wanted})"
        return text

    return LINK.sub(point, markdown)
