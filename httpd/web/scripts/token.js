// The bearer token, if the server requires one (--auth-token-file). The page asks for it once, sends it with each of its
// requests, and keeps it for as long as the tab is open.

const TOKEN_KEY = "pinion-token";
const TOKEN_VARIABLE = "PINION_TOKEN"; // from which the shown code takes it

let tokenAsked = null; // the answer that is waited for, by however many requests

const tokenOf = () => sessionStorage.getItem(TOKEN_KEY);

// fetchWithToken is fetch. Where the server refuses the request because a token is missing, the user is asked for one, and the request
// is made again; if the user gives none, its answer is the 401.
async function fetchWithToken(url, options = {}) {
  for (;;) {
    const token = tokenOf();
    const headers = new Headers(options.headers);
    if (token) headers.set("Authorization", "Bearer " + token);
    const response = await fetch(url, { ...options, headers });
    if (response.status !== 401) return response;
    // Another request may have brought a token meanwhile.
    if (tokenOf() === token && !(await askForToken(Boolean(token)))) return response;
  }
}

function askForToken(wasWrong) {
  tokenAsked ??= new Promise((done) => {
    const input = make("input", { id: "token", type: "password", autocomplete: "off", required: true });
    const label = make("label", {}, wasWrong ? "The server rejected that token. Token: " : "This server requires a token: ", input);
    const send = make("button", { value: "given" }, "Use it");
    const leave = make("button", { type: "button", className: "plain" }, "Cancel");
    const form = make("form", { method: "dialog" }, label, make("p", { className: "choices" }, send, leave));
    const dialog = make("dialog", { id: "token-dialog" }, form);
    leave.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      const token = dialog.returnValue === "given" ? input.value.trim() : "";
      dialog.remove();
      tokenAsked = null;
      if (token) sessionStorage.setItem(TOKEN_KEY, token);
      done(token);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return tokenAsked;
}
