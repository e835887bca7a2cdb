// The way to a chapter from anywhere on the page: opens the Learn tab there.

let wanted = null;
let open = null;

export const ACCEPT = 2; // chapters by their place, from 0
export const GATE = 5;

/** False on a page that has no Learn tab, as a saved run. */
export const canGo = () => Boolean(learnTab());

/** Open the Learn tab at a chapter. */
export function goto(chapter) {
  wanted = chapter;
  learnTab()?.click();
  window.scrollTo({ top: 0 });
  arrive();
}

/** On a narrow page the tab's button may be in the menu of those that found no room. */
function learnTab() {
  const inMenu = [...document.querySelectorAll(".ez-tabs .overflow-dropdown button")].find((button) => button.textContent.trim() === "Learn");
  return document.querySelector('.ez-tabs [data-tab-id="learn"]') ?? inMenu;
}

/** The Learn tab says how a chapter is opened; one that was asked for before is opened now. */
export function onGoto(openChapter) {
  open = openChapter;
  arrive();
}

function arrive() {
  if (wanted === null || !open) return;
  open(wanted);
  wanted = null;
}
