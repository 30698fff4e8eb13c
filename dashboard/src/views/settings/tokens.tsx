/** Tokens: list, create (shown once), and revoke. */
import { signal } from "@preact/signals";
import { api, data, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { act, ask } from "../../ui/actions";
import { AgentName, Age, Badge, Panel, Show, TimeLeft } from "../../ui/parts";
import { found } from ".";

type Token = Schemas["token"];
type Scope = Schemas["NewTokenBody"]["scope"];

/** The token that was created last, until the page is closed or left. */
const created = signal("");

export function TokensPanel() {
  const load = () => data(api.GET("/api/v1/tokens", { params: { query: { limit: 1000 } } }));
  const tokens = useResource("tokens", load, { on: [], every: 30 });
  const { data: me } = useResource("whoami", () => data(api.GET("/api/v1/whoami")), { on: [], every: 300 });
  const create = () =>
    ask({
      title: "Create a token",
      text: "read: sees everything. agent: acts as one agent of this project. human: acts as you. admin: also changes tokens and projects.",
      fields: [
        { name: "scope", label: "Scope", required: true, choices: ["read", "agent", "human", "admin"] },
        { name: "agent", label: "Agent, for the scope agent" },
        { name: "expires", label: "Expires after, such as 8h or 30d" },
      ],
      button: "Create",
      run: async (values) => {
        const body = { scope: values.scope as Scope, agent: values.agent ?? "", expires: values.expires || null };
        created.value = (await data(api.POST("/api/v1/tokens", { body }))).token;
        tokens.refresh();
      },
      done: "Created a token",
    });
  const actions = (
    <button type="button" onClick={create}>
      Create a token
    </button>
  );
  return (
    <Panel title="Tokens" count={tokens.data?.tokens.length} actions={actions}>
      {created.value && <NewToken />}
      <Show of={tokens}>
        {({ tokens: every }) => (
          <ul class="rows">
            {every
              .filter((one) => found(one.id, one.agent, one.scope, one.kind))
              .map((one) => (
                <Row key={one.id} token={one} own={me?.value ?? ""} refresh={tokens.refresh} />
              ))}
          </ul>
        )}
      </Show>
    </Panel>
  );
}

function NewToken() {
  return (
    <div class="new-token" role="status">
      <p>Copy this token now. It is not shown again.</p>
      <code>{created.value}</code>
      <div>
        <button type="button" class="primary" onClick={() => act(() => navigator.clipboard.writeText(created.value), "Copied the token")}>
          Copy
        </button>{" "}
        <button type="button" onClick={() => (created.value = "")}>
          Done
        </button>
      </div>
    </div>
  );
}

function Row({ token, own, refresh }: { token: Token; own: string; refresh: () => void }) {
  const revoke = () =>
    ask({
      title: `Revoke the token ${token.id}?`,
      text: token.kind === "browser" ? "The browser that uses it is signed out at once." : "The server refuses it at once.",
      button: "Revoke",
      danger: true,
      run: async () => {
        await api.DELETE("/api/v1/tokens/{id}", { params: { path: { id: token.id } } });
        refresh();
      },
      done: `Revoked the token ${token.id}`,
    });
  return (
    <li class="guard-row">
      <code>{token.id}</code>
      <Badge tone={token.scope === "admin" || token.scope === "human" ? "warn" : "neutral"}>{token.scope}</Badge>
      {token.agent ? <AgentName id={token.agent} /> : <span>{token.id === own ? "this browser" : token.kind === "browser" ? "a signed-in browser" : "an API token"}</span>}
      <span class="muted">
        created <Age at={token.created} /> · {token.used ? <>used <Age at={token.used} /></> : "never used"} ·{" "}
        {token.expires ? <TimeLeft until={token.expires} /> : "does not expire"}
      </span>
      <button type="button" onClick={revoke} aria-label={`Revoke ${token.id}`}>
        Revoke
      </button>
    </li>
  );
}
