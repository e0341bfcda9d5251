// JSON whose numbers keep all their digits. A number that a double would round is an `Exact`: its text.

export class Exact {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
  valueOf(): number {
    return Number(this.text);
  }
}

export type Json = null | boolean | number | string | Exact | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Stands before the text of a long number while it travels as a string. A string that begins with it gets another one. */
const MARK = "\uE000";
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const DIGITS_SAFE = 15;

export function parse(text: string): Json {
  if (!/\d[\d.]{15}/.test(text)) return JSON.parse(text) as Json;
  const marked = text.replace(TOKENS, (token) => {
    if (token.startsWith('"')) return token.startsWith(`"${MARK}`) ? `"${MARK}${token.slice(1)}` : token;
    return token.length > DIGITS_SAFE && rounds(token) ? `"${MARK}${token}"` : token;
  });
  return JSON.parse(marked, (_, value: Json) =>
    typeof value === "string" && value.startsWith(MARK) ? unmark(value) : value,
  ) as Json;
}

function rounds(token: string): boolean {
  const number = Number(token);
  return /[.eE]/.test(token) ? String(number).replace("e+", "e") !== token : !Number.isSafeInteger(number);
}

function unmark(value: string): Json {
  const text = value.slice(1);
  return text.startsWith(MARK) ? text : new Exact(text);
}

export function stringify(value: unknown, indent?: number): string {
  const marked = JSON.stringify(value, (_, part: unknown) => (part instanceof Exact ? `${MARK}${part.text}` : part), indent);
  return marked.replace(new RegExp(`"${MARK}(-?\\d[\\d.eE+-]*)"`, "g"), "$1");
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}
