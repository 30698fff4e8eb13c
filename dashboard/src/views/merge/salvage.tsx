/** Saved copies of uncommitted work: what each contains, and how to get it back. */
import { api, data, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { useRights } from "../../api/rights";
import { param, setParams } from "../../router";
import { ask } from "../../ui/actions";
import { moveFocus } from "../../ui/keys";
import { Age, Empty, Panel, Show } from "../../ui/parts";
import { found } from ".";

type Salvage = Schemas["salvage"];
type Change = { path: string; gone: boolean; ignored: boolean };

export function SalvagePanel() {
  const load = () => data(api.GET("/api/v1/salvage", { params: { query: { limit: 1000 } } }));
  const saved = useResource("salvage", load, { on: ["salvage", "worktree", "agent"], every: 60 });
  return (
    <Panel title="Saved copies of uncommitted work" count={saved.data?.salvaged.length}>
      <Show of={saved}>
        {({ salvaged }) =>
          salvaged.length ? (
            <ul class="rows" onKeyDown={(event) => moveFocus(event, ".saved-open")}>
              {salvaged
                .filter((one) => found(one.id, one.subject))
                .map((one) => (
                  <Row key={one.id} one={one} open={param("copy") === one.id} />
                ))}
            </ul>
          ) : (
            <Empty title="No saved copies">Before Dibs removes anything that contains uncommitted work, it saves a copy here.</Empty>
          )
        }
      </Show>
    </Panel>
  );
}

function Row({ one, open }: { one: Salvage; open: boolean }) {
  return (
    <li>
      <button type="button" class="plain saved-open" aria-expanded={open} onClick={() => setParams({ copy: open ? "" : one.id })}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> {one.subject}
      </button>{" "}
      <Age at={one.at} />
      {open && <Details id={one.id} />}
    </li>
  );
}

function Details({ id }: { id: string }) {
  const { act: may, why } = useRights();
  const shown = useResource(`salvage ${id}`, () => data(api.GET("/api/v1/salvage/{id}", { params: { path: { id } } })), { on: [] });
  const restore = () =>
    ask({
      title: "Restore this copy to a new branch?",
      text: "Dibs creates a branch with the saved work. It changes no file and no other branch.",
      fields: [{ name: "branch", label: "Name of the branch", value: `restored/${id.replaceAll("/", "-")}` }],
      button: "Restore",
      run: ({ branch }) => api.POST("/api/v1/salvage/{id}/restore", { params: { path: { id } }, body: { branch: branch ?? "" } }),
      done: "Restored the copy to a new branch",
    });
  return (
    <div class="saved">
      <Show of={shown}>
        {({ changes }) => (
          <ul>
            {(changes as Change[]).map((change) => (
              <li key={change.path}>
                <span class="path">{change.path}</span> {change.gone && <span class="muted">deleted</span>} {change.ignored && <span class="muted">ignored by git</span>}
              </li>
            ))}
          </ul>
        )}
      </Show>
      <button type="button" disabled={!may} title={why} onClick={restore}>
        Restore to a branch
      </button>{" "}
      <code class="command">dibs salvage show {id}</code>
    </div>
  );
}
