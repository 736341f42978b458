"use strict";
// Before the terminal is set up: text that looks like an address must not become a way out. The
// terminal makes links of such text and opens them with window.open; what is left of it here are
// downloads of the workstation's own files, which live below this page.
(() => {
  const open = window.open.bind(window);
  const ours = window.location.origin + "/download/";
  window.open = (url, ...more) => {
    if (typeof url !== "string" || !url.startsWith(ours)) return null;
    return open("download/" + encodeURIComponent(url.slice(ours.length)), ...more);
  };
  window.addEventListener("DOMContentLoaded", () => {
    const again = document.getElementById("again");
    again.addEventListener("click", () => window.location.reload());
    // The terminal says on the body how far it is; the keyboard belongs to what can be used then.
    new MutationObserver(() => {
      const how = document.body.classList;
      const keyboard = document.querySelector(".xterm-helper-textarea");
      if (how.contains("-closed")) again.focus();
      else if (how.contains("-first-byte")) keyboard?.focus();
    }).observe(document.body, { attributeFilter: ["class"] });
  });
})();
