// Light or dark: as the system says, unless a person chooses.

import { effect, signal } from "@preact/signals";

const CHOSEN = "mangrove.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const isDark = signal(localStorage.getItem(CHOSEN) === null ? system.matches : localStorage.getItem(CHOSEN) === "dark");

system.addEventListener("change", () => {
  if (localStorage.getItem(CHOSEN) === null) isDark.value = system.matches;
});

export function toggleTheme(): void {
  isDark.value = !isDark.value;
  localStorage.setItem(CHOSEN, isDark.value ? "dark" : "light");
}

const colors = new Map<string, string>();

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
  colors.clear();
});

/** A colour of the style sheet, for pictures that are no HTML. */
export function color(name: string): string {
  const known = colors.get(name);
  if (known !== undefined) return known;
  const read = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  colors.set(name, read);
  return read;
}
