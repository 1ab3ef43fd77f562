// The switch between light and dark. The choice holds for all pages of this server, in this browser.

const THEME_KEY = "pinion-theme";
const THEMES = ["system", "light", "dark"];

function themeOf() {
  try {
    return localStorage.getItem(THEME_KEY) ?? "system";
  } catch {
    return "system"; // the browser refuses storage
  }
}

function showTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("theme").textContent = `Theme: ${theme}`;
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(themeOf()) + 1) % THEMES.length];
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // without storage, the choice is lost when the page is closed
  }
  showTheme(theme);
}

showTheme(themeOf());
$("theme").addEventListener("click", nextTheme);
