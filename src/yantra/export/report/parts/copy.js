// The button that copies the text beside it.

export function setUpCopying() {
  for (const button of document.querySelectorAll("button.copy")) {
    const text = button.parentElement.querySelector("pre");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text); // no clipboard for files in some browsers
        button.textContent = "Selected";
      }
    });
  }
}
