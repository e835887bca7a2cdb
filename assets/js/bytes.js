// Which characters each token shows. A character split over tokens appears whole, at the token that completes it. No DOM here.

const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** "e697a5" -> "e6 97 a5" */
export const spaced = (hex) => (hex.match(/../g) ?? []).join(" ");

/** Reads the tokens of the path in order; `show(token)` is the text that this token completes, "" for a part of a character. */
export class PathText {
  #decoder = new TextDecoder("utf-8");

  show(token) {
    if (token.bytes) return this.#decoder.decode(fromHex(token.bytes), { stream: true });
    this.#decoder.decode(); // what was left half-finished stays so
    return token.text;
  }
}

/** A drafted token that is not on the path stands alone: bytes where it has no text of its own. */
export function offPathText(token) {
  return token.bytes ? `⟨${spaced(token.bytes)}⟩` : token.text;
}
