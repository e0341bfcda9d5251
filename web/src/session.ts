// What the page knows of the server: databases, the role of whoever looks, the schema of the chosen database, and the language.

import { computed, effect, signal } from "@preact/signals";
import * as api from "./server/api";
import { loginWanted, Problem, token, wordsOf } from "./server/client";

const CHOSEN = "mangrove.database";

export const role = signal<api.Role>("read");
export const user = signal<string | null>(null);
export const databases = signal<api.Databases["databases"]>([]);
export const database = signal<string | null>(null);
export const schema = signal<api.Schema | null>(null);
export const language = signal<api.Language>({ steps: [], words: [], members: {} });
/** Why the page cannot show anything yet. */
export const failure = signal<string | null>(null);

const isReadOnly = computed(() => databases.value.find(({ name }) => name === database.value)?.readOnly ?? false);

/** Why one may not write here, or null if one may. */
export const whyNotWrite = computed(() => {
  if (isReadOnly.value) return "This database is read only.";
  return role.value === "read" ? "This needs the role write. Yours is read." : null;
});

/** Why one may not change indexes or do upkeep here, or null if one may. */
export const whyNotAdmin = computed(() => {
  if (isReadOnly.value) return "This database is read only.";
  return role.value === "admin" ? null : `This needs the role admin. Yours is ${role.value}.`;
});

/** Whether somebody is logged in, who can so log out. */
export const isKnown = computed(() => token.value !== null);

/** Reads everything anew: at the beginning, and after a login. */
export async function open(): Promise<void> {
  try {
    const known = await api.databases();
    loginWanted.value = false;
    failure.value = null;
    [role.value, user.value] = [known.role, known.user];
    databases.value = known.databases;
    const before = database.value ?? sessionStorage.getItem(CHOSEN);
    database.value = known.databases.find(({ name }) => name === before)?.name ?? known.databases[0]?.name ?? null;
    await Promise.all([readSchema(), api.language().then((read) => (language.value = read))]);
  } catch (error) {
    if (!(error instanceof Problem && error.status === 401)) failure.value = wordsOf(error);
  }
}

export function choose(name: string): void {
  schema.value = null;
  database.value = name;
  void readSchema();
}

/** Reads labels and counts again, after something may have changed them. */
export async function readSchema(): Promise<void> {
  const name = database.value;
  if (name === null) return;
  const read = await api.schemaOf(name).catch(() => null);
  if (database.value === name && read !== null) schema.value = read;
}

/** The page then begins anew, without what it showed. */
export async function logOut(): Promise<void> {
  await api.logOut();
  location.reload();
}

effect(() => {
  if (database.value !== null) sessionStorage.setItem(CHOSEN, database.value);
});
