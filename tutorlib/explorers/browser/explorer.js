// An explorer: its inputs above, its grids below. The widget of a notebook, and `explore` of the site's pages.
import { showGrids } from "./grid.js";
import { Model } from "./model.js";

// Builds an explorer from its description {kind, arguments, inputs} at the end of an element.
export function explore(place, description) {
  const model = new Model(description);
  const row = document.createElement("div");
  row.className = "inputs";
  row.append(...model.inputs.map((input) => field(input, (value) => model.change(input, value))));
  const pictures = document.createElement("div");
  place.append(row, pictures);
  showGrids(model, pictures);
}

// A labeled element of HTML for an input.
function field(input, onChange) {
  const label = document.createElement("label");
  const box = document.createElement(input.kind === "select" ? "select" : "input");
  label.append(`${input.name} `, box);
  if (input.kind === "select") {
    box.append(...input.options.map(([name, value], n) => new Option(name, n, false, value === input.value)));
    box.addEventListener("change", () => onChange(input.options[box.selectedIndex][1]));
    return label;
  }
  if (input.kind === "text") {
    Object.assign(box, { type: "text", value: input.value, spellcheck: false });
    box.addEventListener("input", () => onChange(box.value));
    return label;
  }
  const shown = document.createElement("output");
  Object.assign(box, { type: "range", min: input.min, max: input.max, step: input.step, value: input.value });
  shown.textContent = input.value;
  label.append(shown);
  box.addEventListener("input", () => {
    shown.textContent = box.value;
    onChange(Number(box.value));
  });
  return label;
}

function render({ model, el }) {
  el.classList.add("explorer", "live");
  el.dataset.lmSuppressShortcuts = "true"; // JupyterLab's keys, such as the arrows, belong to the inputs here
  explore(el, structuredClone(model.get("description")));
}

export default { render };
