"""Have the Agent SDK read a file, by a model that calls the tool that it is told: ADDRESS."""

import asyncio
import json
import sys
from pathlib import Path

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage, TextBlock, ToolUseBlock, query


async def main() -> None:
    file = Path("note.txt").absolute()
    file.write_text("a note")
    options = ClaudeAgentOptions(
        model="m", max_turns=4, allowed_tools=["Read"], cwd=".",
        env={
            "ANTHROPIC_BASE_URL": sys.argv[1], "ANTHROPIC_API_KEY": "any", "HOME": str(Path.cwd()),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        },
    )
    blocks, result = [], None
    async for message in query(prompt="call Read " + json.dumps({"file_path": str(file)}), options=options):
        if isinstance(message, AssistantMessage):
            blocks += message.content
        if isinstance(message, ResultMessage):
            result = message
    called = [block.name for block in blocks if isinstance(block, ToolUseBlock)]
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    assert called == ["Read"] and "the tool said: " in text and "a note" in text, blocks
    assert result is not None and not result.is_error, result


asyncio.run(main())
