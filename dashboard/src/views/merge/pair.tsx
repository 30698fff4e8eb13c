/** The conflicts between two sides: each file with the lines of both next to each other. */
import { api, data, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { useRights } from "../../api/rights";
import { act } from "../../ui/actions";
import { AgentName, Badge, FilePath, Show } from "../../ui/parts";

type Pair = Schemas["forecast_pair"];

export function PairDetails({ pair, onClose }: { pair: Pair; onClose: () => void }) {
  const [one, other] = pair.agents as [string, string];
  const { act: may, why } = useRights();
  const load = () => data(api.GET("/api/v1/forecast", { params: { query: { agent: [one, other], text: true } } }));
  const shown = useResource(`forecast ${one} ${other}`, load, { on: ["conflict", "commit"], every: 30 });
  const warn = () => act(() => api.POST("/api/v1/forecast", { body: { agent: [one, other] } }), `Notified ${one} and ${other}`);
  return (
    <section class="pair" aria-label={`Conflicts between ${one} and ${other}`} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <header>
        <h3>
          <AgentName id={one} /> and <AgentName id={other} />
        </h3>
        <button type="button" disabled={!may} title={why || "Dibs sends both agents a message, once for each conflict"} onClick={warn}>
          Notify both agents
        </button>
        <button type="button" class="plain" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      <Show of={shown}>
        {({ conflicts }) => (
          <>
            {(conflicts.find(({ agents }) => agents.includes(one) && agents.includes(other)) ?? pair).files.map((file) => (
              <File key={file.path} file={file} one={one} other={other} />
            ))}
          </>
        )}
      </Show>
    </section>
  );
}

type FileProps = { file: Schemas["forecast_file"]; one: string; other: string };

function File({ file, one, other }: FileProps) {
  return (
    <article class="clash-file">
      <h4>
        <FilePath path={file.path} /> <Badge tone="warn">{file.kind}</Badge>
      </h4>
      {file.hunks.length === 0 && <p class="muted">{file.note}</p>}
      {file.hunks.map((hunk) => {
        const [first, second] = hunk.lines as [Place, Place];
        return (
          <div key={`${first[0]} ${second[0]}`} class="hunk">
            <Side name={one} place={first} text={hunk.sides?.[0]?.text} cut={hunk.cut} />
            <Side name={other} place={second} text={hunk.sides?.[1]?.text} cut={hunk.cut} />
          </div>
        );
      })}
    </article>
  );
}

/** The first line, and the number of lines. */
type Place = [number, number];
type SideProps = { name: string; place: Place; text: string[] | undefined; cut: boolean | undefined };

function Side({ name, place: [first, count], text, cut = false }: SideProps) {
  const where = count === 0 ? `nothing after line ${first}` : count === 1 ? `line ${first}` : `lines ${first} to ${first + count - 1}`;
  return (
    <div>
      <p>
        <AgentName id={name} plain /> <span class="muted">{where}</span>
      </p>
      <pre tabIndex={0} aria-label={`${name}, ${where}`}>
        {text?.join("\n")}
        {cut && "\n…"}
      </pre>
    </div>
  );
}
