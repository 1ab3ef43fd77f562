// The bearer token, if the server requires one (--auth-token-file). The page asks for it once, sends it with each of its
// requests, and keeps it for as long as the tab is open.

const TOKEN_KEY = "pinion-token";
const TOKEN_VARIABLE = "PINION_TOKEN"; // the shown code reads the token from it

let tokenAsked = null; // the promise of the user's answer, which all requests share
let tokenGiven = null; // for a browser that refuses storage

function tokenOf() {
  try {
    return sessionStorage.getItem(TOKEN_KEY);
  } catch {
    return tokenGiven;
  }
}

function keepToken(token) {
  tokenGiven = token;
  try {
    sessionStorage.setItem(TOKEN_KEY, token);
  } catch {
    // without storage, the token is lost when the page is left
  }
}

// fetchWithToken is fetch. If the server requires a token, it asks the user for one and repeats the request. If the user gives
// none, the response is the 401.
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
    const input = make("input", { id: "token", type: "password", autocomplete: "off", required: true, pattern: "[ -~]+", title: "A token has only ASCII characters" });
    const why = make("p", { id: "token-why" }, wasWrong ? "The server rejected that token." : "This server requires a token.");
    const label = make("label", { for: input.id }, "Token");
    const send = make("button", { value: "given" }, "Continue");
    const leave = make("button", { type: "button", className: "plain" }, "Cancel");
    const form = make("form", { method: "dialog" }, why, label, input, make("p", { className: "choices" }, send, leave));
    const dialog = make("dialog", { id: "token-dialog", "aria-labelledby": why.id }, form);
    leave.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      const token = dialog.returnValue === "given" ? input.value.trim() : "";
      tokenAsked = null;
      if (token) keepToken(token);
      done(token);
    });
    openDialog(dialog);
  });
  return tokenAsked;
}
