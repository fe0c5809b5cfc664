// Tables are complete without this script; it turns the heads of columns into buttons that sort.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  const key = (row, column) => {
    const cell = row.cells[column];
    return heads[column].dataset.number ? parseFloat(cell.dataset.value) : cell.textContent.trim();
  };
  const compare = (column, sign) => (a, b) => {
    const [x, y] = [key(a, column), key(b, column)];
    if (typeof x === "string") return sign * x.localeCompare(y, undefined, { numeric: true });
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return sign * (x - y);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.number ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      body.append(...Array.from(body.rows).sort(compare(column, order === "ascending" ? 1 : -1)));
    });
  });
}
