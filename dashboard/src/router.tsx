/** The URL is the state of a view: its path names the view, its query the project and the filters. */
import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

const url = signal(new URL(location.href));

addEventListener("popstate", () => (url.value = new URL(location.href)));

export const path = computed(() => url.value.pathname);
export const query = computed(() => url.value.searchParams);

/** Return a query parameter, "" if it is not set. */
export function param(name: string): string {
  return query.value.get(name) ?? "";
}

/** Parameters that all views share. */
const KEPT = ["project", "at"];

/** Return the address of a view; it keeps the project and the replayed moment, but no other parameter. */
export function href(to: string, params: Record<string, string> = {}): string {
  const next = new URLSearchParams();
  for (const name of KEPT) if (param(name)) next.set(name, param(name));
  for (const [name, value] of Object.entries(params)) if (value) next.set(name, value);
  const text = next.toString();
  return text ? `${to}?${text}` : to;
}

export function navigate(to: string, { replace = false } = {}): void {
  if (to === location.pathname + location.search + location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  url.value = new URL(location.href);
}

/** Change parameters of the current view; "" removes one. */
export function setParams(changes: Record<string, string>, { replace = true } = {}): void {
  const next = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.searchParams.set(name, value);
    else next.searchParams.delete(name);
  }
  navigate(next.pathname + next.search + next.hash, { replace });
}

type LinkProps = Omit<JSX.IntrinsicElements["a"], "href" | "role"> & { to: string; children: ComponentChildren };

/** A link within the dashboard. */
export function Link({ to, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={to} onClick={follow}>
      {children}
    </a>
  );
}
