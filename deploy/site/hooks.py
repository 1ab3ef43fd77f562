"""Makes the documents of the repository a site: what lies outside docs/ becomes pages too."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")

# Documents outside docs/ that are pages, by the address that each has on the site.
OUTSIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "ipc/PROTOCOL.md": "protocol.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside docs/, and let README.md of docs/ be the index."""
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
