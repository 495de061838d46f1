// Light or dark: as the system says, or as chosen here.

import { $, say } from "./dom.js";

const KEY = "kube32-sim-theme";
const ORDER = ["system", "light", "dark"];

export function setUpTheme() {
  let theme = localStorage.getItem(KEY);
  if (!ORDER.includes(theme)) theme = "system";
  const show = () => {
    document.documentElement.dataset.theme = theme;
    say($("theme"), `Theme: ${theme}`);
  };
  $("theme").addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    localStorage.setItem(KEY, theme);
    show();
  });
  show();
}
