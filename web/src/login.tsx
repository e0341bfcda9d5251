// Asks for a name and a password, where the server has users.

import { useState } from "preact/hooks";
import { logIn } from "./server/api";
import { wordsOf } from "./server/client";
import { open } from "./session";
import { Dialog } from "./ui/dialog";
import { Alert, Field } from "./ui/parts";

export function Login() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [why, setWhy] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const enter = async (event: Event) => {
    event.preventDefault();
    setAsking(true);
    try {
      await logIn(name, password);
      await open();
    } catch (error) {
      setWhy(wordsOf(error));
      setPassword("");
    }
    setAsking(false);
  };
  return (
    <Dialog title="Log in">
      <form class="login" onSubmit={(event) => void enter(event)}>
        <Field label="Name">
          <input
            name="name"
            autocomplete="username"
            required
            autofocus
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label="Password">
          <input
            name="password"
            type="password"
            autocomplete="current-password"
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </Field>
        <Alert of={why} />
        <button class="main" disabled={isAsking}>
          Log in
        </button>
      </form>
    </Dialog>
  );
}
