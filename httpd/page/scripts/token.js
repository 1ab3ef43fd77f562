"use strict";
// Where the server wants a token (--auth-token-file), the page asks for it once and sends it with all of its requests. It is
// kept for as long as this tab is open. It goes first: it puts itself between the rest of the page and fetch.
(() => {
  const plain = window.fetch.bind(window), kept = "pinion-token";
  let asking = null; // the answer that is being waited for, by however many requests

  const ask = (wrong) => (asking ??= new Promise((done) => {
    const dialog = document.createElement("dialog"), form = document.createElement("form"), label = document.createElement("label");
    const input = document.createElement("input"), send = document.createElement("button"), leave = document.createElement("button");
    dialog.id = "token-dialog";
    form.method = "dialog";
    label.textContent = wrong ? "The server does not know that token. Token: " : "This server wants a token: ";
    input.type = "password";
    input.id = "token";
    input.autocomplete = "off";
    input.required = true;
    send.textContent = "Use it";
    leave.textContent = "Cancel";
    leave.type = "button";
    leave.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      const token = dialog.returnValue === "given" ? input.value.trim() : "";
      dialog.remove();
      asking = null;
      if (token) sessionStorage.setItem(kept, token);
      done(token);
    });
    form.addEventListener("submit", () => { dialog.returnValue = "given"; });
    send.value = "given";
    label.append(input);
    form.append(label, send, leave);
    dialog.append(form);
    document.body.append(dialog);
    dialog.showModal();
  }));

  window.fetch = async (resource, options = {}) => {
    for (;;) {
      const token = sessionStorage.getItem(kept), headers = new Headers(options.headers);
      if (token) headers.set("Authorization", "Bearer " + token);
      const response = await plain(resource, { ...options, headers });
      if (response.status !== 401) return response;
      // Another request may have brought a token meanwhile.
      if (sessionStorage.getItem(kept) === token && !(await ask(token))) return response;
    }
  };
})();
