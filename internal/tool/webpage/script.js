"use strict";
// A click on a heading sorts its table by that column, a second one the other way round. Cells sort by data-v, or by text.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  for (const th of table.tHead.rows[0].cells) {
    if (!("sort" in th.dataset)) continue;
    th.addEventListener("click", () => {
      const down = th.dataset.sort === "number" ? !th.classList.contains("down") : th.classList.contains("up");
      for (const other of th.parentNode.cells) other.classList.remove("up", "down");
      th.classList.add(down ? "down" : "up");
      const value = row => {
        const cell = row.cells[th.cellIndex];
        return th.dataset.sort === "number" ? Number(cell.dataset.v ?? cell.textContent) : cell.textContent;
      };
      const rows = [...body.rows];
      rows.sort((a, b) => {
        const x = value(a), y = value(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      body.append(...rows);
    });
  }
}
// What is typed keeps the rows that contain it.
for (const input of document.querySelectorAll("input[type=search]")) {
  const table = document.getElementById(input.dataset.table);
  input.addEventListener("input", () => {
    const want = input.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(want);
  });
}
