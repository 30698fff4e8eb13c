/** The files of the working tree, as the server counts them: by folder, with owners and contention. */
import { useRef } from "preact/hooks";
import { type Answer, api, data } from "../../api/client";
import { type Loaded, useResource } from "../../api/resource";
import { until } from "../../replay";

export type Listing = Answer<"/api/v1/files">;
export type FileNode = Listing["nodes"][number];

const EVENTS = ["lock", "commit", "conflict", "file", "foreign", "merge", "agent"];
/** How many nodes the map asks for, and how deep. */
const MAP_NODES = 1_500;
const MAP_DEPTH = 4;
const TREE_NODES = 5_000;
const FOUND = 300;

type Query = { folder?: string; depth?: number; match?: string; limit?: number };

function useFiles(query: Query): Loaded<Listing> {
  const at = until.value;
  const full = { ...query, ...(at ? { at } : {}) };
  return useResource(`files ${JSON.stringify(full)}`, () => data(api.GET("/api/v1/files", { params: { query: full } })), {
    on: at ? [] : EVENTS,
    ...(at ? {} : { every: 20 }),
  });
}

/** A folder with what is in it, to the depth that a map shows. */
export const useMap = (folder: string): Loaded<Listing> => useLast(useFiles({ folder, depth: MAP_DEPTH, limit: MAP_NODES }), folder);

export const useFound = (match: string): Loaded<Listing> => useFiles({ match, limit: FOUND });

/** The folders that are open in the tree. What is known stays on the screen while more is loaded. */
export function useFolders(folders: readonly string[]): Loaded<Map<string, Listing>> {
  const at = until.value;
  const when = at ? { at } : {};
  const load = async () => {
    const one = (folder: string) => data(api.GET("/api/v1/files", { params: { query: { folder, depth: 1, limit: TREE_NODES, ...when } } })).catch(() => null);
    const found = await Promise.all(folders.map(one));
    return new Map(found.flatMap((listing, at) => (listing ? [[folders[at] as string, listing] as const] : [])));
  };
  const loaded = useResource(`folders ${JSON.stringify([folders, when])}`, load, { on: at ? [] : EVENTS });
  const known = useRef(new Map<string, Listing>());
  if (loaded.data) for (const [folder, listing] of loaded.data) known.current.set(folder, listing);
  return { ...loaded, data: known.current.size ? known.current : undefined };
}

/** Keep showing the data of the same thing while it is loaded for another moment. */
function useLast<T>(loaded: Loaded<T>, of: string): Loaded<T> {
  const last = useRef<{ of: string; data: T } | null>(null);
  if (loaded.data !== undefined) last.current = { of, data: loaded.data };
  const kept = last.current?.of === of ? last.current.data : undefined;
  return { ...loaded, data: loaded.data ?? kept };
}

const units = ["bytes", "kB", "MB", "GB"] as const;

/** Return a size as people say it: 512 bytes, 4.2 kB. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
