/** Small parts that every view uses. All text is text: nothing here sets HTML. */
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import { hueOf } from "../hue";
import { href, Link } from "../router";
import { localDateTime, localTime, now, span } from "../time";
import { visible } from "./text";

export { hueOf };

export function AgentName({ id, plain = false }: { id: string; plain?: boolean }) {
  const name = (
    <>
      <span class="dot" style={{ "--hue": hueOf(id) }} aria-hidden="true" />
      <span class="agent-name">{visible(id, 80)}</span>
    </>
  );
  if (plain) return <span class="agent">{name}</span>;
  return (
    <Link class="agent" to={href("/crew", { agent: id })} title={visible(id)}>
      {name}
    </Link>
  );
}

export function FilePath({ path }: { path: string }) {
  return (
    <Link class="path" to={href("/files", { path })} title={visible(path, 4096)}>
      {breakable(visible(path, 4096))}
    </Link>
  );
}

/** Paths of this length fit on one line. */
const SHORT = 28;

/** Let a long path break after its separators. */
function breakable(path: string): ComponentChildren {
  if (path.length <= SHORT) return path;
  return path.split(/(?<=[/_.-])/).map((part) => (
    <>
      {part}
      <wbr />
    </>
  ));
}

/** A local time with its age. */
export function Age({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={localDateTime(at)}>
      {localTime(at)} <span class="muted">({span(now.value - at)} ago)</span>
    </time>
  );
}

/** The time left until a deadline. */
export function TimeLeft({ until }: { until: number }) {
  const left = until - now.value;
  return (
    <time class={left < 30 ? "urgent" : ""} dateTime={new Date(until * 1000).toISOString()} title={localDateTime(until)}>
      {left > 0 ? `${span(left)} left` : "expired"}
    </time>
  );
}

type Tone = "neutral" | "good" | "warn" | "bad" | "info";

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

type PanelProps = { title: string; count?: number; actions?: ComponentChildren; children: ComponentChildren; class?: string };

export function Panel({ title, count, actions, children, class: more = "" }: PanelProps) {
  return (
    <section class={`panel ${more}`} aria-label={title}>
      <header>
        <h2>
          {title} {count !== undefined && <span class="count">{count}</span>}
        </h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

/** What a view shows when it has nothing: why, and the command to run. */
export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
      {command && <code class="command">{command}</code>}
    </div>
  );
}

export function Problem({ error }: { error: ApiError }) {
  return (
    <div class="problem" role="alert">
      <strong>{error.message}</strong>
      {error.hint && <p>{error.hint}</p>}
    </div>
  );
}

/** Show loaded data, a first-load note, or the error. */
export function Show<T>(props: { of: { data: T | undefined; error: ApiError | null }; children: (data: T) => ComponentChildren }) {
  const { data, error } = props.of;
  return (
    <>
      {error && <Problem error={error} />}
      {data === undefined ? !error && <p class="muted loading">Loading…</p> : props.children(data)}
    </>
  );
}
