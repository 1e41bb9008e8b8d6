// What pages do beside HTML: ask before what cannot be undone, copy, choose all, tell the time. Nothing depends on it.
"use strict";
(() => {
  for (const form of document.querySelectorAll("form[data-ask]")) {
    form.addEventListener("submit", (event) => {
      if (!window.confirm(form.dataset.ask)) event.preventDefault();
    });
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const words = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        // No clipboard without TLS: what is marked can be copied by hand.
        window.getSelection().selectAllChildren(source);
        button.textContent = "Marked: press Ctrl-C";
      }
      setTimeout(() => { button.textContent = words; }, 2500);
    });
  }
  for (const all of document.querySelectorAll("input[data-all]")) {
    all.hidden = false;
    all.addEventListener("change", () => {
      for (const box of document.querySelectorAll(`input[name="${all.dataset.all}"]`)) box.checked = all.checked;
    });
  }

  // On a phone the menu is wider than the window.
  document.querySelector("nav.main a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // The same words as the server's.
  const ago = (at) => {
    const seconds = Math.trunc((Date.now() - at) / 1000);
    const s = Math.abs(seconds);
    if (s < 3) return "just now";
    const span = s < 120 ? `${s} s` : s < 7200 ? `${Math.floor(s / 60)} min`
      : s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
    return seconds > 0 ? `${span} ago` : `in ${span}`;
  };
  setInterval(() => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time[data-ago]")) time.textContent = ago(Date.parse(time.dateTime));
  }, 5000);
})();
