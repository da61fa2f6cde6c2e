// Builds each explorer of a page from its description, in place of its picture.
import grids from "./grid.js";
import { Model } from "./model.js";

function start(place) {
  const model = new Model(JSON.parse(place.querySelector("script").textContent));
  const row = document.createElement("div");
  row.className = "inputs";
  row.append(...model.inputs.map((input) => field(input, (value) => model.change(input, value))));
  const el = document.createElement("div");
  place.append(row, el);
  place.classList.add("live");
  grids.render({ model, el });
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

document.querySelectorAll(".explorer").forEach(start);
