/** Tasks by their titles, with links to the board. */
import { api, data, type Schemas } from "../api/client";
import { useResource } from "../api/resource";
import { href, Link } from "../router";

const MOST = 500;

/** Return the titles of tasks by id; a task that is not listed has none. */
function useTitles(): Map<string, string> {
  const { data: titles } = useResource(
    "task titles",
    async () => {
      const { tasks } = await data(api.GET("/api/v1/tasks", { params: { query: { limit: MOST } } }));
      return new Map((tasks as Schemas["task"][]).map((task) => [task.id, task.title ?? ""]));
    },
    { on: ["task:added", "task:edited", "task:started", "task:assigned", "task:completed"] },
  );
  return titles ?? new Map();
}

/** A task of the board, or the text with which an agent describes its work. */
export function TaskName({ id }: { id: string }) {
  const title = useTitles().get(id);
  if (title === undefined) return <span class="task-name">{id}</span>;
  return (
    <Link class="task-name" to={href("/board", { task: id })} title={id}>
      {title || id}
    </Link>
  );
}
