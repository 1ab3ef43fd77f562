// A conversation with a chat function (@cog.openai("chat")). It is another view of the input "messages": the last message of
// the user is the draft, those before it are the history. So the form, the code and links have the conversation, too.

const chatField = () => (openAIEndpoint() === "chat" && !isTraining() ? fields.find((f) => f.name === "messages") : undefined);
const isMessages = (value) => Array.isArray(value) && value.every((m) => isRecord(m) && typeof m.role === "string");
const messagesOf = (field) => (isMessages(field.get()) ? field.get() : []);

// parted returns the parts of the conversation: the system prompt, the history and the draft.
function parted(field) {
  const all = messagesOf(field);
  const system = all[0]?.role === "system" ? all[0].content : "";
  const said = all.slice(system ? 1 : 0);
  const last = said.at(-1);
  const draft = last?.role === "user" && typeof last.content === "string" ? said.pop().content : "";
  return { system, said, draft };
}

function setTalk({ system, said, draft }) {
  chatField().set([...(system ? [{ role: "system", content: system }] : []), ...said, ...(draft ? [{ role: "user", content: draft }] : [])]);
}

const chat = { log: null, draft: null, system: null, bubble: null, asked: null }; // asked is the conversation that is being answered

function makeChat() {
  chat.log = make("div", { id: "talk", role: "log", "aria-label": "Conversation", tabIndex: 0 });
  chat.draft = make("textarea", { id: "draft", rows: 1, placeholder: "Write a message", "aria-label": "Message" });
  chat.system = make("textarea", { id: "system", rows: 2, placeholder: "None" });
  const send = make("button", { type: "submit", id: "send" }, "Send");
  const halt = make("button", { type: "button", id: "halt", className: "plain", hidden: true }, "Stop");
  const again = make("button", { type: "button", id: "anew", className: "plain" }, "New conversation");
  const form = make("form", { id: "composer" }, chat.draft, make("p", { className: "choices" }, send, halt, again));
  const label = make("div", { className: "label" }, make("label", { for: "system" }, "System prompt"), make("span", { className: "type" }, "optional"));
  $("fields").before(make("div", { id: "instructions", className: "field" }, label, chat.system));
  $("chat").replaceChildren(chat.log, form);
  const change = (part) => {
    const field = chatField();
    setTalk({ ...parted(field), ...part });
    showCode();
    rememberInputs();
  };
  chat.draft.addEventListener("input", () => chat.bubble || change({ draft: chat.draft.value })); // the input has the question until its answer ends
  chat.system.addEventListener("input", () => change({ system: chat.system.value }));
  chat.draft.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.shiftKey || e.ctrlKey || e.metaKey || e.isComposing) return;
    e.preventDefault();
    sendMessage();
  });
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    sendMessage();
  });
  halt.addEventListener("click", stop);
  again.addEventListener("click", () => {
    if (running) return;
    setTalk({ system: chat.system.value, said: [], draft: "" });
    forgetResult();
    formChanged();
    chat.draft.focus();
  });
}

// openChat shows the tab where the model has a conversation, before the form.
function openChat() {
  const field = chatField();
  const main = document.querySelector("main"), isFirst = main.firstElementChild === $("side");
  document.body.classList.toggle("talks", Boolean(field));
  if (isFirst !== Boolean(field)) main[field ? "prepend" : "append"]($("side")); // so that the order of the Tab key is that of the screen
  $("tab-chat").hidden = !field;
  if (!field) return shownTab() === "chat" && showTab("result");
  if (!chat.log) {
    makeChat();
    showTab("chat");
  }
  showTalk();
}

// showTalk shows the conversation as the input has it.
function showTalk() {
  const field = chatField();
  if (!field || !chat.log || running) return;
  const { system, said, draft } = parted(field);
  if (chat.draft.value !== draft) chat.draft.value = draft;
  if (chat.system.value !== system) chat.system.value = system;
  const source = JSON.stringify(said);
  if (chat.shown === source) return;
  chat.shown = source;
  $("anew").hidden = !said.length;
  chat.log.replaceChildren(...said.map(bubbleOf));
  const last = said.at(-1);
  if (last?.role === "assistant") chat.log.lastChild.append(make("p", { className: "choices" }, againButton()));
  chat.log.scrollTop = chat.log.scrollHeight;
}

// againButton returns a button that asks for another answer to the last message.
function againButton() {
  const button = make("button", { type: "button", className: "plain" }, "Answer again");
  button.addEventListener("click", () => {
    if (running) return;
    const { system, said } = parted(chatField());
    const question = said.findLastIndex((m) => m.role === "user");
    if (question < 0) return;
    setTalk({ system, said: said.slice(0, question), draft: textOfContent(said[question].content) });
    formChanged();
    sendMessage();
  });
  return button;
}

const textOfContent = (content) => (typeof content === "string" ? content : Array.isArray(content) ? content.map((part) => part?.text ?? "").join("") : "");

function bubbleOf({ role, content, tool_calls: calls }) {
  const text = make("div", { className: "markdown" });
  showMarkdown(text, textOfContent(content));
  const pictures = (Array.isArray(content) ? content : []).map((part) => part?.image_url?.url).filter((url) => typeof url === "string" && mediaKind(url) === "image");
  text.append(...pictures.map((src) => make("img", { src, alt: "Attached picture" })));
  if (calls) text.append(make("pre", { tabIndex: 0 }, JSON.stringify(calls, null, 2)));
  return make("article", { className: `bubble ${role}` }, make("h3", { className: "unseen" }, role), text);
}

function sendMessage() {
  if (running || !chatField() || !chat.draft.value.trim()) return;
  showTab("chat");
  run();
}

// beginAnswer shows the question and an empty answer, to which the model's text is appended.
function beginAnswer() {
  if (!chatField() || !chat.log) return;
  const { said, draft } = parted(chatField());
  chat.asked = draft ? [...said, { role: "user", content: draft }] : said;
  chat.log.querySelector(".choices")?.remove();
  if (draft) chat.log.append(bubbleOf({ role: "user", content: draft }));
  chat.bubble = bubbleOf({ role: "assistant", content: "" });
  chat.bubble.setAttribute("aria-busy", "true");
  chat.log.append(chat.bubble);
  chat.draft.value = "";
  chat.shown = null;
  $("send").hidden = $("anew").hidden = true;
  $("halt").hidden = false;
  chat.log.scrollTop = chat.log.scrollHeight;
}

// chatText is the text of an output: texts, or messages and their deltas.
function chatText(output) {
  if (Array.isArray(output)) return output.map(chatText).join("");
  return typeof output === "string" ? output : textOfContent(output?.content ?? "");
}

function showAnswer(output) {
  if (!chat.bubble) return;
  const atEnd = chat.log.scrollHeight - chat.log.scrollTop - chat.log.clientHeight < 40;
  showMarkdown(chat.bubble.querySelector(".markdown"), chatText(output));
  if (atEnd) chat.log.scrollTop = chat.log.scrollHeight;
}

// endAnswer puts the answer into the conversation. If there is none, the question stays to be sent again, before what was
// written meanwhile.
function endAnswer({ result, chunks, pace }) {
  if (!chat.bubble) return;
  const field = chatField(), bubble = chat.bubble, text = chatText(result.output ?? chunks);
  chat.bubble = null;
  bubble.removeAttribute("aria-busy");
  $("send").hidden = $("anew").hidden = false;
  $("halt").hidden = true;
  if (!field) return; // the form is the trainings' now
  const calls = isRecord(result.output) ? result.output.tool_calls : undefined;
  if ((text || calls) && ["succeeded", "canceled"].includes(result.status)) {
    const answer = { role: "assistant", content: text, ...(calls ? { tool_calls: calls } : {}) };
    setTalk({ system: parted(field).system, said: [...chat.asked, answer], draft: chat.draft.value });
    formChanged();
    chat.log.querySelector(".choices")?.append(make("span", { className: "help" }, result.status === "canceled" ? `stopped; ${pace}` : pace));
    chat.log.scrollTop = chat.log.scrollHeight;
    return;
  }
  const { draft, ...rest } = parted(field);
  setTalk({ ...rest, draft: [draft, chat.draft.value].filter(Boolean).join("\n") });
  showTalk();
  chat.log.append(make("article", { className: "bubble problem" }, make("p", {}, result.error || `The prediction was ${result.status}.`)));
  chat.log.scrollTop = chat.log.scrollHeight;
}
