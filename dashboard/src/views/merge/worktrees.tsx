/** Worktrees, and what each contains that is saved nowhere else. */
import type { Answer, Schemas } from "../../api/client";
import type { Loaded } from "../../api/resource";
import { AgentName, Age, Badge, Empty, Panel, Show } from "../../ui/parts";
import { counted } from "../../ui/text";
import { found } from ".";

type Worktree = Schemas["listed_worktree"];

export function WorktreePanel({ trees }: { trees: Loaded<Answer<"/api/v1/worktrees">> }) {
  return (
    <Panel title="Worktrees" count={trees.data?.worktrees.length}>
      <Show of={trees}>
        {({ worktrees }) =>
          worktrees.length ? (
            <ul class="rows">
              {worktrees
                .filter((tree) => found(tree.agent, tree.branch, tree.path, tree.subject))
                .map((tree) => (
                  <Row key={tree.path} tree={tree} />
                ))}
            </ul>
          ) : (
            <Empty title="No worktrees" command="dibs worktree new --agent NAME">
              To give an agent a working tree of its own, run:
            </Empty>
          )
        }
      </Show>
    </Panel>
  );
}

function Row({ tree }: { tree: Worktree }) {
  const state = tree.missing ? "the folder is missing" : tree.wrong;
  return (
    <li class="tree-row">
      <div>
        {tree.agent ? <AgentName id={tree.agent} /> : <strong>no agent</strong>} <code>{tree.branch || "no branch"}</code>
        {tree.orphaned && <Badge tone="warn">its agent is gone</Badge>}
        {tree.locked && <Badge>locked</Badge>}
        {state && <Badge tone="bad">{state}</Badge>}
      </div>
      <div>
        {tree.held.map((held) => (
          <Badge key={held.kind} tone="warn">
            <span title={held.names.join("\n")}>{HELD[held.kind]?.(held.count) ?? `${held.count} ${held.kind}`}</span>
          </Badge>
        ))}
        {tree.held.length === 0 && !state && <Badge tone="good">everything is merged</Badge>}
      </div>
      <div class="muted">
        <span class="path">{tree.path}</span>
        {tree.committed_at && (
          <>
            {" "}
            · {tree.subject} · <Age at={tree.committed_at} />
          </>
        )}
      </div>
    </li>
  );
}

const HELD: Record<string, (count: number) => string> = {
  changed: (count) => counted(count, "file changed", "files changed"),
  untracked: (count) => counted(count, "untracked file"),
  unmerged: (count) => counted(count, "commit not merged", "commits not merged"),
  unpushed: (count) => counted(count, "commit not pushed", "commits not pushed"),
  staged: (count) => counted(count, "file staged", "files staged"),
  ignored: (count) => counted(count, "ignored file"),
};
