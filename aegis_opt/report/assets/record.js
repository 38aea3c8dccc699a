const SHOWN = 50;
for (const place of document.querySelectorAll(".search")) {
  const rows = JSON.parse(document.getElementById(place.dataset.rows).textContent);
  const body = place.querySelector("tbody");
  const status = place.querySelector(".status");
  const first = [...body.children];
  const said = status.textContent;
  place.querySelector("input").addEventListener("input", event => {
    const wanted = event.target.value.trim().toLowerCase();
    if (!wanted) {
      body.replaceChildren(...first);
      status.textContent = said;
      return;
    }
    const found = rows.filter(row => row.some(cell => cell.toLowerCase().includes(wanted)));
    body.replaceChildren(...found.slice(0, SHOWN).map(row => {
      const line = document.createElement("tr");
      row.forEach((text, i) => {
        const cell = document.createElement("td");
        cell.className = place.dataset.sides[i];
        cell.textContent = text;
        line.append(cell);
      });
      return line;
    }));
    const shown = Math.min(found.length, SHOWN);
    status.textContent = `${found.length} of ${rows.length} found; shown are the first ${shown}.`;
  });
}
