/** Text that is HTML already, so `html` does not escape it again. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Piece = string | number | Html | readonly Html[] | null;

/** A template whose values are escaped, for text and for quoted attributes. null is rendered as nothing. */
export const html = (parts: TemplateStringsArray, ...pieces: Piece[]): Html =>
  new Html(parts.map((part, i) => (i === 0 ? part : `${escaped(pieces[i - 1]!)}${part}`)).join(''));

function escaped(piece: Piece): string {
  if (piece === null) return '';
  if (piece instanceof Html) return piece.text;
  if (Array.isArray(piece)) return piece.map((each: Html) => each.text).join('');
  return String(piece).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
