/** A menu of checkboxes in groups: choose some, a whole group, or nothing for all. */
import { useEffect, useRef, useState } from "preact/hooks";
import { counted, visible } from "./text";

type Choice = { id: string; name: string; count: number };
type Group = { id: string; name: string; choices: readonly Choice[] };
type Props = { label: string; all: string; chosen: readonly string[]; onChange: (chosen: string[]) => void; groups: readonly Group[] };

const SEARCH_FROM = 12;
const MOST_SHOWN = 200;

export function ChoiceMenu({ label, all, chosen, onChange, groups }: Props) {
  const box = useRef<HTMLDetailsElement>(null);
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const outside = (event: Event) => {
      if (box.current?.open && !box.current.contains(event.target as Node)) box.current.open = false;
    };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, []);
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !box.current?.open) return;
    event.preventDefault();
    box.current.open = false;
    box.current.querySelector("summary")?.focus();
  };
  const names = new Map(groups.flatMap((group) => [[group.id, group.name] as const, ...group.choices.map((one) => [one.id, one.name] as const)]));
  const first = chosen[0];
  const said = first === undefined ? all : chosen.length > 1 ? `${label}: ${counted(chosen.length, "choice")}` : visible(names.get(first) ?? first, 30);
  const total = groups.reduce((sum, group) => sum + group.choices.length, 0);
  return (
    <details class="choices" ref={box} onKeyDown={close} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class={chosen.length ? "chosen" : ""} aria-label={`${label}: ${said}`}>
        {said} <span aria-hidden="true">▾</span>
      </summary>
      {isOpen && (
        <div class="choices-menu">
          {total > SEARCH_FROM && <input type="text" aria-label={`Find ${label.toLowerCase()}`} placeholder={`Find ${label.toLowerCase()}`} value={text} onInput={(event) => setText(event.currentTarget.value)} />}
          {chosen.length > 0 && (
            <button type="button" class="plain" onClick={() => onChange([])}>
              {all}
            </button>
          )}
          {groups.map((group) => (
            <ChoiceGroup key={group.id} group={group} chosen={chosen} onChange={onChange} text={text.toLowerCase()} />
          ))}
        </div>
      )}
    </details>
  );
}

type GroupProps = Pick<Props, "chosen" | "onChange"> & { group: Group; text: string };

function ChoiceGroup({ group, chosen, onChange, text }: GroupProps) {
  const shown = group.choices.filter((one) => `${one.name} ${group.name}`.toLowerCase().includes(text));
  if (!shown.length) return null;
  const whole = group.id !== "" && chosen.includes(group.id);
  const members = group.choices.map((one) => one.id);
  const toggle = (id: string) => {
    if (whole) onChange([...chosen.filter((one) => one !== group.id), ...members.filter((one) => one !== id)]);
    else onChange(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  };
  return (
    <fieldset>
      {group.name && (
        <legend>
          <label>
            <input type="checkbox" checked={whole} onChange={() => onChange(whole ? chosen.filter((one) => one !== group.id) : [...chosen.filter((one) => !members.includes(one)), group.id])} /> {group.name}
          </label>
        </legend>
      )}
      {shown.slice(0, MOST_SHOWN).map((one) => (
        <label key={one.id}>
          <input type="checkbox" checked={whole || chosen.includes(one.id)} onChange={() => toggle(one.id)} />
          <bdi>{visible(one.name, 60)}</bdi>
          {one.count > 0 && <span class="muted">{one.count.toLocaleString()}</span>}
        </label>
      ))}
    </fieldset>
  );
}
