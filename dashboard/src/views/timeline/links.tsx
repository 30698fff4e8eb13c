/** Where a click on the timeline leads. */
import type { ComponentChildren } from "preact";
import type { Hit } from "../../history/draw";
import { href, Link, navigate } from "../../router";

export const entryAddress = (seq: number): string => href("/ledger", { seq: String(seq) });

export function EntryLink({ seq, children }: { seq: number; children: ComponentChildren }) {
  return <Link to={entryAddress(seq)}>{children}</Link>;
}

export function openHit(hit: Hit): void {
  if (hit.mark) navigate(entryAddress(hit.mark.seq));
  const path = hit.bar?.claim?.pattern ?? hit.bar?.wait?.patterns[0];
  if (path) navigate(href("/files", { path }));
}
