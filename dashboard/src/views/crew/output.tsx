/** What an agent prints, as it prints it. All of it is text. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError, asApiError, data } from "../../api/client";
import { Problem } from "../../ui/parts";
import { printed } from "./data";

/** How much of the output the page keeps, and how often it asks for more, in milliseconds. */
const KEPT = 200_000;
const EVERY = 1_000;
/** Pixels from the end within which the page follows the output. */
const NEAR = 24;

type Position = { offset?: number; file?: number };

export function Output({ id }: { id: string }) {
  const box = useRef<HTMLPreElement>(null);
  const [follows, setFollows] = useState(true);
  const { text, error } = useOutput(id, follows);
  const toEnd = () => {
    const { current } = box;
    if (current) current.scrollTop = current.scrollHeight;
  };
  useLayoutEffect(() => {
    if (follows) toEnd();
  }, [text, follows]);
  const scrolled = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: HTMLPreElement }) => setFollows(scrollHeight - scrollTop - clientHeight < NEAR);
  return (
    <section class="output" aria-label={`Output of ${id}`}>
      <h3>Output</h3>
      {error && <Problem error={error} />}
      <pre ref={box} tabIndex={0} role="region" aria-label="Output, newest last" onScroll={scrolled}>
        {text || <span class="muted">It has printed nothing.</span>}
      </pre>
      {!follows && (
        <button type="button" onClick={() => setFollows(true)}>
          Go to the end
        </button>
      )}
    </section>
  );
}

/** Use the end of an agent's output. Beyond what is kept, it waits for a reader who has scrolled up. */
function useOutput(id: string, follows: boolean): { text: string; error: ApiError | null } {
  const [text, setText] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const waits = useRef(false);
  waits.current = !follows && text.length >= KEPT;
  useEffect(() => {
    let timer = 0;
    let ended = false;
    let position: Position = {};
    const load = async () => {
      if (!waits.current && !document.hidden) {
        try {
          const part = await data(api.GET("/api/v1/crew/{id}/log", { params: { path: { id }, query: { ...position, limit: KEPT } } }));
          if (ended) return;
          const whole = position.offset === undefined;
          const added = whole && part.size > KEPT ? part.text.slice(part.text.indexOf("\n") + 1) : part.text;
          if (added) setText((before) => newest(whole ? "" : before, printed(added)));
          // An agent that prints faster than the page reads is read from its end again.
          position = part.size - part.offset > KEPT ? {} : { offset: part.offset, file: part.file };
          setError(null);
        } catch (problem) {
          if (!ended) setError(asApiError(problem));
        }
      }
      if (!ended) timer = window.setTimeout(load, EVERY);
    };
    void load();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [id]);
  return { text, error };
}

/** Return both texts, without the oldest lines if they are too long. */
function newest(before: string, added: string): string {
  const all = before + added;
  if (all.length <= KEPT) return all;
  const cut = all.length - KEPT;
  return all.slice(Math.max(cut, all.indexOf("\n", cut) + 1));
}
