/** The files: the repository as a map or a tree, by owner or by contention. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useStatus } from "../../api/status";
import { href, Link, param, setParams } from "../../router";
import { visible } from "../../ui/text";
import { useRestOfWindow } from "../../ui/virtual";
import type { By } from "./layout";
import { Legend, type Mode } from "./owners";
import { FilePanel } from "./panel";
import { FileTree } from "./tree";
import { FileMap } from "./treemap";

const open = (path: string) => setParams({ path }, { replace: false });
const close = () => setParams({ path: "" });

export function FilesView() {
  const search = param("q");
  const path = param("path");
  const isTree = param("view") === "tree" || search !== "";
  const mode: Mode = param("color") === "heat" ? "heat" : "owner";
  const by: By = param("by") === "files" ? "files" : "size";
  const box = useRef<HTMLDivElement>(null);
  useRestOfWindow(box);
  const owners = [...new Set(useStatus().data?.claims.map((claim) => claim.agent))].sort();
  return (
    <div class="files">
      <div class="files-head">
        <div class="ledger-head">
          <h1>Files</h1>
          <form class="filters" role="search" aria-label="Files" onSubmit={(event) => event.preventDefault()}>
            <Search />
            {!search && <Choice label="View" name="view" options={[["", "Map"], ["tree", "Tree"]]} /* prettier-ignore */ />}
            <Choice label="Color" name="color" options={[["", "Owner"], ["heat", "Contention"]]} /* prettier-ignore */ />
            {!isTree && <Choice label="Area" name="by" options={[["", "Size"], ["files", "File count"]]} /* prettier-ignore */ />}
          </form>
        </div>
        {!isTree && <Crumbs folder={param("folder")} />}
        <Legend mode={mode} owners={owners} />
      </div>
      <div class={`with-side${path ? " open" : ""}`} ref={box}>
        {isTree ? (
          <FileTree mode={mode} selected={path} search={search} onOpen={open} />
        ) : (
          <FileMap folder={param("folder")} by={by} mode={mode} selected={path} onOpen={open} />
        )}
        {path && <FilePanel key={path} path={path} onClose={close} />}
      </div>
    </div>
  );
}

/** A few choices, one of which is on. Its value is in the address. */
function Choice({ label, name, options }: { label: string; name: string; options: readonly (readonly [string, string])[] }) {
  const chosen = param(name);
  return (
    <span class="segments" role="group" aria-label={label}>
      {options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={chosen === value} onClick={() => setParams({ [name]: value })}>
          {text}
        </button>
      ))}
    </span>
  );
}

function Search() {
  const set = param("q");
  const [text, setText] = useState(set);
  useEffect(() => setText(set), [set]);
  useEffect(() => {
    if (text.trim() === set) return;
    const timer = setTimeout(() => setParams({ q: text.trim() }), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return <input type="search" aria-label="Search files" placeholder="Search files (/)" maxLength={200} value={text} autocomplete="off" spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />;
}

function Crumbs({ folder }: { folder: string }) {
  const parts = folder.split("/").filter(Boolean);
  const kept = { by: param("by"), color: param("color") };
  return (
    <nav class="crumbs" aria-label="Folder">
      <Link to={href("/files", kept)} aria-current={parts.length ? undefined : "location"}>
        repository
      </Link>
      {parts.map((part, depth) => (
        <span key={depth}>
          <span aria-hidden="true"> / </span>
          <Link to={href("/files", { ...kept, folder: parts.slice(0, depth + 1).join("/") })} aria-current={depth === parts.length - 1 ? "location" : undefined}>
            {visible(part, 60)}
          </Link>
        </span>
      ))}
      {folder && (
        <button type="button" class="plain" onClick={() => open(`${folder}/**`)}>
          Details of this folder
        </button>
      )}
    </nav>
  );
}
