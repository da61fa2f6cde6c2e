// Paints the grids of a model as SVG and tells it which cell was clicked.
const NS = "http://www.w3.org/2000/svg";
const ROOM = 860; // px at most for all grids beside each other, JupyterLab's usual width
const CELL = { largest: 44, smallest: 15 };
const TALL = 30; // px above the cells for the names of columns
const WIDE = 46; // px beside the cells for the names of rows

function element(name, attributes, parent, text) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// The largest type, in px, in which every label fits into a cell.
function typeSize(labels, cell) {
  const longest = Math.max(1, ...labels.flat().map((label) => label.length));
  return Math.min(14, cell * 0.48, (cell * 0.9) / (0.6 * longest));
}

function paint(grid, cell, onClick) {
  const rows = grid.labels.length;
  const columns = grid.labels[0].length;
  const left = grid.down.length ? WIDE : 2;
  const top = grid.across.length ? TALL : 2;
  const [width, height] = [left + columns * cell + 2, top + rows * cell + 2];
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `${-left} ${-top} ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", grid.title);
  const size = typeSize(grid.labels, cell);
  grid.labels.forEach((labels, row) =>
    labels.forEach((label, column) => {
      const [x, y] = [column * cell, row * cell];
      const hole = grid.colors[row][column] === null;
      const group = element("g", { class: "cell", "data-row": row, "data-column": column }, svg);
      element("rect", { x, y, width: cell, height: cell, fill: hole ? "#ffffff" : grid.colors[row][column] }, group);
      if (hole) element("path", { class: "hole", d: `M${x} ${y + cell}L${x + cell} ${y}` }, group);
      element("text", { x: x + cell / 2, y: y + cell / 2, "font-size": size }, group, label);
      group.addEventListener("click", () => onClick(row, column));
    }),
  );
  for (const [at, thick] of grid.rowBreaks)
    element("path", { class: "break", "stroke-width": thick, d: `M0 ${at * cell}H${columns * cell}` }, svg);
  for (const [at, thick] of grid.columnBreaks)
    element("path", { class: "break", "stroke-width": thick, d: `M${at * cell} 0V${rows * cell}` }, svg);
  element("rect", { class: "frame", width: columns * cell, height: rows * cell }, svg);
  for (const [x1, y1, x2, y2] of grid.outline)
    element("path", { class: "mark", d: `M${x1 * cell} ${y1 * cell}L${x2 * cell} ${y2 * cell}` }, svg);
  const longest = Math.max(0, ...grid.across.map((name) => name.length));
  const step = Math.max(1, Math.ceil((6.4 * longest) / cell)); // px of a letter
  grid.across.forEach((name, column) => {
    if (column % step === 0) element("text", { class: "name", x: (column + 0.5) * cell, y: -11 }, svg, name);
  });
  grid.down.forEach((name, row) =>
    element("text", { class: "name down", x: -7, y: (row + 0.5) * cell }, svg, name),
  );
  return svg;
}

export function showGrids(model, el) {
  el.classList.add("tutorlib-grids");
  const problem = document.createElement("div");
  problem.className = "problem";
  problem.setAttribute("role", "alert");
  const pictures = document.createElement("div");
  pictures.className = "pictures";
  const answer = document.createElement("div");
  answer.className = "answer";
  answer.setAttribute("aria-live", "polite");
  el.append(problem, pictures, answer);

  function showPictures() {
    const { grids } = model.state;
    const columns = grids.reduce((sum, grid) => sum + grid.labels[0].length, 0);
    const room = Math.min(ROOM, el.clientWidth || ROOM); // 0 before the page has it
    const beside = Math.floor((room - grids.length * (WIDE + 28)) / columns);
    const widest = Math.max(...grids.map((grid) => grid.labels[0].length));
    const alone = Math.floor((room - WIDE) / widest);
    const wanted = beside >= 24 ? beside : alone; // too narrow beside each other: the page wraps them
    const cell = Math.max(CELL.smallest, Math.min(CELL.largest, wanted));
    pictures.replaceChildren(
      ...grids.map((grid, index) => {
        const figure = document.createElement("figure");
        const caption = document.createElement("figcaption");
        caption.textContent = grid.title;
        figure.append(caption, paint(grid, cell, (row, column) => model.send({ grid: index, row, column })));
        return figure;
      }),
    );
  }
  model.listener = () => {
    const { answer: says, problem: wrong } = model.state;
    if (!wrong) showPictures();
    answer.textContent = says;
    problem.textContent = wrong;
    el.classList.toggle("stale", Boolean(wrong));
  };
  model.listener();
}
