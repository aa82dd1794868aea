const print = document.querySelector("#print");
print.hidden = false;
print.addEventListener("click", () => window.print());
