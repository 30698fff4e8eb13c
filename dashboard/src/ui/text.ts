/** Text from agents, made safe to look at: long text is cut, and characters that hide or reorder text are visible. */

// Control characters, and those that reverse or hide text. A line break stays.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Return text as it is shown: at most `most` characters, with hidden characters spelled out. */
export function visible(text: string, most = 400): string {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return shown.replace(HIDDEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const numbers = new Intl.NumberFormat();

/** Return a number with a noun: "1 file", "2,000 files". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${numbers.format(count)} ${count === 1 ? one : many}`;
}
