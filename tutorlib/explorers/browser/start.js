// Builds each explorer of a page of the site from its description, in place of its picture.
import { explore } from "./explorer.js";

document.querySelectorAll(".explorer").forEach((place) => {
  explore(place, JSON.parse(place.querySelector("script").textContent));
  place.classList.add("live");
});
