// The arrows that open parts of the navigation have no text of their own: name them after the page they belong to.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("nav details > summary")) {
    const page = summary.closest("li")?.querySelector("a");
    summary.setAttribute("aria-label", `Pages of: ${page ? page.textContent.trim() : "this section"}`);
  }
});
