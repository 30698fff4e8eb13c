/** The forecast: a matrix of everyone's work, and the conflicts of one pair (`?one=A&other=B`). */
import type { Answer, Schemas } from "../../api/client";
import type { Loaded } from "../../api/resource";
import { param, setParams } from "../../router";
import { AgentName, Empty, hueOf, Panel, Show } from "../../ui/parts";
import { counted } from "../../ui/text";
import { found } from ".";
import { PairDetails } from "./pair";

type Forecast = Answer<"/api/v1/forecast">;
type Party = Schemas["party"];

export function ForecastPanel({ forecast }: { forecast: Loaded<Forecast> }) {
  return (
    <Panel title="Conflicts if merged now" count={forecast.data?.conflicts.length}>
      <Show of={forecast}>{(shown) => <Matrix forecast={shown} />}</Show>
    </Panel>
  );
}

function Matrix({ forecast }: { forecast: Forecast }) {
  const one = param("one");
  const other = param("other");
  const chosen = forecast.conflicts.find(({ agents }) => agents.includes(one) && agents.includes(other));
  if (forecast.parties.length < 2)
    return (
      <Empty title="There is nothing to compare" command="dibs worktree new">
        Agents that work in worktrees of their own appear here. To create one for yourself, run:
      </Empty>
    );
  return (
    <>
      <p class="muted">
        Each row is compared with each column, with uncommitted changes: {counted(forecast.compared, "pair")} compared, {counted(forecast.conflicts.length, "conflict")}.
        Select a number to see the lines.
      </p>
      <Grid forecast={forecast} chosen={chosen} />
      {forecast.left_out.length > 0 && (
        <ul class="muted">
          {forecast.left_out.map((left) => (
            <li key={`${left.party} ${left.path}`}>
              {left.party}: {left.path} is not compared: {left.why}
            </li>
          ))}
        </ul>
      )}
      {chosen && <PairDetails pair={chosen} onClose={() => setParams({ one: "", other: "" })} />}
    </>
  );
}

function Grid({ forecast, chosen }: { forecast: Forecast; chosen: Schemas["forecast_pair"] | undefined }) {
  const { parties } = forecast;
  const rows = parties.filter((party) => found(party.name, party.branch, ...filesOf(forecast, party.name)));
  return (
    <div class="matrix" tabIndex={0} role="region" aria-label="Matrix of conflicts">
      <table onKeyDown={moveCell}>
        <thead>
          <tr>
            <td />
            {parties.map((party) => (
              <th key={party.name} scope="col">
                <PartyName party={party} short />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                <PartyName party={row} />
              </th>
              {parties.map((column) => (
                <Cell key={column.name} forecast={forecast} row={row.name} column={column.name} chosen={chosen} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type CellProps = { forecast: Forecast; row: string; column: string; chosen: Schemas["forecast_pair"] | undefined };

function Cell({ forecast, row, column, chosen }: CellProps) {
  if (row === column) return <td class="self" aria-label="itself" />;
  const both = (agents: string[]) => agents.includes(row) && agents.includes(column);
  const pair = forecast.conflicts.find(({ agents }) => both(agents));
  const unknown = forecast.cannot_merge.find(({ agents }) => both(agents));
  if (pair)
    return (
      <td class="clash">
        <button
          type="button"
          aria-pressed={pair === chosen}
          aria-label={`${row} and ${column}: ${counted(pair.files.length, "file conflicts", "files conflict")}`}
          onClick={() => setParams(pair === chosen ? { one: "", other: "" } : { one: row, other: column })}
        >
          {pair.files.length}
        </button>
      </td>
    );
  if (unknown)
    return (
      <td class="unknown" title={unknown.why}>
        ?<span class="visually-hidden"> cannot be compared: {unknown.why}</span>
      </td>
    );
  return (
    <td class="clean" title={`${row} and ${column}: no conflict`}>
      <span aria-hidden="true">✓</span>
      <span class="visually-hidden">no conflict</span>
    </td>
  );
}

/** An agent's worktree, the integration branch, or the uncommitted changes in the main tree. */
function PartyName({ party, short = false }: { party: Party; short?: boolean }) {
  const about = [party.branch, party.path ?? "commits only", party.dirty ? `${party.dirty} uncommitted` : ""].filter(Boolean).join(" · ");
  if (short)
    return (
      <span class="party-short" title={`${party.name}: ${about}`}>
        {!party.base && <span class="dot" style={{ "--hue": hueOf(party.name) }} aria-hidden="true" />}
        <span>{party.name}</span>
      </span>
    );
  return (
    <span class="party" title={about}>
      {party.base ? <strong>{party.name}</strong> : <AgentName id={party.name} plain />}
      {party.dirty > 0 && <span class="muted">{party.name.endsWith("+") ? `${party.dirty} uncommitted in the main tree` : `${party.dirty} uncommitted`}</span>}
    </span>
  );
}

function filesOf(forecast: Forecast, name: string): string[] {
  return forecast.conflicts.filter(({ agents }) => agents.includes(name)).flatMap(({ files }) => files.map((file) => file.path));
}

const STEPS: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Move the focus to the next conflict in the direction of the arrow key. */
function moveCell(event: KeyboardEvent): void {
  const step = STEPS[event.key];
  const cell = event.target instanceof Element ? event.target.closest("td") : null;
  const table = cell?.closest("table");
  if (!step || !cell || !table) return;
  let row = (cell.parentElement as HTMLTableRowElement).rowIndex;
  let column = cell.cellIndex;
  for (;;) {
    row += step[0];
    column += step[1];
    const next = table.rows[row]?.cells[column];
    if (!next) return;
    const button = next.querySelector("button");
    if (!button) continue;
    button.focus();
    event.preventDefault();
    return;
  }
}
