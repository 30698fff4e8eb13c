/** Settings: configuration, tokens, the engine, guards, and the server. Each part has its own address (`?part=`). */
import type { ComponentType } from "preact";
import { href, Link, param, setParams } from "../../router";
import { ConfigurationPanel } from "./configuration";
import { EnginePanel } from "./engine";
import { GuardsPanel } from "./guards";
import { ServerPanels } from "./server";
import { TokensPanel } from "./tokens";

const PARTS: readonly { id: string; name: string; component: ComponentType }[] = [
  { id: "", name: "Configuration", component: ConfigurationPanel },
  { id: "guards", name: "Guards and problems", component: GuardsPanel },
  { id: "engine", name: "Store", component: EnginePanel },
  { id: "tokens", name: "Tokens", component: TokensPanel },
  { id: "server", name: "Server", component: ServerPanels },
];

export function SettingsView() {
  const part = PARTS.find((one) => one.id === param("part")) ?? PARTS[0]!;
  return (
    <div class="settings">
      <header class="settings-tools">
        <h1>Settings</h1>
        <nav aria-label="Parts of the settings">
          {PARTS.map((one) => (
            <Link key={one.id} to={href("/settings", { part: one.id, q: param("q") })} aria-current={one === part ? "true" : undefined}>
              {one.name}
            </Link>
          ))}
        </nav>
        <input type="search" placeholder={`Search: ${part.name}`} aria-label={`Search: ${part.name}`} value={param("q")} onInput={(event) => setParams({ q: event.currentTarget.value })} />
      </header>
      <part.component />
    </div>
  );
}

/** Return whether one of the texts contains what is searched for. */
export function found(...texts: (string | null | undefined)[]): boolean {
  const search = param("q").toLowerCase();
  return !search || texts.some((text) => text?.toLowerCase().includes(search));
}
