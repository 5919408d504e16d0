// Asks for a bearer token when the server wants one.

import {useEffect, useRef} from "preact/hooks";

import {keepToken, token} from "../data/client";

export function TokenDialog({message, done}: {message: string; done: () => void}) {
  const input = useRef<HTMLInputElement>(null);
  const refused = token() !== "";
  useEffect(() => input.current?.focus(), []);
  return (
    <div class="veil">
      <form class="token" role="dialog" aria-modal="true" aria-labelledby="token-title"
        onSubmit={(event) => {
          event.preventDefault();
          keepToken(input.current?.value.trim() ?? "");
          done();
        }}>
        <h2 id="token-title">Who are you?</h2>
        <p>This careen shows itself only to those whom the cluster knows. Paste a bearer token, such as the output
          of <code>kubectl create token NAME</code>. It is kept in this tab only.</p>
        {refused && <p class="bad" role="alert">The token was refused: {message}</p>}
        <label>Bearer token <input ref={input} type="password" autocomplete="off" spellcheck={false} required /></label>
        <button type="submit">Look</button>
      </form>
    </div>
  );
}
