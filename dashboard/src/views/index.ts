/** The views: a path, a name, and the key that opens each (after `g`). */
import type { ComponentType } from "preact";
import { BoardView } from "./board";
import { CrewView } from "./crew";
import { FilesView } from "./files";
import { InboxView } from "./inbox";
import { LedgerView } from "./ledger";
import { MergeView } from "./merge";
import { NowView } from "./now";
import { SettingsView } from "./settings";
import { TimelineView } from "./timeline";

export type View = { path: string; name: string; key: string; component: ComponentType };

export const VIEWS: readonly View[] = [
  { path: "/", name: "Now", key: "n", component: NowView },
  { path: "/files", name: "Files", key: "f", component: FilesView },
  { path: "/timeline", name: "Timeline", key: "t", component: TimelineView },
  { path: "/board", name: "Board", key: "b", component: BoardView },
  { path: "/crew", name: "Crew", key: "c", component: CrewView },
  { path: "/ledger", name: "Ledger", key: "l", component: LedgerView },
  { path: "/inbox", name: "Inbox", key: "i", component: InboxView },
  { path: "/merge", name: "Merge", key: "m", component: MergeView },
  { path: "/settings", name: "Settings", key: "s", component: SettingsView },
];
