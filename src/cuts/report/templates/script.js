"use strict";
(() => {
  const root = document.documentElement;

  // Theme: follows the system until the button is pressed; remembered only while the page is open.
  const button = document.querySelector("[data-theme-button]");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  name();

  // Tooltips: on the mark below the pointer, and on the marks of a chart that has the focus, by arrow keys.
  const tip = document.getElementById("tip");
  let marked = null;
  const hide = () => {
    if (marked) marked.classList.remove("is-marked");
    marked = null;
    tip.hidden = true;
  };
  const show = (mark) => {
    if (mark === marked) return;
    hide();
    marked = mark;
    mark.classList.add("is-marked");
    tip.textContent = mark.getAttribute("data-t");
    tip.hidden = false;
    place();
  };
  const place = () => {
    if (!marked) return;
    const at = marked.getBoundingClientRect();
    if (at.bottom < 0 || at.top > root.clientHeight) { hide(); return; }
    const own = tip.getBoundingClientRect();
    const left = at.left + at.width / 2 - own.width / 2;
    const above = at.top - own.height - 8;
    tip.style.left = `${Math.max(8, Math.min(left, root.clientWidth - own.width - 8))}px`;
    tip.style.top = `${above > 4 ? above : at.bottom + 8}px`;
  };
  const markOf = (target) => (target instanceof Element ? target.closest("[data-t]") : null);
  document.addEventListener("pointerover", (event) => {
    const mark = markOf(event.target);
    if (mark) show(mark);
    else if (marked && !marked.closest("svg").contains(document.activeElement)) hide();
  });
  document.addEventListener("scroll", place, { passive: true, capture: true });
  const marksOf = (chart) => Array.from(chart.querySelectorAll("[data-t]"));
  document.addEventListener("focusin", (event) => {
    const chart = event.target instanceof Element ? event.target.closest("svg.chart") : null;
    const mark = chart && chart.matches(":focus-visible") ? chart.querySelector("[data-t]") : null;
    if (mark) show(mark);
    else if (!chart) hide();
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const chart = event.target instanceof Element ? event.target.closest("svg.chart") : null;
    if (!chart) return;
    const marks = marksOf(chart);
    const now = marks.indexOf(marked);
    const rows = chart.classList.contains("heat") ? Math.round((Math.sqrt(4 * marks.length + 1) - 1) / 2) : 1;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: rows, ArrowUp: -rows }[event.key];
    if (step === undefined || marks.length === 0) return;
    event.preventDefault();
    show(marks[Math.max(0, Math.min(marks.length - 1, now + step))]);
  });

  // Filter of the distributions.
  const line = document.querySelector("[data-filter]");
  if (line) {
    line.hidden = false;
    const cards = Array.from(document.querySelectorAll("#multiples > [data-name]"));
    const count = document.getElementById("filter-count");
    document.getElementById("filter").addEventListener("input", (event) => {
      const wanted = event.target.value.trim().toLowerCase();
      let shown = 0;
      for (const card of cards) {
        card.hidden = !card.dataset.name.toLowerCase().includes(wanted);
        if (!card.hidden) shown += 1;
      }
      count.textContent = `${shown} of ${cards.length} columns`;
    });
  }

  // A link to a place inside the page; in the frame of a notebook it would otherwise load the notebook again.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    if (!link) return;
    const menu = link.closest("details.contents");
    if (menu) menu.open = false;
    if (location.protocol !== "about:") return;
    event.preventDefault();
    const place = document.getElementById(link.getAttribute("href").slice(1));
    if (place) place.scrollIntoView();
  });

  // The section in view is marked in the sidebar.
  const links = new Map(Array.from(document.querySelectorAll(".side .toc a"), (a) => [a.getAttribute("href").slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting || !links.has(entry.target.id)) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of document.querySelectorAll("section[id]")) seen.observe(section);

  // On paper everything is open.
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("section details:not(.numbers)")) details.open = true;
  });
})();
