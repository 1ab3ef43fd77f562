// Colours for the code: its strings and its keywords.

const WORDS = {
  curl: /\b(?:curl|base64|tr)\b/y,
  python: /\b(?:import|from|def|return|for|in|if|elif|with|as|or|None|True|False|print)\b/y,
  javascript: /\b(?:const|let|await|async|for|of|if|new|import|null|true|false)\b/y,
};
WORDS.openai = WORDS.python;

// The languages of code in Markdown, by their usual names there.
const LANGUAGES = { python: "python", py: "python", javascript: "javascript", js: "javascript", typescript: "javascript", ts: "javascript", json: "javascript", bash: "curl", sh: "curl", shell: "curl" };

// A string without an end is one, too: else it would be read again from each quote in it.
const STRING = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\.)*`?/y;
const SHELL_STRING = /"(?:[^"\\]|\\.)*"?|'[^']*'?/y;
const PLAIN = /[A-Za-z0-9_$.]+|[^"'`A-Za-z0-9_$]+|./sy;

// colored returns the code in pieces, some of which are elements; of an unknown language in one.
function colored(code, language) {
  if (!Object.hasOwn(WORDS, language)) return [code];
  const kinds = [["string", language === "curl" ? SHELL_STRING : STRING], ["word", WORDS[language]], ["", PLAIN]];
  const pieces = [];
  for (let at = 0; at < code.length; ) {
    for (const [className, pattern] of kinds) {
      pattern.lastIndex = at;
      const text = pattern.exec(code)?.[0];
      if (!text) continue;
      pieces.push(className ? make("span", { className }, text) : text);
      at += text.length;
      break;
    }
  }
  return pieces;
}
