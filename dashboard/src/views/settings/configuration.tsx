/** Every setting: its value, where it comes from, and how to change it. */
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { param, setParams } from "../../router";
import { Badge, Empty, Panel, Show } from "../../ui/parts";
import { span } from "../../time";
import { found } from ".";
import { Words } from "./findings";

type Setting = { value: unknown; origin: string; variable: string; key: string; allowed: string; about: string };

export function ConfigurationPanel() {
  const settings = useResource("settings", () => data(api.GET("/api/v1/settings")), { on: [], every: 30 });
  const changed = param("changed") === "yes";
  const choice = (
    <label class="check">
      <input type="checkbox" checked={changed} onChange={(event) => setParams({ changed: event.currentTarget.checked ? "yes" : "" })} /> Only settings that differ from
      the default
    </label>
  );
  return (
    <Panel title="Configuration" actions={choice}>
      <Show of={settings}>
        {({ settings: every, root }) => {
          const rows = Object.values(every as Record<string, Setting>);
          const shown = rows.filter((one) => (!changed || one.origin !== "default") && found(one.key, one.about, one.variable, text(one.value)));
          return (
            <>
              <p class="muted">
                This page shows the settings. To change one, edit <code>dibs.toml</code> in <span class="path">{root}</span>, or set its environment variable.
              </p>
              {shown.length === 0 && <Empty title={changed && !param("q") ? "Every setting has its default value" : "No setting matches"} />}
              {sections(shown).map(([section, list]) => (
                <section key={section} aria-label={section}>
                  <h3>{section === "general" ? "general" : `[${section}]`}</h3>
                  <dl class="setting-list">
                    {list.map((one) => (
                      <Row key={one.key} setting={one} />
                    ))}
                  </dl>
                </section>
              ))}
            </>
          );
        }}
      </Show>
    </Panel>
  );
}

function Row({ setting }: { setting: Setting }) {
  return (
    <div class="setting">
      <dt>
        <code>{setting.key.split(".").pop()}</code>
      </dt>
      <dd class="setting-value">
        <code>{shownValue(setting)}</code>{" "}
        <Badge tone={setting.origin === "default" ? "neutral" : "info"}>{setting.origin === "default" ? "default" : `from ${setting.origin}`}</Badge>
      </dd>
      <dd>
        <Words text={setting.about} />{" "}
        <span class="muted">
          Allowed: {setting.allowed}. Variable: <code>{setting.variable}</code>
        </span>
      </dd>
    </div>
  );
}

/** Group settings by their section in `dibs.toml`. */
function sections(settings: readonly Setting[]): [string, Setting[]][] {
  const groups = new Map<string, Setting[]>();
  for (const one of settings) {
    const section = one.key.includes(".") ? one.key.slice(0, one.key.lastIndexOf(".")) : "general";
    groups.set(section, [...(groups.get(section) ?? []), one]);
  }
  return [...groups];
}

/** A duration is stored in seconds, and written as people write it. */
function shownValue({ value, allowed }: Setting): string {
  return typeof value === "number" && value > 0 && allowed.startsWith("a duration") ? span(value) : text(value);
}

function text(value: unknown): string {
  if (value === "" || (Array.isArray(value) && !value.length)) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
