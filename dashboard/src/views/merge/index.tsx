/** Merge: the queue, what would conflict if merged now, worktrees with unsaved work, and saved copies. */
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { isReplay } from "../../moment";
import { param, setParams } from "../../router";
import { Empty } from "../../ui/parts";
import { ForecastPanel } from "./forecast";
import { QueuePanel } from "./queue";
import { SalvagePanel } from "./salvage";
import { WorktreePanel } from "./worktrees";

export function MergeView() {
  if (isReplay.value)
    return (
      <>
        <h1 class="visually-hidden">Merge</h1>
        <Empty title="This view shows only the present">The ledger does not record the content of worktrees.</Empty>
      </>
    );
  return <Present />;
}

function Present() {
  const every = { on: ["merge", "worktree", "conflict", "commit"], every: 30 };
  const forecast = useResource("forecast", () => data(api.GET("/api/v1/forecast")), every);
  const trees = useResource("worktrees", () => data(api.GET("/api/v1/worktrees", { params: { query: { limit: 1000 } } })), every);
  return (
    <div class="merge">
      <header class="merge-tools">
        <h1>Merge</h1>
        <input
          type="search"
          placeholder="Search agents, branches, and files"
          aria-label="Search agents, branches, and files"
          value={param("q")}
          onInput={(event) => setParams({ q: event.currentTarget.value })}
        />
      </header>
      <ForecastPanel forecast={forecast} />
      <QueuePanel />
      <WorktreePanel trees={trees} />
      <SalvagePanel />
    </div>
  );
}

/** Return whether one of the texts contains what is searched for. */
export function found(...texts: (string | null | undefined)[]): boolean {
  const search = param("q").toLowerCase();
  return !search || texts.some((text) => text?.toLowerCase().includes(search));
}
