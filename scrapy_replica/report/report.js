"use strict";
// Draws the charts of a report, moves its slider, and puts new figures into a page that is open.
(() => {
  const options = {
    ast: true, // expressions are interpreted, so that the page may forbid eval
    renderer: "svg",
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  const charts = new Map(); // id -> {id, spec, data}, and once it is drawn: place, view, at

  const draw = async (chart) => {
    const place = document.getElementById(`chart-${chart.id}`);
    const before = charts.get(chart.id);
    if (!place) return;
    if (before?.place === place) {
      Object.assign(before, { data: chart.data });
      for (const [set, rows] of Object.entries(chart.data)) before.view.data(set, rows);
      await before.view.height(chart.spec.height).runAsync();
    } else {
      before?.view.finalize();
      const { view } = await vegaEmbed(place, { ...chart.spec, datasets: chart.data }, options);
      charts.set(chart.id, { ...chart, place, view, at: before?.at });
    }
    if (chart.id === "course") slide(charts.get(chart.id));
  };

  // The slider tells what had been found after so many fetches; pointing at the chart moves it, too.
  const slide = (chart) => {
    const input = document.getElementById("course-at");
    const told = input.parentElement.querySelector("output");
    const rows = chart.data.points;
    const moments = [...new Set(rows.map((row) => row.fetches))];
    const nearest = (fetches) =>
      moments.reduce((best, moment, i) => (Math.abs(moment - fetches) < Math.abs(moments[best] - fetches) ? i : best), 0);
    const show = () => {
      const fetches = moments[input.value];
      const found = rows.filter((row) => row.fetches === fetches);
      const numbers = found.map((row) => `${row.number.toLocaleString("en")} ${row.kind}`);
      told.textContent = `After ${fetches.toLocaleString("en")} URLs: ${numbers.join(", ")}`;
      input.setAttribute("aria-valuetext", told.textContent);
      chart.at = fetches === moments.at(-1) ? undefined : fetches; // a live curve is looked at where it ends
      chart.view.data("cursor", [{ fetches }]).run();
    };
    input.max = moments.length - 1;
    input.value = chart.at === undefined ? input.max : nearest(chart.at);
    input.oninput = show;
    chart.place.onpointermove = (event) => {
      const svg = chart.place.querySelector("svg");
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) * svg.viewBox.baseVal.width) / box.width - chart.view.origin()[0];
      input.value = nearest(chart.view.scale("x").invert(x));
      show();
    };
    show();
  };

  // On a narrow screen a row of these tables is a block: its cells carry the names of their columns, and the roles that
  // they lose by it.
  const label = (part) => {
    for (const table of part.querySelectorAll("table.stacked")) {
      const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
      table.setAttribute("role", "table");
      for (const group of [table.tHead, ...table.tBodies]) group.setAttribute("role", "rowgroup");
      for (const row of table.rows) {
        row.setAttribute("role", "row");
        [...row.cells].forEach((cell, i) => {
          cell.setAttribute("role", cell.tagName === "TH" ? "columnheader" : "cell");
          cell.dataset.name = names[i];
        });
      }
    }
  };

  // New words and tables; what is drawn, open or focused stays so.
  const replace = (part, html) => {
    const reached = () => [...part.querySelectorAll("a, button, input, select, summary, textarea, [tabindex]")];
    const focus = reached().indexOf(document.activeElement);
    const open = [...part.querySelectorAll("details")].map((details) => details.open);
    const drawn = [...part.querySelectorAll(".chart")];
    part.innerHTML = html;
    part.querySelectorAll("details").forEach((details, i) => (details.open = open[i] ?? false));
    for (const chart of drawn) document.getElementById(chart.id)?.replaceWith(chart);
    label(part);
    if (focus >= 0) reached()[focus]?.focus({ preventScroll: true });
  };

  // Takes what sections.update() of the package gives, as JSON.
  const update = async ({ sections, charts: drawn }) => {
    for (const [id, html] of Object.entries(sections)) replace(document.getElementById(`section-${id}`), html);
    for (const chart of drawn) await draw(chart);
  };

  window.replicaReport = { update };
  document.addEventListener("DOMContentLoaded", () => {
    label(document);
    JSON.parse(document.getElementById("charts").textContent).forEach(draw);
  });
})();
