/** Actions: a dialog that asks for what the API asks for, then a toast that says what happened. */
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/client";
import { Link } from "../router";
import { Problem } from "./parts";

type ToastLink = { to: string; text: string };
type Toast = { id: number; tone: "good" | "bad" | "info"; text: string; hint: string; link: ToastLink | null };
type Field = {
  name: string;
  label: string;
  required?: boolean;
  value?: string;
  choices?: readonly string[];
  multiline?: boolean;
  /** Values to choose from; others can be typed. */
  suggestions?: readonly { value: string; label: string }[];
};
type Request = {
  title: string;
  text?: string;
  fields?: readonly Field[];
  button: string;
  danger?: boolean;
  run: (values: Record<string, string>) => Promise<unknown>;
  done: string;
};

const toasts = signal<readonly Toast[]>([]);
const asked = signal<Request | null>(null);
let lastId = 0;

export function toast(text: string, tone: Toast["tone"] = "info", hint = "", link: ToastLink | null = null): void {
  const one = { id: ++lastId, tone, text, hint, link };
  toasts.value = [...toasts.value.slice(-3), one];
  setTimeout(() => dismiss(one.id), tone === "bad" || link ? 12_000 : 5_000);
}

/** Run an action now, and say how it went; nothing if it worked and `done` is empty. Returns whether it worked. */
export function act(run: () => Promise<unknown>, done: string): Promise<boolean> {
  return attempt(run, done, (error) => toast(error.message, "bad", error.hint));
}

async function attempt(run: () => Promise<unknown>, done: string, failed: (error: ApiError) => void): Promise<boolean> {
  try {
    await run();
  } catch (error) {
    failed(asApiError(error));
    return false;
  }
  if (done) toast(done, "good");
  return true;
}

/** Use actions in a dialog, which shows the error of the last one: a toast would be behind the backdrop. */
export function useActions(): { error: ApiError | null; run: typeof act } {
  const [error, setError] = useState<ApiError | null>(null);
  const busy = useRef(false);
  const run = async (action: () => Promise<unknown>, done: string) => {
    if (busy.current) return false;
    busy.current = true;
    setError(null);
    const worked = await attempt(action, done, setError);
    busy.current = false;
    return worked;
  };
  return { error, run };
}

/** Ask before an action, with its fields (a reason, a text). */
export function ask(request: Request): void {
  asked.value = request;
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={`toast ${one.tone}`}>
          <div>
            {one.text}
            {one.hint && <div class="muted">{one.hint}</div>}
            {one.link && <Link to={one.link.to}>{one.link.text}</Link>}
          </div>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(one.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

export function ActionDialog() {
  const request = asked.value;
  return request && <Dialog key={request} request={request} />;
}

function Dialog({ request }: { request: Request }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { error, run } = useActions();
  useEffect(() => dialog.current?.showModal(), []);
  // It reports late that it was closed, after the next one may be open.
  const closed = () => asked.value === request && (asked.value = null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(event.target as HTMLFormElement)) as Record<string, string>;
    if (await run(() => request.run(values), request.done)) closed();
  };
  return (
    <dialog ref={dialog} class="action" aria-labelledby="action-title" onClose={closed}>
      <form onSubmit={submit}>
        <h2 id="action-title">{request.title}</h2>
        {request.text && <p>{request.text}</p>}
        {request.fields?.map((field, index) => (
          <label key={field.name}>
            <span>
              {field.label} {field.required ? "" : <span class="muted">(optional)</span>}
            </span>
            {field.choices ? (
              <select name={field.name} autofocus={index === 0}>
                {field.choices.map((choice) => (
                  <option key={choice} selected={choice === field.value}>
                    {choice}
                  </option>
                ))}
              </select>
            ) : field.multiline ? (
              <textarea name={field.name} rows={4} required={field.required} autofocus={index === 0} defaultValue={field.value ?? ""} />
            ) : (
              <input name={field.name} required={field.required} autofocus={index === 0} defaultValue={field.value ?? ""} autocomplete="off" list={field.suggestions && `${field.name}-suggestions`} />
            )}
            {field.suggestions && (
              <datalist id={`${field.name}-suggestions`}>
                {field.suggestions.map((one) => (
                  <option key={one.value} value={one.value}>
                    {one.label}
                  </option>
                ))}
              </datalist>
            )}
          </label>
        ))}
        {error && <Problem error={error} />}
        <footer>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={request.danger ? "danger" : "primary"}>
            {request.button}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
