// What pages do beside HTML: new rows as they come, copying, asking before what cannot be undone. Nothing depends on it.
"use strict";
(() => {
  for (const form of document.querySelectorAll("form[data-ask]")) {
    form.addEventListener("submit", (event) => {
      if (!window.confirm(form.dataset.ask)) event.preventDefault();
    });
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      const before = button.textContent;
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy by hand";
      }
      setTimeout(() => { button.textContent = before; }, 2000);
    });
  }
  for (const all of document.querySelectorAll("input[data-all]")) {
    all.addEventListener("change", () => {
      for (const box of document.querySelectorAll(`input[name="${all.dataset.all}"]`)) box.checked = all.checked;
    });
  }
  const rows = document.querySelector("tbody[data-live]");
  if (!rows || !window.EventSource) return;
  const state = document.getElementById("live-state");
  const most = 200;
  const stream = new EventSource(rows.dataset.live);
  const say = (text, on) => {
    state.textContent = text;
    if (on) state.dataset.on = ""; else delete state.dataset.on;
  };
  stream.addEventListener("open", () => say("live", true));
  stream.addEventListener("error", () => say("reconnecting…", false));
  stream.addEventListener("reload", () => window.location.reload());
  stream.addEventListener("received", (message) => {
    // The row is made and escaped by the server; parsing it in a template runs nothing.
    const template = document.createElement("template");
    template.innerHTML = JSON.parse(message.data).row;
    const row = template.content.querySelector("tr");
    if (!row || document.getElementById(row.id)) return;
    row.classList.add("new");
    rows.prepend(row);
    while (rows.children.length > most) rows.lastElementChild.remove();
  });
})();
