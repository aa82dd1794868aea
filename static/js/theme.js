// Loaded in <head> without defer: the chosen theme applies before the first paint. Nothing stored means "as the system".
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the system's theme it is.
}
